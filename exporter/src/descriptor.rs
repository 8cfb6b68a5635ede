//! The head of a family in an exposition: name, type, unit, help, all from the catalogue.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};

use crate::catalogue::{Family, Unit};

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
