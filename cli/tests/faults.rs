//! Faults that concern the whole program, a fault a test, against an engine written out here. The numbers are those of
//! docs/FAULTS.md.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    unused_imports,
    reason = "a test fails by panicking, and the support is shared with other tests"
)]

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use support::{Open, Proxy, client, eventually};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const TOKEN: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const CHAT: &str = "/v1/chat/completions";
const STREAMED: &str = r#"{"stream":true,"messages":[]}"#;

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// An engine that answers each connection by one function, which gets the request's bytes as far as its first read.
fn engine(serve: impl Fn(TcpStream, String) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let serve = Arc::clone(&serve);
            thread::spawn(move || {
                let mut request = vec![0; 1 << 16];
                let read = socket.read(&mut request).unwrap_or(0);
                serve(
                    socket,
                    String::from_utf8_lossy(&request[..read]).into_owned(),
                );
            });
        }
    });
    address
}

/// Says `text` to everyone who asks for anything, and hears the question out: to close on unread bytes is a reset, which
/// may overtake the answer.
fn saying(text: String) -> SocketAddr {
    engine(move |mut socket, _| {
        let _ = socket.write_all(text.as_bytes());
        let _ = socket.shutdown(Shutdown::Write);
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
    })
}

fn whole(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn fault_02_a_client_that_resets_mid_stream_frees_the_engine() {
    let (told, hears) = sync_channel(1);
    let engine = engine(move |mut socket, request| {
        if request.starts_with("POST") {
            let begun = format!("{HEAD}{}", chunk(TOKEN));
            socket.write_all(begun.as_bytes()).unwrap();
            let read = socket.read(&mut [0; 1]);
            told.send(matches!(read, Ok(0) | Err(_))).unwrap();
        }
    });
    let proxy = Proxy::start(engine, &[]);
    let mut open = Open::post(proxy.address, CHAT, STREAMED);
    open.read_until(TOKEN);
    open.reset();
    assert!(hears.recv().unwrap(), "its connection has ended");
    eventually("the exchange has its one outcome", || {
        let ended = |labels: &[&str]| proxy.metric("loadproof_requests_total", labels);
        let aborted = ended(&["outcome=\"client_abort_decode\""]);
        (ended(&[]) == 1.0 && aborted == 1.0).then_some(())
    });
}

#[test]
fn fault_14_an_engine_that_hangs_is_told_by_its_silence_and_not_killed() {
    let engine = engine(|mut socket, request| {
        if request.starts_with("POST") {
            let three = format!("{HEAD}{}", chunk(&TOKEN.repeat(3)));
            socket.write_all(three.as_bytes()).unwrap();
            // Open, and silent, until the client goes.
            let _ = socket.read(&mut [0; 1]);
        }
    });
    let proxy = Proxy::start(engine, &[]);
    let mut open = Open::post(proxy.address, CHAT, STREAMED);
    open.read_until(TOKEN);
    eventually("the silence is told", || {
        (proxy.metric("loadproof_engine_silent_seconds", &[]) >= 1.0).then_some(())
    });
    assert_eq!(
        proxy.metric("loadproof_in_flight_requests", &["decode"]),
        1.0,
        "it is still open"
    );
    assert_eq!(proxy.metric("loadproof_requests_total", &[]), 0.0);
    open.leave();
    eventually("the exchange has ended", || {
        (proxy.metric("loadproof_in_flight_requests", &[]) == 0.0).then_some(())
    });
    assert_eq!(
        proxy.metric("loadproof_engine_silent_seconds", &[]),
        0.0,
        "nobody waits"
    );
}

#[test]
fn fault_54_fifty_scrapes_at_once_are_all_answered_and_traffic_goes_on() {
    let proxy = Proxy::start(saying(whole("{}")), &[]);
    let admin = proxy.admin;
    let scrapes: Vec<_> = (0..50)
        .map(|_| thread::spawn(move || client::get(admin, "/metrics").status()))
        .collect();
    for _ in 0..20 {
        assert_eq!(client::post(proxy.address, CHAT, "{}").status(), 200);
    }
    for scrape in scrapes {
        assert_eq!(scrape.join().unwrap(), 200);
    }
}

#[test]
fn fault_55_names_that_clients_make_up_become_no_series() {
    // Who the engine is is a series too, which comes when it has been asked.
    let proxy = Proxy::start(saying(whole("{}")), &["--set", "engine.probe=false"]);
    client::post(proxy.address, CHAT, "{}");
    let series = |proxy: &Proxy| {
        proxy
            .metrics()
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count()
    };
    let ended = |proxy: &Proxy, count: f64| {
        eventually("all are counted", || {
            let requests = proxy.metric("loadproof_requests_total", &[]);
            let passed = proxy.metric("loadproof_passed_requests_total", &["other"]);
            (requests + passed >= count).then_some(())
        });
    };
    let ask = |number: usize| {
        let body = format!(r#"{{"model":"made-up-{number}","messages":[]}}"#);
        client::post(proxy.address, CHAT, &body);
        client::post(proxy.address, &format!("/made/up/{number}"), &body);
    };
    ask(0);
    ended(&proxy, 3.0);
    let before = series(&proxy);
    (1..=200).for_each(ask);
    ended(&proxy, 403.0);
    assert_eq!(series(&proxy), before);
    assert!(before < 5_000, "{before}");
    assert!(!proxy.metrics().contains("made-up"));
    assert!(proxy.metric("loadproof_requests_total", &["model=\"other\""]) >= 200.0);
}

#[test]
fn fault_56_a_model_named_to_break_the_metrics_breaks_nothing() {
    let names = [
        "a\\\"b\\nloadproof_x 1",
        "\\u0000",
        "}",
        &"m".repeat(1 << 20),
    ];
    let proxy = Proxy::start(saying(whole(r#"{"model":"x\"y\nz","choices":[]}"#)), &[]);
    for name in names {
        let body = format!(r#"{{"model":"{name}","messages":[]}}"#);
        assert_eq!(client::post(proxy.address, CHAT, &body).status(), 200);
    }
    let page = proxy.metrics();
    assert!(page.lines().all(|line| line.len() < 2_000));
    let odd = |line: &&str| !line.starts_with('#') && !line.starts_with("loadproof_");
    assert_eq!(
        page.lines().filter(odd).collect::<Vec<_>>(),
        Vec::<&str>::new()
    );
}

/// A secret in every place that a request and an answer have; and the log at its most talkative.
#[test]
fn fault_60_no_secret_is_logged_or_exported() {
    const CANARY: &str = "kanarienvogel";
    let answer = whole(&format!(
        r#"{{"id":"{CANARY}-1","choices":[{{"index":0,"message":{{"content":"{CANARY}-2"}},"finish_reason":"stop"}}]}}"#
    ));
    let proxy = Proxy::start(saying(answer), &["--log-level", "trace"]);
    let body = format!(
        r#"{{"model":"{CANARY}-3","messages":[{{"role":"user","content":"{CANARY}-4"}}],"user":"{CANARY}-5"}}"#
    );
    for path in [CHAT, "/v1/embeddings"] {
        let request = format!(
            "POST {path}?key={CANARY}-6 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {CANARY}-7\r\n\
             cookie: s={CANARY}-8\r\nx-api-key: {CANARY}-9\r\nuser-agent: {CANARY}-10\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let answer = Open::send(proxy.address, &request).finish();
        assert!(answer.text().contains(CANARY), "the client has its answer");
        // And one that is refused.
        let broken = request.replace("\r\nhost: x", "\r\nhost : x");
        assert_eq!(Open::send(proxy.address, &broken).finish().status(), 400);
    }
    let page = proxy.metrics();
    let live = client::get(proxy.admin, "/live");
    let config = client::get(proxy.admin, "/config");
    let log = proxy.program().lines().join("\n");
    assert!(!log.is_empty());
    for text in [&page, &log, live.text(), config.text()] {
        assert!(!text.contains(CANARY), "{text}");
    }
}

#[test]
fn fault_65_nothing_on_the_admin_port_changes_anything() {
    let proxy = Proxy::start(saying(whole("{}")), &[]);
    for path in [
        "/",
        "/metrics",
        "/live",
        "/config",
        "/-/ready",
        "/-/quit",
        "/-/reload",
    ] {
        for method in ["POST", "PUT", "DELETE"] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let status = Open::send(proxy.admin, &request).finish().status();
            assert!(matches!(status, 404 | 405), "{method} {path}: {status}");
        }
    }
    assert_eq!(client::get(proxy.admin, "/-/ready").status(), 200);
}

/// An engine's claim is a number like any other: it is passed on, and it ends nobody's count.
#[test]
fn fault_76_an_engine_that_claims_all_the_tokens_there_can_be_is_counted_once() {
    let largest = u64::MAX;
    let answer = format!(
        r#"{{"choices":[{{"index":0,"message":{{"content":"a"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{largest},"completion_tokens":{largest},"total_tokens":{largest}}}}}"#
    );
    let proxy = Proxy::start(saying(whole(&answer)), &[]);
    for count in [1.0, 2.0] {
        assert_eq!(client::post(proxy.address, CHAT, "{}").text(), answer);
        eventually("it is counted", || {
            let ended = proxy.metric("loadproof_requests_total", &[]);
            (ended == count).then_some(())
        });
        let claimed = ["source=\"usage\""];
        let input = proxy.metric("loadproof_input_tokens_total", &claimed);
        assert_eq!(input, 18_446_744_073_709_551_615.0);
        let output = proxy.metric("loadproof_output_tokens_total", &claimed);
        assert_eq!(output, 18_446_744_073_709_551_615.0);
        let page = proxy.metrics();
        assert!(!page.contains("NaN") && !page.contains("-Inf"), "{page}");
    }
}

#[test]
fn fault_66_metrics_on_the_serving_port_are_the_engines() {
    let proxy = Proxy::start(saying(whole("vllm:num_requests_running 1")), &[]);
    for path in ["/metrics", "/live", "/config", "/-/ready"] {
        let answer = client::get(proxy.address, path);
        assert_eq!(answer.text(), "vllm:num_requests_running 1", "{path}");
    }
    assert!(
        client::get(proxy.admin, "/metrics")
            .text()
            .contains("loadproof_build_info")
    );
}
