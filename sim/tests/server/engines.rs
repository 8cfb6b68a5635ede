//! What a server of each engine does around its answers: errors, equal answers to equal requests, its own times, what it says
//! of itself.

use serde_json::Value;
use sim::{Ended, Personality, Profile, Record};
use wire::{Endpoint, EngineKind, FinishState, TransportEnd};

use crate::client::Heard;
use crate::dialects::{Asks, Route, Shape, stage};
use crate::reading::read_until;
use crate::stage::{Request, Stage};

/// A stage on which one engine plays.
fn playing(engine: EngineKind) -> Stage {
    Stage::with(Profile::fast(), |options| {
        options.personality = Personality {
            request_metrics: true,
            ..Personality::of(engine)
        };
    })
}

fn streams() -> impl Iterator<Item = Route> {
    Route::all().into_iter().filter(|route| route.streamed)
}

async fn ask(route: Route, shape: Shape, fields: &[(&str, &str)]) -> (Heard, Record) {
    let mut request = route.request(shape);
    for (name, value) in fields {
        request = request.field(name, value);
    }
    stage(route, shape).ask_and_tell(&request).await
}

/// Streams of these break off where others tell an error.
fn breaks_off(route: Route) -> bool {
    matches!(
        (route.engine, route.endpoint),
        (EngineKind::Vllm | EngineKind::Trtllm, Endpoint::Responses)
            | (
                EngineKind::Trtllm | EngineKind::Triton,
                Endpoint::Completions | Endpoint::ChatCompletions
            )
    )
}

