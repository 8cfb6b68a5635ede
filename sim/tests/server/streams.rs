//! Streams: what vLLM writes, and a truth that is what was heard.

use sim::{Ended, Finish, Kind, Profile, Record, Speculation};

use tokio::io::AsyncWriteExt;
use wire::{AnswerContext, Decoder, Endpoint, Tokens, TransportEnd};

use crate::client::{Body, Heard, listen_slowly};
use crate::stage::{Request, Stage};

const USAGE: &str = r#","stream":true,"stream_options":{"include_usage":true}"#;
const RUNNING: &str =
    r#","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}"#;

fn json(event: &str) -> serde_json::Value {
    serde_json::from_str(event.strip_prefix("data: ").expect("an event has data")).expect("JSON")
}

/// The record's emissions, one time for each event, are the events heard, each at its time.
#[track_caller]
fn check_times(body: &Body, record: &Record) {
    let heard: Vec<u64> = body.events().iter().map(|(at_ns, _)| *at_ns).collect();
    let mut written: Vec<u64> = Vec::new();
    let mut last_event = None;
    for emitted in &record.emissions {
        // Two kinds of tokens in one event are two emissions.
        let event = (emitted.at_ns, emitted.choice, emitted.tokens > 0);
        if !(emitted.tokens > 0 && last_event == Some(event)) {
            written.push(emitted.at_ns);
        }
        last_event = Some(event);
    }
    assert_eq!(written, heard);
}

fn kinds(record: &Record) -> Vec<(Kind, u32, u32)> {
    record
        .emissions
        .iter()
        .map(|emitted| (emitted.kind, emitted.choice, emitted.tokens))
        .collect()
}

