//! Asked-for usage leaves no trace: answers as a real vLLM 0.32 gave them with and without, and invented ones.

use super::{UsageStrip, ask_for_usage};
use crate::{Endpoint, EngineKind, RequestScan};
use proptest::prelude::*;

const CHAT: Endpoint = Endpoint::ChatCompletions;
const TEXT: Endpoint = Endpoint::Completions;

fn asked(kind: EngineKind, endpoint: Endpoint, body: &str) -> Option<(String, UsageStrip)> {
    let mut scan = RequestScan::new(endpoint);
    scan.push(body.as_bytes());
    let asked = ask_for_usage(body.as_bytes(), kind, endpoint, &scan.finish())?;
    Some((String::from_utf8(asked.body).unwrap(), asked.strip))
}

fn asking(kind: EngineKind, endpoint: Endpoint, body: &str) -> Option<String> {
    asked(kind, endpoint, body).map(|(body, _)| body)
}

/// What is left of a stream that comes in pieces of so many bytes.
fn stripped(mut strip: UsageStrip, stream: &[u8], piece: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in stream.chunks(piece) {
        strip.push(piece, &mut out);
    }
    strip.finish(&mut out);
    out
}

fn strip_of(kind: EngineKind, endpoint: Endpoint) -> UsageStrip {
    asked(kind, endpoint, r#"{"stream":true}"#).unwrap().1
}

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/usage/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

#[test]
fn a_stream_that_says_nothing_of_usage_is_made_to_ask() {
    let ask = |body| asking(EngineKind::Vllm, CHAT, body);
    let each = r#""include_usage":true,"continuous_usage_stats":true"#;
    let expected = |text: &str| Some(text.replace("EACH", each));
    assert_eq!(
        ask(r#"{"stream": true, "messages": []}"#),
        expected(r#"{"stream_options":{EACH},"stream": true, "messages": []}"#)
    );
    assert_eq!(
        ask(r#" {"stream_options" : null ,"stream":true}"#),
        expected(r#" {"stream_options" : {EACH} ,"stream":true}"#)
    );
    assert_eq!(
        ask(r#"{"stream_options":{ },"stream":true}"#),
        expected(r#"{"stream_options":{EACH },"stream":true}"#)
    );
    assert_eq!(
        ask(r#"{"stream_options":{"x":1},"stream":true}"#),
        expected(r#"{"stream_options":{EACH,"x":1},"stream":true}"#)
    );
}

#[test]
fn whoever_says_something_of_usage_or_leaves_a_doubt_is_left_alone() {
    for body in [
        r#"{"messages":[]}"#,
        r#"{"stream":false}"#,
        r#"{"stream":true,"stream_options":{"include_usage":false}}"#,
        r#"{"stream":true,"stream_options":{"include_usage":true}}"#,
        r#"{"stream":true,"stream_options":{"continuous_usage_stats":true}}"#,
        r#"{"stream":true,"stream_options":7}"#,
        r#"{"stream":true,"stream_options":null,"stream_options":null}"#,
        r#"{"stream":true,"stream_option\u0073":null}"#,
        r#"{"stream":true"#,
        r#"{"stream":true} x"#,
        r#"[{"stream":true}]"#,
        "",
    ] {
        assert_eq!(asking(EngineKind::Vllm, CHAT, body), None, "{body}");
    }
}

#[test]
fn each_engine_is_asked_for_what_it_has_and_no_more() {
    let plain = r#"{"stream":true}"#;
    let tools = r#"{"stream":true,"tools":[{}]}"#;
    let two = r#"{"stream":true,"n":2}"#;
    let added = |kind, endpoint, body| {
        let asked = asking(kind, endpoint, body)?;
        let each = asked.contains(r#""continuous_usage_stats":true"#);
        Some(if each { "each" } else { "total" })
    };
    for (kind, endpoint, body, expected) in [
        (EngineKind::Vllm, CHAT, plain, Some("each")),
        (EngineKind::Vllm, TEXT, plain, Some("each")),
        (EngineKind::Vllm, CHAT, two, None),
        (EngineKind::Vllm, Endpoint::Responses, plain, None),
        (EngineKind::Vllm, Endpoint::Messages, plain, None),
        (EngineKind::Sglang, CHAT, plain, Some("each")),
        (EngineKind::Sglang, CHAT, tools, Some("total")),
        (EngineKind::Sglang, TEXT, two, Some("each")),
        (EngineKind::Trtllm, CHAT, plain, Some("total")),
        (
            EngineKind::Trtllm,
            TEXT,
            r#"{"stream":true,"stream_options":{}}"#,
            None,
        ),
        (EngineKind::Triton, CHAT, plain, Some("total")),
        (EngineKind::Tgi, CHAT, plain, Some("total")),
        (EngineKind::Tgi, TEXT, plain, None),
        (EngineKind::LlamaCpp, CHAT, plain, None),
    ] {
        assert_eq!(
            added(kind, endpoint, body),
            expected,
            "{kind:?} {endpoint:?} {body}"
        );
    }
}

#[test]
fn what_a_real_vllm_adds_is_taken_out_to_the_byte() {
    for (endpoint, name) in [(CHAT, "chat"), (TEXT, "completions")] {
        let with = fixture(&format!("vllm-{name}-with.sse"));
        let without = fixture(&format!("vllm-{name}-without.sse"));
        assert_ne!(with, without);
        for piece in [1, 7, 100, with.len()] {
            let got = stripped(strip_of(EngineKind::Vllm, endpoint), &with, piece);
            assert_eq!(
                String::from_utf8_lossy(&got),
                String::from_utf8_lossy(&without),
                "{piece}"
            );
        }
    }
}

/// An event of each kind, and what is left of it.
fn events(kind: EngineKind, endpoint: Endpoint, stream: &str) -> String {
    let got = stripped(strip_of(kind, endpoint), stream.as_bytes(), usize::MAX);
    String::from_utf8(got).unwrap()
}

#[test]
fn a_member_that_is_null_without_usage_becomes_null_again() {
    let event = r#"data: {"choices":[{"text":"a"}],"usage":{"completion_tokens":1},"x":1}"#;
    let left = r#"data: {"choices":[{"text":"a"}],"usage":null,"x":1}"#;
    let stream = format!(
        "{event}\r\n\r\ndata: {{\"choices\":[],\"usage\":{{}}}}\n\n: c\n\ndata: [DONE]\n\n"
    );
    let expected = format!("{left}\r\n\r\n: c\n\ndata: [DONE]\n\n");
    assert_eq!(events(EngineKind::Sglang, TEXT, &stream), expected);
}

#[test]
fn what_is_not_usage_goes_on_as_it_came() {
    for stream in [
        "data: {\"choices\":[],\"usage\":null}\n\n",
        "data: {\"choices\":[],\"sglext\":{}}\n\n",
        "data: {\"error\":{\"code\":500},\"usage\":{}}\n\ndata: [DONE]\n\n",
        "event: x\ndata: {\"choices\":[],\"usage\":{}}\n\n",
        "data: {\"choices\":[],\ndata: \"usage\":{}}\n\n",
        "data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        "data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\"}]}\n\nda",
        "data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n: k\n\ndata: {\"error\":{}}\n\n",
        "\n\ndata: x\n\n{}\n\n",
    ] {
        let got = events(EngineKind::Vllm, CHAT, stream);
        let sorted = |text: &str| {
            let mut events: Vec<_> = text.split_inclusive("\n\n").map(str::to_owned).collect();
            events.sort();
            events
        };
        // A comment may overtake an event that waits.
        assert_eq!(sorted(&got), sorted(stream));
    }
}

#[test]
fn an_event_above_the_limit_ends_the_stripping_and_loses_nothing() {
    let long = format!(
        "data: {{\"id\":\"{}",
        "x".repeat(2 * crate::limits::LINE_BYTES)
    );
    let stream = format!("{long}\"}}\n\ndata: {{\"choices\":[],\"usage\":{{}}}}\n\n");
    let got = stripped(strip_of(EngineKind::Vllm, CHAT), stream.as_bytes(), 1000);
    assert_eq!(String::from_utf8(got).unwrap(), stream);
}

proptest! {
    #[test]
    fn how_the_stream_was_cut_changes_nothing(
        cuts in proptest::collection::vec(1_usize..400, 1..40),
        flip in proptest::option::of((0_usize..3000, any::<u8>())),
    ) {
        let mut stream = fixture("vllm-chat-with.sse");
        if let Some((at, byte)) = flip
            && let Some(place) = stream.get_mut(at)
        {
            *place = byte;
        }
        let whole = stripped(strip_of(EngineKind::Vllm, CHAT), &stream, usize::MAX);
        let mut strip = strip_of(EngineKind::Vllm, CHAT);
        let (mut out, mut rest) = (Vec::new(), &stream[..]);
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            strip.push(piece, &mut out);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        strip.finish(&mut out);
        prop_assert_eq!(out, whole);
    }
}
