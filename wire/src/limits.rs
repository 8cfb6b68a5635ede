//! Every limit of this room, in bytes or items. Reaching one ends the observation of a thing, never its forwarding.

/// Longest line of an event stream, and longest data of one event, that is decoded, in bytes. Beyond it the exchange is no
/// longer decoded and its answer carries [`crate::Anomaly::OversizeEvent`].
///
/// A token's event is a few hundred bytes, but some events carry a whole prompt or a whole answer: the ids of a prompt (some
/// 30 000 tokens fit), the terminal event of `/v1/responses`, llama.cpp's last object, SGLang's text so far. A buffer grows
/// to the longest line that came in pieces, so that only the exchanges with such lines pay for them.
pub const LINE_BYTES: usize = 256 * 1024;

/// Longest whole (not streamed) JSON body, and longest request of a gRPC call, that is kept for decoding, in bytes.
pub const WHOLE_BODY_BYTES: usize = 1024 * 1024;

/// Size of the pieces in which a compressed body is unpacked, in bytes. It is kept once for each such answer.
pub const UNPACKED_PIECE_BYTES: usize = 32 * 1024;

/// Bytes that come out of one byte of a compressed body at most, seen over the whole body so far. Beyond it the answer is no
/// longer decoded: it carries [`crate::Anomaly::DenseCoding`].
///
/// Events that differ in one word unpack to some 20 times their size, or to 200 if nothing is flushed between them.
/// Deflate can't exceed 1032, which only endless repetition of one byte comes near: no answer, but work for nothing.
pub const UNPACKED_RATIO: u64 = 1000;

/// Unpacked bytes from which on [`UNPACKED_RATIO`] is asked for: less than that costs nothing, whatever it came from.
pub const UNPACKED_RATIO_FROM: u64 = 64 * 1024;

/// Longest model name, response id or error message that is kept, in bytes; longer ones are cut at a character.
pub const TEXT_BYTES: usize = 256;

/// Choices (prompts × n) of one answer whose state is kept apart.
pub const CHOICES: usize = 128;

/// Nesting depth to which JSON is followed.
pub const JSON_DEPTH: usize = 64;
