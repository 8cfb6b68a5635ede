//! One run: engine, proxy and clients; a look each second; and an end that waits until all is over.

use crate::Error;
use crate::child::Child;
use crate::clock::OneClock;
use crate::engine_thread::{Deployment, EngineThread};
use crate::listen;
use crate::soak::http1::Got;
use crate::soak::ledger::{self, Ledger};
use crate::soak::looked::{Looked, look};
use crate::soak::report::{Finished, Report};
use crate::soak::scene::{self, Due, MODEL, Protocol, Scene};
use crate::soak::{Options, http1, http2};
use measure::Nanos;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use sim::Profile;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::task::JoinSet;

/// Clients.
pub(super) const CLIENTS: u64 = 32;

/// Longest pause of a client between two scenes, in milliseconds.
const PAUSE_MS: u64 = 60;

/// No scene takes so long, unless something hangs.
const SCENE_MOST: Duration = Duration::from_secs(30);

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks after the last scene until all is over: connections to the engine are kept for 3 s, and asking it for its load
/// may take 5 s.
const SETTLE_LOOKS: u32 = 60;

/// Settings of the proxy: stalled clients shall come to their end, and hold little meanwhile.
pub(super) const SETTINGS: [&str; 2] = ["limits.client_write=1s", "limits.queue_bytes_max=256KiB"];

/// Examples of what went wrong that are kept.
const EXAMPLES: usize = 10;

/// What is told meanwhile.
pub trait Watch {
    /// All parts run.
    fn started(&mut self, proxy: SocketAddr);

    /// How far it is; each second.
    fn progress(&mut self, progress: &Progress);
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Since the first scene.
    pub elapsed: Duration,
    /// Scenes that are over.
    pub done: u64,
    /// Those of them whose client did not get what was due.
    pub wrong: u64,
    /// What the process holds.
    pub looked: Looked,
}

/// What clients have come to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By the scene's name: played, and not what was due.
    pub(super) scenes: BTreeMap<&'static str, (u64, u64)>,
    /// Of the latter.
    pub(super) examples: Vec<String>,
}

/// Numbers and counts that all clients share.
#[derive(Debug, Default)]
struct Shared {
    number: AtomicU64,
    done: AtomicU64,
    wrong: AtomicU64,
}

/// A client that plays one scene after the other.
struct Player {
    random: Pcg64,
    http1: http1::Client,
    http2: http2::Client,
    shared: Arc<Shared>,
    tally: Tally,
}

/// Runs it.
pub(super) async fn run(options: &Options, watch: &mut dyn Watch) -> Result<Report, Error> {
    let clock = OneClock::start();
    let deployment = Deployment {
        profile: profile(),
        seed: 0,
        model: MODEL,
    };
    let listener = listen::listen("simulated engine", listen::ANYWHERE)?;
    let engine = EngineThread::start(deployment, &clock, listener).await?;
    let child = Child::start(&options.binary, engine.address, &SETTINGS)?;
    watch.started(child.address);
    // What is asked of the engine at the start is over before the first look.
    tokio::time::sleep(LOOK_EVERY * 2).await;
    let start = look(&child).await?;
    let end = clock.stamp() + nanos(options.duration);
    let shared = Arc::new(Shared::default());
    let mut players = JoinSet::new();
    for seed in 0..CLIENTS {
        let player = Player {
            random: Pcg64::seed_from_u64(seed),
            http1: http1::Client::new(child.address),
            http2: http2::Client::new(child.address),
            shared: Arc::clone(&shared),
            tally: Tally::default(),
        };
        players.spawn(player.play_until(end, clock));
    }
    let mut truth = Ledger::default();
    let mut looks = Vec::new();
    let begun = clock.stamp();
    while clock.stamp() < end {
        tokio::time::sleep(LOOK_EVERY).await;
        count(&engine, &mut truth);
        let looked = look(&child).await?;
        let elapsed = Duration::from_nanos(clock.stamp().since(begun).0);
        looks.push((elapsed, looked));
        watch.progress(&Progress {
            elapsed,
            done: shared.done.load(Relaxed),
            wrong: shared.wrong.load(Relaxed),
            looked,
        });
    }
    let tallies = players.join_all().await;
    let end = settle(&child, &engine, &start).await?;
    count(&engine, &mut truth);
    let metrics = child.page("/metrics").await?;
    let finished = Finished {
        duration: options.duration,
        tally: tallies.into_iter().fold(Tally::default(), Tally::and),
        truth,
        ours: Ledger::of_metrics(&metrics),
        refused: ledger::refused(&metrics),
        looks,
        start,
        end,
    };
    drop(child);
    engine.stop().await?;
    Ok(Report::new(finished))
}

