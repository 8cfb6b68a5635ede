//! `histogram_quantile` of a classic Prometheus histogram, as Prometheus computes it: for dashboards, never for a verdict.
//!
//! Within a bucket it assumes an even spread, so it may be off by the bucket's whole width. (prometheus/prometheus,
//! `promql/quantile.go`, `bucketQuantile`.)

/// One bucket: how many values are at most `bound`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CumulativeBucket {
    /// Inclusive upper bound; the last one is infinite.
    pub bound: f64,
    /// Values at or below it.
    pub count: f64,
}

/// The q-quantile of buckets with ascending bounds.
///
/// NaN if q is NaN, there are fewer than two buckets, the last one is not infinite, or nothing was counted; −∞ below q =
/// 0, +∞ above 1.
pub fn histogram_quantile(buckets: &[CumulativeBucket], q: f64) -> f64 {
    if q.is_nan() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    let Some((overflow, finite)) = buckets.split_last() else {
        return f64::NAN;
    };
    let Some(largest) = finite.last() else {
        return f64::NAN;
    };
    if overflow.bound != f64::INFINITY || overflow.count == 0.0 {
        return f64::NAN;
    }
    let rank = q * overflow.count;
    let Some(at) = finite.iter().position(|bucket| bucket.count >= rank) else {
        return largest.bound;
    };
    interpolate(finite, at, rank)
}

fn interpolate(finite: &[CumulativeBucket], at: usize, rank: f64) -> f64 {
    let bucket = finite.get(at).copied().unwrap_or(CumulativeBucket {
        bound: f64::NAN,
        count: f64::NAN,
    });
    let before = at.checked_sub(1).and_then(|before| finite.get(before));
    match before {
        None if bucket.bound <= 0.0 => bucket.bound,
        None => bucket.bound * (rank / bucket.count),
        Some(before) => {
            let share = (rank - before.count) / (bucket.count - before.count);
            before.bound + (bucket.bound - before.bound) * share
        }
    }
}

/// How far above the truth a value of the bucket (lower, upper] may be read: upper/lower − 1.
pub fn worst_overestimate(lower: f64, upper: f64) -> f64 {
    upper / lower - 1.0
}
