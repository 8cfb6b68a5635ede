//! Writes one answer: turns what an engine generates into the events of its dialect, by the tables of [`Shape`].
//!
//! Order of the calls: [`Writer::open`] where something comes before anything is generated, [`Writer::step`] for each step of
//! each choice, [`Writer::end`]; or [`Writer::error`] instead of what is left. For one body: all steps, then
//! [`Writer::whole`].

use std::ops::Range;
use std::sync::Arc;

use super::holes::{Moment, Piece};
use super::shape::{Counts, Pace, Recall, Shape, Silent, Total};
use super::sheet::{Part, Sheet};
use super::template::fill;
use super::{Finish, Manner, Step, Times, Token, TokenKind, Usage, engines};

/// Writes one answer. A clone goes on from where it was.
#[derive(Debug, Clone)]
pub struct Writer {
    manner: Arc<Manner>,
    shape: &'static Shape,
    choices: Vec<Choice>,
    opened: bool,
    /// Events written.
    seq: u64,
    states_total: bool,
}

/// What was written of a choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub(super) opened: bool,
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) ids: Vec<u32>,
    pub(super) last_id: u32,
    pub(super) steps: u64,
    pub(super) finish: Option<Finish>,
    pub(super) times: Times,
    /// Blocks begun.
    pub(super) blocks: u64,
    counts: Usage,
    /// The block that is open.
    block: Option<TokenKind>,
    /// Tokens of the step that have no event yet.
    carried: Range<usize>,
}

/// An event to be written.
struct Event<'w> {
    template: &'static str,
    part: Part,
    index: usize,
    tokens: Range<usize>,
    piece: Piece<'w>,
    counts: Usage,
    message: &'w str,
}

impl Writer {
    /// Begins an answer; `None` if the engine has no such route.
    pub fn new(manner: Manner) -> Option<Self> {
        let shape = engines::shape(manner.engine, manner.endpoint)?;
        let choices = usize::try_from(manner.n.saturating_mul(manner.prompts)).ok()?;
        Some(Self {
            shape,
            choices: vec![Choice::default(); choices],
            manner: Arc::new(manner),
            opened: false,
            seq: 0,
            states_total: false,
        })
    }

    /// How it writes.
    pub fn manner(&self) -> &Manner {
        &self.manner
    }

    /// Whether what was written states the total of the answer.
    pub fn states_total(&self) -> bool {
        self.states_total
    }

    /// Writes what comes before anything is generated, unless that was done.
    pub fn open(&mut self, sheet: &mut Sheet) {
        if !std::mem::replace(&mut self.opened, true) {
            for index in 0..self.choices.len() {
                self.all(self.shape.at_once, Part::Opening, index, sheet);
            }
        }
    }

    /// Writes what comes with the first output of a choice, unless that was done.
    pub fn open_choice(&mut self, index: u32, sheet: &mut Sheet) {
        let index = place(index);
        if self.choices.get(index).is_some_and(|choice| !choice.opened) {
            self.all(self.shape.first, Part::Opening, index, sheet);
            self.choices[index].opened = true;
        }
    }

    /// Writes what a step has added to a choice. Of a choice that was not announced it writes nothing.
    pub fn step(&mut self, step: &Step<'_>, sheet: &mut Sheet) {
        let index = place(step.choice);
        let Some(choice) = self.choices.get_mut(index) else {
            return;
        };
        choice.learn(step);
        self.open(sheet);
        self.open_choice(step.choice, sheet);
        let by_step = self.shape.pace == Pace::Step;
        if by_step {
            self.choices[index].count(step.tokens);
        }
        let mut start = 0;
        for end in self.piece_ends(step.tokens) {
            if !by_step {
                self.choices[index].count(&step.tokens[start..end]);
            }
            self.choices[index].finish = step.finish.filter(|_| end == step.tokens.len());
            self.piece(index, step.tokens, start..end, sheet);
            start = end;
        }
        if step.finish.is_some() {
            self.finish(index, sheet);
        }
    }

    /// Writes the end of an answer whose choices have all ended.
    pub fn end(&mut self, sheet: &mut Sheet) {
        let total = self.usage(0..self.choices.len());
        if let Total::Once(template) = self.shape.total
            && self.manner.wishes.usage
        {
            self.event(template, Part::Usage, (0, total), sheet);
            self.states_total = true;
        }
        for template in self.shape.end {
            self.event(template, Part::End, (0, total), sheet);
        }
    }

