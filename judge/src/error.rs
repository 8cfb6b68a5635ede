//! Why something can't be judged: the input is wrong. Too little data is no error but an answer.

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JudgeError {
    /// A number outside its range.
    #[error("{name} is {value}: give {wanted}")]
    OutOfRange {
        /// Which number.
        name: &'static str,
        /// What it was.
        value: f64,
        /// What it may be.
        wanted: &'static str,
    },
    /// Two lists that belong together differ in length.
    #[error(
        "{left} has {left_len} entries and {right} has {right_len}: they belong together one by one"
    )]
    Lengths {
        /// One list.
        left: &'static str,
        /// Its length.
        left_len: usize,
        /// The other.
        right: &'static str,
        /// Its length.
        right_len: usize,
    },
    /// Nothing to compute from.
    #[error("{name} is empty: give at least one")]
    Empty {
        /// What is empty.
        name: &'static str,
    },
    /// A pattern that is none.
    #[error("the scorer's pattern can't be used")]
    Pattern(#[from] regex::Error),
    /// A schema that is none, or one that reaches for another document.
    #[error("the scorer's schema can't be used: {0}")]
    Schema(String),
    /// A labelled item whose label does not fit its scorer.
    #[error("the label {gold:?} can't be compared by the scorer {scorer}: {wanted}")]
    Gold {
        /// The label.
        gold: String,
        /// The scorer.
        scorer: &'static str,
        /// What it has to be.
        wanted: &'static str,
    },
}

/// `value`, if it lies strictly between 0 and 1.
pub(crate) fn open_unit(name: &'static str, value: f64) -> Result<f64, JudgeError> {
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(JudgeError::OutOfRange {
            name,
            value,
            wanted: "a number between 0 and 1, both excluded",
        })
    }
}

/// `value`, if it is finite and above 0.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64, JudgeError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(JudgeError::OutOfRange {
            name,
            value,
            wanted: "a finite number above 0",
        })
    }
}

/// Both lists have the same length.
pub(crate) fn same_length(
    (left, left_len): (&'static str, usize),
    (right, right_len): (&'static str, usize),
) -> Result<(), JudgeError> {
    if left_len == right_len {
        return Ok(());
    }
    Err(JudgeError::Lengths {
        left,
        left_len,
        right,
        right_len,
    })
}
