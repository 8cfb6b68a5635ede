//! From how an exchange ended and what its answer said to one outcome.
//!
//! Total: every combination has exactly one outcome. The order of the questions is the definition:
//!
//! 1. Did we refuse it, or never reach the engine? Then nothing that came back counts.
//! 2. Did the engine answer with a status of 400 or more? Then that is the outcome, however the body ended.
//! 3. Did it end a gRPC call with a status that is not OK? Then that is it: see the table below.
//! 4. Did an error object come inside a good status? Then that is it, whatever follows: end marks do follow errors.
//! 5. Else the way it ended decides, and for a whole body the terminal mark.
//!
//! | status of a call | outcome |
//! | --- | --- |
//! | `CANCELLED`, `DEADLINE_EXCEEDED` | the client's abort: who cancels, and whose deadline runs out, is the client, and whether its reset or the engine's status arrives first is a race |
//! | any other, after the first token | an error inside an answer |
//! | `RESOURCE_EXHAUSTED` | as 429 |
//! | `INVALID_ARGUMENT`, `NOT_FOUND`, `ALREADY_EXISTS`, `PERMISSION_DENIED`, `FAILED_PRECONDITION`, `OUT_OF_RANGE`, `UNIMPLEMENTED`, `UNAUTHENTICATED` | as any other 4xx |
//! | `UNKNOWN`, `ABORTED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS`, and what has no name | as 5xx |

use crate::Outcome;
use wire::{Answer, FinishState, Terminator};

/// What ended an exchange, as the transport saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The engine's body ended as its framing says.
    Clean,
    /// The engine's body ended before that.
    Truncated,
    /// The engine's connection was reset, or broke before the response head.
    Reset,
    /// No connection to the engine.
    ConnectFailed,
    /// The client left. See [`crate::Flag::Undelivered`] for one that left with bytes still owed to it.
    ClientGone,
    /// The client did not take its bytes within the write limit.
    SlowClient,
    /// No first token within the limit.
    TimeoutTtft,
    /// The engine was silent mid-stream for longer than the limit.
    TimeoutIdle,
    /// Cut by the hard stop of a drain.
    Drained,
    /// Refused by us before the engine saw it whole: ambiguous or malformed.
    RejectedMalformed,
    /// Refused by us before the engine saw it whole: over a limit.
    RejectedLimit,
}

impl End {
    /// Every end.
    pub const ALL: [Self; 11] = [
        Self::Clean,
        Self::Truncated,
        Self::Reset,
        Self::ConnectFailed,
        Self::ClientGone,
        Self::SlowClient,
        Self::TimeoutTtft,
        Self::TimeoutIdle,
        Self::Drained,
        Self::RejectedMalformed,
        Self::RejectedLimit,
    ];
}

/// All that decides an outcome.
pub(crate) struct Ending<'a> {
    pub(crate) end: End,
    pub(crate) status: Option<u16>,
    /// Status of a gRPC call, if one came.
    pub(crate) call_status: Option<u32>,
    pub(crate) answer: Option<&'a Answer>,
    /// A token-bearing event was read.
    pub(crate) seen_token: bool,
    /// Part of the answer went by unread.
    pub(crate) sight_lost: bool,
    /// Bytes were still owed to the client.
    pub(crate) undelivered: bool,
}

impl Ending<'_> {
    pub(crate) fn outcome(&self) -> Outcome {
        self.never_served()
            .or_else(|| self.refused_by_engine())
            .or_else(|| self.failed_call())
            .or_else(|| {
                self.state_is(&[FinishState::Errored, FinishState::Rejected])
                    .then_some(Outcome::SseErrorEvent)
            })
            .unwrap_or_else(|| self.by_transport())
    }

    fn never_served(&self) -> Option<Outcome> {
        match self.end {
            End::RejectedMalformed => Some(Outcome::RejectedMalformed),
            End::RejectedLimit => Some(Outcome::RejectedLimit),
            End::ConnectFailed => Some(Outcome::ConnectFailed),
            _ => None,
        }
    }

    fn refused_by_engine(&self) -> Option<Outcome> {
        match self.status? {
            429 => Some(Outcome::Upstream429),
            400..=499 => Some(Outcome::Upstream4xx),
            500.. => Some(Outcome::Upstream5xx),
            _ => None,
        }
    }

    /// By the codes of grpc/doc/statuscodes.md.
    fn failed_call(&self) -> Option<Outcome> {
        match self.call_status? {
            0 => None,
            1 | 4 if self.seen_token => Some(Outcome::ClientAbortDecode),
            1 | 4 => Some(Outcome::ClientAbortPrefill),
            _ if self.seen_token => Some(Outcome::SseErrorEvent),
            8 => Some(Outcome::Upstream429),
            3 | 5..=7 | 9 | 11 | 12 | 16 => Some(Outcome::Upstream4xx),
            _ => Some(Outcome::Upstream5xx),
        }
    }

    fn by_transport(&self) -> Outcome {
        match self.end {
            End::Clean | End::Truncated | End::Reset if self.status.is_none() => {
                Outcome::UpstreamReset
            }
            End::Clean => self.by_mark(),
            End::Truncated => Outcome::UpstreamTruncated,
            End::Reset => Outcome::UpstreamReset,
            // Clients hang up on the terminal mark, without waiting for the framing's end. They have their answer, and
            // the engine did all its work.
            End::ClientGone if self.has_mark() && !self.undelivered => Outcome::Ok,
            End::ClientGone if self.seen_token => Outcome::ClientAbortDecode,
            End::ClientGone => Outcome::ClientAbortPrefill,
            End::SlowClient => Outcome::SlowClient,
            End::TimeoutTtft => Outcome::TimeoutTtft,
            End::TimeoutIdle => Outcome::TimeoutIdle,
            End::Drained => Outcome::Drained,
            End::ConnectFailed => Outcome::ConnectFailed,
            End::RejectedMalformed => Outcome::RejectedMalformed,
            End::RejectedLimit => Outcome::RejectedLimit,
        }
    }

    /// The framing is whole: the terminal mark decides. Where we stopped reading, its absence proves nothing, and to
    /// accuse the engine of it would be a guess; the record's flags say that the transport's word is all there is.
    fn by_mark(&self) -> Outcome {
        if self.has_mark() {
            Outcome::Ok
        } else if self.state_is(&[FinishState::Aborted]) {
            Outcome::SseErrorEvent
        } else if self.sight_lost && self.has_good_status() {
            Outcome::Ok
        } else {
            Outcome::SseNoDone
        }
    }

    fn has_mark(&self) -> bool {
        self.has_good_status()
            && self.answer.is_some_and(|answer| {
                answer.state == FinishState::Complete
                    && answer
                        .terminator
                        .is_some_and(|mark| mark != Terminator::Missing)
            })
    }

    fn has_good_status(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }

    fn state_is(&self, states: &[FinishState]) -> bool {
        self.answer
            .is_some_and(|answer| states.contains(&answer.state))
    }
}
