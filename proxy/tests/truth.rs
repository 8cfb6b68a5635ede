//! What we report is what the engine emitted: a thousand exchanges with every fault mixed in, over pipes, on a paused
//! clock that simulator and proxy share, so that times are not near but equal.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

use measure::{Outcome, Record};
use proxy::{Parts, Proxy};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use sim::{Ended, Kind};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use upstream::{Clock, Connecting, Connector, Socket};
use wire::Endpoint;
use wire::encode::{Prompt, RequestShape, Streaming};

const EXCHANGES: u32 = 1_000;

/// Longer than any answer: what is still open then was hung on purpose, and its client leaves.
const PATIENCE: Duration = Duration::from_secs(600);

const FAULTS: [&str; 30] = [
    "",
    "",
    "",
    "",
    "status=400",
    "status=429",
    "status=503",
    "delay-head=700",
    "early-hints",
    "die-before-head",
    "hang-before-head",
    "die=3",
    "die-in-event=4",
    "reset=2",
    "hang=2",
    "stall=2:900",
    "error-event=2",
    "error-event-cut=2",
    "no-usage",
    "no-done",
    "early-role",
    "comments",
    "keep-alive=5",
    "crlf",
    "cr",
    "coalesce=3",
    "drip=40",
    "giant-event=300000",
    "gzip",
    "http10",
];

/// One request, and what it asks of the engine.
#[derive(Debug, Clone)]
struct Case {
    number: u32,
    fault: &'static str,
    endpoint: Endpoint,
    streaming: Streaming,
    n: u32,
    input: u32,
    output: u32,
    reasoning: u32,
    leaves_after: Option<Duration>,
}

impl Case {
    fn draw(number: u32, random: &mut Pcg64) -> Self {
        let chat = random.random_bool(0.5);
        let output = random.random_range(1..40);
        Self {
            number,
            fault: FAULTS[usize::try_from(number).unwrap() % FAULTS.len()],
            endpoint: if chat {
                Endpoint::ChatCompletions
            } else {
                Endpoint::Completions
            },
            streaming: [
                Streaming::Events,
                Streaming::Usage,
                Streaming::RunningUsage,
                Streaming::Usage,
                Streaming::Whole,
            ][random.random_range(0..5)],
            n: if random.random_bool(0.1) { 2 } else { 1 },
            input: random.random_range(1..2_000),
            output,
            reasoning: if chat && random.random_bool(0.2) {
                output / 2
            } else {
                0
            },
            leaves_after: random
                .random_bool(0.05)
                .then(|| Duration::from_millis(random.random_range(1..400))),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let shape = RequestShape {
            model: Some("sim-8b"),
            prompt: Prompt::Text("some words"),
            max_tokens: Some(64),
            streaming: self.streaming,
            n: self.n,
            ignore_eos: false,
            seed: Some(i64::from(self.number)),
        };
        let body = shape.body(self.endpoint);
        let mut bytes = format!(
            "POST {} HTTP/1.1\r\nhost: sim\r\ncontent-type: application/json\r\ncontent-length: {}\r\nx-sim-id: {}\r\n\
             x-sim-input-tokens: {}\r\nx-sim-output-tokens: {}\r\nx-sim-reasoning-tokens: {}\r\nconnection: close\r\n",
            self.endpoint.as_str(),
            body.len(),
            self.number,
            self.input,
            self.output,
            self.reasoning,
        );
        if !self.fault.is_empty() {
            bytes.push_str(&format!("x-sim-fault: {}\r\n", self.fault));
        }
        bytes.push_str("\r\n");
        [bytes.into_bytes(), body].concat()
    }

    /// Sends it and reads its answer to the end, or leaves.
    async fn run(self, mut socket: DuplexStream) {
        socket.write_all(&self.bytes()).await.unwrap();
        let mut answer = Vec::new();
        let patience = self.leaves_after.unwrap_or(PATIENCE);
        let _ = tokio::time::timeout(patience, socket.read_to_end(&mut answer)).await;
    }
}

struct ToSim {
    server: sim::Server,
    connections: Mutex<JoinSet<()>>,
}

impl Connector for ToSim {
    fn connect(&self) -> Connecting {
        let (ours, theirs) = duplex(256 * 1024);
        self.connections
            .lock()
            .unwrap()
            .spawn(self.server.serve_connection(theirs));
        Box::pin(async move { Ok(Box::new(ours) as Box<dyn Socket>) })
    }

