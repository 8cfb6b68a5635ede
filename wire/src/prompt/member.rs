//! The members of a body that have a part in its prompt, by the names that each route has for them.

use super::message::{read_content, read_messages};
use super::{Piece, Pieces, Prompt, read_prompt};
use crate::Endpoint;
use crate::json::{Cursor, cut_text, plain};

/// What a member has to do with the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Tools,
    Preamble,
    /// Token ids that an earlier answer gave out.
    Context,
    Messages,
    Prompt,
    Media,
    Salt,
    Session,
    User,
    /// An object that may name session and user.
    Metadata,
    /// An object that may name an adapter.
    Parameters,
}

/// The members as they are written, in the order of the body.
#[derive(Default)]
pub(super) struct Written<'b>(Vec<(Part, &'b [u8], &'b [u8])>);

/// Most members that are taken.
const MEMBERS: usize = 64;

impl Part {
    fn of(endpoint: Endpoint, key: &[u8]) -> Option<Self> {
        use Endpoint as E;
        Some(match (endpoint, key) {
            (E::Completions | E::Completion | E::OllamaGenerate, b"prompt")
            | (E::Generate, b"text" | b"input_ids" | b"inputs")
            | (E::GenerateStream | E::Root, b"inputs")
            | (E::InferenceGenerate, b"token_ids")
            | (E::TritonGenerate | E::TritonGenerateStream, b"text_input") => Self::Prompt,
            (E::ChatCompletions | E::Messages | E::OllamaChat, b"messages")
            | (E::Responses, b"input") => Self::Messages,
            (E::Messages | E::OllamaGenerate, b"system") | (E::Responses, b"instructions") => {
                Self::Preamble
            }
            (E::OllamaGenerate, b"context") => Self::Context,
            (E::Generate, b"image_data") | (E::OllamaGenerate, b"images") => Self::Media,
            (_, b"tools") => Self::Tools,
            (
                _,
                b"cache_salt"
                | b"lora_path"
                | b"lora"
                | b"lora_request"
                | b"adapter_id"
                | b"previous_response_id",
            ) => Self::Salt,
            (_, b"session_id" | b"conversation_id" | b"conversation" | b"session_params") => {
                Self::Session
            }
            (_, b"user" | b"user_id" | b"safety_identifier") => Self::User,
            (_, b"metadata") => Self::Metadata,
            (_, b"parameters") => Self::Parameters,
            _ => return None,
        })
    }
}

// ---- Written

impl<'b> Written<'b> {
    /// Finds the members; `None` if the body is not one whole JSON object. What was found before it broke stands.
    pub(super) fn read(&mut self, endpoint: Endpoint, body: &'b [u8]) -> Option<()> {
        let mut is_object = false;
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        Cursor::new(body).whole(|cursor| {
            is_object = cursor.peek()? == b'{';
            cursor.object(|cursor, key| {
                let value = cursor.raw()?;
                if let Some(part) = Part::of(endpoint, key) {
                    self.take(part, key, value);
                }
                Some(())
            })
        })?;
        is_object.then_some(())
    }

    /// Of two members with the same key the last holds.
    fn take(&mut self, part: Part, key: &'b [u8], value: &'b [u8]) {
        self.0.retain(|(_, known, _)| *known != key);
        if self.0.len() < MEMBERS {
            self.0.push((part, key, value));
        }
    }

    fn of(&self, part: Part) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
        let members = self.0.iter().filter(move |(known, _, _)| *known == part);
        members.map(|(_, key, value)| (*key, *value))
    }

    /// Puts the prompt together.
    pub(super) fn pieces(&self) -> Pieces {
        let mut pieces = Pieces::default();
        for (_, value) in self.of(Part::Tools).filter(|(_, value)| is_filled(value)) {
            pieces.push(Piece::Message("tools".to_owned()));
            pieces.push(Piece::Text(as_text(value)));
        }
        for (_, value) in self
            .of(Part::Preamble)
            .filter(|(_, value)| is_filled(value))
        {
            pieces.push(Piece::Message("system".to_owned()));
            read_content(value, &mut pieces);
        }
        for (_, value) in self.of(Part::Context) {
            read_prompt(value, &mut pieces);
        }
        for (_, value) in self.of(Part::Messages) {
            read_messages(value, &mut pieces);
        }
        for (_, value) in self.of(Part::Prompt) {
            read_prompt(value, &mut pieces);
        }
        for (_, value) in self.of(Part::Media).filter(|(_, value)| is_filled(value)) {
            pieces.push(Piece::Media(plain(value, &[])));
        }
        pieces
    }

    /// Says whose it is and what sets it apart.
    pub(super) fn state(&self, prompt: &mut Prompt) {
        self.fill_owner(prompt);
        self.fill_salt(prompt);
    }

    fn fill_owner(&self, prompt: &mut Prompt) {
        let named = |part| self.of(part).find_map(|(_, value)| name(value));
        prompt.session = named(Part::Session);
        prompt.user = named(Part::User);
        let inner = |wanted: &[&[u8]]| {
            let mut metadata = self.of(Part::Metadata);
            metadata.find_map(|(_, value)| name(member(value, wanted)?))
        };
        if prompt.session.is_none() {
            prompt.session = inner(&[b"session_id", b"conversation_id"]);
        }
        if prompt.user.is_none() {
            prompt.user = inner(&[b"user_id", b"user"]);
        }
    }

    fn fill_salt(&self, prompt: &mut Prompt) {
        let adapter = self.of(Part::Parameters);
        let adapter = adapter.filter_map(|(_, value)| member(value, &[b"adapter_id"]));
        let adapter = adapter.map(|value| (b"adapter_id".as_slice(), value));
        let mut salts: Vec<_> = self.of(Part::Salt).chain(adapter).collect();
        salts.sort_unstable();
        for (key, value) in salts.into_iter().filter(|(_, value)| is_filled(value)) {
            prompt.salt.extend_from_slice(key);
            prompt.salt.push(0xfe);
            prompt.salt.extend_from_slice(&plain(value, &[]));
            prompt.salt.push(0xfe);
        }
    }
}

/// A value that says something.
pub(super) fn is_filled(value: &[u8]) -> bool {
    !matches!(value, b"null" | b"\"\"" | b"[]" | b"{}" | b"false")
}

/// A value as text, without white space.
pub(super) fn as_text(value: &[u8]) -> String {
    String::from_utf8_lossy(&plain(value, &[b"cache_control"])).into_owned()
}

/// The member of an object that has the first of these keys that is there.
fn member<'b>(value: &'b [u8], wanted: &[&[u8]]) -> Option<&'b [u8]> {
    let mut found = None;
    Cursor::new(value).whole(|cursor| {
        cursor.object(|cursor, key| {
            let value = cursor.raw()?;
            let rank = wanted.iter().position(|name| *name == key);
            if let Some(rank) = rank
                && found.is_none_or(|(best, _)| rank <= best)
            {
                found = Some((rank, value));
            }
            Some(())
        })
    })?;
    found.map(|(_, value)| value)
}

/// A name: a text, or the `id` of an object. Cut at [`crate::limits::TEXT_BYTES`].
fn name(value: &[u8]) -> Option<String> {
    let named = match value.first()? {
        b'"' => cut_text(value.get(1..value.len().saturating_sub(1))?),
        b'{' => return name(member(value, &[b"id"])?),
        b'-' | b'0'..=b'9' => String::from_utf8_lossy(value).into_owned(),
        _ => return None,
    };
    (!named.is_empty()).then_some(named)
}
