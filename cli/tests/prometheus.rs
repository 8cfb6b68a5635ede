//! What an SRE reads in Prometheus is what the records say: p95 TTFT of a shape, by PromQL, from a real server that scrapes
//! the real admin port, with native histograms and without.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

mod support;

use measure::{Defined, Outcome, Record};
use proxy::{Listeners, Parts, Proxy, Signals};
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{Native, Prometheus, client};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use upstream::Clock;

const REQUESTS: u64 = 600;

const SHAPE: &str = r#"{input_len="257-1024",output_len="33-256",concurrency="0-1000"}"#;

/// The simulated engine, a proxy in front of it, and what the proxy recorded of its load.
struct Loaded {
    admin: SocketAddr,
    records: Vec<Record>,
    _tasks: JoinSet<()>,
    _stop: mpsc::Sender<()>,
}

fn checked(engine: SocketAddr) -> config::Checked {
    let file = format!(
        "listen: 127.0.0.1:0\nadmin:\n  listen: 127.0.0.1:0\nupstream:\n  url: http://{engine}\nmodels:\n  names: [sim-8b]\n\
         shape:\n  concurrency: [1000]\n"
    );
    let sources = config::Sources {
        file: Some(config::FileText {
            name: "test.yaml",
            text: &file,
        }),
        environment: &config::Environment::of::<String, String>([]),
        flags: &[],
    };
    config::check(&sources)
        .unwrap_or_else(|faults| panic!("{faults}"))
        .checked
}

/// A request whose prompt and answer fall into one shape, whatever its number.
fn request(number: u64) -> String {
    let body = format!(
        r#"{{"model":"sim-8b","stream":true,"stream_options":{{"include_usage":true}},"seed":{number},"messages":[]}}"#
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         x-sim-input-tokens: {}\r\nx-sim-output-tokens: {}\r\nconnection: close\r\n\r\n{body}",
        body.len(),
        300 + number * 7 % 600,
        34 + number * 3 % 20,
    )
}

async fn load(clock: Clock) -> Loaded {
    let mut tasks = JoinSet::new();
    let options = sim::Options::new(sim::Profile::fast(), sim::Clock::new(move || clock.now().0));
    let server = sim::Server::start(options);
    let engine = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = checked(engine.local_addr().unwrap());
    tasks.spawn(async move { server.serve(engine, std::future::pending()).await.unwrap() });

    let listeners = Listeners::bind(&config).unwrap();
    let (data, admin) = (
        listeners.data[0].address().unwrap(),
        listeners.admin.local_addr().unwrap(),
    );
    let (feed, mut records) = mpsc::channel(1024);
    let proxy = Proxy::new(
        &config,
        Parts {
            clock,
            feed: Some(feed),
            ..Parts::of(&config, String::new()).unwrap()
        },
    )
    .unwrap();
    let (stop, stopped) = mpsc::channel(1);
    tasks.spawn(async move {
        proxy.run(listeners, Signals::channel(stopped)).await;
    });

    let mut clients = JoinSet::new();
    for number in 0..REQUESTS {
        clients.spawn(async move {
            let mut socket = TcpStream::connect(data).await.unwrap();
            socket.write_all(request(number).as_bytes()).await.unwrap();
            socket.read_to_end(&mut Vec::new()).await.unwrap();
        });
        tokio::time::sleep(Duration::from_millis(number * 7919 % 17)).await;
    }
    clients.join_all().await;
    let mut all = Vec::new();
    for _ in 0..REQUESTS {
        all.push(records.recv().await.unwrap());
    }
    Loaded {
        admin,
        records: all,
        _tasks: tasks,
        _stop: stop,
    }
}

/// The smallest value with at least 95 % of the values at or below it, in seconds.
fn p95_ttft(records: &[Record]) -> f64 {
    let mut ttfts: Vec<u64> = records
        .iter()
        .map(|record| match record.ttft() {
            Defined::Value(ttft) => ttft.0,
            other => panic!("every request got a token, but: {other:?}"),
        })
        .collect();
    ttfts.sort_unstable();
    let rank = (ttfts.len() * 95).div_ceil(100);
    Duration::from_nanos(ttfts[rank - 1]).as_secs_f64()
}

#[test]
fn p95_by_promql_is_the_p95_of_the_records() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let loaded = runtime.block_on(load(Clock::start()));
    assert!(
        loaded
            .records
            .iter()
            .all(|record| record.outcome == Outcome::Ok)
    );
    let truth = p95_ttft(&loaded.records);

    let native = Prometheus::start(loaded.admin, Native::On);
    native.scraped_anew();
    let series = format!("loadproof_time_to_first_token_seconds{SHAPE}");
    let count = native.value(&format!("histogram_count({series})"));
    assert_eq!(
        count,
        Some(600.0),
        "all of them in one shape: {:?}",
        native.scrape_errors()
    );
    let p95 = native
        .value(&format!("histogram_quantile(0.95, {series})"))
        .unwrap();
    assert!(
        (p95 / truth - 1.0).abs() <= 0.03,
        "native p95 {p95} s, of the records {truth} s"
    );

    let classic = Prometheus::start(loaded.admin, Native::Off);
    classic.scraped_anew();
    let buckets = format!("loadproof_time_to_first_token_seconds_bucket{SHAPE}");
    let p95 = classic
        .value(&format!("histogram_quantile(0.95, {buckets})"))
        .unwrap();
    let mut edges: Vec<f64> = classic
        .query(&buckets)
        .iter()
        .map(|sample| sample.labels["le"].parse().unwrap())
        .collect();
    edges.sort_unstable_by(f64::total_cmp);
    let above = edges.partition_point(|edge| *edge < truth);
    let (low, high) = (
        above.checked_sub(1).map_or(0.0, |below| edges[below]),
        edges[above],
    );
    assert!(
        (low..=high).contains(&p95),
        "classic p95 {p95} s, of the records {truth} s in ({low}, {high}]"
    );

    let exposition = client::get(loaded.admin, "/metrics");
    check_metrics(&exposition.message.body);
}

/// `promtool check metrics` has nothing to say.
fn check_metrics(exposition: &[u8]) {
    let mut promtool = Command::new(support::promtool())
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is there: run `make e2e`, or `scripts/setup prometheus` once");
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(exposition)
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}
