//! The binary in front of a real engine, on every route that llama.cpp's server generates by: streamed and whole, the bytes
//! are the engine's and the counts are those of the engine's own metrics.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    unused_imports,
    reason = "a test fails by panicking, and the support is shared with other tests"
)]

mod support;

use support::{Engine, Proxy, Tee, client, eventually};

const REQUESTS: &str = "loadproof_requests_total";
const TTFT_COUNT: &str = "loadproof_time_to_first_token_seconds_count";
const INPUT_TOKENS: &str = "loadproof_input_tokens_total";
const OUTPUT_TOKENS: &str = "loadproof_output_tokens_total";

/// Each route, with a body that asks for at most seven tokens; `STREAM` stands for whether it is to be streamed.
const ROUTES: [(&str, &str); 5] = [
    (
        "/completion",
        r#"{"prompt":"The sea is","n_predict":7,"ignore_eos":true,"temperature":0,"stream":STREAM}"#,
    ),
    (
        "/v1/completions",
        r#"{"prompt":"The sea is","max_tokens":7,"ignore_eos":true,"temperature":0,"stream":STREAM}"#,
    ),
    (
        "/v1/chat/completions",
        r#"{"messages":[{"role":"user","content":"The sea?"}],"max_tokens":7,"ignore_eos":true,"temperature":0,"stream":STREAM}"#,
    ),
    (
        "/v1/messages",
        r#"{"model":"m","messages":[{"role":"user","content":"The sky?"}],"max_tokens":7,"ignore_eos":true,"temperature":0,"stream":STREAM}"#,
    ),
    (
        "/v1/responses",
        r#"{"model":"m","input":"The land?","max_output_tokens":7,"ignore_eos":true,"temperature":0,"stream":STREAM}"#,
    ),
];

/// Prompt tokens, cached ones included, and generated ones: of the engine, and of ours.
fn tokens(engine: &Engine, proxy: &Proxy) -> [(f64, f64); 2] {
    let prompt = engine.metric("prompt_tokens_total") + engine.metric("prompt_tokens_cached_total");
    let generated = engine.metric("tokens_predicted_total");
    let ours = (
        proxy.metric(INPUT_TOKENS, &[]),
        proxy.metric(OUTPUT_TOKENS, &[]),
    );
    [(prompt, generated), ours]
}

#[test]
fn every_route_of_the_engine_is_counted_as_the_engine_counts() {
    let engine = Engine::llamacpp(1);
    let tee = Tee::to(engine.address());
    let proxy = Proxy::start(tee.address(), &[]);
    let mut requests = 0.0;
    for (path, body) in ROUTES {
        for stream in ["true", "false"] {
            let body = body.replace("STREAM", stream);
            let before = proxy.metric(TTFT_COUNT, &[]);
            let answer = client::post(proxy.address, path, &body);
            assert_eq!(answer.status(), 200, "{path} {stream}: {}", answer.text());
            assert!(answer.message.whole, "{path} {stream}");
            let passed = tee.passed_once(|request| request.body == body.as_bytes());
            assert!(
                passed.answer.body == answer.body(),
                "{path} {stream}: the body was changed"
            );
            requests += 1.0;
            let route = format!("endpoint=\"{path}\"");
            eventually("the request is counted", || {
                (proxy.metric(REQUESTS, &["outcome=\"ok\""]) >= requests).then_some(())
            });
            assert!(
                proxy.metric(REQUESTS, &[&route, "outcome=\"ok\""]) >= 1.0,
                "{path}"
            );
            let [engines, ours] = tokens(&engine, &proxy);
            assert_eq!(ours, engines, "{path} {stream}: {}", answer.text());
            let first_tokens = proxy.metric(TTFT_COUNT, &[]) - before;
            assert_eq!(
                first_tokens,
                if stream == "true" { 1.0 } else { 0.0 },
                "{path} {stream}"
            );
        }
    }
    assert!(proxy.metric(OUTPUT_TOKENS, &[]) >= 2.0 * requests);
    assert_eq!(proxy.metric(REQUESTS, &[]), requests);
}
