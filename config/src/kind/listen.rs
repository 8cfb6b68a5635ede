//! Where clients connect: an address and a port, or the path of a Unix socket.

use serde_json::{Value, json};

use super::{Address, Scalar, unix_path};
use crate::checked::Listen;
use crate::fault::Complaint;

/// `ADDRESS:PORT`, `[V6]:PORT` or `unix:/PATH`.
pub(crate) struct ListenText;

impl Scalar for ListenText {
    type Value = Listen;

    fn parse(&self, text: &str) -> Result<Listen, Complaint> {
        match unix_path::parse(text) {
            Some(path) => path.map(Listen::Unix),
            None => Address.parse(text).map(Listen::Tcp),
        }
    }

    fn show(&self, value: &Listen) -> Value {
        Value::from(value.to_string())
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
            {"type": "string", "pattern": "^unix:/"},
        ]})
    }
}
