//! Telling an answer as events: from the engine's progress to vLLM's stream, with whatever was asked to go wrong.

use std::ops::ControlFlow;

use tokio::sync::watch;
use wire::encode;

use crate::answer::{Story, index};
use crate::driver::Progress;
use crate::fault::Midway;
use crate::link::Note;
use crate::outbox::{BrokeOff, Outbox};
use crate::truth::{Ended, Kind};

/// An answer that is being told.
pub(crate) struct Telling {
    story: Story,
    outbox: Outbox,
    progress: watch::Receiver<Vec<Progress>>,
    told: Vec<Told>,
}

/// How far one choice has been told.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    role: bool,
    tokens: u32,
    finished: bool,
}

impl Telling {
    pub(crate) fn new(
        story: Story,
        outbox: Outbox,
        progress: watch::Receiver<Vec<Progress>>,
    ) -> Self {
        let told = vec![Told::default(); progress.borrow().len()];
        Self {
            story,
            outbox,
            progress,
            told,
        }
    }

    /// Tells all of it.
    pub(crate) async fn tell(mut self) -> Result<(), BrokeOff> {
        self.story
            .exchange
            .note(|record| record.finish = vec![None; self.told.len()]);
        if self.story.faults.early_role {
            for choice in 0..self.told.len() {
                self.role(choice).await?;
            }
        }
        loop {
            if self.midway().await?.is_break() {
                return Ok(());
            }
            if self.told.iter().all(|told| told.finished) {
                return self.end().await;
            }
            self.change().await?;
            let choices = self.progress.borrow_and_update().clone();
            for (choice, progress) in choices.into_iter().enumerate() {
                self.catch_up(choice, progress).await?;
                if self.midway().await?.is_break() {
                    return Ok(());
                }
            }
        }
    }

    /// Waits for news from the engine.
    async fn change(&mut self) -> Result<(), BrokeOff> {
        let Some(pause) = self.story.faults.keep_alive else {
            return self.progress.changed().await.map_err(|_| BrokeOff);
        };
        loop {
            match tokio::time::timeout(pause, self.progress.changed()).await {
                Ok(changed) => return changed.map_err(|_| BrokeOff),
                Err(_silence) => self.outbox.comment().await?,
            }
        }
    }

    async fn role(&mut self, choice: usize) -> Result<(), BrokeOff> {
        self.told[choice].role = true;
        let (at, running) = (
            index(choice),
            self.story
                .ask
                .running_usage
                .then(|| self.story.running(choice, 0)),
        );
        let mut event = Vec::new();
        self.story.identity().role(&mut event, at, running);
        if event.is_empty() {
            return Ok(());
        }
        self.outbox
            .event(
                &event,
                &[Note {
                    choice: at,
                    kind: Kind::Role,
                    tokens: 0,
                }],
            )
            .await
    }

    /// Tells what the engine has generated of a choice since the last time, as one event.
    async fn catch_up(&mut self, choice: usize, progress: Progress) -> Result<(), BrokeOff> {
        let Told {
            role, tokens: from, ..
        } = self.told[choice];
        if progress.tokens == from {
            return Ok(());
        }
        if !role {
            self.role(choice).await?;
        }
        let (story, at) = (&self.story, index(choice));
        let mut piece = story.piece(at, from, progress);
        story.exchange.note(|record| {
            record.cached_tokens.get_or_insert(progress.cached.into());
            record.finish[choice] = progress.finish;
        });
        let mut event = story.delta(choice, progress, &piece);
        if let Some(bytes) = story
            .faults
            .giant_event
            .filter(|_| from <= 1 && progress.tokens >= 2)
        {
            piece
                .answer
                .push_str(&"m".repeat(bytes.saturating_sub(event.len())));
            event = story.delta(choice, progress, &piece);
        }
        let notes: Vec<Note> = piece.notes(at).collect();
        self.told[choice] = Told {
            role: true,
            tokens: progress.tokens,
            finished: progress.finish.is_some(),
        };
        self.outbox.event(&event, &notes).await
    }

    /// Does what was asked to happen after so many tokens.
    async fn midway(&mut self) -> Result<ControlFlow<()>, BrokeOff> {
        let tokens: u64 = self.told.iter().map(|told| u64::from(told.tokens)).sum();
        let Some((_, midway)) = self
            .story
            .faults
            .midway
            .take_if(|(after, _)| *after <= tokens)
        else {
            return Ok(ControlFlow::Continue(()));
        };
        self.outbox.drained().await?;
        let exchange = &self.story.exchange;
        match midway {
            Midway::Die => exchange.ends_as(Ended::Died),
            Midway::Reset => {
                exchange.ends_as(Ended::Reset);
                self.outbox.link().reset_at_the_end();
            }
            Midway::DieInEvent => {
                exchange.ends_as(Ended::Died);
                self.outbox.link().cut_next_write();
                return Ok(ControlFlow::Continue(()));
            }
            Midway::Hang => std::future::pending().await,
            Midway::Stall(pause) => {
                tokio::time::sleep(pause).await;
                return Ok(ControlFlow::Continue(()));
            }
            Midway::ErrorEvent => return self.error(Kind::Done).await,
            Midway::ErrorEventCut => return self.error(Kind::Error).await,
        }
        Err(BrokeOff)
    }

    /// An error event; `last` says whether the end mark follows it.
    async fn error(&mut self, last: Kind) -> Result<ControlFlow<()>, BrokeOff> {
        self.story.exchange.ends_as(Ended::Errored);
        let mut event = Vec::new();
        self.story.error_event(&mut event);
        self.outbox.event(&event, &[plain(Kind::Error)]).await?;
        if last == Kind::Done {
            self.done().await?;
        }
        self.outbox.finish().await?;
        Ok(ControlFlow::Break(()))
    }

    /// Usage, end mark.
    async fn end(&mut self) -> Result<(), BrokeOff> {
        if self.story.ask.include_usage && !self.story.faults.no_usage {
            let total = self.story.total(&self.progress.borrow());
            self.story
                .exchange
                .note(|record| record.usage = Some(total));
            let mut event = Vec::new();
            self.story.identity().usage(&mut event, total);
            self.outbox.event(&event, &[plain(Kind::Usage)]).await?;
        }
        if !self.story.faults.no_done {
            self.done().await?;
        }
        self.outbox.finish().await
    }

    async fn done(&mut self) -> Result<(), BrokeOff> {
        let mut event = Vec::new();
        encode::done(&mut event);
        self.outbox.event(&event, &[plain(Kind::Done)]).await
    }
}

/// An event that belongs to no choice.
fn plain(kind: Kind) -> Note {
    Note {
        choice: 0,
        kind,
        tokens: 0,
    }
}
