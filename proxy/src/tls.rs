//! TLS on both sides: from PEM files to what a connection is accepted or made by.

mod engine;
mod pem;
mod serving;

pub use pem::TlsFault;

pub(crate) use engine::engine_tls;
pub(crate) use serving::Serving;

use exporter::Exporter;
use rustls::pki_types::UnixTime;
use serving::Look;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// The files are looked at this often, and on SIGHUP.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The date, which certificates are valid by. No stamp is ever held against it.
pub(crate) fn date() -> UnixTime {
    UnixTime::now()
}

/// Serves with new files when they change, again and again.
pub(crate) async fn follow(serving: Arc<Serving>, exporter: Arc<Exporter>) {
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => Some(hangup),
        Err(error) => {
            tracing::warn!(%error, "SIGHUP cannot be listened for; certificates are still looked at every {LOOK_EVERY:?}");
            None
        }
    };
    loop {
        let asked = async {
            match &mut hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = asked => {}
        }
        match serving.look(date()).await {
            Look::Same => {}
            Look::Replaced => tracing::info!("new connections get the new certificate"),
            Look::Refused(fault) => {
                exporter.count_certificate_refused();
                tracing::error!(
                    key = fault.key,
                    fix = fault.fix,
                    "the old certificate is kept: {}",
                    fault.wrong
                );
            }
        }
    }
}
