//! Quantile levels, and the estimators of a quantile.
//!
//! **Nearest rank** is the only one that may feed a verdict: x_(k), k = max(1, ⌈n·p⌉), with p kept as parts per million, so
//! that n·p is exact. It always is one of the measured values. The other two exist for comparison with other tools:
//! *linear* is type 7 of Hyndman and Fan ("Sample quantiles in statistical packages", 1996), the default of most
//! libraries; *floor* is what MLPerf's LoadGen reports.
//!
//! Values have any unit; infinity stands for "longer than was seen".

use crate::error::JudgeError;
use crate::numeric::{floor, index};
use std::fmt;

/// Parts per million in one.
const MILLION: u64 = 1_000_000;

/// A quantile level, exact to a millionth: 0.95 for p95.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level {
    ppm: u32,
}

/// Values in ascending order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sorted(Vec<f64>);

// Level

impl Level {
    /// Lower end of a percentile interval at 95 %.
    pub const P02_5: Self = Self { ppm: 25_000 };
    /// The mirror of [`Self::P95`].
    pub const P05: Self = Self { ppm: 50_000 };
    /// The median.
    pub const P50: Self = Self { ppm: 500_000 };
    /// The level of most service objectives.
    pub const P95: Self = Self { ppm: 950_000 };
    /// Upper end of a percentile interval at 95 %.
    pub const P97_5: Self = Self { ppm: 975_000 };
    /// The level of the strict ones.
    pub const P99: Self = Self { ppm: 990_000 };
    /// The largest.
    pub const P100: Self = Self { ppm: 1_000_000 };

    /// The level nearest to `p`.
    ///
    /// # Errors
    /// If `p` is not within 0 and 1.
    pub fn new(p: f64) -> Result<Self, JudgeError> {
        if !(0.0..=1.0).contains(&p) {
            return Err(JudgeError::OutOfRange {
                name: "quantile level",
                value: p,
                wanted: "a number from 0 to 1",
            });
        }
        let ppm = crate::numeric::count((p * MILLION as f64).round());
        Ok(Self {
            ppm: u32::try_from(ppm).unwrap_or(u32::MAX),
        })
    }

    /// The level as a number.
    pub fn p(self) -> f64 {
        f64::from(self.ppm) / MILLION as f64
    }

    /// 1 − p, without the error of the subtraction.
    pub fn tail(self) -> f64 {
        (MILLION - u64::from(self.ppm)) as f64 / MILLION as f64
    }

    /// Rank of the nearest-rank quantile among `n` values, from 1; 0 of nothing.
    pub fn rank(self, n: u64) -> u64 {
        self.rank_beside(n, 0)
    }

    /// The same for the level p + `half_ppm`/2,000,000, kept within 0 and 1.
    pub(crate) fn rank_beside(self, n: u64, half_ppm: i64) -> u64 {
        let halves = (2 * i64::from(self.ppm) + half_ppm).max(0).unsigned_abs();
        let exact = u128::from(n) * u128::from(halves);
        let rank = exact.div_ceil(2 * u128::from(MILLION));
        u64::try_from(rank).unwrap_or(u64::MAX).clamp(n.min(1), n)
    }

    /// Distance to 1, in parts per million.
    pub(crate) fn tail_ppm(self) -> u32 {
        1_000_000_u32.saturating_sub(self.ppm)
    }

    /// `part` of `total` has reached this level; without rounding.
    pub(crate) fn is_reached(self, part: u128, total: u128) -> bool {
        part.saturating_mul(u128::from(MILLION)) >= total.saturating_mul(u128::from(self.ppm))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "p{}", f64::from(self.ppm) / 1e4)
    }
}

// Sorted

impl Sorted {
    /// Sorts values. NaN counts as longer than everything.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// x_(rank), from 1. `None` outside.
    pub fn at_rank(&self, rank: u64) -> Option<f64> {
        self.0.get(index(rank.checked_sub(1)?)).copied()
    }

    /// The quantile by nearest rank. `None` of nothing.
    pub fn quantile(&self, level: Level) -> Option<f64> {
        self.at_rank(level.rank(self.len()))
    }

    /// Type 7: h = (n − 1)p, x_(⌊h⌋+1) + (h − ⌊h⌋)(x_(⌊h⌋+2) − x_(⌊h⌋+1)). For comparison only.
    pub fn quantile_linear(&self, level: Level) -> Option<f64> {
        let h = self.len().checked_sub(1)? as f64 * level.p();
        let below = floor(h);
        let low = self.at_rank(below + 1)?;
        let high = self.at_rank(below + 2).unwrap_or(low);
        Some(low + (h - below as f64) * (high - low))
    }

    /// LoadGen: the element min(n − 1, ⌊n·p⌋), counted from 0; a rank above nearest rank where n·p is whole. For
    /// comparison only.
    pub fn quantile_floor(&self, level: Level) -> Option<f64> {
        let below = u128::from(self.len()) * u128::from(level.ppm) / u128::from(MILLION);
        let below = u64::try_from(below).unwrap_or(u64::MAX);
        self.at_rank(below.saturating_add(1).min(self.len()))
    }

    /// The smallest one.
    pub fn min(&self) -> Option<f64> {
        self.0.first().copied()
    }

    /// The largest one.
    pub fn max(&self) -> Option<f64> {
        self.0.last().copied()
    }

    /// Ascending.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// How many are at most `value`.
    pub fn at_most(&self, value: f64) -> u64 {
        self.0.partition_point(|x| *x <= value) as u64
    }
}

/// The quantile of unsorted values, by nearest rank. `None` of nothing.
pub fn nearest_rank(values: &[f64], level: Level) -> Option<f64> {
    Sorted::new(values.iter().copied()).quantile(level)
}
