//! The answers of one gRPC call that carries many requests (Triton's `ModelStreamInfer`), told apart by their ids.

use crate::dialect::{id_of, is_id};
use crate::grpc::Messages;

/// Cuts the body of a call's answers into messages and says whose each is.
#[derive(Debug, Default)]
pub struct CallAnswers(Messages);

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallAnswer<'a> {
    /// The id of the request that it answers; it may be empty.
    pub id: &'a [u8],
    /// Nothing comes after it for that request: it says that it is the last, or it is an error.
    pub is_last: bool,
    /// All of it, for [`crate::Decoder::push_message`].
    pub data: &'a [u8],
}

impl CallAnswers {
    /// Takes the next bytes of the body and hands on each message that they complete. One that is no protobuf is nobody's.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(CallAnswer<'_>)) {
        self.0.push(bytes, |data| {
            if let Some((id, is_last)) = id_of(data) {
                each(CallAnswer { id, is_last, data });
            }
        });
    }

    /// Whether something came that can't be read, and nothing is handed on any more.
    pub fn is_blind(&self) -> bool {
        self.0.stopped().is_some()
    }
}

impl CallAnswer<'_> {
    /// Whether it answers the request with this id, of which no more than [`crate::limits::TEXT_BYTES`] may be known.
    pub fn is_for(&self, id: &str) -> bool {
        is_id(id, self.id)
    }
}
