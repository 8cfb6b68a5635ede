//! A second opinion on what bytes mean as requests: the rules once more, written down in another way, over whole texts.
//!
//! The guard reads as bytes arrive; this reads when all of them are there, by splitting and searching. Limits are the
//! configuration's defaults.

const HEAD_BYTES: usize = 32 * 1024;
const HEAD_FIELDS: usize = 100;

/// A request that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) body: Vec<u8>,
    /// Where it ends in the bytes that were read.
    pub(crate) end: usize,
}

/// What follows the last whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing, or the beginning of one that has no fault yet.
    Open,
    /// A request that must be refused.
    Refused,
}

/// What came of one request.
type Read<T> = Result<T, Stop>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Unfinished,
    Refused,
}
use Stop::{Refused, Unfinished};

/// Reads all requests of `bytes`.
pub(crate) fn read_all(bytes: &[u8]) -> (Vec<Request>, Rest) {
    let mut requests: Vec<Request> = Vec::new();
    loop {
        let start = requests.last().map_or(0, |request| request.end);
        match request(&bytes[start..]) {
            Ok(mut request) => {
                request.end += start;
                requests.push(request);
            }
            Err(Unfinished) => return (requests, Rest::Open),
            Err(Refused) => return (requests, Rest::Refused),
        }
    }
}

fn request(bytes: &[u8]) -> Read<Request> {
    if bytes.is_empty() || bytes == b"\r" {
        return Err(Unfinished);
    }
    let skipped = if bytes.starts_with(b"\r\n") { 2 } else { 0 };
    let (head, after) = head(&bytes[skipped..])?;
    let (line, fields) = match head.split_first() {
        Some((line, fields)) => (line, fields),
        None => return Err(Refused),
    };
    let (method, target, is_11) = request_line(line)?;
    let fields: Vec<(String, String)> =
        fields.iter().map(|line| field(line)).collect::<Read<_>>()?;
    check_fields(&fields, &target, is_11)?;
    let after = skipped + after;
    let coded = values(&fields, "transfer-encoding");
    let (body, length) = if coded.is_empty() {
        by_length(&bytes[after..], length(&fields)?)?
    } else {
        by_chunks(&bytes[after..])?
    };
    Ok(Request {
        method,
        target,
        body,
        end: after + length,
    })
}

/// The lines of a head, and where it ends.
fn head(bytes: &[u8]) -> Read<(Vec<String>, usize)> {
    match bytes.first() {
        None => return Err(Unfinished),
        Some(first) if is_token(&latin1(&[*first])) => {}
        _ => return Err(Refused),
    }
    let end = find(bytes, b"\r\n\r\n").map(|at| at + 4);
    let section = &bytes[..end.unwrap_or(bytes.len()).min(HEAD_BYTES)];
    let bare =
        (0..section.len()).any(|at| section[at] == b'\n' && (at == 0 || section[at - 1] != b'\r'));
    let lines: Vec<String> = split_lines(section);
    // The request line, the fields, and what the last line end leaves.
    let most = 1 + HEAD_FIELDS + if end.is_some() { 2 } else { 1 };
    if bare || lines.len() > most {
        return Err(Refused);
    }
    match end {
        Some(end) if end <= HEAD_BYTES => Ok((lines[..lines.len() - 2].to_vec(), end)),
        _ if bytes.len() >= HEAD_BYTES => Err(Refused),
        _ => Err(Unfinished),
    }
}

fn request_line(line: &str) -> Read<(String, String, bool)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else {
        return Err(Refused);
    };
    let is_11 = match version {
        "HTTP/1.1" => true,
        "HTTP/1.0" => false,
        _ => return Err(Refused),
    };
    if !is_token(method) || ["CONNECT", "TRACE"].contains(&method) {
        return Err(Refused);
    }
    Ok((method.to_owned(), target.to_owned(), is_11))
}

