//! Routes that stream nothing, refusals, whole answers.

use sim::{Ended, Kind, Profile};

use crate::stage::{Request, Stage};

#[tokio::test(start_paused = true)]
async fn routes_that_generate_nothing() {
    let mut stage = Stage::new(Profile::fast());
    let health = stage.ask(&Request::get("GET /health HTTP/1.1")).await;
    assert_eq!(
        (health.status(), health.field("content-length").as_deref()),
        (200, Some("0"))
    );

    let models = stage.ask(&Request::get("GET /v1/models HTTP/1.1")).await;
    let models: serde_json::Value = serde_json::from_slice(&models.body().bytes).expect("JSON");
    assert_eq!(
        (
            &models["data"][0]["id"],
            &models["data"][0]["max_model_len"]
        ),
        (&"sim-8b".into(), &4_096.into())
    );

    let version = stage.ask(&Request::get("GET /version HTTP/1.1")).await;
    assert!(version.body().text().starts_with(r#"{"version":"#));

    let unknown = stage.ask(&Request::get("GET /v1/nothing HTTP/1.1")).await;
    assert_eq!(
        (unknown.status(), unknown.body().text()),
        (404, r#"{"detail":"Not Found"}"#)
    );
    for line in ["GET /v1/completions HTTP/1.1", "DELETE /health HTTP/1.1"] {
        let refused = stage.ask(&Request::get(line)).await;
        assert_eq!(
            (refused.status(), refused.body().text()),
            (405, r#"{"detail":"Method Not Allowed"}"#)
        );
    }
    assert_eq!(
        stage.server.truth().drain(),
        [],
        "only generating routes are recorded"
    );
}

#[tokio::test(start_paused = true)]
async fn gauges_tell_what_the_engine_holds() {
    let one_at_a_time = Profile {
        max_running: std::num::NonZeroU32::MIN,
        ..Profile::fast()
    };
    let mut stage = Stage::new(one_at_a_time);
    let metrics = |heard: crate::client::Heard| {
        let body = heard.body();
        let lines: Vec<String> = body
            .text()
            .lines()
            .filter(|line| line.starts_with("vllm:num_requests"))
            .map(str::to_owned)
            .collect();
        lines
    };
    let scrape = Request::get("GET /metrics HTTP/1.1");
    let labels = r#"{engine="0",model_name="sim-8b"}"#;
    let expected = |running, waiting| {
        [
            format!("vllm:num_requests_running{labels} {running}.0"),
            format!("vllm:num_requests_waiting{labels} {waiting}.0"),
        ]
    };
    assert_eq!(metrics(stage.ask(&scrape).await), expected(0, 0));

    let long = Request::completion(r#","stream":true,"max_tokens":500"#);
    let (mut first, mut second) = (stage.connect(), stage.connect());
    for connection in [&mut first, &mut second] {
        let sent = tokio::io::AsyncWriteExt::write_all(connection, long.text().as_bytes()).await;
        sent.expect("the server reads");
        crate::client::listen(connection, &stage.clock, |heard| {
            heard.ends_with(b"\r\n\r\n")
        })
        .await;
    }
    assert_eq!(metrics(stage.ask(&scrape).await), expected(1, 1));
    assert_eq!(
        (stage.server.load().running, stage.server.live().open),
        (1, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_is_one_body_and_one_time() {
    let mut stage = Stage::new(Profile::fast());
    let request = Request::chat(r#","max_completion_tokens":5"#)
        .field("x-sim-output-tokens", "5")
        .field("x-sim-reasoning-tokens", "2")
        .field("x-sim-id", "w1")
        .field("x-request-id", "abc");
    let (heard, record) = stage.ask_and_tell(&request).await;
    assert_eq!(
        (heard.status(), heard.field("content-type").as_deref()),
        (200, Some("application/json"))
    );
    let body: serde_json::Value = serde_json::from_slice(&heard.body().bytes).expect("JSON");
    assert_eq!(body["id"], "chatcmpl-abc");
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    let words =
        |text: &serde_json::Value| text.as_str().expect("a text").split_whitespace().count();
    assert_eq!(
        (
            words(&choice["message"]["reasoning"]),
            words(&choice["message"]["content"])
        ),
        (2, 2)
    );
    let usage = &body["usage"];
    assert_eq!(
        (&usage["prompt_tokens"], &usage["completion_tokens"]),
        (&3.into(), &5.into())
    );
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 2);

    // Prefill of 3 tokens and 4 more steps: 1.03 + 4 × 1.05 = 5.23 ms, at the timer's next millisecond.
    let times: Vec<_> = record
        .emissions
        .iter()
        .map(|emitted| (emitted.at_ns, emitted.kind, emitted.tokens))
        .collect();
    let at_ns = 6_000_000;
    assert_eq!(
        times,
        [
            (at_ns, Kind::Reasoning, 2),
            (at_ns, Kind::Answer, 2),
            (at_ns, Kind::Silent, 1)
        ]
    );
    assert_eq!(
        (heard.end_ns(), record.ended_ns, record.ended),
        (at_ns, at_ns, Ended::Completed)
    );
    assert_eq!(
        (
            record.id.as_str(),
            record.prompt_tokens,
            record.output_tokens()
        ),
        ("w1", Some(3), 5)
    );
    assert_eq!(record.usage.map(|usage| usage.completion), Some(5));
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_served_is_refused_as_vllm_refuses() {
    let mut stage = Stage::new(Profile {
        max_waiting: 1,
        ..Profile::fast()
    });
    let mut check = async |request: Request, status: u16, part: &str| {
        let (heard, record) = stage.ask_and_tell(&request).await;
        let body = heard.body();
        assert_eq!(heard.status(), status, "{}", body.text());
        let error: serde_json::Value = serde_json::from_slice(&body.bytes).expect("JSON");
        assert_eq!(error["error"]["code"], status);
        assert!(body.text().contains(part), "{}", body.text());
        assert_eq!(
            (record.status, record.ended),
            (Some(status), Ended::Completed)
        );
        assert_eq!(record.output_tokens(), 0);
        heard
    };
    check(
        Request {
            body: "{".into(),
            ..Request::completion("")
        },
        400,
        "no JSON",
    )
    .await;
    check(
        Request::completion(r#","stream_options":{}"#),
        400,
        "stream_options",
    )
    .await;
    check(
        Request::completion(r#","model":"gpt-9""#),
        404,
        "The model `gpt-9` does not exist.",
    )
    .await;
    check(Request::completion(r#","max_tokens":4093"#), 400, "4096").await;
    check(
        Request::completion(r#","max_tokens":0"#),
        400,
        "at least one",
    )
    .await;
    check(Request::completion("").fault("dye=1"), 400, "dye=1").await;
    check(
        Request::completion(r#","stream":true"#).field("x-sim-script", "gap=1"),
        400,
        "gap=1",
    )
    .await;
    // Two choices, and only one may wait.
    let full = check(Request::completion(r#","n":2"#), 503, "waiting already").await;
    assert_eq!(full.field("retry-after").as_deref(), Some("1"));
    assert_eq!(
        stage.server.load(),
        sim::Load::default(),
        "a refused request leaves nothing behind"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_may_wait_for_leave_to_send_its_body() {
    let mut stage = Stage::new(Profile::fast());
    let request = Request::completion(r#","max_tokens":2"#).field("expect", "100-continue");
    let (heard, record) = stage.ask_and_tell(&request).await;
    let text = heard.text();
    let answer = text
        .strip_prefix("HTTP/1.1 100 Continue\r\n\r\n")
        .expect("leave is given");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(
        record.head_written_ns,
        Some(record.ended_ns),
        "the interim head is not taken for the answer's"
    );
}
