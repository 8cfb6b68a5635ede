//! Connections to the engine: one at a time for an exchange, kept a little while between them.
//!
//! A kept connection is polled by nobody. Before it is used again it is polled once, so that a close that has arrived is
//! seen; a close still on its way is not, and then the request fails (it may have been begun, so it is not sent twice).
//! Idle connections are kept for less time than engines keep theirs.

use crate::link::{Link, Protocol, transport};
use crate::{Clock, Connector, Failure, Socket};
use measure::Nanos;
use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

struct Idle {
    link: Link,
    since: Nanos,
}

/// How connections are made and kept.
#[derive(Debug, Clone, Copy)]
pub struct PoolLimits {
    /// `upstream.connect_timeout`
    pub connect_timeout: Duration,
    /// `upstream.idle_timeout`
    pub idle_timeout: Duration,
    /// `upstream.max_idle`
    pub max_idle: usize,
}

pub(crate) struct Pool {
    connector: Arc<dyn Connector>,
    clock: Clock,
    limits: PoolLimits,
    idle: Mutex<Vec<Idle>>,
}

impl Pool {
    pub(crate) fn new(connector: Arc<dyn Connector>, clock: Clock, limits: PoolLimits) -> Self {
        Self {
            connector,
            clock,
            limits,
            idle: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn authority(&self) -> &str {
        self.connector.authority()
    }

    pub(crate) fn place(&self) -> &str {
        self.connector.place()
    }

    pub(crate) fn speaks_tls(&self) -> bool {
        self.connector.tls().is_some()
    }

    /// The connection used last that still works, or a new one. `now` decides which are too old.
    pub(crate) async fn checkout(&self, now: Nanos, protocol: Protocol) -> Result<Link, Failure> {
        self.evict(now);
        while let Some(mut link) = self.take(protocol) {
            link.look();
            if link.is_usable() {
                link.reused = true;
                return Ok(link);
            }
        }
        self.connect(protocol).await
    }

    fn take(&self, protocol: Protocol) -> Option<Link> {
        let mut idle = self.idle.lock();
        let last = idle
            .iter()
            .rposition(|idle| idle.link.protocol() == protocol)?;
        Some(idle.remove(last).link)
    }

    /// A new connection.
    pub(crate) async fn connect(&self, protocol: Protocol) -> Result<Link, Failure> {
        self.in_time(Link::open(&*self.connector, self.clock, protocol))
            .await
    }

    /// A new connection on which nobody speaks yet.
    pub(crate) async fn socket(&self) -> Result<Box<dyn Socket>, Failure> {
        let opening = transport(&*self.connector, self.clock, Protocol::Http1);
        Ok(self.in_time(opening).await?.socket)
    }

    async fn in_time<T>(&self, opening: impl Future<Output = io::Result<T>>) -> Result<T, Failure> {
        let limit = self.limits.connect_timeout;
        let place = || self.connector.place().to_owned();
        match tokio::time::timeout(limit, opening).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(source)) => Err(Failure::Connect {
                place: place(),
                source: Arc::new(source),
            }),
            Err(_) => Err(Failure::ConnectTimeout {
                place: place(),
                limit,
            }),
        }
    }

    /// Takes a connection back once it is ready for another exchange; drops it if it will not be.
    ///
    /// After an event stream it is dropped: llama.cpp's server closes the connection some milliseconds after the stream's
    /// end, although its head said `keep-alive`. A request sent in between would fail, and a POST is not sent twice.
    /// Connecting anew takes a fraction of a millisecond, and is no part of TTFT.
    ///
    /// An engine that has answered before it has the whole request gets the rest of it, but no longer than an idle connection
    /// is kept: a client could take its time with it for as long as it likes.
    pub(crate) async fn give_back(&self, mut link: Link) {
        if link.carries_stream {
            return;
        }
        let settled = tokio::time::timeout(self.limits.idle_timeout, link.settle()).await;
        if !settled.unwrap_or(false) {
            return;
        }
        let since = link.stamps.last_read();
        let mut idle = self.idle.lock();
        if idle.len() < self.limits.max_idle {
            idle.push(Idle { link, since });
        }
    }

    /// Closes what has been idle for too long.
    pub(crate) fn evict(&self, now: Nanos) {
        let limit = Nanos(u64::try_from(self.limits.idle_timeout.as_nanos()).unwrap_or(u64::MAX));
        self.idle
            .lock()
            .retain(|idle| now.since(idle.since) < limit);
    }
}
