//! Rows as columns, and back: the Arrow schema of [`Row`].
//!
//! It is traced from the type, so that a field and its column can't drift apart. `wall_us` alone is stored as something
//! else than its type says: a timestamp in microseconds, UTC, which query engines show as a date.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use serde_arrow::schema::{SchemaLike, TracingOptions};

use crate::error::Error;
use crate::row::Row;

/// Name and type of each column, in order.
pub(crate) fn fields() -> Result<&'static [FieldRef], Error> {
    static FIELDS: OnceLock<Vec<FieldRef>> = OnceLock::new();
    if let Some(known) = FIELDS.get() {
        return Ok(known);
    }
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC")));
    let options = TracingOptions::default()
        .strings_as_large_utf8(false)
        .sequence_as_large_list(false)
        .from_type_budget(1000)
        .overwrite("wall_us", Field::new("wall_us", utc, false))?;
    let traced = Vec::<FieldRef>::from_type::<Row>(options)?;
    Ok(FIELDS.get_or_init(|| traced))
}

/// Columns of rows.
pub(crate) fn batch(rows: &[Row]) -> Result<RecordBatch, Error> {
    Ok(serde_arrow::to_record_batch(fields()?, &rows)?)
}

/// Rows of columns. Columns that are unknown here are passed over; those that are missing are empty.
pub(crate) fn rows(batch: &RecordBatch) -> Result<Vec<Row>, Error> {
    Ok(serde_arrow::from_record_batch(batch)?)
}
