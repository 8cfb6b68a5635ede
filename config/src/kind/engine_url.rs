//! Where the engine listens: `http://HOST:PORT` or `https://HOST:PORT`, nothing before the host and nothing after
//! the port, which may be a range of ports; or `unix:/PATH`.
//!
//! Credentials are refused, not dropped: the client's own header is what reaches the engine. So no value that passes
//! holds a secret.

use std::net::{IpAddr, Ipv6Addr};

use serde_json::{Value, json};

use super::{Scalar, ports, unix_path};
use crate::checked::{EngineAt, Scheme};
use crate::fault::{Code, Complaint, shown};

/// The URL of an engine; a place for each port, never none.
pub(crate) struct EngineUrl;

impl Scalar for EngineUrl {
    type Value = Vec<EngineAt>;

    fn parse(&self, text: &str) -> Result<Self::Value, Complaint> {
        if let Some(path) = unix_path::parse(text) {
            return Ok(vec![EngineAt::Unix(path?)]);
        }
        let (scheme, rest) = split_scheme(text)?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains('@') {
            return Err(Complaint::value(
                "credentials in the URL",
                "remove what stands before the @; credentials that the client sends reach the engine as they are",
            ));
        }
        if let Some((authority, _)) = authority.split_once(['/', '?', '#']) {
            return Err(Complaint::value(
                "a URL with a path",
                format!(
                    "write {}://{} only; paths are the client's",
                    scheme.as_str(),
                    shown(authority)
                ),
            ));
        }
        let (host, port) = authority
            .rsplit_once(':')
            .filter(|(_, port)| !port.contains(']'))
            .ok_or_else(|| {
                Complaint::value(
                    "a URL without a port",
                    format!("write {}://{}:8000", scheme.as_str(), shown(authority)),
                )
            })?;
        let host = parse_host(host)?;
        let each = |port| EngineAt::Tcp {
            scheme,
            host: host.clone(),
            port,
        };
        match ports::ends(port) {
            Some(ends) => Ok(ports::parse(ends)?.map(each).collect()),
            None => Ok(vec![each(parse_port(port)?)]),
        }
    }

    fn show(&self, value: &Self::Value) -> Value {
        let (first, more) = match value.split_first() {
            Some((first, more)) => (first.to_string(), more),
            None => return Value::Null,
        };
        Value::from(ports::show(first, more.last().and_then(EngineAt::port)))
    }

    fn name(&self) -> &'static str {
        "URL"
    }

    fn range(&self) -> String {
        "`http://HOST:PORT`, `https://HOST:PORT` or `unix:/PATH`".to_owned()
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "pattern": r"^(https?://([0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}(-[0-9]{1,5})?/?|unix:/.+)$"})
    }
}

fn split_scheme(text: &str) -> Result<(Scheme, &str), Complaint> {
    match text.split_once("://") {
        Some(("http", rest)) => Ok((Scheme::Http, rest)),
        Some(("https", rest)) => Ok((Scheme::Https, rest)),
        Some(_) => Err(Complaint::value(
            "not an http URL",
            "write http://HOST:PORT or https://HOST:PORT",
        )),
        None => Err(Complaint::value(
            "a URL without http://",
            format!("write http://{}", shown(text)),
        )),
    }
}

fn parse_host(host: &str) -> Result<String, Complaint> {
    let bracketed = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = match bracketed {
        Some(inside) => inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    };
    if address.is_some_and(|address| address.is_unspecified()) {
        return Err(Complaint::value(
            "an address that stands for all of a host, to which nothing can connect",
            "write http://127.0.0.1:PORT for an engine on the same host or pod",
        ));
    }
    let name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match address {
        Some(address) => Ok(address.to_string()),
        None if !host.is_empty() && host.bytes().all(name_byte) => Ok(host.to_owned()),
        None => Err(Complaint::value(
            "not a host name or address",
            "write http://HOST:PORT; a version 6 address stands in brackets, http://[::1]:8000",
        )),
    }
}

fn parse_port(port: &str) -> Result<u16, Complaint> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err(Complaint::new(
            Code::Range,
            "not a port that can be connected to",
            "write a port from 1 to 65535",
        )),
    }
}
