//! The words of a decision.
//!
//! Three-valued, since a tool that can only say yes or no says yes when it does not know. Non-significance is never a
//! pass.

use std::fmt;

/// The answer to one criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Proven to hold.
    Pass,
    /// Proven not to hold.
    Fail,
    /// Neither is proven.
    NotEnoughData,
}

/// The answer to a relative test of a candidate against an incumbent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Proven to be within the margin.
    NonInferior,
    /// Proven to be beyond the margin.
    Inferior,
    /// Neither is proven.
    NotEnoughData,
}

// Decision

impl Decision {
    /// PASS if all pass, FAIL if any fails, else NOT ENOUGH DATA. PASS of nothing.
    pub fn all(decisions: impl IntoIterator<Item = Self>) -> Self {
        let mut combined = Self::Pass;
        for decision in decisions {
            match decision {
                Self::Fail => return Self::Fail,
                Self::NotEnoughData => combined = Self::NotEnoughData,
                Self::Pass => {}
            }
        }
        combined
    }

    /// As it is printed in a report.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotEnoughData => "NOT ENOUGH DATA",
        }
    }

    /// As it is printed in a cell of a table.
    pub const fn as_cell(self) -> &'static str {
        match self {
            Self::Pass => "yes",
            Self::Fail => "no",
            Self::NotEnoughData => "not shown",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

// Standing

impl Standing {
    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NonInferior => "NON-INFERIOR",
            Self::Inferior => "INFERIOR",
            Self::NotEnoughData => "NOT ENOUGH DATA",
        }
    }

    /// NON-INFERIOR if `upper` is below the margin, INFERIOR if `lower` is above it.
    pub fn of_bounds(lower: f64, upper: f64, margin: f64) -> Self {
        if upper < margin {
            Self::NonInferior
        } else if lower > margin {
            Self::Inferior
        } else {
            Self::NotEnoughData
        }
    }
}

impl From<Standing> for Decision {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::NonInferior => Self::Pass,
            Standing::Inferior => Self::Fail,
            Standing::NotEnoughData => Self::NotEnoughData,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
