//! Arrivals over time: rate, gaps, how bursty at three widths, and whether their times lie on a grid.

use serde::Serialize;

/// Fewer distinct times than this share of the arrivals, and they lie on a grid.
const DISTINCT: f64 = 0.9;
/// Fewer windows tell no dispersion.
const WINDOWS: usize = 20;
/// Widths, in seconds, that dispersion is told at.
const WIDTHS_S: [f64; 3] = [1.0, 10.0, 60.0];
/// Parts of the time that a series has.
pub(super) const PARTS: usize = 60;

/// Arrivals over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arrivals {
    /// Arrivals a second, over the span.
    pub rate: Option<f64>,
    /// Mean gap, s.
    pub gap_mean_s: Option<f64>,
    /// Coefficient of variation of the gaps: 1 for Poisson, and for much that is not.
    pub gap_cv: Option<f64>,
    /// Index of dispersion of counts, 1 for Poisson at every width.
    pub dispersion: Vec<Dispersion>,
    /// Distinct times over arrivals.
    pub distinct: Option<f64>,
    /// Where times lie on a grid: its step, s.
    pub grid_s: Option<f64>,
    /// Arrivals in each of up to 60 parts of the span.
    pub series: Vec<u64>,
}

/// How counts in windows scatter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dispersion {
    /// Width, s.
    pub window_s: f64,
    /// Whole windows.
    pub windows: u64,
    /// Variance over mean. Absent where there are fewer than 20 windows.
    pub index: Option<f64>,
}

impl Arrivals {
    /// Of ascending times from 0.
    pub(super) fn of(times: &[f64], span_s: f64) -> Self {
        let arrivals = judge::fidelity::Arrivals::new(times, span_s);
        let dispersion = WIDTHS_S.map(|window_s| {
            let counts = arrivals.counts(window_s);
            let windows = counts.counts.len();
            let index = counts.dispersion.filter(|_| windows >= WINDOWS);
            Dispersion {
                window_s,
                windows: windows as u64,
                index,
            }
        });
        let distinct = arrivals.distinct_ratio();
        let on_grid = distinct.is_some_and(|distinct| distinct < DISTINCT);
        Self {
            rate: (span_s > 0.0).then(|| (times.len() as f64 - 1.0) / span_s),
            gap_mean_s: arrivals.gap_mean(),
            gap_cv: arrivals.gap_cv(),
            dispersion: dispersion.to_vec(),
            distinct,
            grid_s: step(times).filter(|_| on_grid),
            series: series(times, span_s),
        }
    }
}

/// The smallest distance of two distinct times.
fn step(times: &[f64]) -> Option<f64> {
    let pairs = times.iter().zip(times.iter().skip(1));
    pairs
        .map(|(before, after)| after - before)
        .filter(|gap| *gap > 0.0)
        .min_by(f64::total_cmp)
}

fn series(times: &[f64], span_s: f64) -> Vec<u64> {
    let mut counts = vec![0; PARTS.min(times.len().max(1))];
    let parts = counts.len();
    for time in times {
        if let Some(count) = counts.get_mut(part(*time, span_s, parts)) {
            *count += 1;
        }
    }
    counts
}

/// Which of so many equal parts of a span a time lies in.
pub(super) fn part(time: f64, span: f64, parts: usize) -> usize {
    if span <= 0.0 {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a small number; the cast stops at 0 and at the largest"
    )]
    let part = (time / span * parts as f64) as usize;
    part.min(parts.saturating_sub(1))
}
