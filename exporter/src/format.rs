//! Which form of the exposition a scraper gets.
//!
//! Rule (RFC 9110, 12.5.1): each form's quality is that of the most specific range that names it, the highest quality wins,
//! and at equal quality the richer form. Two departures: a wildcard alone never brings anything but the plain text form,
//! since who sends one is a person or a probe; and a request that accepts nothing we have gets plain text, not 406, as
//! every Prometheus client does.

use mediatype::{MediaType, MediaTypeList, ReadParams, names};

/// A form of the exposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Prometheus protobuf, length-delimited: the only form that carries native histograms.
    Protobuf,
    /// OpenMetrics text 1.0.0.
    OpenMetrics1,
    /// OpenMetrics text 0.0.1, of older Prometheus; the same bytes.
    OpenMetrics0,
    /// Prometheus text 0.0.4.
    Text,
}

/// Quality in thousandths.
type Quality = u16;

const BEST: Quality = 1000;

/// How closely a range names a form; a closer one overrides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Closeness {
    Anything,
    Type,
    Subtype,
    Version,
}

/// The form that fits an `Accept` header best; [`Format::Text`] if none does or none was sent.
///
/// Several `Accept` lines are one header, joined by commas.
pub fn negotiate(accept: Option<&str>) -> Format {
    let ranges: Vec<(MediaType<'_>, Quality)> = MediaTypeList::new(accept.unwrap_or("*/*"))
        .flatten()
        .filter_map(|range| quality(&range).map(|quality| (range, quality)))
        .collect();
    let mut best = (Format::Text, 0);
    for format in Format::RICHEST_FIRST {
        let named = ranges
            .iter()
            .filter_map(|(range, quality)| format.named_by(range).map(|how| (how, *quality)))
            .max();
        match named {
            Some((_, quality)) if quality > best.1 => best = (format, quality),
            _ => {}
        }
    }
    best.0
}

/// `None` if the quality can't be read: then the range doesn't count.
fn quality(range: &MediaType<'_>) -> Option<Quality> {
    let Some(written) = range.get_param(names::Q) else {
        return Some(BEST);
    };
    let written = written.unquoted_str();
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: Quality = format!("{fraction:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(BEST),
        _ => None,
    }
}

impl Format {
    const RICHEST_FIRST: [Self; 4] = [
        Self::Protobuf,
        Self::OpenMetrics1,
        Self::OpenMetrics0,
        Self::Text,
    ];

    /// The value of `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
            Self::OpenMetrics1 => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::OpenMetrics0 => "application/openmetrics-text; version=0.0.1; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// How closely `range` names this form; `None` if it doesn't.
    fn named_by(self, range: &MediaType<'_>) -> Option<Closeness> {
        let kind = format!("{}/{}", range.ty, range.subty).to_ascii_lowercase();
        let suffix = range.suffix.map_or("", |suffix| suffix.as_str());
        match (self, kind.as_str(), suffix) {
            (Self::Text, "*/*", "") => Some(Closeness::Anything),
            (Self::Text, "text/*", "") => Some(Closeness::Type),
            (Self::Text, "text/plain", "") => version(range, "0.0.4"),
            (Self::OpenMetrics1, "application/openmetrics-text", "") => version(range, "1.0.0"),
            (Self::OpenMetrics0, "application/openmetrics-text", "") => version(range, "0.0.1"),
            (Self::Protobuf, "application/vnd.google.protobuf", "") => {
                let proto = says(range, "proto", "io.prometheus.client.MetricFamily");
                (proto && says(range, "encoding", "delimited")).then_some(Closeness::Version)
            }
            _ => None,
        }
    }
}

/// A range without a version names every version of its type.
fn version(range: &MediaType<'_>, ours: &str) -> Option<Closeness> {
    if says(range, "version", ours) {
        return Some(Closeness::Version);
    }
    let unstated =
        mediatype::Name::new("version").is_none_or(|name| range.get_param(name).is_none());
    unstated.then_some(Closeness::Subtype)
}

fn says(range: &MediaType<'_>, parameter: &str, ours: &str) -> bool {
    mediatype::Name::new(parameter)
        .and_then(|name| range.get_param(name))
        .is_some_and(|value| value.unquoted_str() == ours)
}

#[cfg(test)]
mod tests;
