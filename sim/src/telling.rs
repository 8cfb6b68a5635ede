//! Telling an answer as events: from the engine's progress to a stream, with whatever was asked to go wrong.

use std::ops::ControlFlow;

use tokio::sync::watch;
use wire::encode::{Part, Sheet, Token};

use crate::answer::{Story, index, notes};
use crate::driver::Progress;
use crate::fault::Midway;
use crate::outbox::{BrokeOff, Outbox};
use crate::text::Word;
use crate::truth::Ended;

/// An answer that is being told.
pub(crate) struct Telling {
    story: Story,
    outbox: Outbox,
    progress: watch::Receiver<Vec<Progress>>,
    told: Vec<Told>,
    sheet: Sheet,
}

/// How far one choice has been told.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
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
            sheet: Sheet::default(),
        }
    }

    /// Tells all of it.
    pub(crate) async fn tell(mut self) -> Result<(), BrokeOff> {
        let choices = self.told.len();
        self.story.exchange.note(|record| {
            record.finish = vec![None; choices];
            record.times = vec![Default::default(); choices];
        });
        self.story.writer.open(&mut self.sheet);
        if self.story.faults.early_role {
            (0..choices).for_each(|choice| {
                self.story
                    .writer
                    .open_choice(index(choice), &mut self.sheet);
            });
        }
        self.put(0, &[]).await?;
        // Whoever wrote the head may have waited for some of it.
        self.progress.mark_changed();
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

    /// Tells what the engine has generated of a choice since the last time.
    async fn catch_up(&mut self, choice: usize, progress: Progress) -> Result<(), BrokeOff> {
        let Told { tokens: from, .. } = self.told[choice];
        if progress.tokens == from {
            return Ok(());
        }
        self.story.exchange.note(|record| {
            record.cached_tokens.get_or_insert(progress.cached.into());
            record.finish[choice] = progress.finish;
            record.times[choice] = progress.times;
        });
        let mut words = self.story.words(choice, from, progress);
        let giant = self.story.faults.giant_event;
        if let Some(bytes) = giant.filter(|_| from <= 1 && progress.tokens >= 2) {
            self.swell(choice, progress, (&mut words, bytes));
        }
        let tokens: Vec<Token<'_>> = words.iter().map(Word::token).collect();
        let step = self.story.step(choice, progress, &tokens);
        self.story.writer.step(&step, &mut self.sheet);
        self.told[choice] = Told {
            tokens: progress.tokens,
            finished: progress.finish.is_some(),
        };
        self.put(index(choice), &tokens).await
    }

    /// Lengthens the last text, so that its event has so many bytes.
    fn swell(&self, choice: usize, progress: Progress, (words, bytes): (&mut [Word], usize)) {
        let tokens: Vec<Token<'_>> = words.iter().map(Word::token).collect();
        let step = self.story.step(choice, progress, &tokens);
        let mut trial = Sheet::default();
        self.story.writer.clone().step(&step, &mut trial);
        let output = trial.events().filter(|event| event.part == Part::Output);
        let length = output.map(|event| event.bytes.len()).max().unwrap_or(0);
        if let Some(word) = words.iter_mut().rfind(|word| !word.text.is_empty()) {
            word.text
                .push_str(&"m".repeat(bytes.saturating_sub(length)));
        }
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
            Midway::ErrorEvent => return self.error().await,
            Midway::ErrorEventCut => {
                self.story.faults.no_done = true;
                return self.error().await;
            }
        }
        Err(BrokeOff)
    }

    /// An error event and what follows it; an engine that has none breaks off.
    async fn error(&mut self) -> Result<ControlFlow<()>, BrokeOff> {
        self.story.error(&mut self.sheet);
        if self.sheet.bytes().is_empty() {
            self.story.exchange.ends_as(Ended::Died);
            return Err(BrokeOff);
        }
        self.story.exchange.ends_as(Ended::Errored);
        self.put(0, &[]).await?;
        self.outbox.finish().await?;
        Ok(ControlFlow::Break(()))
    }

    /// Usage, end mark.
    async fn end(&mut self) -> Result<(), BrokeOff> {
        self.story.writer.end(&mut self.sheet);
        self.put(0, &[]).await?;
        self.outbox.finish().await
    }

    /// Hands on what was written about these tokens.
    async fn put(&mut self, choice: u32, tokens: &[Token<'_>]) -> Result<(), BrokeOff> {
        if self.story.writer.states_total() {
            let total = self.story.total(&self.progress.borrow());
            self.story
                .exchange
                .note(|record| record.usage = Some(total));
        }
        for written in self.sheet.events() {
            if written.part != Part::End || !self.story.faults.no_done {
                let notes = notes(choice, tokens, &written);
                self.outbox.event(written.bytes, &notes).await?;
            }
        }
        self.sheet.clear();
        self.outbox.told().await
    }
}
