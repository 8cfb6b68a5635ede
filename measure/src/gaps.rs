//! Gaps between token-bearing bursts, as a histogram of bounded size.
//!
//! Two distributions over one set of buckets:
//!
//! * **bursts**: each gap g counts once, at g (inter-burst latency);
//! * **tokens**: each gap g that ended with a burst of exactly n tokens counts n times, at g/n (inter-token latency). The
//!   n values share the gap evenly, so their sum is g again. A gap whose token count is only a lower bound has no share
//!   in this one.
//!
//! With one token a burst, the rule on most engines, both are the same.
//!
//! Bucket i holds the values in (2^((i−1)/32), 2^(i/32)] seconds, the buckets of a native Prometheus histogram of schema
//! 5, so that these counts can be added to one without error. A value is known to 2.19 % (a bucket's width), and by its
//! bucket's geometric middle to 1.09 %. This holds from 2⁻²⁰ s (0.95 µs) to 2¹² s (68 min); shorter and longer values
//! count in the first and the last bucket. Sums and the maximum are exact.
//!
//! Size: only buckets that hold something are kept, 12 bytes each, at most [`GapHistogram::MAX_BUCKETS`] of them: 12 KiB
//! for a stream whose gaps hit every bucket, some hundred bytes for an ordinary one. Counts stop at 2³² − 1 a bucket.

use crate::Nanos;

/// Buckets for each doubling: 2 to the power of the native schema.
const PER_OCTAVE: f64 = 32.0;
/// Index of the bucket that begins at 2⁻²⁰ s.
const LOWEST: i16 = -639;
/// Index of the bucket that ends at 2¹² s.
const HIGHEST: i16 = 384;

/// The gaps of one exchange, or of several merged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GapHistogram {
    /// Ascending by index.
    cells: Vec<Cell>,
    sum: Nanos,
    token_sum: Nanos,
    max: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    index: i16,
    bursts: u32,
    tokens: u32,
}

/// One bucket that holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapBucket {
    /// Index in a native histogram of schema 5 over seconds.
    pub index: i32,
    /// Gaps in it.
    pub bursts: u64,
    /// Tokens whose share of a gap lies in it.
    pub tokens: u64,
}

// GapHistogram

impl GapHistogram {
    /// Bits of resolution: the schema of the native histogram with the same buckets.
    pub const SCHEMA: i32 = 5;
    /// Most buckets that are ever kept.
    pub const MAX_BUCKETS: usize = 1024;

    /// Counts the gap before a burst of exactly `tokens` tokens; `None` if it is known only that there were some.
    pub fn record(&mut self, gap: Nanos, tokens: Option<u64>) {
        debug_assert!(tokens != Some(0), "a token-bearing burst has tokens");
        let seconds = gap.as_secs_f64();
        self.add(Cell {
            index: index_of(seconds),
            bursts: 1,
            tokens: 0,
        });
        self.sum = self.sum + gap;
        self.max = self.max.max(gap);
        if let Some(tokens) = tokens {
            let count = u32::try_from(tokens).unwrap_or(u32::MAX);
            self.add(Cell {
                index: index_of(seconds / f64::from(count.max(1))),
                bursts: 0,
                tokens: count,
            });
            self.token_sum = self.token_sum + gap;
        }
    }

    /// One that was written down: its buckets, in any order, and what is exact besides. `None` if a bucket is none of ours.
    pub fn restored(
        buckets: impl IntoIterator<Item = GapBucket>,
        (sum, token_sum, max): (Nanos, Nanos, Option<Nanos>),
    ) -> Option<Self> {
        let mut restored = Self {
            cells: Vec::new(),
            sum,
            token_sum,
            max: max.unwrap_or(Nanos::ZERO),
        };
        for bucket in buckets {
            let index = i16::try_from(bucket.index).ok()?;
            if !(LOWEST..=HIGHEST).contains(&index) {
                return None;
            }
            restored.add(Cell {
                index,
                bursts: u32::try_from(bucket.bursts).ok()?,
                tokens: u32::try_from(bucket.tokens).ok()?,
            });
        }
        Some(restored)
    }

    /// Adds all of `other`. The order in which histograms are merged does not matter, nor their grouping.
    pub fn merge(&mut self, other: &Self) {
        for cell in &other.cells {
            self.add(*cell);
        }
        self.sum = self.sum + other.sum;
        self.token_sum = self.token_sum + other.token_sum;
        self.max = self.max.max(other.max);
    }

    /// The buckets that hold something, ascending.
    pub fn iter(&self) -> impl Iterator<Item = GapBucket> + '_ {
        self.cells.iter().map(|cell| GapBucket {
            index: i32::from(cell.index),
            bursts: u64::from(cell.bursts),
            tokens: u64::from(cell.tokens),
        })
    }

    /// There was no gap: fewer than two bursts.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Gaps.
    pub fn bursts(&self) -> u64 {
        self.iter().map(|bucket| bucket.bursts).sum()
    }

    /// Tokens that ended gaps with an exact token count.
    pub fn tokens(&self) -> u64 {
        self.iter().map(|bucket| bucket.tokens).sum()
    }

    /// Sum of all gaps, exact.
    pub fn sum(&self) -> Nanos {
        self.sum
    }

    /// Sum of the inter-token latencies: of the gaps with an exact token count, exact.
    pub fn token_sum(&self) -> Nanos {
        self.token_sum
    }

    /// The largest gap, exact. `None` if there was none.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.max)
    }

    /// The gap of nearest rank ⌈p·n⌉ among the n gaps, known to 1.09 %. `None` without gaps, or for a `p` outside 0 to 1.
    #[expect(
        clippy::cast_precision_loss,
        reason = "ranks above 2⁵³ would need 285 years of 1 µs gaps"
    )]
    pub fn quantile(&self, p: f64) -> Option<Nanos> {
        if self.is_empty() || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let rank = (p * self.bursts() as f64 - 1e-9).ceil().max(1.0);
        let mut below = 0;
        let bucket = self.iter().find(|bucket| {
            below += bucket.bursts;
            below as f64 >= rank
        })?;
        Some(bucket.middle().min(self.max))
    }

    fn add(&mut self, new: Cell) {
        match self
            .cells
            .binary_search_by_key(&new.index, |cell| cell.index)
        {
            Ok(position) => {
                if let Some(cell) = self.cells.get_mut(position) {
                    cell.bursts = cell.bursts.saturating_add(new.bursts);
                    cell.tokens = cell.tokens.saturating_add(new.tokens);
                }
            }
            Err(position) => self.cells.insert(position, new),
        }
        debug_assert!(
            self.cells.len() <= Self::MAX_BUCKETS,
            "indices are clamped to the range of buckets"
        );
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "clamped to the range of an i16 before"
)]
fn index_of(seconds: f64) -> i16 {
    let index = (PER_OCTAVE * seconds.log2()).ceil();
    index.clamp(f64::from(LOWEST), f64::from(HIGHEST)) as i16
}

// GapBucket

impl GapBucket {
    /// Inclusive upper bound, in seconds.
    pub fn upper_secs(&self) -> f64 {
        (f64::from(self.index) / PER_OCTAVE).exp2()
    }

    /// Geometric middle, in seconds: the value to stand for all in the bucket.
    pub fn middle_secs(&self) -> f64 {
        ((f64::from(self.index) - 0.5) / PER_OCTAVE).exp2()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the highest bucket ends at 4096 s, and a power of two is positive"
    )]
    fn middle(&self) -> Nanos {
        Nanos((self.middle_secs() * 1e9).round() as u64)
    }
}
