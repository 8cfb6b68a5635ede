//! What the proxy's process holds at one moment: by the system's word, and by its own.

use crate::Error;
use crate::child::Child;
use crate::process::Holding;
use serde::{Deserialize, Serialize};

/// What it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// By the system's word; looked at before it was asked, so that no connection of ours is in it.
    #[serde(flatten)]
    pub holding: Holding,
    /// Its tasks for clients' connections and streams, by its own count.
    pub traffic_tasks: u64,
    /// Its other tasks, that of the connection which asked among them.
    pub service_tasks: u64,
    /// Exchanges in flight, by its own count.
    pub in_flight: u64,
}

#[derive(Deserialize)]
struct Live {
    in_flight: u64,
    tasks: Tasks,
}

#[derive(Deserialize)]
struct Tasks {
    traffic: u64,
    services: u64,
}

/// Looks at it.
pub(super) async fn look(proxy: &Child) -> Result<Looked, Error> {
    let holding = proxy.process.holding();
    let live = proxy.page("/live").await?;
    let live: Live = serde_json::from_str(&live).map_err(|error| Error::Stream {
        address: proxy.admin,
        why: format!("/live is not what it was: {error}"),
    })?;
    Ok(Looked {
        holding,
        traffic_tasks: live.tasks.traffic,
        service_tasks: live.tasks.services,
        in_flight: live.in_flight,
    })
}
