//! The program under test: the binary `loadproof`, as a process.

use super::client;
use super::program::Program;
use serde_json::Value;
use std::net::SocketAddr;
use std::process::{Command, ExitStatus};

/// The program under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_loadproof");

/// `loadproof proxy` on free ports of the loopback.
pub(crate) struct Proxy {
    /// Where clients connect.
    pub(crate) address: SocketAddr,
    /// Where metrics and status are.
    pub(crate) admin: SocketAddr,
    program: Program,
}

impl Proxy {
    /// Starts it in front of an engine, with these arguments besides, and waits until it listens.
    pub(crate) fn start(engine: SocketAddr, arguments: &[&str]) -> Self {
        Self::of(&format!("http://{engine}"), arguments)
    }

    /// The same in front of the engine at a URL, whose first port is behind `address`.
    pub(crate) fn of(engine: &str, arguments: &[&str]) -> Self {
        Self::by(Command::new(BINARY), engine, arguments)
    }

    /// The same by a shell that has done `first` before it becomes the program: a limit that it sets is the program's.
    pub(crate) fn after(first: &str, engine: SocketAddr, arguments: &[&str]) -> Self {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("{first}; exec \"$0\" \"$@\"")]);
        command.arg(BINARY);
        Self::by(command, &format!("http://{engine}"), arguments)
    }

    /// By a command that ends in the binary.
    pub(crate) fn by(mut command: Command, engine: &str, arguments: &[&str]) -> Self {
        command.args([
            "proxy",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
            "--log-format",
            "json",
        ]);
        // Only what stands here configures it.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("LOADPROOF_") {
                command.env_remove(name);
            }
        }
        command.args(["--upstream", engine]).args(arguments);
        let program = Program::start("loadproof", &mut command, "cargo builds it");
        let (address, admin) = program.heard("where it listens", |line| {
            let line: Value = serde_json::from_str(line).ok()?;
            let fields = &line["fields"];
            let address = |name: &str| fields[name].as_str()?.parse().ok();
            (fields["message"] == "listening")
                .then(|| Some((address("listen")?, address("admin")?)))?
        });
        Self {
            address,
            admin,
            program,
        }
    }

    /// Its metrics as text.
    pub(crate) fn metrics(&self) -> String {
        client::get(self.admin, "/metrics").text().to_owned()
    }

    /// The sum of the series of one name whose labels contain all of `labels` (`name="value"` each); 0 if there are none.
    pub(crate) fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let metrics = self.metrics();
        let series = metrics
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '));
        series
            .filter(|(key, _)| {
                key.split('{').next() == Some(name)
                    && labels.iter().all(|label| key.contains(label))
            })
            .map(|(key, value)| {
                value
                    .parse::<f64>()
                    .unwrap_or_else(|_| panic!("{key} is {value:?}"))
            })
            .sum()
    }

    /// Its process.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Waits for its end, which it was asked for.
    pub(crate) fn ended(mut self) -> ExitStatus {
        self.program.ended()
    }

    /// Asks it to stop, and waits for its end.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.program.terminate();
        self.program.ended()
    }
}
