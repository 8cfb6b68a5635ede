//! An engine with a port for each data-parallel rank behind the real binary: each rank is reached by a port of its own and
//! measured for itself; all are probed, shown and drained.

#![expect(clippy::unwrap_used, reason = "a test says what it found by failing")]

mod support;

use serde_json::Value;
use sim::{Clock, Options, Profile, Server};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use support::{Open, Proxy, client, eventually};
use tokio::sync::oneshot;

const CHAT: &str = "/v1/chat/completions";

/// A simulated engine of two ranks, on consecutive ports.
struct Ranks {
    first: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Ranks {
    fn start() -> Self {
        let listeners = consecutive();
        let first = listeners[0].local_addr().unwrap().port();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || serve(listeners, stopped));
        Self {
            first,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(thread::JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// Two listeners on neighbouring ports. The system gives the first; the next may be taken, and then it is tried again.
fn consecutive() -> [TcpListener; 2] {
    eventually("two neighbouring ports are free", || {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let next = first.local_addr().unwrap().port().checked_add(1)?;
        Some([first, TcpListener::bind(("127.0.0.1", next)).ok()?])
    })
}

/// Serves a model of its own on each, so that it can be told which was asked.
fn serve(listeners: [TcpListener; 2], stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut serving = tokio::task::JoinSet::new();
        for (rank, listener) in listeners.into_iter().enumerate() {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let server = Server::start(Options {
                model: format!("rank-{rank}"),
                ..Options::new(Profile::fast(), Clock::machine())
            });
            serving.spawn(async move { server.serve(listener, std::future::pending()).await });
        }
        // The sender dropped is as good as sent.
        let _ = stopped.await;
    });
}

/// Where the second rank's clients connect.
fn second(proxy: &Proxy) -> SocketAddr {
    let listening = |line: &&String| line.contains("\"listening\"");
    let lines = proxy.program().heard_lines("two listeners", |lines| {
        let lines: Vec<String> = lines.iter().filter(listening).cloned().collect();
        (lines.len() == 2).then_some(lines)
    });
    let line: Value = serde_json::from_str(&lines[1]).unwrap();
    line["fields"]["listen"].as_str().unwrap().parse().unwrap()
}

fn streamed(model: &str) -> String {
    format!(
        r#"{{"model":"{model}","stream":true,"max_tokens":8,"messages":[{{"role":"user","content":"hi"}}]}}"#
    )
}

#[test]
fn each_rank_is_measured_for_itself_and_all_are_drained() {
    let engine = Ranks::start();
    let url = format!("http://127.0.0.1:{}-{}", engine.first, engine.first + 1);
    let proxy = Proxy::of(&url, &["--set", "drain.delay=0s"]);
    let ports = [proxy.address, second(&proxy)];
    let labels = [engine.first, engine.first + 1].map(|port| format!("engine_port=\"{port}\""));

    for (rank, (port, requests)) in ports.into_iter().zip([1, 2]).enumerate() {
        let model = format!("rank-{rank}");
        for _ in 0..requests {
            let answer = client::post(port, CHAT, &streamed(&model));
            assert_eq!(answer.status(), 200);
            assert!(answer.text().contains(&model), "the rank behind this port");
        }
    }
    for (label, requests) in labels.iter().zip([1.0, 2.0]) {
        let label = label.as_str();
        eventually("its requests are counted", || {
            let ok = ["outcome=\"ok\"", label];
            (proxy.metric("loadproof_requests_total", &ok).to_bits() == f64::to_bits(requests))
                .then_some(())
        });
        eventually("who it is has been asked", || {
            (proxy.metric("loadproof_engine_info", &["engine=\"vllm\"", label]) > 0.0).then_some(())
        });
        eventually("its load is read", || {
            let read = ["result=\"ok\"", label];
            (proxy.metric("loadproof_engine_scrapes_total", &read) > 0.0).then_some(())
        });
    }
    let seen = client::get(proxy.admin, "/engine").json();
    let seen: Vec<_> = seen.as_array().unwrap().iter().collect();
    let expected = [engine.first, engine.first + 1].map(Value::from);
    assert_eq!(
        seen.iter()
            .map(|rank| &rank["engine_port"])
            .collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
    assert_eq!(seen[1]["model"]["text"], "rank-1");

    let mut open = Open::send(
        ports[1],
        &format!(
            "POST {CHAT} HTTP/1.1\r\nhost: t\r\nx-sim-script: gap_us=300000;bursts=6;events=1\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
            streamed("rank-1").len(),
            streamed("rank-1")
        ),
    );
    open.read_until("data:");
    let live = client::get(proxy.admin, "/live").json();
    assert_eq!(live["in_flight"], 1);
    assert_eq!(live["exchanges"][0]["engine_port"], engine.first + 1);
    assert_eq!(
        (
            proxy
                .metric("loadproof_in_flight_requests", &[&labels[0]])
                .to_bits(),
            proxy
                .metric("loadproof_in_flight_requests", &[&labels[1]])
                .to_bits()
        ),
        (0_f64.to_bits(), 1_f64.to_bits())
    );
    proxy.program().terminate();
    let answer = open.finish();
    assert!(answer.message.whole, "what was open is finished");
    assert_eq!(proxy.stop().code(), Some(0));
}
