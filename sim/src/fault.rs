//! Faults on request: the header `x-sim-fault` names what shall go wrong, so that a proxy passes the wish on unchanged.
//!
//! The value is a list, `name[=argument]` each, divided by commas; the header may be repeated. `K` counts tokens written
//! over all choices, `MS` is in milliseconds, `N` in bytes.
//!
//! | fault | what happens | how |
//! |---|---|---|
//! | `status=CODE` | answered with that status (400 … 599) and the engine's error object; 429 and 503 with `retry-after: 1` | |
//! | `early-413` | 413 as soon as the head is read, the body is left unread | |
//! | `slow-read=MS` | so long a pause before each piece of the request's body is read | |
//! | `delay-head=MS` | so long a pause between the request and the response head | |
//! | `early-hints` | a 103 goes before the response head | by the socket's wrapper: hyper writes no 103 |
//! | `die-before-head` | the request is read, then the connection is closed | an error of the handler |
//! | `reset-before-head` | the same with RST | as above; the wrapper sets `SO_LINGER` 0 (TCP only) |
//! | `hang-before-head` | the request is read, then nothing | |
//! | `die=K` | the connection is closed after K tokens, no closing chunk | an error of the body, once K tokens are written |
//! | `die-in-event=K` | half of the event after K tokens is written, then the connection is closed | by the wrapper |
//! | `reset=K` | RST after K tokens | as `die`, with `SO_LINGER` 0 |
//! | `hang=K` | nothing after K tokens, the connection stays open | |
//! | `stall=K:MS` | so long a pause after K tokens; what the engine generates meanwhile comes as one event | |
//! | `error-event=K` | after K tokens an error event, what the engine lets follow it, and an orderly end. trtllm-serve, vLLM's `/v1/responses` and Triton's OpenAI routes have none: there the stream breaks off | |
//! | `error-event-cut=K` | the same without an end mark | |
//! | `error-shape=SHAPE` | how that event looks, if not as the engine's own: `vllm`, `sglang`, `tgi`, `text` (`{"error":"…"}`), then `[DONE]` | |
//! | `no-usage` | no usage chunk, although asked for | |
//! | `no-done` | no `[DONE]`, or whatever event has nothing to say but that the answer has ended | |
//! | `early-role` | role chunks with the head, long before a token | |
//! | `comments` | the engine's comment before each event (`: keep-alive` where it has none, nothing in NDJSON) | |
//! | `keep-alive=MS` | the comment whenever nothing came for so long | |
//! | `crlf`, `cr` | these line ends instead of LF | |
//! | `coalesce=K` | K events share one chunk, as if something above the engine buffered | |
//! | `drip=N` | each chunk holds N bytes of an event, a millisecond apart | |
//! | `giant-event=N` | the second token's event is padded to N bytes | |
//! | `gzip` | the stream is compressed, flushed after each event | |
//! | `http10` | answered in HTTP/1.0: only the close ends the body | hyper, told the version |
//! | `close-on-reuse` | the connection is closed at the first byte of another request | by the wrapper |
//!
//! Of an answer that is one JSON body, `K` counts as reached before the head: `die`, `reset` and `hang` act there, error
//! events become status 500, and what shapes streams does nothing.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use http::StatusCode;

/// The header's name.
pub const FAULT_HEADER: &str = "x-sim-fault";

/// Largest `giant-event`, in bytes.
const GIANT_BYTES: usize = 16 << 20;

/// Everything that shall go wrong with one exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    pub(crate) instead: Option<Instead>,
    pub(crate) slow_read: Option<Duration>,
    pub(crate) delay_head: Option<Duration>,
    pub(crate) early_hints: bool,
    /// What happens after so many tokens.
    pub(crate) midway: Option<(u64, Midway)>,
    pub(crate) error_shape: ErrorShape,
    pub(crate) no_usage: bool,
    pub(crate) no_done: bool,
    pub(crate) early_role: bool,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) giant_event: Option<usize>,
    pub(crate) http10: bool,
    pub(crate) close_on_reuse: bool,
    pub(crate) dress: Dress,
}

/// What comes instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    Status(StatusCode),
    EarlyTooLarge,
    Die,
    Reset,
    Hang,
}

/// What happens in the middle of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Midway {
    Die,
    DieInEvent,
    Reset,
    Hang,
    Stall(Duration),
    ErrorEvent,
    ErrorEventCut,
}

/// Whose error object an error event shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ErrorShape {
    /// That of the engine that is played.
    #[default]
    Own,
    Vllm,
    Sglang,
    Tgi,
    Text,
}

/// What is done to the bytes of a stream on their way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dress {
    pub(crate) comments: bool,
    pub(crate) line_end: LineEnd,
    pub(crate) coalesce: NonZeroU32,
    pub(crate) drip: Option<NonZeroUsize>,
    pub(crate) gzip: bool,
}

/// How lines end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LineEnd {
    #[default]
    Lf,
    CrLf,
    Cr,
}

/// A value of `x-sim-fault` that says nothing known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "x-sim-fault: {0:?} is no fault or lacks its argument; see the simulator's `fault` module for all of them"
)]
pub struct UnknownFault(String);

