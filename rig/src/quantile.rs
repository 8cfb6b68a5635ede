//! Quantiles by nearest rank: of n values in ascending order, the p-quantile is the one in place ⌈p·n⌉.
//!
//! It is a value that occurred, never a mean of two. How far it can be trusted depends on n: a quantile is stated as one of
//! the load only from [`Quantile::enough`] values on, so that some lie beyond it.

/// The quantiles that are stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantile {
    P50,
    P95,
    P99,
}

impl Quantile {
    /// All, ascending.
    pub(crate) const ALL: [Self; 3] = [Self::P50, Self::P95, Self::P99];

    const fn percent(self) -> usize {
        match self {
            Self::P50 => 50,
            Self::P95 => 95,
            Self::P99 => 99,
        }
    }

    /// As a share.
    pub(crate) const fn share(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
        }
    }

    /// Values that it takes to state it: 10 beyond the median, 5 beyond the others.
    pub(crate) const fn enough(self) -> usize {
        match self {
            Self::P50 => 20,
            Self::P95 => 100,
            Self::P99 => 500,
        }
    }

    /// Of values in ascending order, however few; `None` of none.
    pub(crate) fn of<T: Copy>(self, ascending: &[T]) -> Option<T> {
        let rank = (ascending.len() * self.percent()).div_ceil(100);
        ascending.get(rank.checked_sub(1)?).copied()
    }

    /// Of values in ascending order, if they are enough.
    pub(crate) fn stated<T: Copy>(self, ascending: &[T]) -> Option<T> {
        (ascending.len() >= self.enough())
            .then(|| self.of(ascending))
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let hundred: Vec<u32> = (1..=100).collect();
        let of = |n: usize| Quantile::ALL.map(|quantile| quantile.of(&hundred[..n]));
        assert_eq!(of(0), [None; 3]);
        assert_eq!(of(1), [Some(1); 3]);
        assert_eq!(of(2), [Some(1), Some(2), Some(2)]);
        assert_eq!(of(3), [Some(2), Some(3), Some(3)]);
        // 0.95 · 20 is 19 exactly: the 19th, not the 20th.
        assert_eq!(of(20), [Some(10), Some(19), Some(20)]);
        assert_eq!(of(100), [Some(50), Some(95), Some(99)]);
    }

    #[test]
    fn few_values_state_nothing() {
        let values = [7; 500];
        let stated =
            |n: usize| Quantile::ALL.map(|quantile| quantile.stated(&values[..n]).is_some());
        assert_eq!(stated(19), [false, false, false]);
        assert_eq!(stated(20), [true, false, false]);
        assert_eq!(stated(99), [true, false, false]);
        assert_eq!(stated(100), [true, true, false]);
        assert_eq!(stated(499), [true, true, false]);
        assert_eq!(stated(500), [true, true, true]);
    }

    #[test]
    fn at_least_five_values_lie_at_or_beyond_what_is_stated() {
        for quantile in Quantile::ALL {
            let ascending: Vec<usize> = (1..=quantile.enough()).collect();
            let stated = quantile.stated(&ascending).expect("there are enough");
            assert!(ascending.len() - stated >= 5, "{quantile:?}: {stated}");
        }
    }
}