fn field(line: &str) -> Read<(String, String)> {
    let (name, value) = line.split_once(':').ok_or(Refused)?;
    let is_clean = value
        .chars()
        .all(|one| one == '\t' || (!one.is_ascii_control()));
    if !is_token(name) || !is_clean {
        return Err(Refused);
    }
    let value = value.trim_matches([' ', '\t']);
    Ok((name.to_ascii_lowercase(), value.to_owned()))
}

fn check_fields(fields: &[(String, String)], target: &str, is_11: bool) -> Read<()> {
    let hosts = values(fields, "host");
    let codings = values(fields, "transfer-encoding");
    let lengths = values(fields, "content-length");
    let expectations = values(fields, "expect");
    let options: Vec<String> = values(fields, "connection")
        .iter()
        .flat_map(|value| value.split(','))
        .map(|option| option.trim_matches([' ', '\t']).to_ascii_lowercase())
        .collect();
    let holds = [
        hosts.len() == 1 || (hosts.is_empty() && !is_11),
        hosts.iter().all(|host| is_host(host)),
        is_target(target, hosts.first().copied()),
        codings.is_empty() || (codings.len() == 1 && is_11 && lengths.is_empty()),
        codings
            .iter()
            .all(|coding| coding.eq_ignore_ascii_case("chunked")),
        lengths.len() <= 1,
        expectations.is_empty()
            || (expectations.len() == 1 && expectations[0].eq_ignore_ascii_case("100-continue")),
        options.len() <= 10,
        options
            .iter()
            .all(|option| option.is_empty() || is_token(option)),
        !options.iter().any(|option| is_for_the_engine(option)),
        !fields.iter().any(|(name, _)| {
            name.contains('_')
                && ["content-length", "transfer-encoding"].contains(&&*name.replace('_', "-"))
        }),
    ];
    length(fields)?;
    if holds.contains(&false) {
        Err(Refused)
    } else {
        Ok(())
    }
}

fn values<'a>(fields: &'a [(String, String)], name: &str) -> Vec<&'a str> {
    fields
        .iter()
        .filter(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
        .collect()
}

fn length(fields: &[(String, String)]) -> Read<u64> {
    let Some(text) = values(fields, "content-length").first().copied() else {
        return Ok(0);
    };
    let is_number =
        !text.is_empty() && text.len() <= 19 && text.chars().all(|one| one.is_ascii_digit());
    if is_number {
        Ok(text.parse().expect("19 digits fit"))
    } else {
        Err(Refused)
    }
}

fn by_length(bytes: &[u8], length: u64) -> Read<(Vec<u8>, usize)> {
    let length = usize::try_from(length).map_err(|_| Unfinished)?;
    let body = bytes.get(..length).ok_or(Unfinished)?;
    Ok((body.to_vec(), length))
}

fn by_chunks(bytes: &[u8]) -> Read<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        let Some(lf) = rest.iter().take(1024).position(|byte| *byte == b'\n') else {
            return Err(if rest.len() >= 1024 {
                Refused
            } else {
                Unfinished
            });
        };
        let line = latin1(&rest[..=lf]);
        let line = line.strip_suffix("\r\n").ok_or(Refused)?;
        let (size, extension) = match line.split_once(';') {
            Some((size, extension)) => (size.trim_end_matches([' ', '\t']), extension),
            None => (line, ""),
        };
        let is_size =
            (1..=16).contains(&size.len()) && size.chars().all(|one| one.is_ascii_hexdigit());
        if !is_size
            || extension
                .chars()
                .any(|one| one.is_ascii_control() && one != '\t')
        {
            return Err(Refused);
        }
        at += lf + 1;
        let size = u64::from_str_radix(size, 16).expect("16 digits fit");
        if size == 0 {
            return Ok((body, at + trailers(&bytes[at..])?));
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let data = bytes[at..].get(..size).ok_or(Unfinished)?;
        body.extend_from_slice(data);
        at += size;
        match &bytes[at..] {
            [] | [b'\r'] => return Err(Unfinished),
            [b'\r', b'\n', ..] => at += 2,
            _ => return Err(Refused),
        }
    }
}

