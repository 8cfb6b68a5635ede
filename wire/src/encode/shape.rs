//! An engine's habits on one route, as data.
//!
//! Lists hold templates of whole events, without their blank line. What the holes mean is in `holes`; a [`part`](Shape::parts)
//! is a piece of a template under a name of its own.

/// How answers look on one route of one engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// What ends an event.
    pub(super) event_end: &'static str,
    /// Pieces that the templates share: `$name` is one of these before it is anything else.
    pub(super) parts: &'static [(&'static str, &'static str)],
    /// What comes before anything is generated.
    pub(super) at_once: &'static [&'static str],
    /// What comes with the first output of each choice.
    pub(super) first: &'static [&'static str],
    /// What stands around a run of reasoning, and of answer.
    pub(super) reasoning: Block,
    pub(super) answer: Block,
    /// What carries tokens.
    pub(super) delta: &'static str,
    /// The same for reasoning, where reasoning and answer never share an event.
    pub(super) reasoning_delta: Option<&'static str>,
    pub(super) pace: Pace,
    pub(super) silent: Silent,
    pub(super) recall: Recall,
    /// What ends a choice; nothing where its last token's event does.
    pub(super) finish: &'static [&'static str],
    pub(super) total: Total,
    /// What ends the answer.
    pub(super) end: &'static [&'static str],
    /// An error after the start; nothing where the engine breaks off instead.
    pub(super) error: &'static [&'static str],
    /// What follows an error.
    pub(super) error_end: &'static [&'static str],
    /// Finish reasons, of a stop and of a limit.
    pub(super) finishes: (&'static str, &'static str),
    /// An answer that is one body, and one choice of it.
    pub(super) whole: &'static str,
    pub(super) whole_choice: &'static str,
    /// Choices that the total of a whole body counts.
    pub(super) whole_counts: Counts,
}

/// What stands around a run of events of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) open: &'static [&'static str],
    pub(super) close: &'static [&'static str],
}

/// How many tokens share an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Those of a step.
    Step,
    /// None: each has its own.
    Token,
}

/// What becomes of a step that shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silent {
    /// It has an event like any other.
    Event,
    /// It has none.
    None,
    /// It has none, nor has the last step of a choice, whatever it would show.
    Last,
}

/// Whether events show again what was shown before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recall {
    /// They may: text and ids of a choice have to be kept.
    All,
    /// They never do.
    Nothing,
}

/// Where the total stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Total {
    /// Nowhere.
    Nowhere,
    /// On events that come anyway.
    Anyway,
    /// On events that come anyway, if details were asked for.
    Detailed,
    /// On an event of its own before the end, if asked for.
    Once(&'static str),
    /// On one after each prompt's last choice, if asked for.
    EachPrompt(&'static str),
    /// On one after each choice, if asked for.
    EachChoice(&'static str),
}

/// Choices that a total counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    All,
    First,
}

impl Block {
    pub(super) const NONE: Self = Self {
        open: &[],
        close: &[],
    };
}

impl Shape {
    /// What most have in common: server-sent events, OpenAI's end mark and finish reasons, an event for each step.
    pub(super) const PLAIN: Self = Self {
        event_end: "\n\n",
        parts: &[],
        at_once: &[],
        first: &[],
        reasoning: Block::NONE,
        answer: Block::NONE,
        delta: "",
        reasoning_delta: None,
        pace: Pace::Step,
        silent: Silent::Event,
        recall: Recall::Nothing,
        finish: &[],
        total: Total::Nowhere,
        end: &["data: [DONE]"],
        error: &[],
        error_end: &["data: [DONE]"],
        finishes: ("stop", "length"),
        whole: "$choices",
        whole_choice: "",
        whole_counts: Counts::All,
    };

    /// All templates of events.
    #[cfg(test)]
    pub(super) fn templates(&self) -> Vec<&'static str> {
        let own = match self.total {
            Total::Nowhere | Total::Anyway | Total::Detailed => None,
            Total::Once(own) | Total::EachPrompt(own) | Total::EachChoice(own) => Some(own),
        };
        [
            self.at_once,
            self.first,
            self.reasoning.open,
            self.reasoning.close,
            self.answer.open,
            self.answer.close,
            self.finish,
            self.end,
            self.error,
            self.error_end,
            &[self.delta],
        ]
        .concat()
        .into_iter()
        .chain(self.reasoning_delta)
        .chain(own)
        .collect()
    }
}
