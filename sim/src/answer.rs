//! One answer: what was generated of it, and all of it in one body.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::watch;
use wire::Endpoint;
use wire::encode::{
    Manner, Part, Settings, Sheet, Step, Times, Token, TokenKind, Usage, Wishes, Writer, Written,
};

use crate::driver::Progress;
use crate::engine::Finish;
use crate::exchange::Exchange;
use crate::fault::{ErrorShape, Faults, Midway};
use crate::link::Note;
use crate::personality::Personality;
use crate::request::Ask;
use crate::text::Word;
use crate::truth::Kind;

/// What all answers of a server have in common.
#[derive(Debug)]
pub(crate) struct Voice {
    pub(crate) personality: Personality,
    pub(crate) model: String,
    pub(crate) fingerprint: String,
    pub(crate) created: u64,
    pub(crate) prompt_tokens_details: bool,
}

/// One answer to be told.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) ask: Ask,
    pub(crate) faults: Faults,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) writer: Writer,
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

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) body: Bytes,
    pub(crate) notes: Vec<Note>,
    pub(crate) total: Usage,
    /// The engine's times of the first choice.
    pub(crate) times: Times,
}

impl Voice {
    /// How an answer with this id is to be written.
    pub(crate) fn manner(
        &self,
        (endpoint, id): (Endpoint, String),
        ask: &Ask,
        faults: &Faults,
    ) -> Manner {
        let Personality {
            engine,
            text,
            request_metrics,
        } = self.personality;
        Manner {
            engine,
            endpoint,
            streamed: ask.stream,
            id,
            created: self.created,
            model: self.model.clone(),
            fingerprint: self.fingerprint.clone(),
            n: ask.n,
            prompts: index(ask.prompts.len()),
            limit: ask.limit,
            wishes: Wishes {
                usage: ask.wishes.usage && !faults.no_usage,
                ..ask.wishes
            },
            settings: Settings {
                text,
                cache_report: self.prompt_tokens_details,
                request_metrics,
                reasons: ask.reasoning_tokens > 0,
            },
        }
    }
}

