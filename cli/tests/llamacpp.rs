//! The binary between a client and a real engine: llama.cpp's own server, with a wire that keeps what passes between them.
//!
//! What is asserted holds on any machine, however busy: bytes are equal, counts are exact, and an interval that lies
//! within another is not the longer one (the engine's prefill within our TTFT, that within the client's).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and some of these are functions of tests"
)]

mod support;

use std::net::SocketAddr;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use support::{Answer, Engine, Message, Open, Proxy, Stream, Tee, client, eventually};

/// Fields that belong to a connection, not to the message.
const HOP_BY_HOP: &[&str] = &["connection", "keep-alive", "transfer-encoding"];

const REQUESTS: &str = "loadproof_requests_total";
const TTFT_SUM: &str = "loadproof_time_to_first_token_seconds_sum";
const TTFT_COUNT: &str = "loadproof_time_to_first_token_seconds_count";
const DURATION_SUM: &str = "loadproof_request_duration_seconds_sum";
const DIFFERENCE_SUM: &str = "loadproof_engine_time_difference_seconds_sum";
const DIFFERENCE_COUNT: &str = "loadproof_engine_time_difference_seconds_count";
const INPUT_TOKENS: &str = "loadproof_input_tokens_total";
const OUTPUT_TOKENS: &str = "loadproof_output_tokens_total";

/// Sums of doubles are good to a nanosecond.
const SUM_ERROR: f64 = 1e-9;

/// How the answer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    Stream,
    StreamWithUsage,
}

/// One request, whose answer is the same each time.
#[derive(Debug, Clone, Copy)]
struct Case {
    seed: u32,
    chat: bool,
    form: Form,
    tokens: u32,
}

impl Case {
    /// Thirty of them: both routes, all forms, 2 to 12 tokens.
    fn thirty() -> impl Iterator<Item = Self> {
        (0..30).map(|seed| Self {
            seed,
            chat: seed % 2 == 0,
            form: [Form::Whole, Form::Stream, Form::StreamWithUsage][(seed as usize / 2) % 3],
            tokens: 2 + seed * 7 % 11,
        })
    }

    fn path(self) -> &'static str {
        if self.chat {
            "/v1/chat/completions"
        } else {
            "/v1/completions"
        }
    }

    fn body(self) -> String {
        let Self { seed, tokens, .. } = self;
        let text = format!(
            "{seed}. Write about the sea. {}",
            "The waves come and go. ".repeat(seed as usize % 7)
        );
        let prompt = if self.chat {
            format!("\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]")
        } else {
            format!("\"prompt\":\"{text}\"")
        };
        let form = match self.form {
            Form::Whole => "",
            Form::Stream => ",\"stream\":true",
            Form::StreamWithUsage => ",\"stream\":true,\"stream_options\":{\"include_usage\":true}",
        };
        format!(
            "{{{prompt},\"max_tokens\":{tokens},\"ignore_eos\":true,\"temperature\":0,\"seed\":{seed}{form}}}"
        )
    }

    fn send(self, to: SocketAddr) -> Told {
        Told::of(self, client::post(to, self.path(), &self.body()))
    }
}

/// What the client saw, and what the engine said of itself in the same answer.
#[derive(Debug)]
struct Told {
    case: Case,
    answer: Answer,
    /// Seconds to the first event with text, by the client.
    first_token: Option<f64>,
    /// Seconds of prefill, by the engine.
    prefill: f64,
    /// Seconds of prefill and decode, by the engine.
    computing: f64,
    /// Prompt tokens, cached ones included, by the engine.
    input_tokens: f64,
    /// Generated tokens, by the engine.
    output_tokens: f64,
}