/// Fast, with room for all clients at once.
fn profile() -> Profile {
    Profile {
        name: "soak",
        max_running: std::num::NonZeroU32::new(256).unwrap_or(std::num::NonZeroU32::MIN),
        kv_blocks: 32_768,
        step_ns: 2_000_000,
        decode_token_ns: 0,
        ..Profile::fast()
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

fn count(engine: &EngineThread, truth: &mut Ledger) {
    for record in engine.server.truth().drain() {
        truth.log(&record);
    }
}

/// Looks until nothing is left of the load, but not for ever: what is left then is in the result.
async fn settle(child: &Child, engine: &EngineThread, start: &Looked) -> Result<Looked, Error> {
    let mut looked = look(child).await?;
    for _ in 0..SETTLE_LOOKS {
        let over = looked.in_flight == 0
            && engine.server.live().open == 0
            && looked.traffic_tasks <= start.traffic_tasks
            && looked.service_tasks <= start.service_tasks
            && looked.holding.open_files <= start.holding.open_files;
        if over {
            break;
        }
        tokio::time::sleep(LOOK_EVERY / 4).await;
        looked = look(child).await?;
    }
    Ok(looked)
}

impl Player {
    async fn play_until(mut self, end: Nanos, clock: OneClock) -> Tally {
        while clock.stamp() < end {
            let scene = scene::draw(&mut self.random);
            let number = self.shared.number.fetch_add(1, Relaxed);
            let played = async {
                match scene.protocol {
                    Protocol::Http1 => self.http1.play(scene, number).await,
                    Protocol::Http2 => self.http2.play(scene, number).await,
                }
            };
            let said = match tokio::time::timeout(SCENE_MOST, played).await {
                Ok(Ok(got)) if is_due(scene.due, got) => None,
                Ok(Ok(got)) => Some(format!("{}: {got:?}", scene.name)),
                Ok(Err(error)) => Some(format!("{}: {error}", scene.name)),
                Err(_) => Some(format!("{}: not over after {SCENE_MOST:?}", scene.name)),
            };
            self.shared.done.fetch_add(1, Relaxed);
            self.shared
                .wrong
                .fetch_add(u64::from(said.is_some()), Relaxed);
            self.tally.add(scene, said);
            let pause = self.random.random_range(0..=PAUSE_MS);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        self.tally
    }
}

fn is_due(due: Due, got: Got) -> bool {
    match due {
        Due::Whole(status) => got.whole && got.status == Some(status),
        Due::Cut => !got.whole,
        Due::Nothing => true,
    }
}

impl Tally {
    fn add(&mut self, scene: &Scene, wrong: Option<String>) {
        let counts = self.scenes.entry(scene.name).or_default();
        counts.0 += 1;
        counts.1 += u64::from(wrong.is_some());
        self.examples.extend(wrong);
        self.examples.truncate(EXAMPLES);
    }

    fn and(mut self, other: Self) -> Self {
        for (name, (played, wrong)) in other.scenes {
            let counts = self.scenes.entry(name).or_default();
            counts.0 += played;
            counts.1 += wrong;
        }
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES);
        self
    }
}
