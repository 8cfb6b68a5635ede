//! What can be wrong with a request's bytes: the answer to it, and the name it is counted under.
//!
//! No message repeats a byte of the request.

use http::StatusCode;
use measure::End;
use std::time::Duration;

/// Why a request is refused by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// A line that does not end in CR LF.
    #[error("a line of the request's head or chunks ends in something other than CR LF")]
    LineEnd,
    /// Not `method SP target SP version`.
    #[error("this is no HTTP/1 request line: method, target and version, one space between them")]
    RequestLine,
    /// The method holds bytes that no token has.
    #[error("the method is not a token")]
    Method,
    /// A method that makes tunnels or echoes credentials.
    #[error("CONNECT and TRACE are not passed on by this proxy")]
    MethodRefused,
    /// Neither a path nor an absolute `http` address, or bytes that no target may hold.
    #[error(
        "the request's target must be a path, or an absolute http address, with everything else percent-encoded"
    )]
    Target,
    /// A version of HTTP that is not spoken here as text.
    #[error("the version must be HTTP/1.1 or HTTP/1.0")]
    Version,
    /// No `name: value`, or continued from the line before.
    #[error("a field line must be a name, a colon at once, and a value on the same line")]
    FieldLine,
    /// Control bytes in a value.
    #[error("a field's value holds control bytes")]
    FieldValue,
    /// A name that some parsers take for a framing field.
    #[error("a field's name is that of a framing field with `_` for `-`")]
    FramingAlias,
    /// None in HTTP/1.1, or several.
    #[error("a request must have one Host field")]
    HostCount,
    /// Not a host with an optional port.
    #[error("the Host field must be a host with an optional port")]
    Host,
    /// The target names another server than Host.
    #[error("the target's authority is not that of the Host field")]
    Authority,
    /// More than one line, or not a plain number.
    #[error("Content-Length must stand once, as 1 to 19 digits")]
    Length,
    /// Not `chunked`, more than one line, in HTTP/1.0, or beside a length.
    #[error(
        "Transfer-Encoding must stand once, as chunked, in HTTP/1.1 and without Content-Length"
    )]
    Coding,
    /// A coding under `chunked`.
    #[error("no transfer coding but chunked is known here")]
    UnknownCoding,
    /// Something other than `100-continue`.
    #[error("the only expectation that is known here is 100-continue")]
    Expectation,
    /// Not tokens, or too many.
    #[error("the Connection field must name at most 10 options")]
    Options,
    /// An option that is the name of an end-to-end field.
    #[error("the Connection field names a field that is meant for the engine")]
    Nominated,
    /// Larger than the limit.
    #[error("the request's head is larger than {0} bytes (limits.head_bytes)")]
    HeadTooLarge(usize),
    /// More fields than the limit.
    #[error("the request's head has more than {0} fields (limits.head_fields)")]
    TooManyFields(usize),
    /// The target alone is longer than any can be.
    #[error("the request's target is longer than {0} bytes")]
    TargetTooLong(usize),
    /// Its last byte took too long after its first.
    #[error("the request's head was not complete in time (limits.head_timeout)")]
    HeadTimeout,
    /// Not 1 to 16 hexadecimal digits.
    #[error("a chunk must begin with its size, 1 to 16 hexadecimal digits")]
    ChunkSize,
    /// Not `;` and what follows it.
    #[error("after a chunk's size only an extension may follow")]
    ChunkExtension,
    /// The line is too long, or all extensions together.
    #[error("a chunk's line is too long")]
    ChunkLineTooLong,
    /// The data are not followed by CR LF.
    #[error("a chunk's data must be as long as its size says, and end in CR LF")]
    ChunkEnd,
    /// A field that must not come after the body.
    #[error("a trailer must not be a field of framing, routing, authentication or content")]
    TrailerField,
    /// Too many bytes or fields.
    #[error("the trailers are too large")]
    TrailersTooLarge,
    /// Its next byte took too long.
    #[error("no byte of the request's body came for {0:?} (limits.body_pause)")]
    BodyPause(Duration),
    /// Its bytes come too slowly, over a minute.
    #[error("the request's body came slower than {0} bytes a second (limits.body_rate)")]
    BodyRate(u64),
    /// Frames of HTTP/2 that carry nothing, faster than the limit.
    #[error("more than {0} frames a second that carry no request (limits.http2_control_frames)")]
    ControlFrames(u32),
    /// Requests on one connection of HTTP/2, faster than the limit.
    #[error("more than {0} requests a second on one connection (limits.http2_new_streams)")]
    NewStreams(u32),
}

impl Fault {
    /// Every code, for series that exist before they happen.
    pub(crate) const CODES: [&'static str; 18] = [
        "bad_line_end",
        "bad_request_line",
        "method_not_allowed",
        "bad_target",
        "bad_version",
        "bad_field",
        "bad_host",
        "bad_framing",
        "unknown_coding",
        "bad_expectation",
        "bad_connection",
        "head_too_large",
        "head_timeout",
        "bad_chunk",
        "bad_trailer",
        "body_timeout",
        "http2_control_frames",
        "http2_new_streams",
    ];

    /// Machine-readable, one of [`Self::CODES`].
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::LineEnd => "bad_line_end",
            Self::RequestLine | Self::Method => "bad_request_line",
            Self::MethodRefused => "method_not_allowed",
            Self::Target => "bad_target",
            Self::Version => "bad_version",
            Self::FieldLine | Self::FieldValue => "bad_field",
            Self::HostCount | Self::Host | Self::Authority => "bad_host",
            Self::FramingAlias | Self::Length | Self::Coding => "bad_framing",
            Self::UnknownCoding => "unknown_coding",
            Self::Expectation => "bad_expectation",
            Self::Options | Self::Nominated => "bad_connection",
            Self::HeadTooLarge(_) | Self::TooManyFields(_) | Self::TargetTooLong(_) => {
                "head_too_large"
            }
            Self::HeadTimeout => "head_timeout",
            Self::ChunkSize | Self::ChunkExtension | Self::ChunkLineTooLong | Self::ChunkEnd => {
                "bad_chunk"
            }
            Self::TrailerField | Self::TrailersTooLarge => "bad_trailer",
            Self::BodyPause(_) | Self::BodyRate(_) => "body_timeout",
            Self::ControlFrames(_) => "http2_control_frames",
            Self::NewStreams(_) => "http2_new_streams",
        }
    }

    /// The answer's status.
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::MethodRefused => StatusCode::METHOD_NOT_ALLOWED,
            Self::HeadTimeout | Self::BodyPause(_) | Self::BodyRate(_) => {
                StatusCode::REQUEST_TIMEOUT
            }
            Self::Expectation => StatusCode::EXPECTATION_FAILED,
            Self::HeadTooLarge(_) | Self::TooManyFields(_) | Self::TargetTooLong(_) => {
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            }
            Self::ControlFrames(_) | Self::NewStreams(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::UnknownCoding => StatusCode::NOT_IMPLEMENTED,
            Self::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// How an exchange ends that it ends.
    pub(crate) const fn end(self) -> End {
        match self {
            Self::HeadTooLarge(_)
            | Self::TooManyFields(_)
            | Self::TargetTooLong(_)
            | Self::HeadTimeout
            | Self::ChunkLineTooLong
            | Self::TrailersTooLarge
            | Self::BodyPause(_)
            | Self::BodyRate(_)
            | Self::ControlFrames(_)
            | Self::NewStreams(_) => End::RejectedLimit,
            _ => End::RejectedMalformed,
        }
    }
}
