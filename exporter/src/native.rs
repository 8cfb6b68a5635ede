//! Native (sparse, exponential) buckets at schema 5: 32 buckets to a factor of 2, each 2.19 % wide.
//!
//! Bucket i holds `(2^((i−1)/32), 2^(i/32)]` (Prometheus, native histograms). The resolution is never reduced: the values
//! are spans between 1 ns and 2⁶⁴ ns, 64 octaves, so that at most 2048 buckets can ever exist, and some 600 between 1 ms
//! and 300 s. There is no zero bucket: [`crate::histogram::Histogram`] lifts 0 to [`SMALLEST`].

/// Buckets to a factor of 2, as a power of 2.
pub(crate) const SCHEMA: i32 = 5;
/// Everything nearer to 0 is the zero bucket, which stays empty: the specification's recommended 2⁻¹²⁸.
pub(crate) const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;
/// The clock's resolution in seconds: the least value that is told from 0.
pub(crate) const SMALLEST: f64 = 1e-9;
/// Empty buckets between two filled ones up to which writing zeros is shorter than opening a span.
const BRIDGED: i32 = 2;

/// Lower bounds of the 32 buckets within `[0.5, 1)`: 2^(i/32 − 1), as every Prometheus client writes them.
const BOUNDS: [f64; 32] = [
    0.5,
    0.5109485743270583,
    0.5221368912137069,
    0.5335702003384117,
    0.5452538663326288,
    0.5571933712979462,
    0.5693943173783458,
    0.5818624293887887,
    0.5946035575013605,
    0.6076236799902344,
    0.620928906036742,
    0.6345254785958666,
    0.6484197773255048,
    0.6626183215798706,
    0.6771277734684463,
    0.6919549409819159,
    0.7071067811865475,
    0.7225904034885232,
    0.7384130729697496,
    0.7545822137967112,
    0.7711054127039704,
    0.7879904225539431,
    0.805245165974627,
    0.8228777390769823,
    0.8408964152537144,
    0.8593096490612387,
    0.8781260801866495,
    0.8973545375015533,
    0.9170040432046711,
    0.9370838170551498,
    0.9576032806985735,
    0.9785720620876999,
];

/// Counts by bucket index, ascending; only buckets that hold something.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sparse(Vec<(i32, u64)>);

/// Sparse buckets as the exposition writes them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Spans {
    /// Distance to the end of the span before (for the first: to index 0), and length.
    pub(crate) spans: Vec<(i32, u32)>,
    /// Each bucket's count less that of the bucket before.
    pub(crate) deltas: Vec<i64>,
}

impl Sparse {
    /// Adds `n` to a bucket.
    pub(crate) fn add(&mut self, index: i32, n: u64) {
        match self.0.binary_search_by_key(&index, |&(at, _)| at) {
            Ok(place) => {
                if let Some((_, count)) = self.0.get_mut(place) {
                    *count = count.saturating_add(n);
                }
            }
            Err(place) => self.0.insert(place, (index, n)),
        }
    }

    /// The exposition's form.
    pub(crate) fn spans(&self) -> Spans {
        let mut written = Spans {
            spans: Vec::new(),
            deltas: Vec::with_capacity(self.0.len()),
        };
        let mut before = 0;
        let mut next = 0;
        for &(index, count) in &self.0 {
            let skipped = index - next;
            if written.spans.is_empty() || skipped > BRIDGED {
                written.spans.push((skipped, 0));
            } else {
                for _ in 0..skipped {
                    written.push(0, &mut before);
                }
            }
            written.push(count, &mut before);
            next = index + 1;
        }
        written
    }
}

impl Spans {
    fn push(&mut self, count: u64, before: &mut i64) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if let Some((_, length)) = self.spans.last_mut() {
            *length += 1;
        }
        self.deltas.push(count - *before);
        *before = count;
    }
}

/// The bucket of a positive normal number: the smallest i with `value <= 2^(i/32)`.
pub(crate) fn index_of(value: f64) -> i32 {
    debug_assert!(value.is_normal() && value > 0.0);
    let bits = value.to_bits();
    // value = fraction · 2^exponent with the fraction in [0.5, 1).
    let fraction = f64::from_bits((bits & ((1 << 52) - 1)) | (1022 << 52));
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0) - 1022;
    let within = BOUNDS.partition_point(|&bound| bound < fraction);
    i32::try_from(within).unwrap_or(0) + (exponent - 1) * (1 << SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_that_ends_with_it() {
        let cases = [
            (1.0, 0),
            (1.000_000_1, 1),
            (2.0, 32),
            (0.5, -32),
            (0.25, -64),
            (2f64.powf(1.0 / 32.0) * 1.000_000_1, 2),
            (SMALLEST, -956),
            (u64::MAX as f64 / 1e9, 1092),
        ];
        for (value, index) in cases {
            assert_eq!(index_of(value), index, "bucket of {value}");
        }
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        let mut value = SMALLEST;
        while value < 1e10 {
            let i = f64::from(index_of(value));
            let slack = 1.0 + 1e-12;
            assert!(
                value <= 2f64.powf(i / 32.0) * slack,
                "{value} above bucket {i}"
            );
            assert!(
                value > 2f64.powf((i - 1.0) / 32.0) / slack,
                "{value} below bucket {i}"
            );
            value *= 1.003;
        }
    }

    #[test]
    fn short_holes_are_bridged_and_long_ones_open_a_span() {
        let mut sparse = Sparse::default();
        for (index, n) in [(1, 5), (3, 2), (10, 7)] {
            sparse.add(index, n);
        }
        assert_eq!(
            sparse.spans(),
            Spans {
                spans: vec![(1, 3), (6, 1)],
                deltas: vec![5, -5, 2, 5],
            }
        );
    }
}
