//! The port of an address, or consecutive ports: `8000` or `8000-8003`, both ends included.

use std::ops::RangeInclusive;

use crate::fault::{Code, Complaint};

/// Most ports of one range: each has its metrics, its connections and its probes.
pub(crate) const PORTS_MAX: u16 = 16;

/// The two ends in `text`, if it is of the form of a range.
pub(crate) fn ends(text: &str) -> Option<(&str, &str)> {
    text.split_once('-')
}

/// The ports of a range.
pub(crate) fn parse((first, last): (&str, &str)) -> Result<RangeInclusive<u16>, Complaint> {
    let (Some(first), Some(last)) = (port(first), port(last)) else {
        return Err(Complaint::value(
            "not a range of ports",
            "write FIRST-LAST, for example 8000-8003, of ports from 1 to 65535",
        ));
    };
    let more = last.checked_sub(first).filter(|more| *more > 0);
    let Some(more) = more else {
        return Err(Complaint::value(
            "a range of ports that does not ascend",
            "write the lower port first, or one port alone",
        ));
    };
    if more >= PORTS_MAX {
        return Err(Complaint::new(
            Code::Range,
            format!("a range of {} ports", u32::from(more) + 1),
            format!("give at most {PORTS_MAX} ports, or run several proxies"),
        ));
    }
    Ok(first..=last)
}

fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0)
}

/// What begins with `first`, as [`parse`] takes it back; `last` is the port of the last of several.
pub(crate) fn show(first: String, last: Option<u16>) -> String {
    match last {
        Some(last) => format!("{first}-{last}"),
        None => first,
    }
}
