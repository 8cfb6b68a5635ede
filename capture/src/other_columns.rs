//! Rows of a log whose columns are not quite ours: it was left by an older or a newer loadproof of the same version of the
//! format. Its header says which columns it has; those that we know are kept, those that it lacks are empty.

use std::fmt;

use arrow_schema::{DataType, Field, FieldRef};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::row::Row;

/// A row by the columns of its log's header.
pub(crate) fn decode(columns: &[Field], payload: &[u8]) -> Result<Row, String> {
    let mut input = postcard::Deserializer::from_bytes(payload);
    let fields: Vec<&Field> = columns.iter().collect();
    let value = Named(&fields).deserialize(&mut input);
    let value = value.map_err(|why| why.to_string())?;
    serde_json::from_value(value).map_err(|why| why.to_string())
}

/// A value of a column's type.
struct Typed<'a> {
    kind: &'a DataType,
    nullable: bool,
}

impl<'a> Typed<'a> {
    fn of(field: &'a Field) -> Self {
        Self {
            kind: field.data_type(),
            nullable: field.is_nullable(),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Typed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        if self.nullable {
            return input.deserialize_option(self);
        }
        match self.kind {
            DataType::Boolean => bool::deserialize(input).map(Value::from),
            DataType::UInt16 => u16::deserialize(input).map(Value::from),
            DataType::UInt32 => u32::deserialize(input).map(Value::from),
            DataType::UInt64 => u64::deserialize(input).map(Value::from),
            DataType::Int32 => i32::deserialize(input).map(Value::from),
            DataType::Int64 | DataType::Timestamp(..) => i64::deserialize(input).map(Value::from),
            DataType::Float64 => f64::deserialize(input).map(Value::from),
            DataType::Utf8 => String::deserialize(input).map(Value::from),
            DataType::List(item) => input.deserialize_seq(Items(item)),
            DataType::Struct(fields) => {
                let fields: Vec<&Field> = fields.iter().map(AsRef::as_ref).collect();
                Named(&fields).deserialize(input)
            }
            other => Err(D::Error::custom(format!(
                "a log has no columns of type {other}"
            ))),
        }
    }
}

impl<'de> Visitor<'de> for Typed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} or nothing", self.kind)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        let nullable = false;
        Typed { nullable, ..self }.deserialize(input)
    }
}

/// A list of items of one type.
struct Items<'a>(&'a FieldRef);

impl<'de> Visitor<'de> for Items<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a list of {}", self.0.data_type())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = input.next_element_seed(Typed::of(self.0))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
}

/// Fields one after the other, with their names.
struct Named<'a>(&'a [&'a Field]);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_tuple(self.0.len(), self)
    }
}

impl<'de> Visitor<'de> for Named<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} fields", self.0.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        for field in self.0 {
            if let Some(value) = input.next_element_seed(Typed::of(field))? {
                object.insert(field.name().clone(), value);
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns;
    use crate::row::{Count, Gap};

    #[test]
    fn a_row_with_every_kind_of_value_is_read_by_its_columns() {
        let row = Row {
            exchange: 7,
            wall_us: -5,
            model: Some("m".into()),
            stream: Some(true),
            temperature: Some(0.25),
            top_k: Some(-1),
            status: Some(200),
            flags: vec!["opaque".into(), "late".into()],
            anomalies: vec![Count {
                kind: "x".into(),
                count: 2,
            }],
            gaps: vec![Gap {
                bucket: -3,
                bursts: 1,
                tokens: u64::MAX,
            }],
            blocks: vec![1, u64::MAX],
            ..Row::default()
        };
        let columns: Vec<Field> = columns::fields()
            .unwrap()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        let payload = postcard::to_allocvec(&row).unwrap();
        assert_eq!(decode(&columns, &payload).unwrap(), row);
    }

    /// A log of before a list and a number were added, and with a column that is gone.
    #[test]
    fn columns_that_are_missing_are_empty_and_those_that_are_unknown_are_passed_over() {
        let mut columns: Vec<Field> = columns::fields()
            .unwrap()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        let payload = postcard::to_allocvec(&Row {
            exchange: 9,
            bursts: 3,
            blocks: vec![4],
            ..Row::default()
        })
        .unwrap();
        for column in &mut columns {
            if ["bursts", "blocks"].contains(&column.name().as_str()) {
                column.set_name(format!("{}_of_old", column.name()));
            }
        }
        let found = decode(&columns, &payload).unwrap();
        assert_eq!(
            found,
            Row {
                exchange: 9,
                ..Row::default()
            }
        );
    }
}
