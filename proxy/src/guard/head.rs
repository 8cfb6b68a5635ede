//! A request's head: the request line, and what the head as a whole says of its body.

use super::classes::{self, PATH, QUERY, TOKEN};
use super::fields::Fields;
use super::lines::{Lines, split_once};
use super::{Fault, fields};
use memchr::memrchr;

/// Longest target that hyper takes, in bytes.
const TARGET_BYTES: usize = 65_534;

/// How a body's end is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// By its length in bytes; 0 without any field.
    Length(u64),
    Chunked,
}

/// What a whole head that has no fault says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) framing: Framing,
    /// It asks to speak something else afterwards.
    pub(super) upgrade: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Http10,
    Http11,
}

struct RequestLine<'a> {
    /// Of a target in absolute form.
    authority: Option<&'a [u8]>,
    version: Version,
}

/// Reads a whole head, from the request line to the empty line.
pub(super) fn read(section: &[u8]) -> Result<Head, Fault> {
    let mut lines = Lines(section);
    let request = request_line(lines.next().ok_or(Fault::RequestLine)?)?;
    let mut fields = Fields::default();
    for line in lines {
        fields.push(line)?;
    }
    check_host(&fields, &request)?;
    Ok(Head {
        framing: framing(&fields, request.version)?,
        upgrade: fields.upgrade,
    })
}

fn request_line(line: &[u8]) -> Result<RequestLine<'_>, Fault> {
    let (method, rest) = split_once(line, b' ').ok_or(Fault::RequestLine)?;
    let before_version = memrchr(b' ', rest).ok_or(Fault::RequestLine)?;
    let (target, version) = rest.split_at(before_version);
    if method.is_empty() || !classes::all(method, TOKEN) {
        return Err(Fault::Method);
    }
    if matches!(method, b"CONNECT" | b"TRACE") {
        return Err(Fault::MethodRefused);
    }
    let authority = authority(target)?;
    let version = match version {
        b" HTTP/1.1" => Version::Http11,
        b" HTTP/1.0" => Version::Http10,
        [b' ', b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            return Err(Fault::Version);
        }
        _ => return Err(Fault::RequestLine),
    };
    Ok(RequestLine { authority, version })
}

/// Checks a target; returns the authority of one in absolute form.
fn authority(target: &[u8]) -> Result<Option<&[u8]>, Fault> {
    if target.len() > TARGET_BYTES {
        return Err(Fault::TargetTooLong(TARGET_BYTES));
    }
    let (authority, rest) = if target.starts_with(b"/") {
        (None, target)
    } else {
        let after_scheme = after_scheme(target).ok_or(Fault::Target)?;
        let path_at = after_scheme
            .iter()
            .position(|byte| matches!(byte, b'/' | b'?'))
            .unwrap_or(after_scheme.len());
        let (authority, rest) = after_scheme.split_at(path_at);
        (Some(authority), rest)
    };
    let (path, query) = split_once(rest, b'?').unwrap_or((rest, b""));
    let is_clean = classes::all(path, PATH) && classes::all(query, QUERY);
    if is_clean && (target.is_ascii() || std::str::from_utf8(target).is_ok()) {
        Ok(authority)
    } else {
        Err(Fault::Target)
    }
}

fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    [&b"http://"[..], b"https://"].iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

fn check_host(fields: &Fields<'_>, request: &RequestLine<'_>) -> Result<(), Fault> {
    let Some(host) = fields.host else {
        return match request {
            RequestLine {
                version: Version::Http11,
                ..
            } => Err(Fault::HostCount),
            RequestLine {
                authority: Some(_), ..
            } => Err(Fault::Authority),
            RequestLine { .. } => Ok(()),
        };
    };
    if !fields::is_host(host) {
        return Err(Fault::Host);
    }
    match request.authority {
        Some(b"") => Err(Fault::Authority),
        Some(authority) if !authority.eq_ignore_ascii_case(host) => Err(Fault::Authority),
        Some(_) | None => Ok(()),
    }
}

fn framing(fields: &Fields<'_>, version: Version) -> Result<Framing, Fault> {
    match (fields.chunked, fields.length, version) {
        (true, None, Version::Http11) => Ok(Framing::Chunked),
        (true, _, _) => Err(Fault::Coding),
        (false, length, _) => Ok(Framing::Length(length.unwrap_or(0))),
    }
}