#[tokio::test(start_paused = true)]
async fn an_error_in_a_stream_is_told_as_the_engine_tells_it() {
    for route in streams() {
        let (heard, record) = ask(route, Shape::SIX, &[("x-sim-fault", "error-event=2")]).await;
        let body = heard.body();
        let (end, state, ended) = match breaks_off(route) {
            true => (TransportEnd::Cut, FinishState::Cut, Ended::Died),
            false => (TransportEnd::Clean, FinishState::Errored, Ended::Errored),
        };
        assert_eq!(body.whole, end == TransportEnd::Clean, "{route:?}");
        assert_eq!(record.ended, ended, "{route:?}");
        assert_eq!(record.output_tokens(), 2, "{route:?}");
        let reading = read_until((route, Shape::SIX), &heard, end);
        assert_eq!(reading.answer.state, state, "{route:?} {}", body.text());
        let told = (state == FinishState::Errored)
            .then(|| "EngineCore encountered an issue – see log".to_owned());
        assert_eq!(reading.answer.error, told, "{route:?} {}", body.text());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_be_cut_on_every_route() {
    for route in streams() {
        let (heard, record) = ask(route, Shape::SIX, &[("x-sim-fault", "die=2")]).await;
        assert_eq!(
            (record.ended, record.output_tokens()),
            (Ended::Died, 2),
            "{route:?}"
        );
        let reading = read_until((route, Shape::SIX), &heard, TransportEnd::Cut);
        assert_eq!(reading.answer.state, FinishState::Cut, "{route:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn equal_requests_have_equal_answers() {
    for route in streams() {
        let script = ("x-sim-script", "first_us=3000;gap_us=2000;bursts=4;plain=1");
        let (first, _) = ask(route, Shape::SIX, &[script]).await;
        let mut later = stage(route, Shape::SIX);
        // Another server, with other requests behind it.
        later.ask(&route.request(Shape::SIX)).await;
        let request = route.request(Shape::SIX).field(script.0, script.1);
        let second = later.ask(&request).await;
        assert_eq!(first.body().bytes, second.body().bytes, "{route:?}");
        assert!(!first.body().text().contains("\"sim\""), "{route:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_total_that_was_asked_for_adds_nothing_else() {
    let script = ("x-sim-script", "bursts=3;plain=1");
    for route in streams() {
        let asked = matches!(
            (route.engine, route.endpoint),
            (
                EngineKind::Sglang | EngineKind::Trtllm | EngineKind::Triton,
                Endpoint::ChatCompletions
            ) | (
                EngineKind::Sglang | EngineKind::Trtllm | EngineKind::Triton,
                Endpoint::Completions
            ) | (EngineKind::Tgi, Endpoint::ChatCompletions)
        );
        if !asked {
            continue;
        }
        let nothing = Shape {
            asks: Asks::Nothing,
            ..Shape::SIX
        };
        let (with, _) = ask(route, Shape::SIX, &[script]).await;
        let (without, _) = ask(route, nothing, &[script]).await;
        let (with, without) = (with.body(), without.body());
        let stripped: String = with
            .text()
            .split_inclusive("\n\n")
            .filter(|event| !event.contains("\"choices\":[]"))
            .collect();
        assert_ne!(with.text(), without.text(), "{route:?}");
        assert_eq!(stripped, without.text(), "{route:?}");
    }
}

fn last_json(heard: &Heard) -> Value {
    let body = heard.body();
    let data = body
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .rfind(|data| *data != "[DONE]")
        .expect("an event");
    serde_json::from_str(data).expect("JSON")
}

fn nanos(value: &Value, unit_ns: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "times of a test")]
    let nanos = (value.as_f64().expect("a number") * unit_ns).round() as i64;
    nanos
}

#[tokio::test(start_paused = true)]
async fn an_engines_own_times_are_those_of_the_truth() {
    const MS: f64 = 1e6;
    let ask = async |engine, endpoint| {
        let route = Route {
            engine,
            endpoint,
            streamed: true,
        };
        let mut stage = playing(engine);
        let (heard, record) = stage.ask_and_tell(&route.request(Shape::SIX)).await;
        let times = record.times[0];
        let int = |ns: u64| i64::try_from(ns).expect("tests are short");
        assert!(times.first_token_ns < times.last_token_ns);
        (
            last_json(&heard),
            [times.admitted_ns, times.first_token_ns, times.last_token_ns].map(int),
        )
    };
    let (usage, [admitted, first, last]) = ask(EngineKind::Vllm, Endpoint::ChatCompletions).await;
    let metrics = &usage["metrics"];
    assert_eq!(nanos(&metrics["queue_time_ms"], MS), admitted);
    assert_eq!(nanos(&metrics["time_to_first_token_ms"], MS), first);
    assert_eq!(nanos(&metrics["generation_time_ms"], MS), last - first);
    let (usage, [admitted, first, last]) =
        ask(EngineKind::LlamaCpp, Endpoint::ChatCompletions).await;
    let timings = &usage["timings"];
    assert_eq!(nanos(&timings["prompt_ms"], MS), first - admitted);
    assert_eq!(nanos(&timings["predicted_ms"], MS), last - first);
    let (event, [_, _, last]) = ask(EngineKind::Sglang, Endpoint::Generate).await;
    assert_eq!(nanos(&event["meta_info"]["e2e_latency"], 1e9), last);
}

#[tokio::test(start_paused = true)]
async fn tgi_counts_and_times_in_its_head() {
    let route = Route {
        engine: EngineKind::Tgi,
        endpoint: Endpoint::Generate,
        streamed: false,
    };
    let (heard, record) = ask(route, Shape::SIX, &[]).await;
    let field = |name: &str| -> u64 {
        let value = heard.field(name).expect("it is there");
        value.parse().expect("a number")
    };
    assert_eq!(
        (field("x-prompt-tokens"), field("x-generated-tokens")),
        (3, 6)
    );
    assert_eq!(
        field("x-total-time"),
        record.times[0].last_token_ns / 1_000_000
    );
}

#[tokio::test(start_paused = true)]
async fn each_engine_says_who_it_is() {
    for (engine, paths, metric) in [
        (
            EngineKind::Vllm,
            &["/version", "/v1/models", "/server_info"][..],
            "vllm:kv_cache_usage_perc",
        ),
        (
            EngineKind::Sglang,
            &["/v1/models", "/model_info", "/server_info"],
            "sglang:token_usage",
        ),
        (
            EngineKind::Trtllm,
            &["/version", "/v1/models", "/metrics"],
            "trtllm_kv_cache_utilization",
        ),
        (
            EngineKind::Triton,
            &["/v2", "/v2/models/sim-8b/config"],
            "nv_inference_request_success",
        ),
        (EngineKind::Tgi, &["/info"], "tgi_queue_size"),
        (
            EngineKind::LlamaCpp,
            &["/props", "/v1/models"],
            "llamacpp:tokens_predicted_total",
        ),
    ] {
        let mut stage = playing(engine);
        for path in paths {
            let line = format!("GET {path} HTTP/1.1");
            let heard = stage
                .ask(&Request {
                    line,
                    ..Request::get("")
                })
                .await;
            let said: Result<Value, _> = serde_json::from_slice(&heard.body().bytes);
            assert!(heard.status() == 200 && said.is_ok(), "{engine:?} {path}");
        }
        let path = match engine {
            EngineKind::Trtllm => "/prometheus/metrics",
            _ => "/metrics",
        };
        let line = format!("GET {path} HTTP/1.1");
        let heard = stage
            .ask(&Request {
                line,
                ..Request::get("")
            })
            .await;
        assert!(
            heard.body().text().contains(metric),
            "{}",
            heard.body().text()
        );
        let line = "POST /v1/nothing HTTP/1.1".to_owned();
        let nowhere = stage
            .ask(&Request {
                line,
                ..Request::get("")
            })
            .await;
        assert_eq!(nowhere.status(), 404, "{engine:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_come_as_each_route_gives_them() {
    let too_long = |engine, endpoint| async move {
        let route = Route {
            engine,
            endpoint,
            streamed: true,
        };
        let request = route
            .request(Shape::SIX)
            .field("x-sim-input-tokens", "4095");
        let (heard, _) = playing(engine).ask_and_tell(&request).await;
        (heard.status(), heard.body().text().to_owned())
    };
    let (status, text) = too_long(EngineKind::Tgi, Endpoint::GenerateStream).await;
    assert!(
        status == 200 && text.starts_with(r#"data: {"error":"#),
        "{text}"
    );
    let (status, text) = too_long(EngineKind::Sglang, Endpoint::Generate).await;
    assert!(
        status == 200 && text.ends_with("data: [DONE]\n\n"),
        "{text}"
    );
    let (status, text) = too_long(EngineKind::Triton, Endpoint::TritonGenerateStream).await;
    assert!(
        status == 400 && text.starts_with(r#"data: {"error":"#),
        "{text}"
    );
    let (status, text) = too_long(EngineKind::Tgi, Endpoint::ChatCompletions).await;
    assert!(
        status == 422 && text.contains(r#""error_type":"validation""#),
        "{text}"
    );
    let (status, text) = too_long(EngineKind::Trtllm, Endpoint::ChatCompletions).await;
    assert!(
        status == 400 && text.starts_with(r#"{"object":"error""#),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_head_of_sglangs_chat_comes_with_its_first_token() {
    for (engine, with_token) in [(EngineKind::Vllm, false), (EngineKind::Sglang, true)] {
        let route = Route {
            engine,
            endpoint: Endpoint::ChatCompletions,
            streamed: true,
        };
        let (_, record) = ask(route, Shape::SIX, &[]).await;
        assert_eq!(
            record.head_written_ns == record.first_token_ns(),
            with_token,
            "{engine:?}"
        );
    }
}
