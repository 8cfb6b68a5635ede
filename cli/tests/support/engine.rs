//! A real engine: llama.cpp's own HTTP server with a model of 135 M parameters.

use super::client;
use super::patience::eventually;
use super::program::Program;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The server, on a free port of the loopback.
pub(crate) struct Engine {
    address: SocketAddr,
    program: Program,
}

impl Engine {
    /// Starts it with room for this many requests at once, and waits until it answers.
    ///
    /// `LOADPROOF_PYTHON` names the python that has the wheels; by default it is the one that `make e2e` sets up.
    pub(crate) fn llamacpp(slots: u32) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("the room lies in the checkout");
        let python = std::env::var_os("LOADPROOF_PYTHON")
            .map_or_else(|| root.join(".venv/bin/python"), PathBuf::from);
        let mut command = Command::new(python);
        // One thread: threads of llama.cpp wait for each other by spinning, which on a busy machine takes minutes.
        command.arg(root.join("scripts/serve_llamacpp.py")).args([
            "--port",
            "0",
            "--threads",
            "1",
            "--slots",
            &slots.to_string(),
        ]);
        let program = Program::start(
            "llama.cpp",
            &mut command,
            "run `make e2e`, or `scripts/setup engine` once",
        );
        let address = program.heard("where it listens", |line| {
            line.strip_prefix("listening http://")?.parse().ok()
        });
        let engine = Self { address, program };
        eventually("llama.cpp is healthy", || {
            (client::get(address, "/health").status() == 200).then_some(())
        });
        engine
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A gauge or counter of its own `/metrics`, without the prefix `llamacpp:`.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let answer = client::get(self.address, "/metrics");
        let prefix = format!("llamacpp:{name} ");
        let line = answer
            .text()
            .lines()
            .find_map(|line| line.strip_prefix(&prefix));
        line.and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("no metric {name} in {}", answer.text()))
    }

    /// Its process.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }
}
