//! A streamed answer, joined: the pieces of each choice and kind in order.
//!
//! It is told by the members that carry text in the dialects of the engines, whichever of them speaks. Where an event may
//! state all text so far instead of what is new (SGLang's `text`, Triton's `text_output`), texts that each go on where the
//! one before ended are taken for the former.

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::{Kind, Said};

/// Texts of an answer, as its events come.
#[derive(Debug, Default)]
pub(super) struct Joined {
    said: Vec<Pieces>,
}

/// Whose text a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    choice: u64,
    kind: Kind,
    call: Option<u64>,
}

/// What a piece is to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// What is new.
    New,
    /// What is new, or all so far.
    Either,
    /// All of it, whatever came before.
    All,
}

#[derive(Debug)]
struct Pieces {
    place: Place,
    joined: String,
    last: String,
    /// Each piece so far begins with the one before it.
    goes_on: bool,
    /// One was longer than the one before it.
    grew: bool,
}

// ---- Joined

impl Joined {
    /// Takes the data of one event.
    pub(super) fn event(&mut self, event: &Value) {
        for (at, choice) in array(event, "choices").enumerate() {
            let index = number(choice, "index").unwrap_or(u64::try_from(at).unwrap_or(u64::MAX));
            self.add((index, Kind::Answer), Piece::New, choice.get("text"));
            for message in ["delta", "message"] {
                self.message(index, &choice[message]);
            }
        }
        match event["type"].as_str() {
            Some("content_block_start") => self.block(event),
            Some("content_block_delta") => self.block_delta(event),
            Some(kind) if kind.starts_with("response.") => self.responses(kind, event),
            _ => self.plain(event),
        }
        for error in [&event["error"], event] {
            if error["message"].is_string() {
                self.add((0, Kind::Error), Piece::New, error.get("message"));
                break;
            }
        }
    }

    /// What was said, in order of first sight.
    pub(super) fn finish(self) -> Vec<Said> {
        self.said.into_iter().map(Pieces::finish).collect()
    }

    /// OpenAI's chat, and Ollama's.
    fn message(&mut self, choice: u64, message: &Value) {
        self.add((choice, Kind::Answer), Piece::New, message.get("content"));
        self.add((choice, Kind::Refusal), Piece::New, message.get("refusal"));
        for name in ["reasoning_content", "reasoning", "thinking"] {
            self.add((choice, Kind::Reasoning), Piece::New, message.get(name));
        }
        for (at, call) in array(message, "tool_calls").enumerate() {
            let at = number(call, "index").unwrap_or(u64::try_from(at).unwrap_or(u64::MAX));
            for function in [&call["function"], &call["custom"]] {
                self.call(choice, Some(at), function);
            }
        }
        self.call(choice, None, &message["function_call"]);
    }

    fn call(&mut self, choice: u64, call: Option<u64>, function: &Value) {
        let arguments = function.get("arguments").or_else(|| function.get("input"));
        for (kind, text) in [
            (Kind::Tool, function.get("name")),
            (Kind::Arguments, arguments),
        ] {
            let place = Place { choice, kind, call };
            self.piece(place, Piece::New, text);
        }
    }

    /// Anthropic's `content_block_start`.
    fn block(&mut self, event: &Value) {
        let index = number(event, "index").unwrap_or(0);
        let block = &event["content_block"];
        self.add((index, Kind::Tool), Piece::New, block.get("name"));
        self.add((index, Kind::Answer), Piece::New, block.get("text"));
    }

    fn block_delta(&mut self, event: &Value) {
        let index = number(event, "index").unwrap_or(0);
        let delta = &event["delta"];
        self.add((index, Kind::Answer), Piece::New, delta.get("text"));
        self.add((index, Kind::Reasoning), Piece::New, delta.get("thinking"));
        self.add(
            (index, Kind::Arguments),
            Piece::New,
            delta.get("partial_json"),
        );
    }

    /// The events of `/v1/responses` that say something new; those that repeat it are left out.
    fn responses(&mut self, event_type: &str, event: &Value) {
        let index = number(event, "output_index").unwrap_or(0);
        if event_type == "response.output_item.added" {
            self.add((index, Kind::Tool), Piece::New, event["item"].get("name"));
        }
        let kind = match event_type {
            "response.output_text.delta" => Kind::Answer,
            "response.refusal.delta" => Kind::Refusal,
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                Kind::Arguments
            }
            kind if kind.starts_with("response.reasoning") && kind.ends_with(".delta") => {
                Kind::Reasoning
            }
            _ => return,
        };
        self.add((index, kind), Piece::New, event.get("delta"));
    }

    /// Dialects whose events are one flat object: llama.cpp, SGLang, TGI, Triton, Ollama.
    fn plain(&mut self, event: &Value) {
        let index = number(event, "index").unwrap_or(0);
        self.add((index, Kind::Answer), Piece::New, event.get("content"));
        self.add((index, Kind::Answer), Piece::Either, event.get("text"));
        self.add(
            (index, Kind::Answer),
            Piece::Either,
            event.get("text_output"),
        );
        self.add((0, Kind::Answer), Piece::New, event.get("response"));
        self.add((0, Kind::Reasoning), Piece::New, event.get("thinking"));
        self.message(0, &event["message"]);
        // TGI numbers its tokens by `index`; a special one is no part of the text.
        let token = &event["token"];
        if token["special"] != Value::Bool(true) {
            self.add((0, Kind::Answer), Piece::New, token.get("text"));
        }
        self.add((0, Kind::Answer), Piece::All, event.get("generated_text"));
    }

    fn add(&mut self, (choice, kind): (u64, Kind), piece: Piece, text: Option<&Value>) {
        let place = Place {
            choice,
            kind,
            call: None,
        };
        self.piece(place, piece, text);
    }

    fn piece(&mut self, place: Place, piece: Piece, text: Option<&Value>) {
        let Some(text) = text.and_then(Value::as_str).filter(|text| !text.is_empty()) else {
            return;
        };
        match self.said.iter_mut().find(|pieces| pieces.place == place) {
            Some(pieces) => pieces.add(piece, text),
            None => self.said.push(Pieces {
                place,
                joined: text.to_owned(),
                last: if piece == Piece::Either {
                    text.to_owned()
                } else {
                    String::new()
                },
                goes_on: piece == Piece::Either,
                grew: false,
            }),
        }
    }
}

// ---- Pieces

impl Pieces {
    fn add(&mut self, piece: Piece, text: &str) {
        match piece {
            Piece::New => self.joined.push_str(text),
            Piece::All => text.clone_into(&mut self.joined),
            Piece::Either => {
                self.goes_on &= text.starts_with(&self.last);
                self.grew |= text.len() > self.last.len();
                self.joined.push_str(text);
                text.clone_into(&mut self.last);
            }
        }
    }

    fn finish(self) -> Said {
        Said {
            choice: self.place.choice,
            kind: self.place.kind,
            call: self.place.call,
            text: if self.goes_on && self.grew {
                self.last
            } else {
                self.joined
            },
        }
    }
}

// ---- Values

fn array<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value[name].as_array().into_iter().flatten()
}

fn number(value: &Value, name: &str) -> Option<u64> {
    value[name].as_u64()
}
