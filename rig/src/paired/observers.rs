//! Streams through the proxy, by turns while its observers are well and while they are not.

use crate::Error;
use crate::calibrate::client::Script;
use crate::calibrate::level;
use crate::child::Child;
use crate::clock::OneClock;
use crate::engine_thread::{Deployment, EngineThread};
use crate::listen;
use crate::paired::Paired;
use crate::paired::front::{Front, Metrics};
use crate::paired::scrapers::Scrapers;
use crate::part;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Rounds: one well and one bad turn for each way in which the engine's metrics can be bad.
const ROUNDS: usize = 2;

const BAD: [Metrics; 3] = [Metrics::Dead, Metrics::Silent, Metrics::Endless];

const STREAMS: u32 = 8;

/// The engine's metrics are asked for often, so that each turn meets them.
const SETTINGS: [&str; 1] = ["engine.scrape_interval=100ms"];

/// A turn begins with the first question about the metrics. After failures it may be late by some seconds.
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 1500;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Observed {
    /// From the engine's write of an event to the client's read, while observers are well (without) and while they are not.
    pub delays: Paired,
    /// Questions about the engine's metrics that met a bad answer.
    pub bad_answers: u64,
    /// Those that the proxy has counted as bad.
    pub bad_counted: u64,
}

/// Measures.
///
/// # Errors
/// If something could not be started or reached, or a stream broke off.
pub fn observers(binary: &Path) -> Result<Observed, Error> {
    part::runtime("observers")?.block_on(measure(binary))
}

async fn measure(binary: &Path) -> Result<Observed, Error> {
    let clock = OneClock::start();
    let deployment = Deployment {
        profile: sim::Profile::fast(),
        seed: 0,
        model: crate::calibrate::client::MODEL,
    };
    let listener = listen::listen("scripted engine", listen::ANYWHERE)?;
    let engine = EngineThread::start(deployment, &clock, listener).await?;
    let front = Front::start(engine.address)?;
    let child = Child::start(binary, front.address, &SETTINGS)?;
    let (mut well, mut bad, mut bad_answers) = (Vec::new(), Vec::new(), 0);
    // What is loaded, allocated and connected for the first time belongs to neither side.
    turn(&child, &front, Metrics::Well, clock).await?;
    for round in 0..ROUNDS {
        for metrics in BAD {
            let mut order = [Metrics::Well, metrics];
            order.rotate_left(round % 2);
            for metrics in order {
                let mut delays = turn(&child, &front, metrics, clock).await?;
                if metrics == Metrics::Well {
                    well.append(&mut delays);
                } else {
                    bad.append(&mut delays);
                    bad_answers += front.asked();
                }
            }
        }
    }
    let bad_counted = counted(&child.page("/metrics").await?);
    drop(child);
    front.stop().await?;
    engine.stop().await?;
    let delays = Paired::of(well, bad).ok_or(Error::Nothing { what: "events" })?;
    Ok(Observed {
        delays,
        bad_answers,
        bad_counted,
    })
}

/// Readings of the engine's metrics that were no use, by the proxy's metrics in text form.
fn counted(metrics: &str) -> u64 {
    let series = metrics
        .lines()
        .filter(|line| line.starts_with("loadproof_engine_scrapes_total{"));
    let bad = series.filter(|line| !line.contains("result=\"ok\""));
    bad.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
        .sum()
}

/// One turn: the delays of all events, in nanoseconds.
async fn turn(
    child: &Child,
    front: &Front,
    metrics: Metrics,
    clock: OneClock,
) -> Result<Vec<i64>, Error> {
    front.set(metrics);
    let scrapers = match metrics {
        Metrics::Well => None,
        _ => Some(Scrapers::start(child.admin).await?),
    };
    for _ in 0..LOOKS {
        if front.asked() > 0 {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    let script = Script {
        first_us: 20_000,
        gaps_us: vec![10_000],
        bursts: 40,
        events: 1,
        bytes: 260,
    };
    let streams = level::all(STREAMS, child.address, &script, clock).await?;
    drop(scrapers);
    let delays = streams.into_iter().flatten();
    Ok(delays.filter_map(|ns| i64::try_from(ns).ok()).collect())
}
