//! The simulated engine as a program: serves until Ctrl-C, prints its address first and a summary last.
//!
//! `cargo run -p sim --example engine -- --port 0 --engine sglang`
//!
//! Its clock is the machine's `CLOCK_MONOTONIC`, so that the stamps of scripted events can be subtracted from those of a
//! client in another process.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};

use clap::{Parser, ValueEnum};
use sim::{Clock, Options, Pacing, Personality, Profile, Server};
use tokio::net::TcpListener;
use wire::EngineKind;

/// An LLM engine that is none: an engine's routes around a simulated scheduler.
#[derive(Parser)]
struct Arguments {
    /// Address to listen on.
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST.into())]
    host: IpAddr,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// Which engine it plays.
    #[arg(long, default_value = "vllm", value_parser = engine)]
    engine: EngineKind,
    /// How fast the engine is and what it has room for. All figures are invented.
    #[arg(long, value_enum, default_value_t = Deployment::SmallGpu)]
    profile: Deployment,
    /// What its noise is drawn from.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Name of the served model.
    #[arg(long, default_value = "sim-8b")]
    model: String,
}

fn engine(name: &str) -> Result<EngineKind, String> {
    EngineKind::of(name).ok_or_else(|| {
        let names = EngineKind::ALL.map(EngineKind::as_str).join(", ");
        format!("no such engine; use one of {names}")
    })
}

#[derive(Clone, Copy, ValueEnum)]
enum Deployment {
    /// A model of 8 billion parameters on one accelerator, as it might be.
    SmallGpu,
    /// The same with speculative decoding.
    SmallGpuSpeculative,
    /// Small and quick, soon full.
    Fast,
}

impl Deployment {
    fn profile(self) -> Profile {
        match self {
            Self::SmallGpu => Profile::small_gpu(),
            Self::SmallGpuSpeculative => Profile::small_gpu_speculative(),
            Self::Fast => Profile::fast(),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind((arguments.host, arguments.port)).await?;
    let options = Options {
        personality: Personality::of(arguments.engine),
        seed: arguments.seed,
        pacing: Pacing::Precise,
        model: arguments.model,
        ..Options::new(arguments.profile.profile(), Clock::machine())
    };
    let server = Server::start(options);
    let mut out = io::stdout();
    writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    server
        .serve(listener, async {
            // Without a way to hear Ctrl-C there is none to wait for: the process is ended from outside.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
        .await?;
    let records = server.truth().drain();
    let tokens: u64 = records.iter().map(|record| record.output_tokens()).sum();
    let kept = records.len() as u64;
    let all = kept + server.truth().dropped();
    writeln!(
        out,
        "{all} exchanges, {tokens} tokens in the last {kept} of them"
    )
}
