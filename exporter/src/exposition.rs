//! What one scrape writes: each family once, and below it the rows of every engine port.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};

use crate::catalogue::{self, Family};
use crate::cells::Labels;
use crate::descriptor::{RowEncoder, Rows, with_descriptor};
use crate::live::{Live, Momentary};
use crate::models::Names;
use crate::series::Series;

/// The parts of all engine ports. They have the same families in the same order.
#[derive(Debug)]
pub(crate) struct Exposition(pub(crate) Vec<Part>);

/// What one scrape writes of one engine port.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) series: Arc<Series>,
    pub(crate) live: Live,
    /// Value of the label that tells it from others, if there are any.
    pub(crate) port: Option<String>,
}

/// One part, with what it needs while it is written.
struct Moment<'a> {
    part: &'a Part,
    names: Names,
    gauges: [Momentary; 3],
    engine: EngineRow,
}

/// Who the engine is, in one moment.
struct EngineRow(Option<[String; 5]>);

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let moments: Vec<_> = self.0.iter().map(Moment::of).collect();
        let columns: Vec<_> = moments.iter().map(Moment::rows).collect();
        let Some((first, column)) = self.0.first().zip(columns.first()) else {
            return Ok(());
        };
        for (place, family) in column.iter().map(|rows| rows.family()).enumerate() {
            with_descriptor(&mut encoder, family, |mut encoder| {
                for (moment, column) in moments.iter().zip(&columns) {
                    if let Some(rows) = column.get(place) {
                        moment.write(*rows, &mut encoder)?;
                    }
                }
                Ok(())
            })?;
        }
        first.series.encode_process(&mut encoder)
    }
}

impl<'a> Moment<'a> {
    fn of(part: &'a Part) -> Self {
        Self {
            part,
            names: part.series.models.names(),
            gauges: part.live.in_order(),
            engine: EngineRow(part.series.engine.lock().clone()),
        }
    }

    /// Every family that an engine port has for itself, in the order of the exposition.
    fn rows(&self) -> Vec<&dyn Rows> {
        let series = &*self.part.series;
        let times = series.times.in_order().into_iter();
        let own = [&series.own.upload, &series.own.connect, &series.own.delay];
        let cells = times
            .chain(series.amounts.in_order())
            .chain(own.map(|single| &single.cells))
            .chain([&series.difference])
            .map(|cells| cells as &dyn Rows);
        let counters = series.counts.in_order().into_iter();
        let gauges = self.gauges.iter().map(|gauge| gauge as &dyn Rows);
        cells
            .chain(counters.map(|counters| counters as &dyn Rows))
            .chain(gauges)
            .chain([&self.engine as &dyn Rows])
            .collect()
    }

    fn write(&self, rows: &dyn Rows, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
        rows.write(&mut RowEncoder {
            encoder,
            labels: &Labels {
                names: &self.names,
                edges: &self.part.series.edges,
            },
            port: self.part.port.as_deref(),
        })
    }
}

impl Rows for EngineRow {
    fn family(&self) -> &'static Family {
        &catalogue::ENGINE
    }

    fn write(&self, rows: &mut RowEncoder<'_, '_>) -> fmt::Result {
        let Some(values) = &self.0 else {
            return Ok(());
        };
        let names = catalogue::ENGINE.labels.iter().copied();
        let labels = rows.labelled(names.zip(values.iter().map(String::as_str)));
        rows.encoder.encode_info(&labels)
    }
}
