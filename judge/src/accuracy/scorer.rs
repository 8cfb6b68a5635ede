//! Deterministic scorers: an output and its label in, right or wrong out, and whether the output is well-formed.
//!
//! No output is wrong and malformed. A malformed answer is no useful decision either. An answer that was cut at its length
//! limit is the caller's to hand in as none, unless the slice allows cut ones.

use super::json::{JsonFields, JsonSchema};
use super::text::TextOptions;
use crate::error::JudgeError;
use regex::Regex;
use std::sync::LazyLock;

/// What an answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// It is right.
    pub correct: bool,
    /// It is no answer in the form asked for.
    pub malformed: bool,
}

/// Which of several matches counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Take {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
}

/// A part of the output, found by a pattern in RE2 syntax (no look-around).
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    group: usize,
    take: Take,
}

/// One of several labels, found by a pattern.
#[derive(Debug, Clone)]
pub struct Choice {
    /// How it is found.
    pub pattern: Pattern,
    /// What it may be.
    pub choices: Vec<String>,
}

/// How far numbers may be apart: |output − label| ≤ max(absolute, relative·|label|).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tolerance {
    /// In the unit of the number.
    pub absolute: f64,
    /// As a share of the label.
    pub relative: f64,
}

/// A way to score. Labels are texts; `JsonSchema` has none.
#[derive(Debug)]
pub enum Scorer {
    /// Equal after the options.
    Exact(TextOptions),
    /// The label is part of the output, after the options.
    Contains(TextOptions),
    /// What a pattern finds equals the label, both after the options. Nothing found is malformed.
    Regex(Pattern, TextOptions),
    /// What a pattern finds is one of the choices, else malformed, and is the label.
    Choice(Choice),
    /// The whole output is a number, else malformed, near to the label.
    Numeric(Tolerance),
    /// The output is JSON that a schema accepts, else malformed.
    JsonSchema(JsonSchema),
    /// Named fields of the output equal those of the label. One that is missing is malformed.
    JsonFields(JsonFields),
}

// Score

impl Score {
    /// Wrong, and no answer at all.
    pub const MALFORMED: Self = Self {
        correct: false,
        malformed: true,
    };

    /// An answer, right or wrong.
    pub fn answer(correct: bool) -> Self {
        Self {
            correct,
            malformed: false,
        }
    }
}

// Pattern

impl Pattern {
    /// A pattern of which `group` counts (0 is the whole match).
    ///
    /// # Errors
    /// If it is no pattern.
    pub fn new(pattern: &str, group: usize, take: Take) -> Result<Self, JudgeError> {
        Ok(Self {
            regex: Regex::new(pattern)?,
            group,
            take,
        })
    }

    fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let mut matches = self.regex.captures_iter(text);
        let found = match self.take {
            Take::First => matches.next(),
            Take::Last => matches.last(),
        };
        Some(found?.get(self.group)?.as_str())
    }
}

// Tolerance

impl Tolerance {
    /// `output` is near enough to `gold`.
    pub fn accepts(&self, output: f64, gold: f64) -> bool {
        (output - gold).abs() <= self.absolute.max(self.relative * gold.abs())
    }
}

// Scorer

impl Scorer {
    /// Scores one output. `gold` is its label.
    ///
    /// # Errors
    /// If the label does not fit the scorer.
    pub fn score(&self, output: Option<&str>, gold: &str) -> Result<Score, JudgeError> {
        let Some(output) = output else {
            return Ok(Score::MALFORMED);
        };
        Ok(match self {
            Self::Exact(options) => Score::answer(options.apply(output) == options.apply(gold)),
            Self::Contains(options) => {
                Score::answer(options.apply(output).contains(&options.apply(gold)))
            }
            Self::Regex(pattern, options) => match pattern.find(output) {
                Some(found) => Score::answer(options.apply(found) == options.apply(gold)),
                None => Score::MALFORMED,
            },
            Self::Choice(choice) => match choice.pattern.find(output) {
                Some(found) if choice.choices.iter().any(|one| one == found) => {
                    Score::answer(found == gold)
                }
                _ => Score::MALFORMED,
            },
            Self::Numeric(tolerance) => score_number(*tolerance, output, gold)?,
            Self::JsonSchema(schema) => schema.score(output),
            Self::JsonFields(fields) => fields.score(output, gold)?,
        })
    }
}

fn score_number(tolerance: Tolerance, output: &str, gold: &str) -> Result<Score, JudgeError> {
    let Some(label) = number(gold) else {
        return Err(JudgeError::Gold {
            gold: gold.to_owned(),
            scorer: "numeric",
            wanted: "give a number",
        });
    };
    Ok(match number(output) {
        Some(output) => Score::answer(tolerance.accepts(output, label)),
        None => Score::MALFORMED,
    })
}

/// A number that is the whole text: a sign; digits, or groups of three with commas, or none before a fraction; a fraction;
/// an exponent; a percent sign that divides by 100.
fn number(text: &str) -> Option<f64> {
    static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"^[+-]?(?:(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?$",
        )
        .ok()
    });
    let text = text.trim();
    if !NUMBER.as_ref()?.is_match(text) {
        return None;
    }
    let (digits, divisor) = match text.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (text, 1.0),
    };
    let value = digits.replace(',', "").parse::<f64>().ok()? / divisor;
    value.is_finite().then_some(value)
}
