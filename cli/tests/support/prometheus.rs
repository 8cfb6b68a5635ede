//! A real Prometheus that scrapes what a test runs.

use super::client;
use super::patience::eventually;
use super::program::{Program, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Whether it takes native histograms. If so, this version drops the classic buckets of a histogram that has both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Native {
    /// Asks for protobuf, keeps native histograms.
    On,
    /// Asks for text, keeps classic histograms.
    Off,
}

/// One series of an instant query's result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// Its labels, the name as `__name__`.
    pub(crate) labels: BTreeMap<String, String>,
    /// Its value; of a native histogram, the count of its observations.
    pub(crate) value: f64,
}

/// The server, on a free port of the loopback, with a folder of its own. It scrapes each second.
pub(crate) struct Prometheus {
    address: SocketAddr,
    program: Program,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts it and waits until it serves; the job's name is `loadproof`.
    ///
    /// `LOADPROOF_PROMETHEUS` names the binary; by default it is the one that `make e2e` sets up, else the one on PATH.
    pub(crate) fn start(target: SocketAddr, native: Native) -> Self {
        let folder = TempDir::new().expect("a folder for the test");
        let configuration = folder.path().join("prometheus.yml");
        std::fs::write(&configuration, configured(target)).expect("the folder can be written");
        let mut command = Command::new(binary());
        command.arg(format!("--config.file={}", configuration.display()));
        command.arg(format!(
            "--storage.tsdb.path={}",
            folder.path().join("data").display()
        ));
        command.args(["--web.listen-address=127.0.0.1:0", "--log.format=json"]);
        if native == Native::On {
            command.arg("--enable-feature=native-histograms");
        }
        let program = Program::start(
            "Prometheus",
            &mut command,
            "run `make e2e`, or `scripts/setup prometheus` once",
        );
        let address = program.heard("where it listens", |line| {
            let line: Value = serde_json::from_str(line).ok()?;
            (line["msg"] == "Listening on").then(|| line["address"].as_str()?.parse().ok())?
        });
        program.heard("that it serves", |line| {
            line.contains("Server is ready to receive web requests")
                .then_some(())
        });
        Self {
            address,
            program,
            _folder: folder,
        }
    }

    /// The result of an instant query, which must be a vector or a scalar.
    pub(crate) fn query(&self, promql: &str) -> Vec<Sample> {
        let result = self.ask(&format!("/api/v1/query?query={}", percent_encoded(promql)));
        match result["resultType"].as_str() {
            Some("vector") => result["result"]
                .as_array()
                .into_iter()
                .flatten()
                .map(Sample::read)
                .collect(),
            Some("scalar") => vec![Sample {
                labels: BTreeMap::new(),
                value: number(&result["result"][1]),
            }],
            other => panic!("{promql} gave a {other:?}"),
        }
    }

    /// The value of a query that gives one series; `None` if it gives none.
    pub(crate) fn value(&self, promql: &str) -> Option<f64> {
        let samples = self.query(promql);
        assert!(
            samples.len() < 2,
            "{promql} gave {} series: {samples:?}",
            samples.len()
        );
        samples.first().map(|sample| sample.value)
    }

    /// Waits for a scrape that began after this call, so that a query sees what the target shows now.
    pub(crate) fn scraped_anew(&self) {
        let asked = self.value("time()").expect("the time is a scalar");
        eventually("Prometheus scrapes its target", || {
            let scraped = self.value("timestamp(up{job=\"loadproof\"} == 1)")?;
            (scraped > asked).then_some(())
        });
    }

    /// What it says of its targets' scrapes that failed.
    pub(crate) fn scrape_errors(&self) -> Vec<String> {
        let targets = self.ask("/api/v1/targets");
        let errors = targets["activeTargets"].as_array().into_iter().flatten();
        errors
            .filter_map(|target| target["lastError"].as_str())
            .filter(|error| !error.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Its process.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    fn ask(&self, path: &str) -> Value {
        let answer = client::get(self.address, path);
        let answer = answer.json();
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        assert!(answer.get("warnings").is_none(), "{path}: {answer}");
        answer["data"].clone()
    }
}

impl Sample {
    fn read(result: &Value) -> Self {
        let labels = result["metric"].as_object().into_iter().flatten();
        let labels = labels
            .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
        let value = match result.get("histogram") {
            Some(histogram) => number(&histogram[1]["count"]),
            None => number(&result["value"][1]),
        };
        Self { labels, value }
    }
}

/// Prometheus writes numbers as strings.
fn number(value: &Value) -> f64 {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no number: {value}"))
}

fn configured(target: SocketAddr) -> String {
    format!(
        "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}\n\
         scrape_configs:\n  - job_name: loadproof\n    static_configs: [{{ targets: [\"{target}\"] }}]\n"
    )
}

fn binary() -> PathBuf {
    match std::env::var_os("LOADPROOF_PROMETHEUS") {
        Some(named) => PathBuf::from(named),
        None => tool("prometheus"),
    }
}

/// `promtool`, from the same place.
pub(crate) fn promtool() -> PathBuf {
    tool("promtool")
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