impl Default for Dress {
    fn default() -> Self {
        Self {
            comments: false,
            line_end: LineEnd::Lf,
            coalesce: NonZeroU32::MIN,
            drip: None,
            gzip: false,
        }
    }
}

impl Faults {
    /// Reads the header's values, joined by commas.
    pub(crate) fn parse(list: &str) -> Result<Self, UnknownFault> {
        let mut faults = Self::default();
        for item in list
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let (name, argument) = item.split_once('=').unwrap_or((item, ""));
            faults
                .set(name.trim(), argument.trim())
                .ok_or_else(|| UnknownFault(item.to_owned()))?;
        }
        Ok(faults)
    }

    /// `None` if there is no such fault, or not with such an argument.
    fn set(&mut self, name: &str, argument: &str) -> Option<()> {
        if argument.is_empty() {
            return self.set_plain(name);
        }
        match name {
            "status" => self.instead = Some(Instead::Status(error_status(argument)?)),
            "slow-read" => self.slow_read = Some(millis(argument)?),
            "delay-head" => self.delay_head = Some(millis(argument)?),
            "keep-alive" => self.keep_alive = Some(pause_between(argument)?),
            "giant-event" => self.giant_event = Some(giant_bytes(argument)?),
            "coalesce" => self.dress.coalesce = argument.parse().ok()?,
            "drip" => self.dress.drip = Some(argument.parse().ok()?),
            "error-shape" => self.error_shape = ErrorShape::parse(argument)?,
            "stall" => {
                let (after, pause) = argument.split_once(':')?;
                self.midway = Some((after.parse().ok()?, Midway::Stall(millis(pause)?)));
            }
            _ => self.midway = Some((argument.parse().ok()?, Midway::parse(name)?)),
        }
        Some(())
    }

    fn set_plain(&mut self, name: &str) -> Option<()> {
        match name {
            "early-413" => self.instead = Some(Instead::EarlyTooLarge),
            "die-before-head" => self.instead = Some(Instead::Die),
            "reset-before-head" => self.instead = Some(Instead::Reset),
            "hang-before-head" => self.instead = Some(Instead::Hang),
            "early-hints" => self.early_hints = true,
            "no-usage" => self.no_usage = true,
            "no-done" => self.no_done = true,
            "early-role" => self.early_role = true,
            "http10" => self.http10 = true,
            "close-on-reuse" => self.close_on_reuse = true,
            "comments" => self.dress.comments = true,
            "crlf" => self.dress.line_end = LineEnd::CrLf,
            "cr" => self.dress.line_end = LineEnd::Cr,
            "gzip" => self.dress.gzip = true,
            _ => return None,
        }
        Some(())
    }
}

impl Midway {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "die" => Self::Die,
            "die-in-event" => Self::DieInEvent,
            "reset" => Self::Reset,
            "hang" => Self::Hang,
            "error-event" => Self::ErrorEvent,
            "error-event-cut" => Self::ErrorEventCut,
            _ => return None,
        })
    }
}

impl ErrorShape {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "vllm" => Self::Vllm,
            "sglang" => Self::Sglang,
            "tgi" => Self::Tgi,
            "text" => Self::Text,
            _ => return None,
        })
    }
}

fn error_status(argument: &str) -> Option<StatusCode> {
    argument
        .parse()
        .ok()
        .filter(|status: &StatusCode| status.is_client_error() || status.is_server_error())
}

/// A pause of nothing between comments would be an endless stream of them.
fn pause_between(argument: &str) -> Option<Duration> {
    millis(argument).filter(|pause| !pause.is_zero())
}

fn giant_bytes(argument: &str) -> Option<usize> {
    argument.parse().ok().filter(|bytes| *bytes <= GIANT_BYTES)
}

fn millis(argument: &str) -> Option<Duration> {
    argument.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, change: impl FnOnce(&mut Faults)) {
        let mut expected = Faults::default();
        change(&mut expected);
        assert_eq!(Faults::parse(list), Ok(expected), "{list}");
    }

    #[test]
    fn lists_are_read() {
        check("", |_| {});
        check(" , ", |_| {});
        check("die=3", |faults| faults.midway = Some((3, Midway::Die)));
        check("crlf , comments", |faults| {
            faults.dress.line_end = LineEnd::CrLf;
            faults.dress.comments = true;
        });
        check("stall=2:40,no-done", |faults| {
            faults.midway = Some((2, Midway::Stall(Duration::from_millis(40))));
            faults.no_done = true;
        });
        check("status=429", |faults| {
            faults.instead = Some(Instead::Status(StatusCode::TOO_MANY_REQUESTS));
        });
    }

    #[test]
    fn what_says_nothing_known_is_named() {
        for item in [
            "dye",
            "die",
            "die=",
            "die=x",
            "crlf=1",
            "status=200",
            "stall=2",
            "coalesce=0",
            "drip=0",
            "giant-event=99999999999",
            "error-shape=ours",
            "hang-before-head=1",
            "keep-alive=0",
        ] {
            let error = Faults::parse(&format!("comments,{item}")).expect_err(item);
            assert_eq!(error, UnknownFault(item.to_owned()));
            assert!(error.to_string().contains(item), "{error}");
        }
    }
}
