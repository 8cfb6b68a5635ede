//! Shape: which cell of input length, output length and concurrency a record falls into.
//!
//! Edges e_1 < … < e_k are inclusive upper bounds. A value v is in `0-e_1` if v ≤ e_1, in `(e_i + 1)-e_{i+1}` if
//! e_i < v ≤ e_{i+1}, in `(e_k + 1)+` above the last, and in `unknown` if it is not known. Labels are made once, with the
//! edges.
//!
//! Limits: 1 to [`Edges::MAX`] edges.

use crate::Record;

/// Ascending, inclusive upper bounds, with the labels of the buckets between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edges {
    bounds: Box<[u64]>,
    /// One more than `bounds` for what lies above, and one for `unknown`.
    labels: Box<[Box<str>]>,
}

/// One bucket of some [`Edges`], by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket(u8);

/// The edges of the three quantities that make a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeEdges {
    /// Of the input length, in tokens.
    pub input: Edges,
    /// Of the output length, in tokens.
    pub output: Edges,
    /// Of the number in flight at the arrival.
    pub concurrency: Edges,
}

/// The joint cell of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Bucket of the input length.
    pub input: Bucket,
    /// Bucket of the output length. `unknown` where only a lower bound is known.
    pub output: Bucket,
    /// Bucket of the concurrency at arrival: known at the start, and not changed by the request's own slowness.
    pub concurrency: Bucket,
}

/// Why numbers can't be edges.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EdgesError {
    /// None were given.
    #[error("no edges given: give at least one upper bound, for instance 1024")]
    Empty,
    /// More than [`Edges::MAX`].
    #[error("{given} edges given, at most {limit} are possible: leave some out", limit = Edges::MAX)]
    TooMany {
        /// How many there were.
        given: usize,
    },
    /// One does not lie above the one before it.
    #[error("edge {edge} follows {previous}: edges are upper bounds and must ascend")]
    NotAscending {
        /// The one at fault.
        edge: u64,
        /// The one before it.
        previous: u64,
    },
    /// Nothing lies above it.
    #[error(
        "edge {edge} is the largest number there is: leave it out, what lies above the last edge has a bucket anyway"
    )]
    TooLarge {
        /// The one at fault.
        edge: u64,
    },
}

// Edges

impl Edges {
    /// Most edges: a label more than this would make more series than anybody reads.
    pub const MAX: usize = 64;

    /// Edges from inclusive upper bounds.
    ///
    /// # Errors
    /// If there are none or too many, if they do not ascend, or if the last leaves nothing above it.
    pub fn new(bounds: impl Into<Vec<u64>>) -> Result<Self, EdgesError> {
        let bounds = bounds.into();
        if bounds.len() > Self::MAX {
            return Err(EdgesError::TooMany {
                given: bounds.len(),
            });
        }
        for pair in bounds.windows(2) {
            if let [previous, edge] = *pair
                && edge <= previous
            {
                return Err(EdgesError::NotAscending { edge, previous });
            }
        }
        match bounds.last() {
            None => Err(EdgesError::Empty),
            Some(&u64::MAX) => Err(EdgesError::TooLarge { edge: u64::MAX }),
            Some(_) => Ok(Self::from_checked(bounds)),
        }
    }

    fn from_checked(bounds: Vec<u64>) -> Self {
        let mut labels = Vec::with_capacity(bounds.len() + 2);
        let mut from = 0;
        for &bound in &bounds {
            labels.push(format!("{from}-{bound}").into_boxed_str());
            from = bound.saturating_add(1);
        }
        labels.push(format!("{from}+").into_boxed_str());
        labels.push("unknown".into());
        Self {
            bounds: bounds.into(),
            labels: labels.into(),
        }
    }

    /// The bounds, ascending.
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// The bucket of a value; `None` is the bucket `unknown`.
    pub fn bucket(&self, value: Option<u64>) -> Bucket {
        let index = match value {
            Some(value) => self.bounds.partition_point(|&bound| bound < value),
            None => self.bounds.len() + 1,
        };
        debug_assert!(index < self.labels.len(), "every bucket has a label");
        Bucket(u8::try_from(index).unwrap_or(u8::MAX))
    }

    /// The label of a bucket of these edges; `unknown` for one of other, longer edges.
    pub fn label(&self, bucket: Bucket) -> &str {
        self.labels
            .get(usize::from(bucket.0))
            .map_or("unknown", |label| label)
    }

    /// Every label, ascending, `unknown` last.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|label| &**label)
    }
}

// ShapeEdges

impl Default for ShapeEdges {
    /// Input 256, 1024, 4096, 16384 · output 32, 256, 1024 · concurrency 1, 4, 16, 64.
    fn default() -> Self {
        Self {
            input: Edges::from_checked(vec![256, 1024, 4096, 16384]),
            output: Edges::from_checked(vec![32, 256, 1024]),
            concurrency: Edges::from_checked(vec![1, 4, 16, 64]),
        }
    }
}

// Shape

impl Shape {
    /// The cell of a record. A length that nobody stated is `unknown`, never a guess.
    pub fn of(record: &Record, edges: &ShapeEdges) -> Self {
        Self {
            input: edges.input.bucket(record.input_tokens),
            output: edges.output.bucket(record.output_tokens),
            concurrency: edges
                .concurrency
                .bucket(Some(u64::from(record.in_flight.at_arrival))),
        }
    }

    /// The labels of the cell: input, output, concurrency.
    pub fn labels(self, edges: &ShapeEdges) -> [&str; 3] {
        [
            edges.input.label(self.input),
            edges.output.label(self.output),
            edges.concurrency.label(self.concurrency),
        ]
    }
}
