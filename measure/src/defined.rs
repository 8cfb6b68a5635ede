//! A quantity that may be absent, or known only from below.

/// A quantity of one exchange, as a criterion sees it.
///
/// The population of a criterion is the exchanges with a value and the censored ones. Censored ones never leave it: to
/// drop them would reward an engine for giving up on the requests that it is slow on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Defined<T> {
    /// Its value.
    Value(T),
    /// The exchange ended before the value was determined: at least this much.
    Censored(T),
    /// It can't have one (TTFT of a body that was not streamed, TPOT of one burst), or nothing can be known of it.
    NotApplicable,
}

impl<T> Defined<T> {
    /// The value, if it was determined.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Censored(_) | Self::NotApplicable => None,
        }
    }

    /// The value, or the lower bound at which it was censored.
    pub fn observed(self) -> Option<T> {
        match self {
            Self::Value(value) | Self::Censored(value) => Some(value),
            Self::NotApplicable => None,
        }
    }

    /// Only a lower bound is known.
    pub fn is_censored(&self) -> bool {
        matches!(self, Self::Censored(_))
    }

    /// The same standing with another number, for instance in another unit.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Defined<U> {
        match self {
            Self::Value(value) => Defined::Value(convert(value)),
            Self::Censored(bound) => Defined::Censored(convert(bound)),
            Self::NotApplicable => Defined::NotApplicable,
        }
    }
}
