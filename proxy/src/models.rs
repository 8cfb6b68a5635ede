//! Learns which models the engine serves, since only names that somebody vouches for may become labels.

use crate::relay::Relay;
use bytes::Bytes;
use exporter::Exporter;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use upstream::{Failure, RequestBody};

/// Until the list was read once.
const RETRY: Duration = Duration::from_secs(2);

/// Afterwards: a model that was loaded meanwhile gets its name within this.
const REFRESH: Duration = Duration::from_secs(30);

/// Longest list that is read, in bytes.
const LIST_BYTES: usize = 1024 * 1024;

#[derive(Deserialize)]
struct List {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

#[derive(Debug, thiserror::Error)]
enum Unlearned {
    #[error(transparent)]
    Engine(#[from] Failure),
    #[error("the engine answered {0}")]
    Status(StatusCode),
    #[error("the list broke off or is longer than {LIST_BYTES} bytes")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the answer is no list of models")]
    Shape(#[source] serde_json::Error),
    #[error("the request could not be made")]
    Request(#[from] http::Error),
}

/// Asks the engine for its models, again and again.
pub(crate) async fn learn(relay: Arc<Relay>, exporter: Arc<Exporter>) {
    let mut told = false;
    loop {
        let pause = match fetch(&relay).await {
            Ok(names) => {
                exporter.learn_models(&names);
                REFRESH
            }
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::info!(
                        error = &error as &dyn std::error::Error,
                        "model names are not known yet, requests count as model \"other\"; asking again \
                         (or set models.names)"
                    );
                }
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

async fn fetch(relay: &Relay) -> Result<Vec<String>, Unlearned> {
    let body = RequestBody::new(Empty::<Bytes>::new().map_err(|never: Infallible| match never {}));
    let (mut head, body) = Request::get("/v1/models").body(body)?.into_parts();
    relay.address(&mut head);
    let request = Request::from_parts(head, body);
    let (engine, answer) = relay.upstream.begin(request, None, Arc::new(()));
    let read = async {
        let response = answer.await?;
        if response.status() != StatusCode::OK {
            return Err(Unlearned::Status(response.status()));
        }
        Ok(Limited::new(response.into_body(), LIST_BYTES)
            .collect()
            .await
            .map_err(Unlearned::Body)?
            .to_bytes())
    };
    let ((), bytes) = tokio::join!(engine, read);
    let list: List = serde_json::from_slice(&bytes?).map_err(Unlearned::Shape)?;
    Ok(list.data.into_iter().map(|model| model.id).collect())
}
