//! An address to listen on: `ADDRESS:PORT`, `[V6]:PORT`. A name is refused, since it may stand for several.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

/// A socket address. Port 0 lets the system choose.
pub(crate) struct Address;

impl Scalar for Address {
    type Value = SocketAddr;

    fn parse(&self, text: &str) -> Result<SocketAddr, Complaint> {
        text.parse().map_err(|_| {
            Complaint::value(
                "not an address with a port",
                format!("write ADDRESS:PORT, for example {}", example(text)),
            )
        })
    }

    fn show(&self, value: &SocketAddr) -> Value {
        Value::from(value.to_string())
    }

    fn name(&self) -> &'static str {
        "address"
    }

    fn range(&self) -> String {
        "`ADDRESS:PORT` or `[V6]:PORT`".to_owned()
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "pattern": r"^([0-9.]+|\[[0-9A-Fa-f:.%]+\]):[0-9]{1,5}$"})
    }
}

/// What was likely meant by `text`: its port kept, and a host that is an address.
fn example(text: &str) -> SocketAddr {
    let port = text
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .unwrap_or(8080);
    match text.strip_suffix(&format!(":{port}")) {
        Some("" | "*") => SocketAddr::from(([0, 0, 0, 0], port)),
        _ => SocketAddr::from(([127, 0, 0, 1], port)),
    }
}