    /// Writes an error and what the engine lets follow it. Nothing is written where the engine breaks off instead.
    pub fn error(&mut self, message: &str, sheet: &mut Sheet) {
        if self.shape.error.is_empty() {
            return;
        }
        self.close_block(0, sheet);
        let counts = self.usage(0..self.choices.len());
        let parts = [
            (self.shape.error, Part::Error),
            (self.shape.error_end, Part::End),
        ];
        for (template, part) in parts
            .into_iter()
            .flat_map(|(list, part)| list.iter().map(move |template| (*template, part)))
        {
            self.write(
                &Event {
                    template,
                    part,
                    index: 0,
                    tokens: 0..0,
                    piece: Piece::default(),
                    counts,
                    message,
                },
                sheet,
            );
        }
    }

    /// Appends all that was generated as one body, and says what it states as the total of the answer.
    pub fn whole(&self, out: &mut Vec<u8>) -> Option<Usage> {
        let counts = match self.shape.whole_counts {
            Counts::All => self.usage(0..self.choices.len()),
            Counts::First => self.usage(0..1),
        };
        let event = Event {
            template: self.shape.whole,
            part: Part::End,
            index: 0,
            tokens: 0..0,
            piece: Piece::default(),
            counts,
            message: "",
        };
        if let Some(moment) = self.moment(&event) {
            fill(event.template, &moment, out);
        }
        let of_all = self.shape.whole_counts == Counts::All || self.choices.len() == 1;
        (self.shape.total != Total::Nowhere && of_all).then_some(counts)
    }

