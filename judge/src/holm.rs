//! Holm's adjustment ("A simple sequentially rejective multiple test procedure", 1979): which of several criteria failed.
//!
//! The verdict needs no correction: it passes only if *every* criterion does.

/// Adjusted p-values, in the order given: adj_(k) = max_{j≤k} min(1, (m − j + 1)·p_(j)).
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (before, (at, p)) in order.into_iter().enumerate() {
        let left = p_values.len() - before;
        largest = largest.max((left as f64 * p).min(1.0));
        if let Some(value) = adjusted.get_mut(at) {
            *value = largest;
        }
    }
    adjusted
}
