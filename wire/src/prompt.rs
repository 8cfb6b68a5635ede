//! A request's prompt out of its kept body, in one canonical form for all routes of HTTP: what two requests share at their
//! beginning, they share in this form, whatever the order of members and the white space between them.
//!
//! Tools come first, then what stands before the messages (`system`, `instructions`), then the messages or the prompt. Text
//! is text, unescaped; a content that is one text and one that is a list of text parts are the same. Other members of a
//! message (calls of tools, their names, …) follow its content as JSON without white space. Marks for caching
//! (`cache_control`), ids of messages and what is null are no part of it. Several prompts in one request are one, with an empty
//! mark between them. gRPC calls have none.
//!
//! A body that was cut is read as far as it goes. Nothing here hashes or keeps anything.

#![deny(clippy::indexing_slicing)]

mod member;
mod message;

use crate::Endpoint;
use crate::json::{Cursor, all_text, completed};
use member::Written;

/// What a request's body has for its model to read, and whose it says it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// Its pieces, in order.
    pub pieces: Vec<Piece>,
    /// What sets it apart from another prompt of the same pieces: adapter, `cache_salt`, what the engine is to remember.
    pub salt: Vec<u8>,
    /// Conversation, by the body's word: `session_id`, `conversation_id`, `conversation`, also in `metadata`.
    pub session: Option<String>,
    /// Who asks, by the body's word: `user`, `user_id`, `safety_identifier`, also in `metadata`.
    pub user: Option<String>,
    /// The body was whole JSON. If not, pieces may be missing at the end.
    pub whole: bool,
}

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// A message begins, of this role; also `tools`, an item's kind, or nothing between two prompts.
    Message(String),
    /// A member of a message, other than its content, begins.
    Member(String),
    /// Text.
    Text(String),
    /// Token ids.
    Tokens(Vec<u32>),
    /// An image or a sound, as it is written in the body: data or address. To be hashed.
    Media(Vec<u8>),
}

/// A prompt as bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Canonical {
    /// Text in UTF-8; token ids as four bytes, the least significant first; `0xFF role 0xFE` where a message begins, `0xFD name
    /// 0xFE` where a member does, `0xFC` and a hash for media. No byte from 0xFC on is part of any text.
    pub bytes: Vec<u8>,
    /// Where in `bytes` a message of the model's side begins after one of the client's: there an earlier prompt of the same
    /// conversation ended.
    pub turns: Vec<usize>,
}

// ---- Prompt

impl Prompt {
    /// Reads the body of a request to this route. `body` is all of it, or its beginning.
    pub fn read(endpoint: Endpoint, body: &[u8]) -> Self {
        let mut prompt = Self::default();
        if endpoint.is_grpc() {
            return prompt;
        }
        let mut written = Written::default();
        prompt.whole = written.read(endpoint, body).is_some();
        if prompt.whole {
            written.state(&mut prompt);
            prompt.pieces = written.pieces().all;
            return prompt;
        }
        let ended = completed(body);
        let mut written = Written::default();
        // What is no JSON anywhere else than at its end is read up to there.
        let _ = written.read(endpoint, &ended);
        written.state(&mut prompt);
        prompt.pieces = written.pieces().into_certain();
        prompt
    }

    /// As bytes; `media` is the hash of an image or a sound.
    pub fn canonical(&self, media: impl Fn(&[u8]) -> [u8; 32]) -> Canonical {
        let mut form = Canonical::default();
        let mut by_client = false;
        for piece in &self.pieces {
            let bytes = &mut form.bytes;
            match piece {
                Piece::Message(role) => {
                    let is_clients = is_clients(role);
                    if by_client && !is_clients {
                        form.turns.push(bytes.len());
                    }
                    by_client = is_clients;
                    mark(bytes, 0xff, role);
                }
                Piece::Member(name) => mark(bytes, 0xfd, name),
                Piece::Text(text) => bytes.extend_from_slice(text.as_bytes()),
                Piece::Tokens(ids) => bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes())),
                Piece::Media(written) => {
                    bytes.push(0xfc);
                    bytes.extend_from_slice(&media(written));
                }
            }
        }
        form
    }
}

impl Piece {
    /// Whether a message of the model's side begins here.
    pub fn is_models(&self) -> bool {
        matches!(self, Self::Message(role) if !is_clients(role))
    }
}

fn mark(bytes: &mut Vec<u8>, sign: u8, name: &str) {
    bytes.push(sign);
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0xfe);
}

/// Whether a message of this role, or an item of this kind, is the client's word rather than the model's.
fn is_clients(role: &str) -> bool {
    let known = [
        "",
        "tools",
        "system",
        "developer",
        "user",
        "tool",
        "function",
    ];
    known.contains(&role) || role.ends_with("_output")
}

/// Pieces as they are put together.
#[derive(Default)]
struct Pieces {
    all: Vec<Piece>,
    /// So many stand even if the body broke off after the last of them: text may only go on.
    certain: usize,
}

impl Pieces {
    fn push(&mut self, piece: Piece) {
        self.all.push(piece);
    }

    /// Takes the inside of a string.
    fn text(&mut self, raw: Option<&[u8]>) {
        if let Some(raw) = raw {
            self.push(Piece::Text(all_text(raw)));
            self.certain = self.all.len();
        }
    }

    fn id(&mut self, id: u32) {
        match self.all.last_mut() {
            Some(Piece::Tokens(ids)) => ids.push(id),
            _ => self.push(Piece::Tokens(vec![id])),
        }
        self.certain = self.all.len();
    }

    fn into_certain(mut self) -> Vec<Piece> {
        self.all.truncate(self.certain);
        self.all
    }
}

// ---- Prompts of routes without messages

/// A prompt as text, as token ids, or a list of either.
fn read_prompt(value: &[u8], pieces: &mut Pieces) {
    // Where it breaks, what was read stands.
    let _ = Cursor::new(value).whole(|cursor| prompt_value(cursor, pieces));
}

fn prompt_value(cursor: &mut Cursor<'_>, pieces: &mut Pieces) -> Option<()> {
    match cursor.peek()? {
        b'"' => {
            let text = cursor.text()?;
            pieces.text(text);
            Some(())
        }
        b'[' => {
            let (mut first, mut has_ids) = (true, false);
            cursor.array(|cursor| {
                let is_id = cursor.peek()?.is_ascii_digit();
                has_ids |= is_id;
                // With ids in the list, all of it is one prompt.
                if !std::mem::replace(&mut first, false) && !has_ids {
                    pieces.push(Piece::Message(String::new()));
                }
                if !is_id {
                    return prompt_value(cursor, pieces);
                }
                // No tokenizer has an id that does not fit.
                let id = cursor.count()?.and_then(|id| u32::try_from(id).ok());
                pieces.id(id.unwrap_or(u32::MAX));
                Some(())
            })
        }
        _ => cursor.skip(),
    }
}
