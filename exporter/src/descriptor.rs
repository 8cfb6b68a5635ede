//! One family in an exposition: its head (name, type, unit, help), all from the catalogue, and below it the rows of every
//! engine port, each with its port as a label where there are several.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};

use crate::catalogue::{ENGINE_PORT, Family, Unit};
use crate::cells::Labels;

/// What one engine port has to say in one family.
pub(crate) trait Rows {
    /// Which family.
    fn family(&self) -> &'static Family;

    /// Writes its rows.
    fn write(&self, rows: &mut RowEncoder<'_, '_>) -> fmt::Result;
}

/// Writes the rows of one engine port in one family.
pub(crate) struct RowEncoder<'a, 'e> {
    /// Writes one row; its labels are to be [`Self::labelled`].
    pub(crate) encoder: &'a mut MetricEncoder<'e>,
    /// Turns keys into label values.
    pub(crate) labels: &'a Labels<'a>,
    /// Value of [`ENGINE_PORT`], if there are several.
    pub(crate) port: Option<&'a str>,
}

impl<'a> RowEncoder<'a, '_> {
    /// The labels of a row: its own, and the engine port's.
    pub(crate) fn labelled<'l>(
        &self,
        own: impl IntoIterator<Item = (&'l str, &'l str)>,
    ) -> Vec<(&'l str, &'l str)>
    where
        'a: 'l,
    {
        let port = self.port.map(|port| (ENGINE_PORT, port));
        own.into_iter().chain(port).collect()
    }
}

/// Writes a family's head and hands on the encoder for its series.
pub(crate) fn with_descriptor(
    encoder: &mut DescriptorEncoder<'_>,
    family: &'static Family,
    write: impl FnOnce(MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let unit = family.unit.map(Unit::registered);
    let series = encoder.encode_descriptor(
        family.name,
        family.help,
        unit.as_ref(),
        family.metric_type(),
    )?;
    write(series)
}
