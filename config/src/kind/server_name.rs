//! The name that a server's certificate has to hold.

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

/// Longest name, bytes: that of DNS.
const BYTES_MAX: usize = 253;

/// A DNS name, or an address without brackets.
pub(crate) struct ServerName;

impl Scalar for ServerName {
    type Value = String;

    fn parse(&self, text: &str) -> Result<String, Complaint> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        if text.len() <= BYTES_MAX && text.bytes().all(known) {
            return Ok(text.to_owned());
        }
        Err(Complaint::value(
            "not a name that a certificate can have",
            "write a DNS name or an address",
        ))
    }

    fn show(&self, value: &String) -> Value {
        Value::from(value.as_str())
    }

    fn name(&self) -> &'static str {
        "name"
    }

    fn range(&self) -> String {
        "a DNS name or an address".to_owned()
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "pattern": "^[0-9A-Za-z._:-]{1,253}$"})
    }
}