/// Length of the trailers with their empty line.
fn trailers(bytes: &[u8]) -> Read<usize> {
    let end = if bytes.starts_with(b"\r\n") {
        Some(2)
    } else {
        find(bytes, b"\r\n\r\n").map(|at| at + 4)
    };
    let section = &bytes[..end.unwrap_or(bytes.len()).min(8 * 1024)];
    let bare =
        (0..section.len()).any(|at| section[at] == b'\n' && (at == 0 || section[at - 1] != b'\r'));
    // The fields, and what the last line end leaves.
    let most = HEAD_FIELDS + if end.is_some() { 2 } else { 1 };
    match end {
        _ if bare || split_lines(section).len() > most => return Err(Refused),
        Some(end) if end > 8 * 1024 => return Err(Refused),
        None if bytes.len() >= 8 * 1024 => return Err(Refused),
        _ => {}
    }
    let end = end.ok_or(Unfinished)?;
    for line in split_lines(section).iter().filter(|line| !line.is_empty()) {
        let (name, _) = field(line)?;
        let name = name.replace('_', "-");
        let is_of_the_connection = [
            "connection",
            "http2-settings",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "upgrade",
        ]
        .contains(&&*name);
        if is_of_the_connection || is_for_the_engine(&name) {
            return Err(Refused);
        }
    }
    Ok(end)
}

/// Fields that no option of Connection and no trailer may be.
fn is_for_the_engine(name: &str) -> bool {
    let name = name.replace('_', "-");
    let families = "accept access-control- anthropic- content- if- openai- x-forwarded-";
    let names = "age api-key authorization cache-control cookie date expect forwarded from host \
                 idempotency-key max-forwards origin pragma prefer priority range referer set-cookie \
                 traceparent tracestate transfer-encoding user-agent vary via www-authenticate x-api-key \
                 x-real-ip x-request-id";
    families
        .split_whitespace()
        .any(|family| name.starts_with(family))
        || names.split_whitespace().any(|known| name == known)
}

fn is_target(target: &str, host: Option<&str>) -> bool {
    let is_clean = target
        .chars()
        .all(|one| one > ' ' && one != '\x7f' && !"#<>".contains(one));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let bytes: Vec<u8> = target
        .chars()
        .map(|one| u8::try_from(one).expect("Latin-1"))
        .collect();
    if !is_clean || path.contains('`') || query.contains('"') || String::from_utf8(bytes).is_err() {
        return false;
    }
    if target.starts_with('/') {
        return true;
    }
    let lower = target.to_ascii_lowercase();
    let Some(scheme) = ["http://", "https://"]
        .iter()
        .find(|scheme| lower.starts_with(*scheme))
    else {
        return false;
    };
    let authority = target[scheme.len()..]
        .split(['/', '?'])
        .next()
        .unwrap_or("");
    !authority.is_empty() && host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
}

fn is_host(host: &str) -> bool {
    let is_port = |port: &str| port.chars().all(|one| one.is_ascii_digit());
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, rest)) = rest.split_once(']') else {
            return false;
        };
        let is_address = |one: char| one.is_ascii_alphanumeric() || ":.-_~".contains(one);
        return !address.is_empty()
            && address.chars().all(is_address)
            && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = match host.split_once(':') {
        Some(("", _)) => return false,
        Some((name, port)) => (name, port),
        None => (host, ""),
    };
    let is_name = |one: char| one.is_ascii_alphanumeric() || "-._~%!$&'()*+;=".contains(one);
    name.chars().all(is_name) && is_port(port)
}

fn is_token(text: &str) -> bool {
    let is_token = |one: char| one.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(one);
    !text.is_empty() && text.chars().all(is_token)
}

fn split_lines(section: &[u8]) -> Vec<String> {
    latin1(section).split("\r\n").map(str::to_owned).collect()
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