    fn authority(&self) -> &str {
        "sim"
    }
}

struct House {
    proxy: Proxy,
    server: sim::Server,
    records: mpsc::Receiver<Record>,
}

fn house() -> House {
    let clock = Clock::start();
    let options = sim::Options::new(
        sim::Profile::small_gpu(),
        sim::Clock::new(move || clock.now().0),
    );
    let server = sim::Server::start(options);
    let file = "upstream:\n  url: http://127.0.0.1:1\n";
    let effective = config::check(&config::Sources {
        file: Some(config::FileText {
            name: "test.yaml",
            text: file,
        }),
        environment: &config::Environment::of::<String, String>([]),
        flags: &[],
    });
    let config = effective
        .unwrap_or_else(|faults| panic!("{faults}"))
        .checked;
    let (feed, records) = mpsc::channel(2 * usize::try_from(EXCHANGES).unwrap());
    let connector = Arc::new(ToSim {
        server: server.clone(),
        connections: Mutex::default(),
    });
    let parts = Parts {
        connectors: vec![connector],
        clock,
        config_view: String::new(),
        feed: Some(feed),
    };
    House {
        proxy: Proxy::new(&config, parts).expect("a checked configuration is accepted"),
        server,
        records,
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_reported_equals_what_was_emitted() {
    let mut house = house();
    let mut random = Pcg64::seed_from_u64(7);
    let mut clients = JoinSet::new();
    let mut cases = BTreeMap::new();
    for number in 0..EXCHANGES {
        let case = Case::draw(number, &mut random);
        let (client, server) = duplex(256 * 1024);
        house.proxy.serve(Box::new(server));
        cases.insert(number, case.clone());
        clients.spawn(case.run(client));
        tokio::time::sleep(Duration::from_micros(random.random_range(0..40_000))).await;
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    house.server.truth().finished(u64::from(EXCHANGES)).await;
    assert_eq!(
        (
            house.proxy.in_flight().prefill(),
            house.proxy.in_flight().decode()
        ),
        (0, 0)
    );

    let mut truths: HashMap<u32, sim::Record> = house
        .server
        .truth()
        .drain()
        .into_iter()
        .map(|truth| (truth.id.parse().unwrap(), truth))
        .collect();
    assert_eq!(truths.len(), cases.len());
    let mut faults = Vec::new();
    let mut counted = 0;
    while let Ok(record) = house.records.try_recv() {
        counted += 1;
        let number = u32::try_from(record.request.seed.expect("each request has a seed")).unwrap();
        let truth = truths.remove(&number).expect("one record an exchange");
        if let Err(why) = compare(&cases[&number], &record, &truth) {
            faults.push(format!(
                "{:?}: {why}\n   {truth:?}\n   {record:?}",
                cases[&number]
            ));
        }
    }
    assert_eq!(counted, cases.len());
    assert!(
        faults.is_empty(),
        "{} of {counted} differ:\n{}",
        faults.len(),
        faults[..faults.len().min(5)].join("\n")
    );
}

/// Token-bearing writes that a reader can know of: time and tokens.
fn bursts(case: &Case, truth: &sim::Record) -> Vec<(u64, u64)> {
    let counted = case.streaming == Streaming::RunningUsage;
    let mut bursts: Vec<(u64, u64)> = Vec::new();
    for emitted in &truth.emissions {
        let shows = matches!(emitted.kind, Kind::Answer | Kind::Reasoning)
            || (counted && emitted.kind == Kind::Silent);
        if emitted.tokens == 0 || !shows {
            continue;
        }
        match bursts.last_mut() {
            Some((at, tokens)) if *at == emitted.at_ns => *tokens += u64::from(emitted.tokens),
            _ => bursts.push((emitted.at_ns, u64::from(emitted.tokens))),
        }
    }
    bursts
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: T, truth: T) -> Result<(), String> {
    match (ours, truth) {
        (ours, truth) if ours == truth => Ok(()),
        (ours, truth) => Err(format!("{what}: we say {ours:?}, the engine {truth:?}")),
    }
}

fn compare(case: &Case, record: &Record, truth: &sim::Record) -> Result<(), String> {
    let lost_sight = record.flags.opaque || record.flags.oversize_event;
    same(
        "outcome",
        record.outcome,
        outcome(case, truth, record.flags.opaque),
    )?;
    same(
        "status",
        record.status,
        truth.status.filter(|_| truth.head_written_ns.is_some()),
    )?;
    if record.outcome == Outcome::Ok && record.streamed && !lost_sight && truth.usage.is_some() {
        same(
            "output tokens",
            record.output_tokens,
            Some(truth.output_tokens()),
        )?;
        same("input tokens", record.input_tokens, truth.prompt_tokens)?;
    }
    if record.output_tokens_min > truth.output_tokens() && record.streamed {
        return Err(format!(
            "at least {} tokens, of {}",
            record.output_tokens_min,
            truth.output_tokens()
        ));
    }
    if !record.streamed || lost_sight {
        return Ok(());
    }
    let bursts = bursts(case, truth);
    same(
        "first token",
        record.stamps.first_token.map(|at| at.0),
        bursts.first().map(|&(at, _)| at),
    )?;
    same(
        "last token",
        record.stamps.last_token.map(|at| at.0),
        bursts.last().map(|&(at, _)| at),
    )?;
    same("bursts", record.bursts, bursts.len() as u64)?;
    let gaps: Vec<u64> = bursts
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    same("gaps", record.gaps.sum().0, gaps.iter().sum())?;
    same(
        "largest gap",
        record.gaps.max().map(|gap| gap.0),
        gaps.iter().copied().max(),
    )?;
    if record.counts_exact {
        same(
            "tokens",
            record.output_tokens_min,
            bursts.iter().map(|&(_, tokens)| tokens).sum(),
        )?;
    }
    Ok(())
}

/// The outcome that follows from what the engine did.
fn outcome(case: &Case, truth: &sim::Record, opaque: bool) -> Outcome {
    let streamed = case.streaming != Streaming::Whole;
    let has_token = streamed && !opaque && !bursts(case, truth).is_empty();
    match (truth.ended, truth.status) {
        (Ended::ClientGone, _) if has_token => Outcome::ClientAbortDecode,
        (Ended::ClientGone, _) => Outcome::ClientAbortPrefill,
        (Ended::Died | Ended::Reset, _) if truth.head_written_ns.is_some() => {
            Outcome::UpstreamTruncated
        }
        (Ended::Died | Ended::Reset, _) => Outcome::UpstreamReset,
        (_, Some(429)) => Outcome::Upstream429,
        (_, Some(400..=499)) => Outcome::Upstream4xx,
        (_, Some(500..=599)) => Outcome::Upstream5xx,
        (Ended::Errored, _) => Outcome::SseErrorEvent,
        (Ended::Completed, _) if streamed && case.fault == "no-done" => Outcome::SseNoDone,
        (Ended::Completed, _) => Outcome::Ok,
        (Ended::Stopped, _) => panic!("nothing stops the simulator"),
    }
}
