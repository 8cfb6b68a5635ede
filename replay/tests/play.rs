//! Whole replays against a simulated engine, over pipes, on a paused clock that both share: hours pass in seconds, and what
//! was sent and when is not nearly but exactly what the schedule says.

#![expect(clippy::unwrap_used, reason = "a test says what it found by failing")]

use judge::prng::SplitMix64;
use measure::{Nanos, Outcome, Role};
use replay::{Audience, Limits, Outgoing, Reaching, Recorded, Schedule, Sender, Sent, Standing};
use replay::{Synthesis, play};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::duplex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use upstream::{Clock, Connecting, Connector, PatienceLimits, PoolLimits, Socket};
use wire::Endpoint;
use wire::encode::{Prompt, RequestShape, Streaming};

const LIMITS: Limits = Limits {
    open: 1_000,
    drain: Duration::from_secs(600),
};

struct ToSim {
    server: sim::Server,
    connections: Mutex<JoinSet<()>>,
}

impl Connector for ToSim {
    fn connect(&self) -> Connecting {
        let (ours, theirs) = duplex(256 * 1024);
        let served = self.server.serve_connection(theirs);
        self.connections.lock().unwrap().spawn(served);
        Box::pin(async move { Ok(Box::new(ours) as Box<dyn Socket>) })
    }

    fn authority(&self) -> &str {
        "sim"
    }
}

/// Keeps all that it is told.
#[derive(Default)]
struct Notes {
    sent: Vec<Sent>,
    standing: Standing,
}

impl Audience for Notes {
    fn on_sent(&mut self, sent: Sent) {
        self.sent.push(sent);
    }

    fn on_standing(&mut self, standing: Standing) {
        self.standing = standing;
    }
}

fn target(profile: sim::Profile) -> (Arc<Sender>, sim::Server) {
    let clock = Clock::start();
    let options = sim::Options::new(profile, sim::Clock::new(move || clock.now().0));
    let server = sim::Server::start(options);
    let connector = ToSim {
        server: server.clone(),
        connections: Mutex::default(),
    };
    let reaching = Reaching {
        headers: http::HeaderMap::new(),
        engine: None,
        patience: PatienceLimits::default(),
        pool: PoolLimits {
            connect_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(3),
            max_idle: 64,
        },
    };
    let sender = Sender::new(Arc::new(connector), clock, Role::Replay, reaching);
    (Arc::new(sender), server)
}

fn outgoing(tokens: &[u32], output: u32) -> Outgoing {
    let shape = RequestShape {
        model: Some("sim-8b"),
        prompt: Prompt::TokenIds(tokens),
        max_tokens: Some(output),
        streaming: Streaming::Usage,
        n: 1,
        ignore_eos: true,
        seed: None,
    };
    Outgoing {
        endpoint: Endpoint::Completions,
        path: "/v1/completions".to_owned(),
        body: shape.body(Endpoint::Completions),
    }
}

fn never() -> watch::Receiver<bool> {
    watch::channel(false).1
}

#[tokio::test(start_paused = true)]
async fn lengths_times_and_prefixes_are_the_recorded_ones() {
    let (sender, server) = target(sim::Profile::small_gpu());
    let synthesis = Synthesis::new(1, 16, 30_000).unwrap();
    // Ten conversations of four turns each: a turn's prompt is the one before with three blocks more.
    let blocks = |session: u64, turn: u64| -> Vec<u64> {
        (0..3 * (turn + 1))
            .map(|block| 1_000 * session + block)
            .collect()
    };
    let mut requests = Vec::new();
    for turn in 0..4_u64 {
        for session in 0..10_u64 {
            let arrival = Nanos::from_millis(20_000 * turn + 700 * session);
            requests.push((
                Recorded {
                    arrival,
                    end: Nanos(arrival.0 + Nanos::from_millis(5_000).0),
                    session: Some(session),
                },
                blocks(session, turn),
            ));
        }
    }
    let recorded: Vec<_> = requests.iter().map(|(recorded, _)| *recorded).collect();
    let mut notes = Notes::default();
    let requests = |number: usize| {
        let blocks = &requests[number].1;
        outgoing(&synthesis.prompt(blocks, 16 * blocks.len() as u64, 0), 8)
    };
    let schedule = Schedule::recorded(&recorded);
    let standing = play(sender, &schedule, (requests, LIMITS), never(), &mut notes).await;
    assert_eq!(
        (standing.sent, standing.ended, standing.unsent),
        (40, 40, 0)
    );
    assert_eq!(notes.standing, standing);
    let truth = server.truth().drain();
    assert_eq!(truth.len(), 40);
    // What was sent first is what nothing was cached of; a later turn finds its last one whole.
    let cached: u64 = truth.iter().filter_map(|one| one.cached_tokens).sum();
    assert_eq!(cached, 10 * 16 * (3 + 6 + 9));
    notes.sent.sort_by_key(|sent| sent.request);
    for sent in &notes.sent {
        assert_eq!(sent.record.outcome, Outcome::Ok);
        assert_eq!(sent.record.identity.role, Role::Replay);
        let turn = sent.request as u64 / 10;
        assert_eq!(sent.record.input_tokens, Some(48 * (turn + 1)));
        assert_eq!(sent.record.output_tokens, Some(8));
        // The paused clock is waited on by the millisecond.
        let lag = sent.record.stamps.arrival.since(sent.planned);
        assert!(lag <= Nanos::from_millis(1), "{lag:?}");
        if let Some(before) = sent.request.checked_sub(10) {
            let think = sent.planned.since(notes.sent[before].record.stamps.end);
            assert_eq!(think, Nanos::from_millis(15_000));
        }
    }
}

