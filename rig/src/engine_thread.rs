//! The simulated engine on a thread of its own, reached by TCP on the loopback.

use crate::clock::OneClock;
use crate::part::Part;
use crate::{Error, listen};
use sim::{Options, Pacing, Profile, Server};
use std::net::{SocketAddr, TcpListener};
use tokio::sync::oneshot;

/// A running engine.
#[derive(Debug)]
pub(crate) struct EngineThread {
    pub(crate) address: SocketAddr,
    /// Where its truth is.
    pub(crate) server: Server,
    part: Part<()>,
}

/// What an engine shall be.
#[derive(Debug, Clone)]
pub(crate) struct Deployment {
    pub(crate) profile: Profile,
    pub(crate) seed: u64,
    pub(crate) model: &'static str,
}

impl EngineThread {
    /// Starts it behind `listener`.
    pub(crate) async fn start(
        deployment: Deployment,
        clock: &OneClock,
        listener: TcpListener,
    ) -> Result<Self, Error> {
        let address = listen::address(&listener)?;
        let options = Options {
            seed: deployment.seed,
            pacing: Pacing::Precise,
            model: deployment.model.to_owned(),
            ..Options::new(deployment.profile, clock.for_sim())
        };
        let (started, starting) = oneshot::channel();
        let part = Part::start(NAME, move |mut stop| async move {
            let server = Server::start(options);
            let listener = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => listener,
                Err(source) => return drop(started.send(Err(source))),
            };
            // Whoever started it waits for this.
            let _ = started.send(Ok(server.clone()));
            // Its listener failing ends it early, which shows as requests that fail.
            let _ = server
                .serve(listener, async move {
                    let _ = stop.recv().await;
                })
                .await;
        })?;
        let server = match starting.await {
            Ok(Ok(server)) => server,
            Ok(Err(source)) => return Err(Error::Runtime { name: NAME, source }),
            Err(_) => return Err(Error::Panicked { name: NAME }),
        };
        Ok(Self {
            address,
            server,
            part,
        })
    }

    /// Stops it; what is still open is cut.
    pub(crate) async fn stop(self) -> Result<(), Error> {
        self.part.stop().await
    }
}

const NAME: &str = "simulated engine";
