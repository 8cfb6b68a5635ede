//! Histogram families: one histogram per cell, where a cell is one combination of label values.
//!
//! A cell appears when it is first observed. Joint shape cells are capped per family; beyond the cap an observation goes to
//! the `overflow` cell of its model (and outcome class), so that a model's own distribution stays whole whatever happens to
//! its shapes. Limit: the cap, and one overflow cell per model and outcome class in use.
//!
//! Steady state costs a lookup under a shard's read lock. A scrape holds such a lock only while it copies handles, never
//! while it writes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use measure::{Shape, ShapeEdges};

use crate::catalogue::{Family, Form};
use crate::descriptor::{RowEncoder, Rows};
use crate::histogram::Histogram;
use crate::models::{Model, Names};

/// Label values of one histogram, in the order of its family's labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct CellKey {
    /// Value of `model`, in a family that has it.
    pub(crate) model: Option<Model>,
    /// Values of the three shape labels, in a family that has them.
    pub(crate) shape: Option<Place>,
    /// Values of the labels after those.
    pub(crate) values: [Option<&'static str>; 2],
}

/// Where in the shape space a histogram lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In a cell of its own.
    Cell(Shape),
    /// Beyond the cap.
    Overflow,
}

/// Whether an observation found its own cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// It did.
    Own,
    /// It went to the overflow cell.
    Overflow,
}

/// One histogram family.
#[derive(Debug)]
pub(crate) struct Cells {
    family: &'static Family,
    edges: Arc<[f64]>,
    form: Form,
    max_cells: usize,
    shaped: AtomicUsize,
    cells: DashMap<CellKey, Arc<Histogram>>,
}

/// What turns keys into label values.
#[derive(Debug)]
pub(crate) struct Labels<'a> {
    /// Of `model`.
    pub(crate) names: &'a Names,
    /// Of the shape labels.
    pub(crate) edges: &'a ShapeEdges,
}

impl Cells {
    /// A family without cells. `edges` are ascending.
    pub(crate) fn new(family: &'static Family, edges: Arc<[f64]>, max_cells: usize) -> Self {
        Self {
            family,
            edges,
            form: family
                .buckets()
                .map_or(Form::Classic, |buckets| buckets.form),
            max_cells,
            shaped: AtomicUsize::new(0),
            cells: DashMap::new(),
        }
    }

    /// The histogram of these label values, or the overflow cell's.
    pub(crate) fn get(&self, key: CellKey) -> (Arc<Histogram>, Found) {
        if let Some(histogram) = self.cells.get(&key) {
            return (Arc::clone(&histogram), Found::Own);
        }
        if matches!(key.shape, Some(Place::Cell(_))) && !self.reserve() {
            let overflow = CellKey {
                shape: Some(Place::Overflow),
                ..key
            };
            return (self.create(overflow), Found::Overflow);
        }
        (self.create(key), Found::Own)
    }

    /// Takes one of the cells under the cap. Two observations that meet in one new cell may take two: the cap then holds
    /// a cell fewer, never more.
    fn reserve(&self) -> bool {
        self.shaped
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                (taken < self.max_cells).then_some(taken + 1)
            })
            .is_ok()
    }

    fn create(&self, key: CellKey) -> Arc<Histogram> {
        if let Some(histogram) = self.cells.get(&key) {
            return Arc::clone(&histogram);
        }
        let made = || Arc::new(Histogram::new(Arc::clone(&self.edges), self.form));
        Arc::clone(&self.cells.entry(key).or_insert_with(made))
    }
}

impl Rows for Cells {
    fn family(&self) -> &'static Family {
        self.family
    }

    /// Cells sorted.
    fn write(&self, rows: &mut RowEncoder<'_, '_>) -> fmt::Result {
        let mut cells: Vec<(CellKey, Arc<Histogram>)> = self
            .cells
            .iter()
            .map(|entry| (*entry.key(), Arc::clone(entry.value())))
            .collect();
        cells.sort_unstable_by_key(|&(key, _)| key);
        for (key, histogram) in cells {
            let values = rows.labels.of(&key);
            let labels = rows.labelled(self.family.labels.iter().copied().zip(values));
            histogram.encode(rows.encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl<'a> Labels<'a> {
    fn of(&self, key: &CellKey) -> Vec<&'a str> {
        let model = key.model.map(|model| self.names.of(model));
        let shape = key.shape.map(|place| match place {
            Place::Cell(shape) => shape.labels(self.edges),
            Place::Overflow => ["overflow"; 3],
        });
        model
            .into_iter()
            .chain(shape.into_iter().flatten())
            .chain(key.values.into_iter().flatten())
            .collect()
    }
}