    /// Where the events end that the tokens of a step are dealt out to.
    fn piece_ends(&self, tokens: &[Token<'_>]) -> Vec<usize> {
        if self.shape.pace == Pace::Token {
            return (1..=tokens.len()).collect();
        }
        let reasoned = tokens
            .iter()
            .take_while(|token| token.kind == TokenKind::Reasoning)
            .count();
        if self.shape.reasoning_delta.is_some() && (1..tokens.len()).contains(&reasoned) {
            return vec![reasoned, tokens.len()];
        }
        vec![tokens.len()]
    }

    fn piece(&mut self, index: usize, all: &[Token<'_>], tokens: Range<usize>, sheet: &mut Sheet) {
        let new = &all[tokens.clone()];
        let text: String = texts(new, TokenKind::Answer);
        let reasoning: String = texts(new, TokenKind::Reasoning);
        let ids: Vec<u32> = new.iter().map(|token| token.id).collect();
        let keeps = !self.manner.streamed || self.shape.recall == Recall::All;
        let choice = &mut self.choices[index];
        choice.last_id = ids.last().copied().unwrap_or(choice.last_id);
        if keeps {
            choice.text.push_str(&text);
            choice.reasoning.push_str(&reasoning);
            choice.ids.extend_from_slice(&ids);
        }
        let kind = match (text.is_empty(), reasoning.is_empty()) {
            (true, true) if self.shape.silent != Silent::Event => return choice.carried = tokens,
            _ if self.shape.silent == Silent::Last && choice.finish.is_some() => {
                return choice.carried = tokens;
            }
            (true, false) => TokenKind::Reasoning,
            _ => TokenKind::Answer,
        };
        let template = match self.shape.reasoning_delta {
            Some(template) if kind == TokenKind::Reasoning => template,
            _ => self.shape.delta,
        };
        let counts = choice.usage();
        self.open_block(index, kind, sheet);
        self.write(
            &Event {
                template,
                part: Part::Output,
                index,
                tokens,
                piece: Piece {
                    text: &text,
                    reasoning: &reasoning,
                    ids: &ids,
                },
                counts,
                message: "",
            },
            sheet,
        );
    }

    fn finish(&mut self, index: usize, sheet: &mut Sheet) {
        if self.choices[index].blocks == 0 {
            self.open_block(index, TokenKind::Answer, sheet);
        }
        self.close_block(index, sheet);
        self.all(self.shape.finish, Part::Closing, index, sheet);
        let n = place(self.manner.n).max(1);
        let prompt = index / n * n..(index / n + 1) * n;
        let ended = |choices: &[Choice]| choices.iter().all(|choice| choice.finish.is_some());
        let own = match self.shape.total {
            Total::EachChoice(template) => Some((template, self.choices[index].usage())),
            Total::EachPrompt(template) if ended(&self.choices[prompt.clone()]) => {
                Some((template, self.usage(prompt)))
            }
            _ => None,
        };
        let asked = self.manner.wishes.usage;
        if let Some((template, counts)) = own.filter(|_| asked) {
            self.event(template, Part::Usage, (index, counts), sheet);
        }
        let states = match self.shape.total {
            Total::Nowhere | Total::Once(_) => false,
            Total::Anyway => true,
            Total::Detailed => self.manner.wishes.details,
            Total::EachPrompt(_) | Total::EachChoice(_) => asked,
        };
        if states && ended(&self.choices) {
            self.states_total = true;
        }
    }

    fn open_block(&mut self, index: usize, kind: TokenKind, sheet: &mut Sheet) {
        if self.choices[index].block == Some(kind) {
            return;
        }
        self.close_block(index, sheet);
        let block = match kind {
            TokenKind::Reasoning => self.shape.reasoning,
            TokenKind::Answer | TokenKind::Silent => self.shape.answer,
        };
        let choice = &mut self.choices[index];
        choice.block = Some(kind);
        choice.blocks += 1;
        self.all(block.open, Part::Opening, index, sheet);
    }

    fn close_block(&mut self, index: usize, sheet: &mut Sheet) {
        let block = match self.choices[index].block.take() {
            None => return,
            Some(TokenKind::Reasoning) => self.shape.reasoning,
            Some(_) => self.shape.answer,
        };
        self.all(block.close, Part::Opening, index, sheet);
    }

    /// Writes events about a choice. The first one carries the tokens that had none.
    fn all(&mut self, templates: &[&'static str], part: Part, index: usize, sheet: &mut Sheet) {
        for template in templates {
            let counts = self.choices[index].usage();
            self.event(template, part, (index, counts), sheet);
        }
    }

    fn event(
        &mut self,
        template: &'static str,
        part: Part,
        (index, counts): (usize, Usage),
        sheet: &mut Sheet,
    ) {
        let tokens = match self.choices.get_mut(index) {
            Some(choice) if part != Part::Usage => std::mem::take(&mut choice.carried),
            _ => 0..0,
        };
        let event = Event {
            template,
            part,
            index,
            tokens,
            piece: Piece::default(),
            counts,
            message: "",
        };
        self.write(&event, sheet);
    }

    fn write(&mut self, event: &Event<'_>, sheet: &mut Sheet) {
        let Some(moment) = self.moment(event) else {
            return;
        };
        let end = self.shape.event_end;
        let wrote = sheet.put(event.part, event.tokens.clone(), |out| {
            fill(event.template, &moment, out);
            end
        });
        self.seq += u64::from(wrote);
    }

    fn moment<'w>(&'w self, event: &Event<'w>) -> Option<Moment<'w>> {
        Some(Moment {
            shape: self.shape,
            manner: &self.manner,
            choices: &self.choices,
            index: event.index,
            choice: self.choices.get(event.index)?,
            piece: event.piece,
            counts: event.counts,
            seq: self.seq,
            message: event.message,
            ended: event.part == Part::End,
        })
    }

    /// Counts of some choices; each prompt counts once. Of the cache the first prompt tells.
    fn usage(&self, choices: Range<usize>) -> Usage {
        let choices = self.choices.get(choices).unwrap_or_default();
        let per_prompt = choices.chunks(place(self.manner.n).max(1));
        let reasons = self.manner.settings.reasons;
        Usage {
            prompt: per_prompt
                .filter_map(|of_prompt| of_prompt.first())
                .map(|choice| choice.counts.prompt)
                .sum(),
            completion: choices.iter().map(|choice| choice.counts.completion).sum(),
            cached: choices.first().and_then(|choice| choice.counts.cached),
            reasoning: reasons.then(|| {
                let reasoned = choices.iter().filter_map(|choice| choice.counts.reasoning);
                reasoned.sum()
            }),
        }
    }
}

impl Choice {
    /// Its counts so far.
    pub(super) fn usage(&self) -> Usage {
        self.counts
    }

    fn learn(&mut self, step: &Step<'_>) {
        self.counts.prompt = step.prompt;
        self.counts.cached = Some(step.cached);
        self.times = step.times;
        self.steps += 1;
        self.carried = 0..0;
    }

    fn count(&mut self, tokens: &[Token<'_>]) {
        let reasoned = tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Reasoning)
            .count() as u64;
        self.counts.completion += tokens.len() as u64;
        self.counts.reasoning = Some(self.counts.reasoning.unwrap_or(0) + reasoned);
    }
}

fn texts(tokens: &[Token<'_>], kind: TokenKind) -> String {
    tokens
        .iter()
        .filter(|token| token.kind == kind)
        .map(|token| token.text)
        .collect()
}

fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
