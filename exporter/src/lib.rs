//! Room `exporter`.
