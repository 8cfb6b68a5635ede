//! One answer: its texts, its counts, its events, and all of it in one body.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;
use wire::Endpoint;
use wire::encode::{self, Delta, ErrorObject, Identity, Usage};

use crate::driver::Progress;
use crate::engine::Finish;
use crate::exchange::Exchange;
use crate::fault::{ErrorShape, Faults, Midway};
use crate::link::Note;
use crate::request::Ask;
use crate::text::push_token;
use crate::truth::Kind;

/// What all answers of a server have in common.
#[derive(Debug)]
pub(crate) struct Voice {
    pub(crate) model: String,
    pub(crate) fingerprint: String,
    pub(crate) created: u64,
    pub(crate) prompt_tokens_details: bool,
}

/// One answer to be told.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) voice: Arc<Voice>,
    pub(crate) endpoint: Endpoint,
    pub(crate) id: String,
    pub(crate) ask: Ask,
    pub(crate) faults: Faults,
    pub(crate) exchange: Arc<Exchange>,
}

/// What comes instead of a whole answer.
#[derive(Debug)]
pub(crate) enum NoWhole {
    /// The connection is closed.
    Died,
    /// The connection is reset.
    Reset,
    /// An error with status 500.
    Error,
}

/// A piece of one choice: its texts and what they carry.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) answer: String,
    reasoning: String,
    answer_tokens: u32,
    reasoning_tokens: u32,
    silent_tokens: u32,
}

impl Story {
    /// Waits for the answer and puts it into one body.
    pub(crate) async fn whole(
        mut self,
        mut progress: watch::Receiver<Vec<Progress>>,
    ) -> Result<(Bytes, Vec<Note>), NoWhole> {
        loop {
            let choices = progress.borrow_and_update().clone();
            self.midway_of_whole(&choices).await?;
            if choices.iter().all(|choice| choice.finish.is_some()) {
                return Ok(self.body(&choices));
            }
            progress.changed().await.map_err(|_| NoWhole::Died)?;
        }
    }

    async fn midway_of_whole(&mut self, choices: &[Progress]) -> Result<(), NoWhole> {
        let tokens: u64 = choices.iter().map(|choice| u64::from(choice.tokens)).sum();
        let Some((_, midway)) = self.faults.midway.take_if(|(after, _)| *after <= tokens) else {
            return Ok(());
        };
        match midway {
            Midway::Die | Midway::DieInEvent => Err(NoWhole::Died),
            Midway::Reset => Err(NoWhole::Reset),
            Midway::Hang => std::future::pending().await,
            Midway::Stall(pause) => {
                tokio::time::sleep(pause).await;
                Ok(())
            }
            Midway::ErrorEvent | Midway::ErrorEventCut => Err(NoWhole::Error),
        }
    }

    fn body(&self, choices: &[Progress]) -> (Bytes, Vec<Note>) {
        let pieces: Vec<Piece> = (0..)
            .zip(choices)
            .map(|(at, choice)| self.piece(at, 0, *choice))
            .collect();
        let bodies: Vec<encode::Choice<'_>> = pieces
            .iter()
            .zip(choices)
            .map(|(piece, choice)| encode::Choice {
                text: &piece.answer,
                reasoning: (piece.reasoning_tokens > 0).then_some(piece.reasoning.as_str()),
                finish: choice.finish.map_or("abort", Finish::as_str),
            })
            .collect();
        let total = self.total(choices);
        self.exchange.note(|record| {
            record.usage = Some(total);
            record.cached_tokens = choices.first().map(|choice| u64::from(choice.cached));
            record.finish = choices.iter().map(|choice| choice.finish).collect();
        });
        let mut body = Vec::new();
        self.identity().whole(&mut body, &bodies, total);
        let notes = (0..)
            .zip(&pieces)
            .flat_map(|(at, piece)| piece.notes(at))
            .collect();
        (body.into(), notes)
    }

