//! Rows of a CSV file with a head, their columns found by name.

use std::io::Read;

use csv::{ReaderBuilder, StringRecord};

use super::FormatError;

/// The rows of a file.
pub(super) struct Sheet<'a> {
    reader: csv::Reader<&'a mut dyn Read>,
    head: StringRecord,
}

/// One of them.
pub(super) struct Cells<'a> {
    pub(super) line: u64,
    head: &'a StringRecord,
    record: StringRecord,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(input: &'a mut dyn Read) -> Result<Self, FormatError> {
        let mut reader = ReaderBuilder::new().from_reader(input);
        let head = reader.headers().map_err(|error| broken(1, &error))?.clone();
        Ok(Self { reader, head })
    }

    /// The file has columns of these names.
    pub(super) fn needs(&self, names: &[&str]) -> Result<(), FormatError> {
        match names
            .iter()
            .find(|name| self.head.iter().all(|head| head.trim() != **name))
        {
            None => Ok(()),
            Some(name) => {
                let has: Vec<&str> = self.head.iter().collect();
                Err(FormatError::line(
                    1,
                    format!("has no column {name:?}: the columns are {has:?}"),
                ))
            }
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<Cells<'_>>, FormatError> {
        let mut record = StringRecord::new();
        let line = self.reader.position().line();
        match self.reader.read_record(&mut record) {
            Ok(true) => Ok(Some(Cells {
                line: record.position().map_or(line, csv::Position::line),
                head: &self.head,
                record,
            })),
            Ok(false) => Ok(None),
            Err(error) => Err(broken(line, &error)),
        }
    }
}

impl Cells<'_> {
    /// A cell that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let at = self.head.iter().position(|head| head.trim() == name)?;
        self.record
            .get(at)
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, FormatError> {
        self.text(name)
            .ok_or_else(|| FormatError::line(self.line, format!("has no {name:?}")))
    }

    pub(super) fn count(&self, name: &str) -> Result<u64, FormatError> {
        let cell = self.required(name)?;
        cell.parse()
            .map_err(|_| self.wrong(name, cell, "a whole number"))
    }

    pub(super) fn wrong(&self, name: &str, cell: &str, wanted: &str) -> FormatError {
        FormatError::line(
            self.line,
            format!("{name:?} is {cell:?}: {wanted} is wanted"),
        )
    }

    /// Columns of other names, as JSON.
    pub(super) fn others(&self, known: &[&str]) -> serde_json::Map<String, serde_json::Value> {
        let cells = self.head.iter().zip(&self.record);
        let others =
            cells.filter(|(head, cell)| !known.contains(&head.trim()) && !cell.trim().is_empty());
        others
            .map(|(head, cell)| (head.trim().to_owned(), cell.trim().into()))
            .collect()
    }
}

fn broken(line: u64, error: &csv::Error) -> FormatError {
    FormatError::line(
        error.position().map_or(line, csv::Position::line),
        format!("is no CSV: {error}"),
    )
}
