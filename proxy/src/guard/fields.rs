//! Field lines, and the fields that decide what a message is.

use super::Fault;
use super::classes::{self, ADDRESS, HOST, TOKEN, VALUE};
use super::lines::{split_once, trim};

/// Most options of all Connection fields together.
const OPTIONS: usize = 10;

/// Fields that are meant for the engine, besides those of [`END_TO_END_FAMILIES`]: naming one in Connection would take it
/// off the request on the way. All of them are lower case.
const END_TO_END: [&[u8]; 29] = [
    b"age",
    b"api-key",
    b"authorization",
    b"cache-control",
    b"cookie",
    b"date",
    b"expect",
    b"forwarded",
    b"from",
    b"host",
    b"idempotency-key",
    b"max-forwards",
    b"origin",
    b"pragma",
    b"prefer",
    b"priority",
    b"range",
    b"referer",
    b"set-cookie",
    b"traceparent",
    b"tracestate",
    b"transfer-encoding",
    b"user-agent",
    b"vary",
    b"via",
    b"www-authenticate",
    b"x-api-key",
    b"x-real-ip",
    b"x-request-id",
];

/// Beginnings of names that are all meant for the engine.
const END_TO_END_FAMILIES: [&[u8]; 7] = [
    b"accept",
    b"access-control-",
    b"anthropic-",
    b"content-",
    b"if-",
    b"openai-",
    b"x-forwarded-",
];

/// Fields of one connection: none of them may come as a trailer either.
const OF_THE_CONNECTION: [&[u8]; 9] = [
    b"connection",
    b"http2-settings",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"upgrade",
];

/// What a head's fields have said so far.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) host: Option<&'a [u8]>,
    pub(super) length: Option<u64>,
    pub(super) chunked: bool,
    pub(super) upgrade: bool,
    expects: bool,
    options: usize,
}

impl<'a> Fields<'a> {
    /// Takes the next field line, without its end.
    pub(super) fn push(&mut self, line: &'a [u8]) -> Result<(), Fault> {
        let (name, value) = field(line)?;
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is(b"host") => once(self.host.replace(value).is_none(), Fault::HostCount),
            6 if is(b"expect") => self.expect(value),
            7 if is(b"upgrade") => {
                self.upgrade = true;
                Ok(())
            }
            10 if is(b"connection") => self.connection(value),
            14 if is_framing(name, b"content-length")? => {
                let length = length(value).ok_or(Fault::Length)?;
                once(self.length.replace(length).is_none(), Fault::Length)
            }
            17 if is_framing(name, b"transfer-encoding")? => {
                check_coding(value)?;
                once(!std::mem::replace(&mut self.chunked, true), Fault::Coding)
            }
            _ => Ok(()),
        }
    }

    /// The token is compared without case, as RFC 9110 10.1.1 says.
    fn expect(&mut self, value: &[u8]) -> Result<(), Fault> {
        let is_known = value.eq_ignore_ascii_case(b"100-continue");
        once(
            is_known && !std::mem::replace(&mut self.expects, true),
            Fault::Expectation,
        )
    }

    /// Empty elements of a list say nothing (RFC 9110 5.6.1.2); they count against the limit.
    fn connection(&mut self, value: &[u8]) -> Result<(), Fault> {
        for option in value.split(|byte| *byte == b',').map(trim) {
            self.options += 1;
            if self.options > OPTIONS || !classes::all(option, TOKEN) {
                return Err(Fault::Options);
            }
            if is_end_to_end(option) {
                return Err(Fault::Nominated);
            }
        }
        Ok(())
    }
}

fn once(holds: bool, fault: Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(fault) }
}

/// Name and value of a field line. A line that continues the one before begins with white space, which is no name.
pub(super) fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let (name, rest) = classes::split(line, TOKEN);
    let value = rest.strip_prefix(b":").ok_or(Fault::FieldLine)?;
    if name.is_empty() {
        return Err(Fault::FieldLine);
    }
    if !classes::all(value, VALUE) {
        return Err(Fault::FieldValue);
    }
    Ok((name, trim(value)))
}

/// Checks a line of a trailer section.
pub(super) fn check_trailer(line: &[u8]) -> Result<(), Fault> {
    let (name, _) = field(line)?;
    let is_of_the_connection = OF_THE_CONNECTION
        .iter()
        .any(|known| is_read_as(name, known));
    once(
        !is_of_the_connection && !is_end_to_end(name),
        Fault::TrailerField,
    )
}

/// Whether `name` is the framing field `known`; a fault if only some parsers would say so.
fn is_framing(name: &[u8], known: &[u8]) -> Result<bool, Fault> {
    if name.eq_ignore_ascii_case(known) {
        return Ok(true);
    }
    once(!is_read_as(name, known), Fault::FramingAlias).map(|()| false)
}

fn is_end_to_end(name: &[u8]) -> bool {
    END_TO_END.iter().any(|known| is_read_as(name, known))
        || END_TO_END_FAMILIES.iter().any(|family| {
            name.get(..family.len())
                .is_some_and(|start| is_read_as(start, family))
        })
}

/// Equal where case does not count and `_` is read as `-`, as the servers behind gateways of the CGI kind do.
fn is_read_as(name: &[u8], known: &[u8]) -> bool {
    let read = |byte: u8| match byte {
        b'_' => b'-',
        other => other.to_ascii_lowercase(),
    };
    name.len() == known.len()
        && name
            .iter()
            .zip(known)
            .all(|(byte, known)| read(*byte) == *known)
}

/// A host with an optional port, without userinfo; or nothing, which a request for no host in particular may say.
pub(super) fn is_host(value: &[u8]) -> bool {
    let is_port = |port: &[u8]| port.iter().all(u8::is_ascii_digit);
    if let Some(bracketed) = value.strip_prefix(b"[") {
        return split_once(bracketed, b']').is_some_and(|(address, rest)| {
            !address.is_empty()
                && classes::all(address, ADDRESS)
                && (rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port))
        });
    }
    match split_once(value, b':') {
        Some((host, port)) => !host.is_empty() && classes::all(host, HOST) && is_port(port),
        None => classes::all(value, HOST),
    }
}

/// Nineteen digits always fit into 64 bits.
fn length(value: &[u8]) -> Option<u64> {
    let is_number = (1..=19).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| {
        value
            .iter()
            .fold(0, |length, digit| length * 10 + u64::from(digit - b'0'))
    })
}

/// `chunked`, and nothing with it. A list that would be legal elsewhere is told apart from one that is not.
fn check_coding(value: &[u8]) -> Result<(), Fault> {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let is_chunked = |coding: &&[u8]| coding.eq_ignore_ascii_case(b"chunked");
    let codings: Vec<&[u8]> = value.split(|byte| *byte == b',').map(trim).collect();
    let are_tokens = codings
        .iter()
        .all(|coding| !coding.is_empty() && classes::all(coding, TOKEN));
    let is_last = codings.last().is_some_and(is_chunked);
    let stands_once = codings.iter().filter(|coding| is_chunked(coding)).count() == 1;
    if are_tokens && is_last && stands_once {
        Err(Fault::UnknownCoding)
    } else {
        Err(Fault::Coding)
    }
}
