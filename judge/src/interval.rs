//! Two ends around a number.

/// From `lower` to `upper`, both included; infinite where there is no bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl Interval {
    /// `value` ± `half`.
    pub fn around(value: f64, half: f64) -> Self {
        Self {
            lower: value - half,
            upper: value + half,
        }
    }

    /// `value` lies within, ends included.
    pub fn contains(self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }
}