impl Story {
    /// Waits for the answer and puts it into one body.
    pub(crate) async fn whole(
        mut self,
        mut progress: watch::Receiver<Vec<Progress>>,
    ) -> Result<Whole, NoWhole> {
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

    fn body(&mut self, choices: &[Progress]) -> Whole {
        let mut unread = Sheet::default();
        let mut notes = Vec::new();
        for (at, progress) in choices.iter().enumerate() {
            let words = self.words(at, 0, *progress);
            let tokens: Vec<Token<'_>> = words.iter().map(Word::token).collect();
            let step = self.step(at, *progress, &tokens);
            self.writer.step(&step, &mut unread);
            notes.extend(notes_of(index(at), &tokens));
        }
        let mut body = Vec::new();
        let stated = self.writer.whole(&mut body);
        self.exchange.note(|record| {
            record.usage = stated.map(|stated| self.said(stated));
            record.cached_tokens = choices.first().map(|choice| u64::from(choice.cached));
            record.finish = choices.iter().map(|choice| choice.finish).collect();
            record.times = choices.iter().map(|choice| choice.times).collect();
        });
        Whole {
            body: body.into(),
            notes,
            total: self.total(choices),
            times: choices
                .first()
                .map(|choice| choice.times)
                .unwrap_or_default(),
        }
    }

    /// The tokens of a choice from number `from` on.
    pub(crate) fn words(&self, choice: usize, from: u32, progress: Progress) -> Vec<Word> {
        let choice = index(choice);
        let spoken = progress.tokens - u32::from(progress.finish == Some(Finish::Stop));
        let said = (from..spoken).map(|index| {
            let kind = if index < self.ask.reasoning_tokens {
                TokenKind::Reasoning
            } else {
                TokenKind::Answer
            };
            Word::said(choice, index, kind)
        });
        let silent = (spoken.max(from)..progress.tokens).map(|_| Word::end_of_text());
        said.chain(silent).collect()
    }

    /// What the engine has added to a choice.
    pub(crate) fn step<'a>(
        &self,
        choice: usize,
        progress: Progress,
        tokens: &'a [Token<'a>],
    ) -> Step<'a> {
        let n = usize::try_from(self.ask.n).unwrap_or(1).max(1);
        let prompt = self.ask.prompts.get(choice / n);
        Step {
            choice: index(choice),
            tokens,
            finish: progress.finish,
            prompt: prompt.map_or(0, |prompt| prompt.len() as u64),
            cached: progress.cached.into(),
            times: progress.times,
        }
    }

    /// Counts of the whole answer.
    pub(crate) fn total(&self, choices: &[Progress]) -> Usage {
        let reasoned = choices
            .iter()
            .map(|choice| u64::from(self.ask.reasoning_tokens.min(choice.tokens)));
        self.said(Usage {
            prompt: self.ask.prompt_tokens(),
            completion: choices.iter().map(|choice| u64::from(choice.tokens)).sum(),
            cached: choices.first().map(|choice| u64::from(choice.cached)),
            reasoning: Some(reasoned.sum()),
        })
    }

    /// Counts without what this answer doesn't tell.
    pub(crate) fn said(&self, usage: Usage) -> Usage {
        let settings = self.writer.manner().settings;
        Usage {
            cached: usage.cached.filter(|_| settings.cache_report),
            reasoning: usage.reasoning.filter(|_| settings.reasons),
            ..usage
        }
    }

    /// An error as the engine writes it, or of the shape asked for. Nothing where the engine breaks off instead.
    pub(crate) fn error(&mut self, sheet: &mut Sheet) {
        const MESSAGE: &str = "EngineCore encountered an issue – see log";
        let event = match self.faults.error_shape {
            ErrorShape::Own => return self.writer.error(MESSAGE, sheet),
            ErrorShape::Vllm => concat!(
                r#"data: {"error": {"message": "EngineCore encountered an issue", "type": "InternalServerError", "#,
                r#""param": null, "code": 500}}"#,
            ),
            ErrorShape::Sglang => concat!(
                r#"data: {"error": {"object": "error", "message": "Request waiting timeout reached.", "#,
                r#""type": "SERVICE_UNAVAILABLE", "param": null, "code": 503}}"#,
            ),
            ErrorShape::Tgi => {
                r#"data: {"error":{"message":"Request failed during generation","http_status_code":424}}"#
            }
            ErrorShape::Text => r#"data: {"error":"executor has been shut down"}"#,
        };
        sheet.foreign(Part::Error, event);
        sheet.foreign(Part::End, "data: [DONE]");
    }
}

/// What an event of a step carries.
pub(crate) fn notes(choice: u32, tokens: &[Token<'_>], written: &Written<'_>) -> Vec<Note> {
    let carried = tokens.get(written.tokens.clone()).unwrap_or_default();
    let kind = match written.part {
        Part::Output => return notes_of(choice, carried).collect(),
        Part::Opening => Kind::Role,
        Part::Closing => Kind::Closing,
        Part::Usage => Kind::Usage,
        Part::Error => Kind::Error,
        Part::End => Kind::Done,
    };
    let tokens = index(carried.len());
    let kind = if tokens > 0 { Kind::Silent } else { kind };
    vec![Note {
        choice,
        kind,
        tokens,
    }]
}

fn notes_of(choice: u32, tokens: &[Token<'_>]) -> impl Iterator<Item = Note> {
    let count = |kind| index(tokens.iter().filter(|token| token.kind == kind).count());
    [
        (Kind::Reasoning, count(TokenKind::Reasoning)),
        (Kind::Answer, count(TokenKind::Answer)),
        (Kind::Silent, count(TokenKind::Silent)),
    ]
    .into_iter()
    .filter(|(_, tokens)| *tokens > 0)
    .map(move |(kind, tokens)| Note {
        choice,
        kind,
        tokens,
    })
}

/// A count as it is written.
pub(crate) fn index(choice: usize) -> u32 {
    u32::try_from(choice).unwrap_or(u32::MAX)
}
