//! Each fault as a client meets it, and as the record tells it.

use std::io::Read;
use std::time::Duration;

use sim::{Ended, Kind, Profile, Record};
use tokio::io::AsyncWriteExt;

use crate::client::{Heard, listen, talk};
use crate::stage::{Request, Stage};

const STREAM: &str = r#","stream":true,"max_tokens":6,"stream_options":{"include_usage":true}"#;

async fn hear(fault: &str) -> (Heard, Record) {
    let mut stage = Stage::new(Profile::fast());
    stage
        .ask_and_tell(&Request::completion(STREAM).fault(fault))
        .await
}

async fn hear_chat(fault: &str) -> (Heard, Record) {
    let mut stage = Stage::new(Profile::fast());
    stage
        .ask_and_tell(&Request::chat(STREAM).fault(fault))
        .await
}

/// Data events, without the blank line.
fn events(heard: &Heard) -> Vec<String> {
    heard
        .body()
        .events()
        .into_iter()
        .map(|(_, event)| event.to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn statuses_and_retry_after() {
    for (status, retry) in [(400, None), (429, Some("1")), (503, Some("1"))] {
        let (heard, record) = hear(&format!("status={status}")).await;
        assert_eq!(
            (heard.status(), heard.field("retry-after").as_deref()),
            (status, retry)
        );
        assert!(heard.body().text().starts_with(r#"{"error":{"message":"#));
        assert_eq!(
            (record.status, record.ended),
            (Some(status), Ended::Completed)
        );
        assert_eq!(record.faults, format!("status={status}"));
    }
}

#[tokio::test(start_paused = true)]
async fn early_413_comes_while_the_body_is_still_on_its_way() {
    let mut stage = Stage::new(Profile::fast());
    let mut connection = stage.connect();
    let head = "POST /v1/completions HTTP/1.1\r\nhost: sim\r\nx-sim-fault: early-413\r\ncontent-length: 1000000\r\n\r\n{";
    let heard = talk(&mut connection, &stage.clock, head.as_bytes()).await;
    assert_eq!(
        (heard.status(), heard.field("connection").as_deref()),
        (413, Some("close"))
    );
    stage.settle().await;
    let record = stage.server.truth().drain().remove(0);
    assert_eq!(
        (record.request_read_ns, record.status, record.ended),
        (None, Some(413), Ended::Completed)
    );
}

#[tokio::test(start_paused = true)]
async fn an_engine_may_die_or_hang_before_its_head() {
    for (fault, ended) in [
        ("die-before-head", Ended::Died),
        ("reset-before-head", Ended::Reset),
    ] {
        let (heard, record) = hear(fault).await;
        assert!(heard.is_empty(), "{fault}");
        assert_eq!(
            (record.ended, record.status, record.head_written_ns),
            (ended, None, None)
        );
        assert!(
            record.request_read_ns.is_some(),
            "the request is read first"
        );
    }

    let mut stage = Stage::new(Profile::fast());
    let mut connection = stage.connect();
    let request = Request::completion(STREAM).fault("hang-before-head").text();
    connection
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let silence = tokio::time::timeout(
        Duration::from_secs(600),
        listen(&mut connection, &stage.clock, |_| false),
    )
    .await;
    assert!(silence.is_err(), "nothing comes and nothing closes");
    let left_ns = stage.clock.stamp();
    drop(connection);
    stage.settle().await;
    let record = stage.server.truth().drain().remove(0);
    assert_eq!(
        (record.ended, record.ended_ns),
        (Ended::ClientGone, left_ns)
    );
    assert_eq!(
        (stage.server.live().client_gone, stage.server.live().open),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn an_engine_may_die_midway() {
    for (fault, ended) in [("die=2", Ended::Died), ("reset=2", Ended::Reset)] {
        let (heard, record) = hear(fault).await;
        let body = heard.body();
        assert_eq!(
            (heard.status(), body.whole, body.events().len()),
            (200, false, 2),
            "{fault}"
        );
        assert_eq!((record.ended, record.output_tokens()), (ended, 2));
    }
    let (heard, record) = hear("die=0").await;
    assert_eq!(
        (heard.status(), heard.body().bytes.len(), heard.body().whole),
        (200, 0, false)
    );
    assert_eq!(
        (record.ended, record.head_written_ns.is_some()),
        (Ended::Died, true)
    );
}

#[tokio::test(start_paused = true)]
async fn an_engine_may_die_within_an_event() {
    let (heard, record) = hear("die-in-event=2").await;
    let body = heard.body();
    assert!(!body.whole);
    let text = body.text();
    assert_eq!(
        (
            text.matches("\n\n").count(),
            text.matches("data: {").count()
        ),
        (2, 3),
        "{text}"
    );
    assert_eq!(
        (record.ended, record.output_tokens()),
        (Ended::Died, 2),
        "half an event carries nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn an_engine_may_hang_midway_until_its_client_leaves() {
    let mut stage = Stage::new(Profile::fast());
    let mut connection = stage.connect();
    let request = Request::completion(STREAM).fault("hang=3").text();
    connection
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let silence = tokio::time::timeout(
        Duration::from_secs(60),
        listen(&mut connection, &stage.clock, |_| false),
    )
    .await;
    assert!(silence.is_err());
    drop(connection);
    stage.settle().await;
    let record = stage.server.truth().drain().remove(0);
    assert_eq!(
        (record.ended, record.output_tokens(), record.ended_ns),
        (Ended::ClientGone, 3, 60_000_000_000)
    );
}

#[tokio::test(start_paused = true)]
async fn a_stall_merges_what_is_generated_meanwhile() {
    let (heard, record) = hear("stall=2:500").await;
    let tokens: Vec<(u64, u32)> = record
        .emissions
        .iter()
        .filter(|emitted| emitted.tokens > 0)
        .map(|emitted| (emitted.at_ns / 1_000_000, emitted.tokens))
        .collect();
    assert_eq!(tokens, [(2, 1), (3, 1), (503, 4)]);
    assert!(heard.body().whole);
}

#[tokio::test(start_paused = true)]
async fn error_events_in_the_middle_of_a_200() {
    let (heard, record) = hear("error-event=2").await;
    let text = events(&heard);
    assert_eq!(
        (text.len(), text[3].as_str(), heard.body().whole),
        (4, "data: [DONE]", true)
    );
    assert!(
        text[2].starts_with(r#"data: {"error": {"message": "EngineCore"#),
        "{}",
        text[2]
    );
    assert_eq!(
        (record.ended, record.output_tokens(), record.usage),
        (Ended::Errored, 2, None)
    );

    let (heard, record) = hear_chat("error-event-cut=2").await;
    let text = events(&heard);
    assert!(
        text[3].starts_with(r#"data: {"error":{"message":"EngineCore"#),
        "{}",
        text[3]
    );
    assert_eq!(
        (text.len(), heard.body().whole, record.ended),
        (4, true, Ended::Errored)
    );

    for (shape, start) in [
        ("sglang", r#"data: {"error": {"object": "error""#),
        ("tgi", r#"data: {"error":{"message":"Request failed"#),
        ("text", r#"data: {"error":"executor"#),
    ] {
        let (heard, _) = hear(&format!("error-event=1,error-shape={shape}")).await;
        assert!(events(&heard)[1].starts_with(start), "{shape}");
    }
}

#[tokio::test(start_paused = true)]
async fn whole_answers_fail_before_their_head() {
    let mut stage = Stage::new(Profile::fast());
    let mut ask = async |fault: &str| {
        stage
            .ask_and_tell(&Request::completion(r#","max_tokens":6"#).fault(fault))
            .await
    };
    let (heard, record) = ask("die=3").await;
    assert_eq!(
        (heard.is_empty(), record.ended, record.status),
        (true, Ended::Died, None)
    );
    let (heard, record) = ask("error-event=3").await;
    assert_eq!((heard.status(), record.ended), (500, Ended::Errored));
    let (heard, record) = ask("stall=6:1000").await;
    assert_eq!(
        (heard.status(), record.ended, record.output_tokens()),
        (200, Ended::Completed, 6)
    );
    let took_ns = record.ended_ns - record.request_read_ns.expect("it was read");
    assert!(
        (1_000_000_000..1_020_000_000).contains(&took_ns),
        "{took_ns} ns"
    );
}

#[tokio::test(start_paused = true)]
async fn what_should_end_a_stream_may_be_missing() {
    let (heard, record) = hear("no-usage").await;
    assert!(!heard.body().text().contains("usage") && heard.body().text().ends_with("[DONE]\n\n"));
    assert_eq!(record.usage, None);
    let (heard, record) = hear("no-done").await;
    let body = heard.body();
    assert!(body.text().contains("usage") && !body.text().contains("DONE") && body.whole);
    assert_eq!(record.ended, Ended::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_role_chunk_may_come_long_before_a_token() {
    let (heard, record) = hear_chat("early-role").await;
    assert_eq!(heard.body().events()[0].0, 0);
    let first: Vec<(Kind, u64)> = record.emissions[..2]
        .iter()
        .map(|emitted| (emitted.kind, emitted.at_ns))
        .collect();
    assert_eq!(first, [(Kind::Role, 0), (Kind::Answer, 2_000_000)]);
}

#[tokio::test(start_paused = true)]
async fn comments_between_tokens_and_in_silence() {
    let (heard, record) = hear("comments").await;
    let text = events(&heard);
    assert_eq!(
        text.iter().filter(|event| *event == ": keep-alive").count(),
        8
    );
    assert_eq!(
        (text[0].as_str(), record.output_tokens()),
        (": keep-alive", 6)
    );

    let (heard, record) = hear("keep-alive=10,stall=2:500").await;
    assert_eq!(
        events(&heard)
            .iter()
            .filter(|event| *event == ": keep-alive")
            .count(),
        0,
        "no silence of the engine"
    );
    assert_eq!(record.output_tokens(), 6);

    let slow = Profile::one_server(100_000_000);
    let mut stage = Stage::new(slow);
    let (heard, record) = stage
        .ask_and_tell(&Request::completion(STREAM).fault("keep-alive=40"))
        .await;
    let times: Vec<(u64, String)> = heard
        .body()
        .events()
        .into_iter()
        .map(|(at, event)| (at / 1_000_000, event.chars().take(5).collect()))
        .collect();
    let comment = ": kee".to_owned();
    let token = "data:".to_owned();
    assert_eq!(
        times[..4],
        [
            (40, comment.clone()),
            (80, comment.clone()),
            (100, token),
            (140, comment)
        ]
    );
    assert_eq!(
        record
            .emissions
            .iter()
            .filter(|emitted| emitted.kind == Kind::Comment)
            .count(),
        12
    );
}

#[tokio::test(start_paused = true)]
async fn lines_may_end_in_other_ways() {
    let (plain, _) = hear("").await;
    for (fault, line_end) in [("crlf", "\r\n"), ("cr", "\r")] {
        let (heard, record) = hear(fault).await;
        let body = heard.body();
        let expected = plain.body().text().replace('\n', line_end);
        assert_eq!(
            body.text(),
            expected.replace(&id_of(&plain), &id_of(&heard))
        );
        assert_eq!(record.output_tokens(), 6);
    }
}

fn id_of(heard: &Heard) -> String {
    let body = heard.body();
    let (_, rest) = body.text().split_once(r#""id":""#).expect("there is an id");
    rest.split('"').next().expect("it ends").to_owned()
}

#[tokio::test(start_paused = true)]
async fn several_events_may_share_a_chunk() {
    let (heard, record) = hear("coalesce=3").await;
    let body = heard.body();
    assert_eq!((body.chunks.len(), body.events().len()), (3, 8));
    let times: Vec<u64> = record
        .emissions
        .iter()
        .map(|emitted| emitted.at_ns / 1_000_000)
        .collect();
    assert_eq!(
        times,
        [4, 4, 4, 7, 7, 7, 7, 7],
        "they are true when they are written"
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_may_drip() {
    // Byte by byte, the blank line comes after the event's end.
    for size in [1, 100] {
        let (heard, record) = hear(&format!("drip={size}")).await;
        let body = heard.body();
        assert!(body.chunks.iter().all(|chunk| chunk.len() <= size));
        assert!(body.chunks.len() > 12);
        let heard: Vec<u64> = body.events().iter().map(|(at_ns, _)| *at_ns).collect();
        let written: Vec<u64> = record
            .emissions
            .iter()
            .map(|emitted| emitted.at_ns)
            .collect();
        assert_eq!(written, heard, "an event is there with its closing brace");
        assert_eq!(record.output_tokens(), 6);
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_may_be_giant() {
    for bytes in [71_680, 1 << 20] {
        let (heard, record) = hear(&format!("giant-event={bytes}")).await;
        let body = heard.body();
        let sizes: Vec<usize> = body
            .events()
            .iter()
            .map(|(_, event)| event.len() + 2)
            .collect();
        assert_eq!(
            (sizes[1], sizes.iter().filter(|size| **size > 1_000).count()),
            (bytes, 1)
        );
        assert_eq!((body.whole, record.output_tokens()), (true, 6));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_be_compressed() {
    let (heard, record) = hear("gzip").await;
    assert_eq!(heard.field("content-encoding").as_deref(), Some("gzip"));
    let body = heard.body();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&body.bytes[..])
        .read_to_string(&mut text)
        .expect("it is whole");
    assert_eq!(
        (text.matches("data: ").count(), text.ends_with("[DONE]\n\n")),
        (8, true)
    );
    assert_eq!(
        (record.ended, record.output_tokens()),
        (Ended::Completed, 6)
    );
    let times: Vec<u64> = record
        .emissions
        .iter()
        .map(|emitted| emitted.at_ns / 1_000_000)
        .collect();
    assert_eq!(times[..3], [2, 3, 4], "each event is flushed");
}

#[tokio::test(start_paused = true)]
async fn a_body_may_be_ended_by_the_close_alone() {
    let (heard, record) = hear("http10").await;
    assert!(
        heard.head().starts_with("HTTP/1.0 200 OK"),
        "{}",
        heard.head()
    );
    assert_eq!(
        (
            heard.field("transfer-encoding"),
            heard.field("content-length")
        ),
        (None, None)
    );
    assert_eq!(
        (heard.body().events().len(), record.ended),
        (8, Ended::Completed)
    );
    assert_eq!(
        record.emissions.iter().map(|emitted| emitted.at_ns).max(),
        Some(heard.end_ns())
    );

    let mut stage = Stage::new(Profile::fast());
    let old = Request {
        line: "POST /v1/completions HTTP/1.0".to_owned(),
        ..Request::completion(STREAM)
    };
    let (heard, record) = stage.ask_and_tell(&old).await;
    assert!(heard.head().starts_with("HTTP/1.0 200 OK"));
    assert_eq!(
        (heard.body().events().len(), record.output_tokens()),
        (8, 6)
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_refuse_to_be_used_again() {
    let mut stage = Stage::new(Profile::fast());
    let mut connection = stage.connect();
    let request = Request::completion(STREAM)
        .fault("close-on-reuse")
        .kept_open();
    connection
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let first = listen(&mut connection, &stage.clock, |heard| {
        heard.ends_with(b"0\r\n\r\n")
    })
    .await;
    assert!(first.body().whole && first.field("connection").is_none());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let second = talk(&mut connection, &stage.clock, request.as_bytes()).await;
    assert!(second.is_empty(), "{}", second.text());
    stage.settle().await;
    assert_eq!(stage.server.truth().drain().len(), 1);
    assert_eq!(
        (
            stage.server.live().refused_reuse,
            stage.server.live().connections
        ),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn pauses_before_reading_and_before_the_head() {
    let (heard, record) = hear("slow-read=100,delay-head=250").await;
    let read_ns = record.request_read_ns.expect("it was read");
    assert_eq!(
        (record.head_read_ns, read_ns),
        (0, 0),
        "the bytes were there, only nobody took them"
    );
    assert_eq!(
        record.head_written_ns,
        Some(450_000_000),
        "two looks at the body, then the pause"
    );
    assert_eq!(heard.head_ns(), 450_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_103_may_go_first() {
    let (heard, record) = hear("early-hints").await;
    let text = heard.text();
    let (hints, rest) = text.split_once("\r\n\r\n").expect("two heads");
    assert!(
        hints.starts_with("HTTP/1.1 103 Early Hints\r\nlink: "),
        "{hints}"
    );
    assert!(rest.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(
        (record.head_written_ns, record.output_tokens()),
        (Some(0), 6)
    );
}