/// M/D/1: the mean time in the system is s + ρs ÷ 2(1 − ρ) (Pollaczek–Khinchine).
#[tokio::test(start_paused = true)]
async fn a_poisson_replay_against_one_server_waits_as_the_formula_says() {
    let (sender, _server) = target(sim::Profile::one_server(50_000_000));
    let schedule = Schedule::poisson(4_000, 12.0, &mut SplitMix64::new(11)).unwrap();
    let mut notes = Notes::default();
    let one_token = |_| outgoing(&[1, 2, 3], 1);
    play(sender, &schedule, (one_token, LIMITS), never(), &mut notes).await;
    let ttfts = notes.sent.iter().map(|sent| {
        let stamps = sent.record.stamps;
        stamps.first_token.unwrap().since(stamps.body_sent.unwrap())
    });
    let mean = ttfts.map(Nanos::as_secs_f64).sum::<f64>() / 4_000.0;
    let (service, load) = (0.05, 12.0 * 0.05);
    let formula = service + load * service / (2.0 * (1.0 - load));
    assert!(
        (mean / formula - 1.0).abs() < 0.04,
        "{mean} against {formula}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_never_has_more_open_than_its_places() {
    let (sender, server) = target(sim::Profile::fast());
    let mut notes = Notes::default();
    let requests = |_| outgoing(&[5; 32], 4);
    let schedule = Schedule::closed(50, 3);
    let standing = play(sender, &schedule, (requests, LIMITS), never(), &mut notes).await;
    assert_eq!((standing.sent, standing.ended), (50, 50));
    assert_eq!(server.truth().drain().len(), 50);
    let most = notes
        .sent
        .iter()
        .map(|sent| sent.record.in_flight.at_arrival);
    assert_eq!(most.max(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_keeps_what_it_has_and_says_what_it_did_not_send() {
    let (sender, _server) = target(sim::Profile::one_server(1_000_000_000));
    let every_second: Vec<_> = (0..100_u64)
        .map(|second| Recorded {
            arrival: Nanos::from_secs(second),
            end: Nanos::from_secs(second),
            session: None,
        })
        .collect();
    let schedule = Schedule::recorded(&every_second);
    let (stop, stopped) = watch::channel(false);
    let mut notes = Notes::default();
    let requests = |_| outgoing(&[1], 3);
    let limits = Limits {
        drain: Duration::from_millis(500),
        ..LIMITS
    };
    let run = play(sender, &schedule, (requests, limits), stopped, &mut notes);
    let (standing, ()) = tokio::join!(run, async {
        tokio::time::sleep(Duration::from_millis(10_200)).await;
        stop.send_replace(true);
    });
    assert_eq!((standing.sent, standing.unsent), (11, 89));
    assert_eq!((standing.ended, standing.lost), (11, 0));
    // One answer takes three seconds, and they are served one by one: the fourth was open when time was up, and the rest waited.
    let by = |outcome| {
        notes
            .sent
            .iter()
            .filter(|sent| sent.record.outcome == outcome)
            .count()
    };
    assert_eq!(by(Outcome::Ok), 3);
    assert_eq!(by(Outcome::ClientAbortDecode), 1);
    assert_eq!(by(Outcome::ClientAbortPrefill), 7);
}

#[tokio::test(start_paused = true)]
async fn what_is_due_while_too_many_are_open_is_held_back_and_counted() {
    let (sender, server) = target(sim::Profile::one_server(1_000_000_000));
    let at_once: Vec<_> = (0..10_u64)
        .map(|ms| Recorded {
            arrival: Nanos::from_millis(ms),
            end: Nanos::from_millis(ms),
            session: None,
        })
        .collect();
    let mut notes = Notes::default();
    let requests = |_| outgoing(&[1], 1);
    let limits = Limits { open: 4, ..LIMITS };
    let schedule = Schedule::recorded(&at_once);
    let standing = play(sender, &schedule, (requests, limits), never(), &mut notes).await;
    assert_eq!((standing.sent, standing.held_back), (4, 6));
    assert_eq!(server.truth().drain().len(), 4);
}
