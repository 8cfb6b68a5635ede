//! Where clients connect: an address and a port or a range of ports, or the path of a Unix socket.

use serde_json::{Value, json};

use super::{Address, Scalar, ports, unix_path};
use crate::checked::Listen;
use crate::fault::Complaint;

/// `ADDRESS:PORT`, `[V6]:PORT` or `unix:/PATH`; a place for each port, never none.
pub(crate) struct ListenText;

impl Scalar for ListenText {
    type Value = Vec<Listen>;

    fn parse(&self, text: &str) -> Result<Self::Value, Complaint> {
        if let Some(path) = unix_path::parse(text) {
            return Ok(vec![Listen::Unix(path?)]);
        }
        let range = text
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host, ports::ends(port)?)));
        let Some((host, ends)) = range else {
            return Ok(vec![Listen::Tcp(Address.parse(text)?)]);
        };
        let mut address = Address.parse(&format!("{host}:{}", ends.0))?;
        let each = |port| {
            address.set_port(port);
            Listen::Tcp(address)
        };
        Ok(ports::parse(ends)?.map(each).collect())
    }

    fn show(&self, value: &Self::Value) -> Value {
        let (first, more) = match value.split_first() {
            Some((first, more)) => (first.to_string(), more),
            None => return Value::Null,
        };
        let last = more.last().and_then(Listen::address);
        Value::from(ports::show(first, last.map(|last| last.port())))
    }

    fn name(&self) -> &'static str {
        "address"
    }

    fn range(&self) -> String {
        format!(
            "{} or `unix:/PATH`",
            Scalar::range(&Address).replace(" or ", ", ")
        )
    }

    fn schema(&self) -> Value {
        json!({"anyOf": [
            Scalar::schema(&Address),
            {"type": "string", "pattern": r"^([0-9.]+|\[[0-9A-Fa-f:.%]+\]):[0-9]{1,5}-[0-9]{1,5}$"},
            {"type": "string", "pattern": "^unix:/"},
        ]})
    }
}
