//! The files that this room generates.

use crate::dashboard::dashboard;
use crate::rules::rules;

/// One generated file.
#[derive(Debug)]
pub struct Generated {
    /// Path from this room's folder.
    pub path: &'static str,
    /// What it holds.
    pub text: String,
}

/// Why a file could not be written out as text.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The dashboard.
    #[error("could not write the dashboard as JSON")]
    Json(#[from] serde_json::Error),
    /// The rules.
    #[error("could not write the rules as YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
}

const RULES_HEAD: &str =
    "# Written by `cargo run -p grafana --example generate`. Change grafana/src, not this file.\n";

/// Every generated file.
///
/// # Errors
/// If a value can't be serialized; none is known.
pub fn generated() -> Result<[Generated; 2], Error> {
    let dashboard = serde_json::to_string_pretty(&dashboard())?;
    let rules = serde_saphyr::to_string(&rules())?;
    Ok([
        Generated {
            path: "dashboards/loadproof.json",
            text: format!("{dashboard}\n"),
        },
        Generated {
            path: "rules/loadproof.yml",
            text: format!("{RULES_HEAD}{rules}"),
        },
    ])
}
