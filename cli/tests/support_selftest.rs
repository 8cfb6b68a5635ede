//! The instruments of the end-to-end tests, tried on real programs before the program under test is judged by them.

mod support;

use std::net::SocketAddr;
use std::thread;
use support::message::Kind;
use support::{Engine, Message, Native, Open, Prometheus, Stream, Tee, client, eventually};

/// A chat request whose answer is the same each time.
fn chat(seed: u32, tokens: u32, more: &str) -> String {
    format!(
        "{{\"messages\":[{{\"role\":\"user\",\"content\":\"Count from {seed} up.\"}}],\"max_tokens\":{tokens},\
         \"ignore_eos\":true,\"temperature\":0,\"seed\":{seed}{more}}}"
    )
}

const STREAMED: &str = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";

#[test]
fn client_and_engine_agree_on_streams() {
    let engine = Engine::llamacpp(1);
    let mut tokens = 0;
    for seed in 1..=5 {
        let answer = client::post(
            engine.address(),
            "/v1/chat/completions",
            &chat(seed, 24, STREAMED),
        );
        assert_eq!(answer.status(), 200);
        assert!(answer.message.whole);
        let stream = Stream::of(&answer);
        assert!(stream.done);
        // Each token of this answer is text of its own, so that events can be counted against tokens.
        assert_eq!(stream.usage("completion_tokens"), Some(24));
        assert_eq!(stream.timing("predicted_n"), Some(24.0));
        assert_eq!(stream.token_events, 24, "{:?}", stream.text);
        assert_eq!(stream.finish_reason.as_deref(), Some("length"));
        // The engine's own interval lies within ours.
        let (first, last) = (stream.first_token.unwrap(), stream.last_token.unwrap());
        assert!(
            first.as_secs_f64() * 1e3 >= stream.timing("prompt_ms").unwrap(),
            "{stream:?}"
        );
        assert!(first < last && last <= answer.ended);
        tokens += 24;
    }
    assert_eq!(engine.metric("tokens_predicted_total"), f64::from(tokens));
}

#[test]
fn client_reads_whole_answers_and_errors() {
    let engine = Engine::llamacpp(1);
    let answer = client::post(engine.address(), "/v1/chat/completions", &chat(7, 8, ""));
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.json()["usage"]["completion_tokens"], 8);
    assert_eq!(answer.json()["timings"]["predicted_n"], 8);
    let refused = client::post(engine.address(), "/v1/chat/completions", "{\"messages\":");
    assert!(
        refused.status() >= 400 && refused.message.whole,
        "{refused:?}"
    );
}

#[test]
fn a_client_that_leaves_frees_the_engine() {
    let engine = Engine::llamacpp(1);
    let mut open = Open::post(
        engine.address(),
        "/v1/chat/completions",
        &chat(3, 1500, STREAMED),
    );
    open.read_until("\"content\":\"");
    assert_eq!(engine.metric("requests_processing"), 1.0);
    open.leave();
    eventually("the engine drops the request", || {
        (engine.metric("requests_processing") == 0.0).then_some(())
    });
    assert!(engine.metric("tokens_predicted_total") < 1500.0);
}

#[test]
fn the_wire_keeps_what_passes() {
    let engine = Engine::llamacpp(2);
    let tee = Tee::to(engine.address());
    let address = tee.address();
    let send = |seed: u32| {
        move || client::post(address, "/v1/chat/completions", &chat(seed, 12, STREAMED))
    };
    let answers: Vec<_> = [11, 12]
        .map(|seed| (seed, thread::spawn(send(seed))))
        .into_iter()
        .collect();
    for (seed, answer) in answers {
        let answer = answer.join().expect("the client ends");
        let body = chat(seed, 12, STREAMED);
        let passed = tee.passed_once(|request| request.body == body.as_bytes());
        assert_eq!(passed.answer.body, answer.body());
        assert_eq!(passed.answer.fields, answer.message.fields);
    }
    assert_eq!(tee.connections(), 2);
}

#[test]
fn prometheus_scrapes_and_answers() {
    let engine = Engine::llamacpp(1);
    let prometheus = Prometheus::start(engine.address(), Native::Off);
    client::post(engine.address(), "/v1/chat/completions", &chat(1, 10, ""));
    prometheus.scraped_anew();
    assert_eq!(
        prometheus.value("llamacpp:tokens_predicted_total"),
        Some(10.0)
    );
    assert_eq!(prometheus.value("llamacpp:no_such_metric"), None);
    assert_eq!(prometheus.query("up")[0].labels["job"], "loadproof");
    assert_eq!(prometheus.scrape_errors(), Vec::<String>::new());
}

#[test]
fn prometheus_says_when_it_cannot_scrape() {
    let nobody: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let prometheus = Prometheus::start(nobody, Native::On);
    eventually("the target is down", || {
        (prometheus.value("up") == Some(0.0)).then_some(())
    });
    assert!(
        prometheus.scrape_errors()[0].contains("connection refused"),
        "{:?}",
        prometheus.scrape_errors()
    );
}

#[test]
fn a_message_is_read_in_every_prefix() {
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A:  b \r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nrest";
    let whole = Message::read(bytes, Kind::Answer).unwrap();
    assert_eq!(
        (whole.status(), whole.whole, whole.length),
        (200, true, bytes.len() - 4)
    );
    assert_eq!(whole.body, b"abc0123456789");
    assert_eq!(whole.field("x-a"), Some("b"));
    assert!(
        bytes[..whole.end_of(3)].ends_with(b"3\r\nabc")
            && bytes[..whole.end_of(4)].ends_with(b"A\r\n0")
    );
    for cut in 0..whole.length {
        let Some(part) = Message::read(&bytes[..cut], Kind::Answer) else {
            continue;
        };
        assert!(!part.whole && part.length <= cut, "{cut}: {part:?}");
        assert!(whole.body.starts_with(&part.body), "{cut}: {part:?}");
    }
}

#[test]
fn framing_follows_the_fields() {
    let read = |bytes: &str, kind| Message::read(bytes.as_bytes(), kind).unwrap();
    let sized = read(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc",
        Kind::Answer,
    );
    assert_eq!(
        (sized.body.as_slice(), sized.whole),
        (b"ab".as_slice(), true)
    );
    let until_close = read("HTTP/1.0 200 OK\r\n\r\nabc", Kind::Answer);
    assert_eq!(
        (until_close.body.as_slice(), until_close.whole),
        (b"abc".as_slice(), false)
    );
    let empty = read("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1", Kind::Answer);
    assert_eq!((empty.body.len(), empty.whole), (0, true));
    let request = read("GET / HTTP/1.1\r\nhost: a\r\n\r\nGET", Kind::Request);
    assert_eq!((request.body.len(), request.whole), (0, true));
    assert_eq!(
        Message::read_all(
            b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET /b HTTP/1.1\r\nhost: a\r\n\r\n",
            Kind::Request
        )
        .len(),
        2
    );
}