/// The head of a stream has vLLM's fields.
#[track_caller]
fn check_head(heard: &Heard) {
    for (name, value) in [
        ("server", "uvicorn"),
        ("content-type", "text/event-stream; charset=utf-8"),
        ("vary", "Origin"),
        ("transfer-encoding", "chunked"),
    ] {
        assert_eq!(
            heard.field(name).as_deref(),
            Some(value),
            "{}",
            heard.head()
        );
    }
    assert!(heard.field("date").is_some() && heard.field("cache-control").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_chat_streams_as_vllm_streams() {
    let mut stage = Stage::new(Profile::fast());
    let request =
        Request::chat(&format!(r#","max_tokens":9{USAGE}"#)).field("x-sim-output-tokens", "4");
    let (heard, record) = stage.ask_and_tell(&request).await;
    check_head(&heard);
    let body = heard.body();
    assert!(body.whole);
    let events = body.events();
    assert_eq!(body.chunks.len(), events.len(), "one event a chunk");
    assert_eq!(
        json(events[0].1)["choices"][0]["delta"]["role"],
        "assistant"
    );
    let finish: Vec<serde_json::Value> = events[1..5]
        .iter()
        .map(|(_, event)| json(event)["choices"][0]["finish_reason"].clone())
        .collect();
    assert_eq!(
        finish,
        [
            ().into(),
            ().into(),
            ().into(),
            serde_json::Value::from("stop")
        ]
    );
    assert_eq!(
        json(events[4].1)["choices"][0]["delta"],
        serde_json::json!({"content": ""}),
        "the end-of-text token"
    );
    assert_eq!(json(events[5].1)["usage"]["completion_tokens"], 4);
    assert_eq!(events[6].1, "data: [DONE]");

    check_times(&body, &record);
    assert_eq!(
        kinds(&record),
        [
            (Kind::Role, 0, 0),
            (Kind::Answer, 0, 1),
            (Kind::Answer, 0, 1),
            (Kind::Answer, 0, 1),
            (Kind::Silent, 0, 1),
            (Kind::Usage, 0, 0),
            (Kind::Done, 0, 0)
        ]
    );
    assert_eq!(record.head_written_ns, Some(0), "the head comes at once");
    // 1.03 ms for the prompt, then 1.05 ms each, at the timer's next millisecond: the schedule does not drift.
    let times: Vec<u64> = record.emissions[1..5]
        .iter()
        .map(|emitted| emitted.at_ns / 1_000_000)
        .collect();
    assert_eq!(times, [2, 3, 4, 5]);
    assert_eq!(
        (record.finish, record.ended),
        (vec![Some(Finish::Stop)], Ended::Completed)
    );
    assert_eq!((heard.head_ns(), heard.end_ns()), (0, record.ended_ns));
}

#[tokio::test(start_paused = true)]
async fn completions_have_no_role_chunk_and_count_as_they_go() {
    let mut stage = Stage::new(Profile::fast());
    let (heard, record) = stage
        .ask_and_tell(&Request::completion(&format!(
            r#","max_tokens":3{RUNNING}"#
        )))
        .await;
    let body = heard.body();
    let counts: Vec<_> = body.events()[..4]
        .iter()
        .map(|(_, event)| {
            let usage = &json(event)["usage"];
            (
                usage["prompt_tokens"].as_u64(),
                usage["completion_tokens"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        counts,
        [
            (Some(4), Some(1)),
            (Some(4), Some(2)),
            (Some(4), Some(3)),
            (Some(4), Some(3))
        ]
    );
    check_times(&body, &record);
    assert_eq!(record.finish, [Some(Finish::Length)]);
    assert_eq!(
        record.usage.map(|usage| (usage.prompt, usage.completion)),
        Some((4, 3))
    );
}

#[tokio::test(start_paused = true)]
async fn without_usage_the_fingerprint_is_on_the_last_chunk() {
    let mut stage = Stage::new(Profile::fast());
    let (heard, record) = stage
        .ask_and_tell(&Request::completion(r#","stream":true,"max_tokens":2"#))
        .await;
    let body = heard.body();
    let events = body.events();
    assert_eq!(events.len(), 3);
    assert!(!events[0].1.contains("fingerprint") && events[1].1.contains("fingerprint"));
    assert!(!body.text().contains("\"usage\""));
    assert_eq!(record.usage, None);
}

#[tokio::test(start_paused = true)]
async fn several_choices_are_told_side_by_side() {
    let mut stage = Stage::new(Profile::fast());
    let members = format!(r#","n":2,"max_tokens":3{USAGE}"#);
    let request = Request::completion(&members);
    let request = Request {
        body: request
            .body
            .replace(r#""one two three four""#, r#"["a b", "c"]"#)
            .into(),
        ..request
    };
    let (heard, record) = stage.ask_and_tell(&request).await;
    let body = heard.body();
    let events = body.events();
    let indexes: Vec<u64> = events[..12]
        .iter()
        .map(|(_, event)| {
            json(event)["choices"][0]["index"]
                .as_u64()
                .expect("an index")
        })
        .collect();
    assert_eq!(indexes, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(json(events[12].1)["usage"]["completion_tokens"], 12);
    check_times(&body, &record);
    assert_eq!(
        (
            record.output_tokens(),
            record.prompt_tokens,
            record.finish.len()
        ),
        (12, Some(3), 4)
    );
}

#[tokio::test(start_paused = true)]
async fn reasoning_comes_first_and_may_share_an_event() {
    let always = Some(Speculation {
        depth: 3,
        acceptance_ppm: 1_000_000,
    });
    let mut stage = Stage::new(Profile {
        speculation: always,
        ..Profile::fast()
    });
    let request =
        Request::chat(&format!(r#","max_tokens":9{RUNNING}"#)).field("x-sim-reasoning-tokens", "3");
    let (heard, record) = stage.ask_and_tell(&request).await;
    let body = heard.body();
    let events = body.events();
    // Steps of 1, 4 and 4 tokens.
    let delta = |at: usize| json(events[at].1)["choices"][0]["delta"].clone();
    assert!(delta(1)["reasoning"].is_string() && delta(1)["content"].is_null());
    assert!(delta(2)["reasoning"].is_string() && delta(2)["content"].is_string());
    assert!(delta(3)["reasoning"].is_null() && delta(3)["content"].is_string());
    assert_eq!(
        kinds(&record)[1..5],
        [
            (Kind::Reasoning, 0, 1),
            (Kind::Reasoning, 0, 2),
            (Kind::Answer, 0, 2),
            (Kind::Answer, 0, 4)
        ]
    );
    assert_eq!(
        json(events[4].1)["usage"]["completion_tokens_details"]["reasoning_tokens"],
        3
    );
    check_times(&body, &record);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_seen_before_is_partly_cached_and_said_to_be() {
    let mut stage = Stage::new(Profile::fast());
    let request = Request::completion(&format!(r#","max_tokens":2{USAGE}"#))
        .field("x-sim-input-tokens", "1000");
    let (_, first) = stage.ask_and_tell(&request).await;
    let (heard, second) = stage.ask_and_tell(&request).await;
    assert_eq!(
        (first.cached_tokens, second.cached_tokens),
        (Some(0), Some(992))
    );
    assert_eq!(
        (first.prompt_tokens, second.prompt_tokens),
        (Some(1000), Some(1000))
    );
    assert!(
        heard
            .body()
            .text()
            .contains(r#""prompt_tokens_details":{"cached_tokens":992,"#)
    );
    let until_first = |record: &Record| {
        record.first_token_ns().expect("a token") - record.request_read_ns.expect("it was read")
    };
    assert!(until_first(&second) < until_first(&first));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_lags_finds_tokens_merged_and_the_truth_knows_when() {
    let mut stage = Stage::new(Profile::fast());
    let request = Request::completion(r#","stream":true,"max_tokens":400"#).text();
    let mut connection = stage.connect_through(2_000);
    tokio::io::AsyncWriteExt::write_all(&mut connection, request.as_bytes())
        .await
        .expect("the server reads");
    // Long after the engine is done, everything is still on its way.
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let heard: Heard = crate::client::listen(&mut connection, &stage.clock, |_| false).await;
    stage.settle().await;
    let record = stage.server.truth().drain().remove(0);
    assert_eq!(
        (record.output_tokens(), record.ended),
        (400, Ended::Completed)
    );
    let late = record
        .emissions
        .iter()
        .filter(|emitted| emitted.at_ns >= 10_000_000_000);
    assert!(
        late.map(|emitted| emitted.tokens).sum::<u32>() > 200,
        "written when there was room, not when generated"
    );
    assert!(heard.body().whole);
}

#[tokio::test(start_paused = true)]
async fn every_byte_has_its_time() {
    let mut stage = Stage::new(Profile::fast());
    // The pipe holds one byte, and one is taken each millisecond: byte i is written when byte i - 1 was read.
    let mut connection = stage.connect_through(1);
    let request = Request::completion(r#","stream":true,"max_tokens":2"#).text();
    connection
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let heard = listen_slowly(&mut connection, &stage.clock).await;
    stage.settle().await;
    let record = stage.server.truth().drain().remove(0);
    let earlier = |at_ns: u64| at_ns - 1_000_000;
    let body = heard.body();
    let events: Vec<u64> = body
        .events()
        .iter()
        .map(|(at_ns, _)| earlier(*at_ns))
        .collect();
    let written: Vec<u64> = record
        .emissions
        .iter()
        .map(|emitted| emitted.at_ns)
        .collect();
    assert_eq!(written, events);
    assert_eq!(record.head_written_ns, Some(earlier(heard.head_ns())));
    assert_eq!(record.ended_ns, earlier(heard.end_ns()));
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_answers_at_the_same_times() {
    let run = async || {
        let mut stage = Stage::new(Profile::small_gpu());
        let request = Request::chat(&format!(r#","max_tokens":40{RUNNING}"#));
        let (heard, record) = stage.ask_and_tell(&request).await;
        (heard.body().bytes, record)
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test(start_paused = true)]
async fn the_log_has_room_for_so_many_and_counts_the_rest() {
    let mut stage = Stage::with(Profile::fast(), |options| options.truth_records = 2);
    for id in ["a", "b", "c"] {
        stage
            .ask(&Request::completion("").field("x-sim-id", id))
            .await;
    }
    stage.server.truth().finished(3).await;
    let ids: Vec<String> = stage
        .server
        .truth()
        .drain()
        .into_iter()
        .map(|record| record.id)
        .collect();
    assert_eq!(
        (ids, stage.server.truth().dropped()),
        (vec!["a".to_owned(), "b".to_owned()], 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_decoder_counts_what_was_emitted() {
    let speculation = Some(Speculation {
        depth: 2,
        acceptance_ppm: 600_000,
    });
    let profile = Profile {
        speculation,
        ..Profile::fast()
    };
    let mut stage = Stage::new(profile);
    let members = format!(r#","max_tokens":30{RUNNING}"#);
    for (request, endpoint) in [
        (Request::completion(&members), Endpoint::Completions),
        (Request::chat(&members), Endpoint::ChatCompletions),
    ] {
        let (heard, record) = stage.ask_and_tell(&request).await;
        let mut decoder = Decoder::new(AnswerContext {
            content_type: Some("text/event-stream"),
            stream_requested: Some(true),
            ..AnswerContext::new(endpoint, 200)
        });
        let mut events = Vec::new();
        decoder.push(&heard.body().bytes, &mut events);
        let answer = decoder.finish(TransportEnd::Clean, &mut events);
        let emitted = |tokens| match tokens {
            0 => Tokens::None,
            tokens => Tokens::Exactly(tokens),
        };
        let truth: Vec<Tokens> = record
            .emissions
            .iter()
            .map(|emission| emitted(emission.tokens))
            .collect();
        let decoded: Vec<Tokens> = events.iter().map(|event| event.tokens).collect();
        assert_eq!(decoded, truth);
        assert_eq!(answer.output_tokens, Some(record.output_tokens()));
        assert_eq!(answer.input_tokens, record.prompt_tokens);
    }
}
