//! What the exporter is told at the start.

use std::sync::Arc;

use measure::ShapeEdges;

use crate::catalogue::{Added, Buckets};
use crate::error::{Error, TARGETS_MAX};

/// Most shape cells per histogram family where the configuration says nothing.
///
/// Measured with every family at its cap and a model name of 32 bytes: 48 cells make 1.5 MB of text or 0.22 MB of
/// protobuf; 100, the whole default shape of one model, 3.1 MB or 0.43 MB; 512 16 MB or 2.2 MB. A scrape should stay
/// below 2 MB.
pub const DEFAULT_MAX_CELLS: usize = 48;

/// What the exporter is told at the start. All of it is the operator's or the build's word.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Edges of the shape labels.
    pub shape: ShapeEdges,
    /// Most shape cells per histogram family; beyond it observations go to the model's `overflow` cell. At least 1.
    pub max_cells: usize,
    /// Model names that are label values from the start.
    pub models: Vec<String>,
    /// Latency targets.
    pub targets: Targets,
    /// The closed sets that other rooms own.
    pub vocabulary: Vocabulary,
    /// Which build this is.
    pub build: Build,
}

/// Latency targets, in seconds, each list ascending. Each becomes a bucket edge of its histogram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Targets {
    /// For the time to first token.
    pub ttft: Vec<f64>,
    /// For the time per output token.
    pub tpot: Vec<f64>,
    /// For the whole request.
    pub e2e: Vec<f64>,
}

/// Closed sets of label values, given at the start so that each series exists at 0 before it first happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// Values of `endpoint` of `requests_total` whose series exist from the start; those of other routes begin with the
    /// route's first request.
    pub endpoints: Vec<&'static str>,
    /// Values of `reason` of `rejected_requests_total`.
    pub rejections: Vec<&'static str>,
    /// Values of `route` of `passed_requests_total`.
    pub passing: Vec<&'static str>,
    /// Values of `kind` of `anomalies_total`.
    pub anomalies: Vec<&'static str>,
    /// Values of `result` of `engine_scrapes_total`.
    pub scrapes: Vec<&'static str>,
}

/// Which build this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The product's version.
    pub version: String,
    /// The commit, or `unknown`.
    pub revision: String,
}

impl Default for Settings {
    /// Default shape, [`DEFAULT_MAX_CELLS`], no model, no target, empty vocabulary, this crate's version.
    fn default() -> Self {
        Self {
            shape: ShapeEdges::default(),
            max_cells: DEFAULT_MAX_CELLS,
            models: Vec::new(),
            targets: Targets::default(),
            vocabulary: Vocabulary::default(),
            build: Build {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                revision: "unknown".to_owned(),
            },
        }
    }
}

impl Targets {
    /// Each metric's name and targets.
    pub(crate) fn by_metric(&self) -> [(&'static str, &[f64]); 3] {
        [
            ("ttft", &self.ttft),
            ("tpot", &self.tpot),
            ("e2e", &self.e2e),
        ]
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        for (metric, targets) in self.by_metric() {
            if targets.len() > TARGETS_MAX {
                return Err(Error::TooManyTargets {
                    metric,
                    count: targets.len(),
                });
            }
            if let Some(&value) = targets.iter().find(|&&t| !t.is_finite() || t <= 0.0) {
                return Err(Error::Target { metric, value });
            }
        }
        Ok(())
    }

    /// A family's edges with these targets among them, ascending, each once.
    pub(crate) fn among(&self, buckets: &Buckets) -> Arc<[f64]> {
        let added: &[f64] = match buckets.added {
            Added::Nothing => &[],
            Added::TtftTargets => &self.ttft,
            Added::TpotTargets => &self.tpot,
            Added::E2eTargets => &self.e2e,
        };
        let mut edges = [buckets.edges, added].concat();
        edges.sort_unstable_by(f64::total_cmp);
        edges.dedup();
        edges.into()
    }
}
