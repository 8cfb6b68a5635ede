//! Room `grafana`.