impl Told {
    fn of(case: Case, answer: Answer) -> Self {
        assert_eq!(answer.status(), 200, "{case:?}: {}", answer.text());
        assert!(answer.message.whole, "{case:?}");
        let (timings, first_token) = if case.form == Form::Whole {
            (answer.json()["timings"].clone(), None)
        } else {
            let stream = Stream::of(&answer);
            assert!(stream.done, "{case:?}");
            let usage = stream.usage("completion_tokens");
            // `/v1/completions` of llama.cpp tells its usage unasked.
            assert!(
                case.form != Form::StreamWithUsage || usage.is_some(),
                "{case:?}"
            );
            assert!(
                usage.is_none_or(|tokens| tokens == u64::from(case.tokens)),
                "{case:?}: {usage:?}"
            );
            let first = stream.first_token.map(|at| at.as_secs_f64());
            assert!(
                (1..=case.tokens as usize).contains(&stream.token_events),
                "{case:?}: {}",
                stream.token_events
            );
            (stream.timings.expect("llama.cpp tells its times"), first)
        };
        let timing = |name: &str| {
            timings[name]
                .as_f64()
                .unwrap_or_else(|| panic!("{case:?}: no {name} in {timings}"))
        };
        Self {
            case,
            first_token,
            prefill: timing("prompt_ms") / 1e3,
            computing: (timing("prompt_ms") + timing("predicted_ms")) / 1e3,
            input_tokens: timing("prompt_n") + timing("cache_n"),
            output_tokens: timing("predicted_n"),
            answer,
        }
    }
}

/// Totals that the proxy exports, for differences.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Totals {
    requests: f64,
    first_tokens: f64,
    first_token_seconds: f64,
    duration_seconds: f64,
    input_tokens: f64,
    output_tokens: f64,
}

impl Totals {
    /// The totals once this many requests are counted: the client may see the end of an answer before it is.
    fn after(proxy: &Proxy, requests: f64) -> Self {
        eventually("the request is counted", || {
            (proxy.metric(REQUESTS, &["outcome=\"ok\""]) >= requests).then_some(())
        });
        assert_eq!(proxy.metric(REQUESTS, &[]), requests);
        Self {
            requests,
            first_tokens: proxy.metric(TTFT_COUNT, &[]),
            first_token_seconds: proxy.metric(TTFT_SUM, &[]),
            duration_seconds: proxy.metric(DURATION_SUM, &[]),
            input_tokens: proxy.metric(INPUT_TOKENS, &[]),
            output_tokens: proxy.metric(OUTPUT_TOKENS, &[]),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            first_tokens: self.first_tokens - before.first_tokens,
            first_token_seconds: self.first_token_seconds - before.first_token_seconds,
            duration_seconds: self.duration_seconds - before.duration_seconds,
            input_tokens: self.input_tokens - before.input_tokens,
            output_tokens: self.output_tokens - before.output_tokens,
        }
    }
}

/// The same span as engine, loadproof and client have it, in seconds; one request's or the sum of several.
#[derive(Debug, Clone, Copy)]
struct Interval {
    engine: f64,
    ours: f64,
    client: f64,
}

/// Each of the totals against what client and engine say of the same requests.
fn assert_agrees(totals: Totals, told: &[Told]) {
    let sum = |of: fn(&Told) -> f64| told.iter().map(of).sum::<f64>();
    let streamed = || told.iter().filter(|told| told.case.form != Form::Whole);
    assert_eq!(totals.requests, told.len() as f64);
    assert_eq!(
        totals.input_tokens,
        sum(|told| told.input_tokens),
        "{told:?}"
    );
    assert_eq!(
        totals.output_tokens,
        sum(|told| told.output_tokens),
        "{told:?}"
    );
    assert_eq!(
        totals.first_tokens,
        streamed().count() as f64,
        "a whole answer has no first token's time"
    );
    let ttft = Interval {
        engine: streamed().map(|told| told.prefill).sum(),
        ours: totals.first_token_seconds,
        client: streamed().filter_map(|told| told.first_token).sum(),
    };
    let e2e = Interval {
        engine: sum(|told| told.computing),
        ours: totals.duration_seconds,
        client: sum(|told| told.answer.ended.as_secs_f64()),
    };
    for interval in [ttft, e2e] {
        let holds_the_engine = interval.engine <= interval.ours + SUM_ERROR;
        let held_by_the_client = interval.ours <= interval.client + SUM_ERROR;
        assert!(holds_the_engine && held_by_the_client, "{interval:?}");
    }
}

/// What the client got is what the engine sent, and what the engine got is what the client sent.
fn assert_untouched(tee: &Tee, told: &Told) {
    let sent = told.case.body();
    let passed = tee.passed_once(|request| request.body == sent.as_bytes());
    assert!(
        passed.answer.body == told.answer.body(),
        "{:?}: the body was changed",
        told.case
    );
    assert_eq!(passed.answer.start, told.answer.message.start);
    assert_eq!(end_to_end(&passed.answer), end_to_end(&told.answer.message));
}

