//! Do long prompts get long answers? Rank correlation of two lengths (Spearman, "The proof and measurement of association
//! between two things", 1904), ties at their middle rank.

use crate::error::{JudgeError, same_length};
use crate::numeric::mean;

/// Spearman's correlation. `None` of a constant, or of fewer than two.
///
/// # Errors
/// If the lists differ in length.
pub fn spearman(input: &[f64], output: &[f64]) -> Result<Option<f64>, JudgeError> {
    same_length(
        ("the first list", input.len()),
        ("the second list", output.len()),
    )?;
    let (x, y) = (ranks(input), ranks(output));
    let (x_mean, y_mean) = (mean(&x), mean(&y));
    let mut sums = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(&y) {
        let (dx, dy) = (x - x_mean, y - y_mean);
        sums = (sums.0 + dx * dy, sums.1 + dx * dx, sums.2 + dy * dy);
    }
    let scale = (sums.1 * sums.2).sqrt();
    Ok((scale > 0.0).then(|| sums.0 / scale))
}

/// Ranks from 1, equal values at the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|a, b| a.1 == b.1) {
        let middle = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        for (at, _) in equal {
            if let Some(rank) = ranks.get_mut(*at) {
                *rank = middle;
            }
        }
        before += equal.len();
    }
    ranks
}
