//! Counter families whose label values are closed sets.
//!
//! A series exists from the moment it is first looked up, at 0. The sets are closed by type: a value is a `&'static str` of
//! this program or a known [`Model`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use prometheus_client::metrics::exemplar::Exemplar;

use crate::catalogue::Family;
use crate::descriptor::{RowEncoder, Rows};
use crate::models::{Model, Names};

type NoExemplar = Exemplar<[(&'static str, &'static str); 0], u64>;

/// Label values of one counter, in the order of its family's labels. A family without `model` leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct CounterKey {
    /// Value of `model`.
    pub(crate) model: Option<Model>,
    /// Values of the labels after it.
    pub(crate) values: [Option<&'static str>; 2],
}

/// One counter family.
#[derive(Debug)]
pub(crate) struct Counters {
    family: &'static Family,
    series: DashMap<CounterKey, Arc<AtomicU64>>,
}

impl CounterKey {
    /// Of a family with one label that isn't `model`.
    pub(crate) fn of(value: &'static str) -> Self {
        Self {
            model: None,
            values: [Some(value), None],
        }
    }

    /// Of a family with `model` and one more label.
    pub(crate) fn of_model(model: Model, value: &'static str) -> Self {
        Self {
            model: Some(model),
            values: [Some(value), None],
        }
    }

    /// Of `requests_total`: the model, and endpoint and outcome.
    pub(crate) fn of_request(
        model: Model,
        (endpoint, outcome): (&'static str, &'static str),
    ) -> Self {
        Self {
            model: Some(model),
            values: [Some(endpoint), Some(outcome)],
        }
    }

    fn label_values<'a>(&'a self, names: &'a Names) -> impl Iterator<Item = &'a str> {
        let model = self.model.map(|model| names.of(model));
        model
            .into_iter()
            .chain(self.values.iter().copied().flatten())
    }
}

impl Counters {
    /// A family without series.
    pub(crate) fn new(family: &'static Family) -> Self {
        Self {
            family,
            series: DashMap::new(),
        }
    }

    /// The series of these label values, at 0 if it is new.
    pub(crate) fn get(&self, key: CounterKey) -> Arc<AtomicU64> {
        if let Some(counter) = self.series.get(&key) {
            return Arc::clone(&counter);
        }
        Arc::clone(&self.series.entry(key).or_default())
    }

    /// Whether the series exists.
    pub(crate) fn contains(&self, key: CounterKey) -> bool {
        self.series.contains_key(&key)
    }

    /// Adds to a series. It stays at its largest once it is there: an engine may claim any number of tokens, and what has
    /// begun anew from 0 would be read as a restart.
    pub(crate) fn add(&self, key: CounterKey, n: u64) {
        let more = |count: u64| Some(count.saturating_add(n));
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        // It is never refused.
        let _ = self.get(key).fetch_update(set, fetch, more);
    }
}

impl Rows for Counters {
    fn family(&self) -> &'static Family {
        self.family
    }

    /// Series sorted.
    fn write(&self, rows: &mut RowEncoder<'_, '_>) -> fmt::Result {
        let mut series: Vec<(CounterKey, u64)> = self
            .series
            .iter()
            .map(|entry| (*entry.key(), entry.value().load(Ordering::Relaxed)))
            .collect();
        series.sort_unstable_by_key(|&(key, _)| key);
        for (key, value) in series {
            let values = key.label_values(rows.labels.names);
            let labels = rows.labelled(self.family.labels.iter().copied().zip(values));
            rows.encoder
                .encode_family(&labels)?
                .encode_counter(&value, None::<&NoExemplar>)?;
        }
        Ok(())
    }
}
