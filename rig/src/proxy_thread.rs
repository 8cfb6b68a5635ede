//! The product's proxy as a deployment runs it, listeners and all, on a thread of its own; its records come out as they are
//! made.

use crate::clock::OneClock;
use crate::part::Part;
use crate::{Error, listen};
use config::{Checked, Environment, Flag, Sources};
use measure::{InFlight, Record};
use proxy::{Listeners, Parts, Proxy, Signals};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Records that wait to be taken. They are taken several times a second; one that finds no room is counted as missing.
const FEED: usize = 8192;

const NAME: &str = "proxy";

/// A running proxy.
#[derive(Debug)]
pub(crate) struct ProxyThread {
    /// Where clients connect.
    pub(crate) data: SocketAddr,
    /// Where its metrics are.
    pub(crate) admin: SocketAddr,
    pub(crate) in_flight: Arc<InFlight>,
    /// Every record, in order of the ends. Ends when the proxy has.
    pub(crate) records: mpsc::Receiver<Record>,
    part: Part<()>,
}

impl ProxyThread {
    /// Starts it in front of `engine`, with its metrics behind `admin`.
    pub(crate) fn start(
        engine: SocketAddr,
        clock: &OneClock,
        admin: TcpListener,
    ) -> Result<Self, Error> {
        let data = listen::listen(NAME, listen::ANYWHERE)?;
        let addresses = (listen::address(&data)?, listen::address(&admin)?);
        let checked = configuration(engine)?;
        let (feed, records) = mpsc::channel(FEED);
        let parts = Parts {
            clock: clock.for_proxy(),
            feed: Some(feed),
            ..Parts::of(&checked, "{}".to_owned()).map_err(proxy::Error::from)?
        };
        let proxy = Proxy::new(&checked, parts)?;
        let in_flight = Arc::clone(proxy.in_flight());
        let part = Part::start(NAME, move |stop| async move {
            let tokio = tokio::net::TcpListener::from_std;
            // Both were opened by us and are ready; without a reactor there would be no runtime.
            let (Ok(data), Ok(admin)) = (tokio(data), tokio(admin)) else {
                return;
            };
            let data = vec![data.into()];
            proxy
                .run(Listeners { data, admin }, Signals::channel(stop))
                .await;
        })?;
        Ok(Self {
            data: addresses.0,
            admin: addresses.1,
            in_flight,
            records,
            part,
        })
    }

    /// Asks it to drain, waits for its end, and hands out the records that were left.
    pub(crate) async fn stop(self) -> Result<mpsc::Receiver<Record>, Error> {
        self.part.stop().await?;
        Ok(self.records)
    }
}

/// The configuration of a proxy without a delay before its drain, and before an engine that meets the known load and
/// nothing else; for the rest the default.
fn configuration(engine: SocketAddr) -> Result<Checked, Error> {
    let url = format!("upstream.url=http://{engine}");
    let flags = [
        url.as_str(),
        "drain.delay=0s",
        "drain.timeout=10s",
        "engine.probe=false",
        "engine.scrape_interval=off",
    ];
    let flags = flags.map(Flag::assignment);
    let environment = Environment::of(std::iter::empty::<(String, String)>());
    let sources = Sources {
        file: None,
        environment: &environment,
        flags: &flags,
    };
    Ok(config::check(&sources)
        .map_err(Error::Configuration)?
        .checked)
}
