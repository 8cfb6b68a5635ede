//! What the engine says of itself, beside the traffic: into the metrics and the records, and no harm from it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

#[allow(dead_code, reason = "shared with tests that use other parts of it")]
mod support;

use exporter::{Format, Live};
use measure::{EngineLoad, Nanos, Outcome, Record};
use std::sync::{Arc, Mutex};
use support::*;
use tokio::io::DuplexStream;

/// How the engine answers what is asked beside the traffic.
#[derive(Debug, Clone)]
enum Manner {
    /// As vLLM of this version, with so many requests running.
    Vllm(&'static str, u32),
    /// Not at all: the connection ends.
    Gone,
    /// With this, whatever the question.
    Always(&'static str),
    /// With a body that has no end, at full speed.
    Endless,
    /// With a byte a second.
    Trickle,
}

type Manners = Arc<Mutex<Manner>>;

/// Answers chat requests with a stream of two tokens, everything else in its present manner.
fn engine(manners: &Manners) -> Arc<Engine> {
    let manners = Arc::clone(manners);
    Engine::new(move |socket| serve(socket, Arc::clone(&manners)))
}

async fn serve(mut socket: DuplexStream, manners: Manners) {
    while let Some(request) = read_request(&mut socket).await {
        if request.starts_with("POST ") {
            let answer =
                [event("a"), event("b"), finish(), DONE.to_owned()].map(|data| chunk(&data));
            write(
                &mut socket,
                &format!("{STREAM_HEAD}{}0\r\n\r\n", answer.concat()),
            )
            .await;
            continue;
        }
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let manner = manners.lock().unwrap().clone();
        match manner {
            Manner::Vllm(version, running) => {
                write(&mut socket, &vllm(&path, version, running)).await;
            }
            Manner::Gone => return,
            Manner::Always(answer) => write(&mut socket, answer).await,
            Manner::Endless | Manner::Trickle => {
                use tokio::io::AsyncWriteExt;
                write(&mut socket, STREAM_HEAD).await;
                let (piece, rest) = match manner {
                    Manner::Trickle => (chunk("v"), 1000),
                    _ => (chunk(&"x".repeat(60_000)), 0),
                };
                while socket.write_all(piece.as_bytes()).await.is_ok() {
                    pause(rest).await;
                }
                return;
            }
        }
    }
}

fn vllm(path: &str, version: &str, running: u32) -> String {
    let body = match path {
        "/version" => format!("{{\"version\":\"{version}\"}}"),
        "/v1/models" => {
            r#"{"data":[{"id":"m","owned_by":"vllm","max_model_len":8192}]}"#.to_owned()
        }
        "/metrics" => format!(
            "vllm:num_requests_running {running}\nvllm:cache_config_info{{cache_dtype=\"fp8\"}} 1\n"
        ),
        _ => return "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
    };
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn metrics(house: &House) -> String {
    let text = house
        .proxy
        .exporter()
        .encode(Format::Text, &Live::default());
    String::from_utf8(text.unwrap()).unwrap()
}

/// The labels of `engine_info`: all series of it.
fn identities(house: &House) -> Vec<String> {
    metrics(house)
        .lines()
        .filter_map(|line| line.strip_prefix("loadproof_engine_info{"))
        .map(|line| line.trim_end_matches("} 1").to_owned())
        .collect()
}

fn counted(house: &House, series: &str) -> u64 {
    let metrics = metrics(house);
    let value = metrics.lines().find_map(|line| line.strip_prefix(series));
    value
        .unwrap_or_else(|| panic!("no {series} in {metrics}"))
        .trim()
        .parse()
        .unwrap()
}

fn scrapes(house: &House, result: &str) -> u64 {
    let series = format!("loadproof_engine_scrapes_total{{result=\"{result}\"}}");
    counted(house, &series)
}

/// One exchange from beginning to end.
async fn exchange(house: &mut House) -> Record {
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::Ok);
    record
}

const VLLM_33: &str =
    "engine=\"vllm\",version=\"0.33.0\",model=\"m\",precision=\"kv=fp8\",max_model_len=\"8192\"";

#[tokio::test(start_paused = true)]
async fn an_engine_is_named_once_it_answers_and_anew_when_it_came_back_as_another() {
    let manners = Arc::new(Mutex::new(Manner::Gone));
    let mut house = House::new(&engine(&manners), "");
    house.proxy.watch_engine();
    pause(10_000).await;
    assert_eq!(identities(&house), [""; 0], "nobody is there yet");
    assert!(scrapes(&house, "unreachable") > 0);

    *manners.lock().unwrap() = Manner::Vllm("0.33.0", 0);
    pause(6_000).await;
    assert_eq!(identities(&house), [VLLM_33]);
    assert!(
        metrics(&house).contains("model=\"m\""),
        "its model is learned by the same question"
    );

    *manners.lock().unwrap() = Manner::Gone;
    pause(20_000).await;
    assert_eq!(
        identities(&house),
        [VLLM_33],
        "what is away is still what was measured"
    );
    *manners.lock().unwrap() = Manner::Vllm("0.34.0", 0);
    pause(6_000).await;
    assert_eq!(identities(&house), [VLLM_33.replace("0.33.0", "0.34.0")]);
    assert_eq!(counted(&house, "loadproof_engine_changes_total"), 1);

    // A quick restart between two looks is found within minutes.
    *manners.lock().unwrap() = Manner::Vllm("0.35.0", 0);
    pause(330_000).await;
    assert_eq!(identities(&house), [VLLM_33.replace("0.33.0", "0.35.0")]);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_record_has_the_load_that_it_met_and_its_age() {
    let manners = Arc::new(Mutex::new(Manner::Vllm("0.33.0", 7)));
    let mut house = House::new(&engine(&manners), "");
    assert_eq!(
        exchange(&mut house).await.engine_load,
        None,
        "not asked yet"
    );
    house.proxy.watch_engine();
    pause(1_500).await;
    let load = exchange(&mut house).await.engine_load;
    assert_eq!(
        load,
        Some(EngineLoad {
            running: Some(7),
            age: Nanos::from_millis(500),
            ..EngineLoad::default()
        })
    );
    *manners.lock().unwrap() = Manner::Gone;
    pause(2_000).await;
    let load = exchange(&mut house)
        .await
        .engine_load
        .expect("still of use");
    assert_eq!(load.age, Nanos::from_millis(2_500));
    pause(1_000).await;
    assert_eq!(
        exchange(&mut house).await.engine_load,
        None,
        "older than three looks"
    );
    assert_eq!(
        (scrapes(&house, "ok"), scrapes(&house, "unreachable") > 0),
        (2, true)
    );
    house.is_quiet().await;
}

/// Each of them for ten minutes: the traffic goes on, nothing is said of the engine, and the looks get rarer.
#[tokio::test(start_paused = true)]
async fn an_engine_that_answers_nonsense_harms_nothing() {
    let none = "engine=\"unstated\",version=\"unstated\",model=\"unstated\",precision=\"unstated\",max_model_len=\"unstated\"";
    for (manner, result, known) in [
        (
            Manner::Always("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
            "no_metrics",
            Some(none),
        ),
        (
            Manner::Always("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n<garbage>"),
            "no_metrics",
            Some(none),
        ),
        (
            Manner::Always("no HTTP at all\r\n\r\n"),
            "unreachable",
            None,
        ),
        (Manner::Endless, "too_large", Some(none)),
        (Manner::Trickle, "timeout", None),
    ] {
        let what = format!("{manner:?}");
        let manners = Arc::new(Mutex::new(manner));
        let mut house = House::new(&engine(&manners), "");
        house.proxy.watch_engine();
        for _ in 0..10 {
            pause(60_000).await;
            assert_eq!(exchange(&mut house).await.engine_load, None, "{what}");
        }
        assert_eq!(identities(&house), Vec::from_iter(known), "{what}");
        let looks = scrapes(&house, result);
        assert!(
            (1..=150).contains(&looks),
            "{what}: {looks} looks in ten minutes"
        );
        assert_eq!(scrapes(&house, "ok"), 0, "{what}");
        house.is_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_operators_word_holds_and_nothing_is_asked_that_is_switched_off() {
    let manners = Arc::new(Mutex::new(Manner::Vllm("0.33.0", 1)));
    let engine = engine(&manners);
    let quiet = "engine:\n  probe: false\n  scrape_interval: off\n  precision: weights=nf4\nmodels:\n  learn: false\n";
    let house = House::new(&engine, quiet);
    house.proxy.watch_engine();
    pause(600_000).await;
    assert_eq!(engine.connections(), 0);
    assert_eq!(
        identities(&house),
        [
            "engine=\"unstated\",version=\"unstated\",model=\"unstated\",precision=\"weights=nf4\",max_model_len=\"unstated\""
        ]
    );
    let asking = "engine:\n  precision: weights=nf4\n  kind: sglang\n";
    let house = House::new(&engine, asking);
    house.proxy.watch_engine();
    pause(5_000).await;
    assert_eq!(
        identities(&house),
        [VLLM_33
            .replace("kv=fp8", "weights=nf4")
            .replace("\"vllm\"", "\"sglang\"")]
    );
}