fn end_to_end(message: &Message) -> Vec<(String, String)> {
    let kept = |(name, _): &&(String, String)| !HOP_BY_HOP.contains(&name.as_str());
    message.fields.iter().filter(kept).cloned().collect()
}

#[test]
fn one_at_a_time_every_figure_agrees() {
    let engine = Engine::llamacpp(1);
    let tee = Tee::to(engine.address());
    let proxy = Proxy::start(tee.address(), &[]);
    let mut before = Totals::after(&proxy, 0.0);
    let mut prefill = 0.0;
    for case in Case::thirty() {
        let told = case.send(proxy.address);
        assert_untouched(&tee, &told);
        if told.case.form != Form::Whole {
            prefill += told.prefill;
        }
        let totals = Totals::after(&proxy, before.requests + 1.0);
        assert_agrees(totals.since(before), &[told]);
        before = totals;
    }
    assert_differences(&proxy, before, prefill);
    assert_named(&proxy, before.input_tokens);
    assert_eq!(
        before.output_tokens,
        engine.metric("tokens_predicted_total")
    );
}

/// Our figures beside the engine's: it states no queue, so that its prefill is compared with TTFT.
fn assert_differences(proxy: &Proxy, totals: Totals, prefill: f64) {
    let longer = ["quantity=\"prefill\"", "ours=\"longer\""];
    assert_eq!(
        (
            proxy.metric(DIFFERENCE_COUNT, &longer),
            proxy.metric(DIFFERENCE_COUNT, &["quantity=\"prefill\""])
        ),
        (totals.first_tokens, totals.first_tokens),
        "no first token before the engine had it"
    );
    let difference = totals.first_token_seconds - prefill;
    let exported = proxy.metric(DIFFERENCE_SUM, &longer);
    assert!(
        (exported - difference).abs() <= totals.requests * SUM_ERROR,
        "{exported} for {difference}"
    );
    assert!(proxy.metric(DIFFERENCE_COUNT, &["quantity=\"tpot\""]) >= 1.0);
    for quantity in ["ttft", "e2e"] {
        let quantity = format!("quantity=\"{quantity}\"");
        assert_eq!(proxy.metric(DIFFERENCE_COUNT, &[&quantity]), 0.0);
    }
}

/// What the engine says of itself, in `engine_info` and at `/engine`.
fn assert_named(proxy: &Proxy, input_tokens: f64) {
    let named = [
        "engine=\"llamacpp\"",
        "version=\"b",
        "model=\"SmolLM2-135M-Instruct",
        "precision=\"weights=Q4_1\"",
        "max_model_len=\"8192\"",
    ];
    assert_eq!(
        proxy.metric("loadproof_engine_info", &named),
        1.0,
        "{}",
        proxy.metrics()
    );
    assert_eq!(proxy.metric("loadproof_engine_changes_total", &[]), 0.0);
    let shown = || client::get(proxy.admin, "/engine").json();
    assert_eq!(shown()["precision"]["by"], "engine", "{}", shown());
    eventually("the engine counts the prompt tokens that we do", || {
        let load = &shown()["load"];
        let idle = load["running"] == 0 && load["waiting"] == 0;
        (idle && load["prefix_queries"].as_f64() == Some(input_tokens)).then_some(())
    });
}

