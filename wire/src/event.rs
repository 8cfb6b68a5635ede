//! One event of an answer, in the words that measuring needs.

use crate::Reason;

/// How many newly generated tokens an event provably carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens {
    /// It proves none: a role chunk, a usage chunk, a heartbeat, the end mark, something that is no JSON.
    None,
    /// It proves at least one; how many is not known (text alone).
    AtLeastOne,
    /// Exactly this many, by token ids, log-probabilities or a running counter. Never 0.
    Exactly(u32),
}

/// What an event stream dispatches at a blank line, as far as measuring is concerned.
///
/// Comments are not events. Events completed by one read form one burst; whoever calls the decoder knows the read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The tokens it proves.
    pub tokens: Tokens,
    /// The rule by which it proves them, or none.
    pub reason: Reason,
    /// It is a token event and shows something: text, reasoning, refusal, a tool's name or arguments.
    pub visible: bool,
    /// It shows something other than reasoning, and the first token has come, with it or before. It need not be a token
    /// event: the tokens of what it shows may have been counted on the event before.
    pub answer: bool,
    /// Its data was already whole at the end of an earlier push (only the blank line was missing), so that its stamp is
    /// that of the push after which [`crate::Decoder::pending_whole`] became true, not of this one. At most the first event
    /// of a push is early.
    pub early: bool,
}
