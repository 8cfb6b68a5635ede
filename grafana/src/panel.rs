//! Panels of a dashboard, as Grafana's classic JSON spells them (schema version 41).

use serde_json::{Value, json};

/// Columns of Grafana's grid.
pub(crate) const COLUMNS: u32 = 24;

/// A time series panel or a single number.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) kind: PanelKind,
    pub(crate) title: String,
    /// What it shows, from which metric, and when it is empty.
    pub(crate) description: String,
    pub(crate) unit: PanelUnit,
    pub(crate) targets: Vec<Target>,
    /// In columns and rows of the grid.
    pub(crate) size: (u32, u32),
}

/// How a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PanelKind {
    /// Lines over time.
    TimeSeries,
    /// The last value, large.
    Stat,
}

/// Unit of a panel's values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PanelUnit {
    Seconds,
    RequestsPerSecond,
    TokensPerSecond,
    Number,
    /// From 0 to 1.
    Share,
}

/// One query of a panel.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) query: String,
    /// Name of each series, with `{{label}}` for a label's value.
    pub(crate) legend: String,
}

impl PanelUnit {
    fn id(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::RequestsPerSecond => "reqps",
            Self::TokensPerSecond => "tokens/s",
            Self::Number => "short",
            Self::Share => "percentunit",
        }
    }
}

impl Panel {
    /// The panel at a place of the grid.
    pub(crate) fn at(&self, id: usize, (x, y): (u32, u32)) -> Value {
        let (width, height) = self.size;
        let targets: Vec<Value> = self
            .targets
            .iter()
            .zip('A'..='Z')
            .map(|(target, reference)| target.json(reference))
            .collect();
        json!({
            "id": id,
            "type": self.kind.id(),
            "title": self.title,
            "description": self.description,
            "datasource": datasource(),
            "gridPos": { "x": x, "y": y, "w": width, "h": height },
            "fieldConfig": {
                "defaults": { "unit": self.unit.id(), "min": 0, "noValue": "–", "custom": self.kind.custom() },
                "overrides": [],
            },
            "options": self.kind.options(),
            "targets": targets,
        })
    }
}

impl PanelKind {
    fn id(self) -> &'static str {
        match self {
            Self::TimeSeries => "timeseries",
            Self::Stat => "stat",
        }
    }

    fn custom(self) -> Value {
        match self {
            Self::TimeSeries => json!({ "lineWidth": 1, "fillOpacity": 0, "spanNulls": false }),
            Self::Stat => json!({}),
        }
    }

    fn options(self) -> Value {
        match self {
            Self::TimeSeries => json!({
                "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
                "tooltip": { "mode": "multi", "sort": "desc" },
            }),
            Self::Stat => json!({
                "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
                "colorMode": "none",
                "graphMode": "area",
                "textMode": "auto",
            }),
        }
    }
}

impl Target {
    fn json(&self, reference: char) -> Value {
        json!({
            "refId": reference.to_string(),
            "datasource": datasource(),
            "editorMode": "code",
            "expr": self.query,
            "legendFormat": self.legend,
            "range": true,
        })
    }
}

/// The data source that the dashboard's variable names.
pub(crate) fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}