#[test]
fn four_at_once_every_sum_agrees() {
    let engine = Engine::llamacpp(4);
    let tee = Tee::to(engine.address());
    let proxy = Proxy::start(tee.address(), &[]);
    let before = Totals::after(&proxy, 0.0);
    let cases = Arc::new(Mutex::new(Case::thirty()));
    let start = Arc::new(Barrier::new(4));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (cases, start, to) = (Arc::clone(&cases), Arc::clone(&start), proxy.address);
            thread::spawn(move || {
                start.wait();
                let next = || cases.lock().unwrap().next();
                std::iter::from_fn(next)
                    .map(|case| case.send(to))
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let told: Vec<Told> = clients
        .into_iter()
        .flat_map(|client| client.join().expect("the client ends"))
        .collect();
    assert_eq!(told.len(), 30);
    for told in &told {
        assert_untouched(&tee, told);
    }
    assert_agrees(Totals::after(&proxy, 30.0).since(before), &told);
    assert_eq!(proxy.metric("loadproof_in_flight_requests", &[]), 0.0);
    assert!(
        proxy.metric("loadproof_arrival_concurrency_sum", &[]) >= 1.0,
        "four at once met each other"
    );
    let alone = proxy.metric(TTFT_COUNT, &["concurrency=\"0-1\""]);
    assert!(
        alone < proxy.metric(TTFT_COUNT, &[]),
        "some arrived while two others were open"
    );
}

#[test]
fn a_client_that_leaves_while_tokens_come_frees_the_slot() {
    let engine = Engine::llamacpp(1);
    let proxy = Proxy::start(engine.address(), &[]);
    let case = Case {
        seed: 1,
        chat: true,
        form: Form::Stream,
        tokens: 2000,
    };
    let mut open = Open::post(proxy.address, case.path(), &case.body());
    open.read_until("\"content\":\"");
    let live = client::get(proxy.admin, "/live").json();
    assert_eq!(
        (&live["in_flight"], &live["exchanges"][0]["phase"]),
        (&1.into(), &"decode".into()),
        "{live}"
    );
    open.leave();
    assert_freed(&engine, &proxy, "client_abort_decode");
    assert!(engine.metric("tokens_predicted_total") < 2000.0);
}

#[test]
fn a_client_that_leaves_before_the_first_token_frees_the_slot() {
    let engine = Engine::llamacpp(1);
    let proxy = Proxy::start(engine.address(), &[]);
    let prompt = "and then the sea rose again ".repeat(150);
    let body = format!("{{\"prompt\":\"{prompt}\",\"max_tokens\":100,\"stream\":true}}");
    let open = Open::post(proxy.address, "/v1/completions", &body);
    eventually("the engine has begun", || {
        (engine.metric("requests_processing") == 1.0).then_some(())
    });
    open.leave();
    assert_freed(&engine, &proxy, "client_abort_prefill");
    let censored = proxy.metric(
        "loadproof_requests_without_first_token_total",
        &["reason=\"client_abort_prefill\""],
    );
    assert_eq!(censored, 1.0);
}

fn assert_freed(engine: &Engine, proxy: &Proxy, outcome: &str) {
    eventually("the engine's slot is free", || {
        (engine.metric("requests_processing") == 0.0).then_some(())
    });
    let outcome = format!("outcome=\"{outcome}\"");
    eventually("the outcome is counted", || {
        (proxy.metric(REQUESTS, &[&outcome]) == 1.0).then_some(())
    });
    assert_eq!(proxy.metric(REQUESTS, &[]), 1.0);
    assert_eq!(proxy.metric("loadproof_in_flight_requests", &[]), 0.0);
}

#[test]
fn what_is_not_measured_passes_too() {
    let engine = Engine::llamacpp(1);
    let tee = Tee::to(engine.address());
    let nothing_asked = [
        "--set",
        "models.learn=false",
        "--set",
        "engine.probe=false",
        "--set",
        "engine.scrape_interval=off",
    ];
    let proxy = Proxy::start(tee.address(), &nothing_asked);
    for path in [
        "/health",
        "/v1/models",
        "/metrics",
        "/props",
        "/no/such/path",
    ] {
        let answer = client::get(proxy.address, path);
        let passed = tee.passed_once(|request| request.start == format!("GET {path} HTTP/1.1"));
        assert_eq!(passed.answer.body, answer.body(), "{path}");
        assert_eq!(passed.answer.start, answer.message.start, "{path}");
        assert_eq!(
            end_to_end(&passed.answer),
            end_to_end(&answer.message),
            "{path}"
        );
    }
    let nonsense = "{\"messages\":";
    let refused = client::post(proxy.address, "/v1/chat/completions", nonsense);
    let passed = tee.passed_once(|request| request.body == nonsense.as_bytes());
    assert_eq!(passed.answer.body, refused.body());
    eventually("the refusal is counted", || {
        (proxy.metric(REQUESTS, &[]) == 1.0).then_some(())
    });
    assert_eq!(proxy.metric(REQUESTS, &["outcome=\"ok\""]), 0.0);
}
