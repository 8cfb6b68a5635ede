//! Score differences of items that come in clusters: several from one document or conversation.
//!
//! SE² = C/(C − 1)·Σ_c(Σ_{i∈c}(d_i − d̄))²/n², t with C − 1 degrees of freedom (the cluster-robust variance of a mean: Liang
//! and Zeger, 1986; for evaluations: Miller, "Adding error bars to evals", arXiv 2411.00640). Also for scores between 0
//! and 1 that are not clustered: clusters of one.

use crate::decision::Standing;
use crate::interval::Interval;
use crate::numeric::{mean, sample_variance, student_quantile};

/// The mean difference of scores, B − A, and how far it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusteredAccuracy {
    /// d̄.
    pub delta: f64,
    /// Its standard error.
    pub se: f64,
    /// What the standard error would be of independent items; `None` of fewer than two.
    pub independent_se: Option<f64>,
    /// C − 1.
    pub freedom: u64,
}

impl ClusteredAccuracy {
    /// From the items' differences, cluster by cluster; clusters without items don't count. `None` of fewer than two.
    pub fn of(clusters: &[Vec<f64>]) -> Option<Self> {
        let clusters: Vec<&Vec<f64>> = clusters.iter().filter(|one| !one.is_empty()).collect();
        let freedom = clusters
            .len()
            .checked_sub(1)
            .filter(|freedom| *freedom > 0)?;
        let items: Vec<f64> = clusters
            .iter()
            .flat_map(|one| one.iter().copied())
            .collect();
        let (n, count) = (items.len() as f64, clusters.len() as f64);
        let delta = mean(&items);
        let residuals = clusters
            .iter()
            .map(|one| one.iter().map(|d| d - delta).sum::<f64>());
        let squares: f64 = residuals.map(|sum| sum * sum).sum();
        Some(Self {
            delta,
            se: (count / freedom as f64 * squares).sqrt() / n,
            independent_se: (items.len() > 1).then(|| (sample_variance(&items) / n).sqrt()),
            freedom: freedom as u64,
        })
    }

    /// (SE/independent SE)²; `None` where the latter is 0.
    pub fn design_effect(&self) -> Option<f64> {
        let independent = self.independent_se.filter(|se| *se > 0.0)?;
        Some((self.se / independent).powi(2))
    }

    /// d̄ ± t·SE, two-sided at `confidence`.
    pub fn interval(&self, confidence: f64) -> Interval {
        let t = student_quantile(self.freedom as f64, (1.0 + confidence) / 2.0);
        Interval::around(self.delta, t * self.se)
    }

    /// Bounds, each at one-sided 95 %.
    pub fn one_sided95(&self) -> Interval {
        self.interval(0.9)
    }

    /// NON-INFERIOR if B is proven less than `margin` worse, INFERIOR if it is proven more.
    pub fn decide(&self, margin: f64) -> Standing {
        let bounds = self.one_sided95();
        Standing::of_bounds(-bounds.upper, -bounds.lower, margin)
    }
}
