//! What the JSON objects of all routes have in common.

use serde::Serialize;

use super::{Delta, Identity};

/// The first keys of every chunk.
#[derive(Serialize)]
pub(super) struct Opening<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
}

impl<'a> Opening<'a> {
    pub(super) fn of(identity: &Identity<'a>, object: &'static str) -> Self {
        Self {
            id: identity.id,
            object,
            created: identity.created,
            model: identity.model,
        }
    }
}

pub(super) const TEXT: &str = "text_completion";
pub(super) const CHAT: &str = "chat.completion.chunk";

/// A key whose value is always null.
pub(super) type Null = Option<()>;

/// The fingerprint of a chunk that ends a choice when no usage chunk will carry it.
pub(super) fn fingerprint<'a>(identity: &Identity<'a>, delta: &Delta<'a>) -> Option<&'a str> {
    (delta.last && delta.finish.is_some()).then_some(identity.fingerprint)
}