    pub(crate) fn identity(&self) -> Identity<'_> {
        Identity {
            endpoint: self.endpoint,
            id: &self.id,
            created: self.voice.created,
            model: &self.voice.model,
            fingerprint: &self.voice.fingerprint,
        }
    }

    /// The tokens of a choice from number `from` on.
    pub(crate) fn piece(&self, choice: u32, from: u32, progress: Progress) -> Piece {
        let mut piece = Piece::default();
        let spoken = progress.tokens - u32::from(progress.finish == Some(Finish::Stop));
        for index in from..spoken {
            if index < self.ask.reasoning_tokens {
                push_token(&mut piece.reasoning, choice, index);
                piece.reasoning_tokens += 1;
            } else {
                push_token(&mut piece.answer, choice, index);
                piece.answer_tokens += 1;
            }
        }
        piece.silent_tokens = progress.tokens - spoken;
        piece
    }

    /// An event with a piece of a choice.
    pub(crate) fn delta(&self, choice: usize, progress: Progress, piece: &Piece) -> Vec<u8> {
        let reasons = self.ask.reasoning_tokens > 0;
        let delta = Delta {
            choice: index(choice),
            // With a reasoning parser a chunk without answer text has no `content` at all.
            text: (!reasons || piece.answer_tokens > 0).then_some(piece.answer.as_str()),
            reasoning: (piece.reasoning_tokens > 0).then_some(piece.reasoning.as_str()),
            token_ids: None,
            finish: progress.finish.map(Finish::as_str),
            running: self
                .ask
                .running_usage
                .then(|| self.running(choice, progress.tokens)),
            last: !self.ask.include_usage,
        };
        let mut event = Vec::new();
        self.identity().delta(&mut event, &delta);
        event
    }

    /// Counts of one choice so far.
    pub(crate) fn running(&self, choice: usize, tokens: u32) -> Usage {
        let prompt = choice
            .checked_div(usize::try_from(self.ask.n).unwrap_or(1))
            .unwrap_or(0);
        Usage {
            prompt: self
                .ask
                .prompts
                .get(prompt)
                .map_or(0, |prompt| prompt.len() as u64),
            completion: tokens.into(),
            cached: None,
            reasoning: self.reasoning_of(tokens),
        }
    }

    /// Counts of the whole answer.
    pub(crate) fn total(&self, choices: &[Progress]) -> Usage {
        let cached = choices.first().map(|choice| u64::from(choice.cached));
        let reasoning = choices
            .iter()
            .map(|choice| self.reasoning_of(choice.tokens));
        Usage {
            prompt: self.ask.prompt_tokens(),
            completion: choices.iter().map(|choice| u64::from(choice.tokens)).sum(),
            cached: cached.filter(|_| self.voice.prompt_tokens_details),
            reasoning: reasoning.sum(),
        }
    }

    /// `None` where the model does not reason.
    fn reasoning_of(&self, tokens: u32) -> Option<u64> {
        (self.ask.reasoning_tokens > 0).then(|| self.ask.reasoning_tokens.min(tokens).into())
    }

    /// An error event of the shape asked for.
    pub(crate) fn error_event(&self, out: &mut Vec<u8>) {
        const MESSAGE: &str = "EngineCore encountered an issue – see log";
        let error = ErrorObject {
            message: MESSAGE,
            r#type: "InternalServerError",
            param: None,
            code: 500,
        };
        let event: &[u8] = match self.faults.error_shape {
            ErrorShape::Vllm => return self.identity().error(out, &error),
            ErrorShape::Sglang => concat!(
                r#"data: {"error": {"object": "error", "message": "Request waiting timeout reached.", "#,
                r#""type": "SERVICE_UNAVAILABLE", "param": null, "code": 503}}"#,
                "\n\n"
            )
            .as_bytes(),
            ErrorShape::Tgi => {
                b"data: {\"error\":{\"message\":\"Request failed during generation\",\"http_status_code\":424}}\n\n"
            }
            ErrorShape::Text => b"data: {\"error\":\"executor has been shut down\"}\n\n",
        };
        out.extend_from_slice(event);
    }
}

impl Piece {
    /// What an event with this piece carries.
    pub(crate) fn notes(&self, choice: u32) -> impl Iterator<Item = Note> {
        [
            (Kind::Reasoning, self.reasoning_tokens),
            (Kind::Answer, self.answer_tokens),
            (Kind::Silent, self.silent_tokens),
        ]
        .into_iter()
        .filter(|(_, tokens)| *tokens > 0)
        .map(move |(kind, tokens)| Note {
            choice,
            kind,
            tokens,
        })
    }
}

/// A choice's index as it is written.
pub(crate) fn index(choice: usize) -> u32 {
    u32::try_from(choice).unwrap_or(u32::MAX)
}
