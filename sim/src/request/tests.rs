//! Bodies and headers, and what they ask for.

use super::*;

fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
    list.iter()
        .map(|(name, value)| {
            (
                (*name).try_into().expect("a name"),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

#[track_caller]
fn ask(endpoint: Endpoint, list: &[(&'static str, &'static str)], body: &str) -> Ask {
    let vllm = Personality::of(EngineKind::Vllm);
    Ask::parse(vllm, endpoint, &headers(list), body.as_bytes()).expect("the request is good")
}

fn lengths(ask: &Ask) -> Vec<usize> {
    ask.prompts.iter().map(Vec::len).collect()
}

const TEXT: Endpoint = Endpoint::Completions;
const CHAT: Endpoint = Endpoint::ChatCompletions;

#[test]
fn prompts_come_in_every_form() {
    assert_eq!(
        lengths(&ask(TEXT, &[], r#"{"prompt":"one two  three"}"#)),
        [3]
    );
    assert_eq!(
        lengths(&ask(TEXT, &[], r#"{"prompt":["one two","", "three"]}"#)),
        [2, 1, 1]
    );
    assert_eq!(ask(TEXT, &[], r#"{"prompt":[5,6,7]}"#).prompts, [[5, 6, 7]]);
    assert_eq!(
        lengths(&ask(TEXT, &[], r#"{"prompt":[[5,6],[7]]}"#)),
        [2, 1]
    );
    let chat = r#"{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":
        [{"type":"text","text":"how are"},{"type":"image_url","image_url":{}},{"type":"text","text":"you"}]},
        {"role":"assistant","content":null}]}"#;
    assert_eq!(lengths(&ask(CHAT, &[], chat)), [5]);
}

#[test]
fn equal_words_are_equal_tokens() {
    let prompts = ask(TEXT, &[], r#"{"prompt":["a b c", "a b d"]}"#).prompts;
    assert_eq!(prompts[0][..2], prompts[1][..2]);
    assert_ne!(prompts[0][2], prompts[1][2]);
}

#[test]
fn a_header_sets_the_prompts_length_and_keeps_prompts_apart() {
    let long = [("x-sim-input-tokens", "40")];
    let first = ask(TEXT, &long, r#"{"prompt":"a b"}"#);
    assert_eq!(lengths(&first), [40]);
    assert_eq!(first, ask(TEXT, &long, r#"{"prompt":"a b"}"#));
    let other = ask(TEXT, &long, r#"{"prompt":"a c"}"#);
    assert_ne!(first.prompts[0][39], other.prompts[0][39]);
    assert_eq!(
        lengths(&ask(
            TEXT,
            &[("x-sim-input-tokens", "1")],
            r#"{"prompt":"a b"}"#
        )),
        [1]
    );
}

#[test]
fn the_output_ends_at_its_limit_or_by_itself() {
    let of = |endpoint, list: &[(&'static str, &'static str)], body: &str| {
        let ask = ask(endpoint, list, body);
        (ask.output_tokens, ask.finish)
    };
    let message = r#"{"messages":[{"role":"user","content":"a"}]"#;
    assert_eq!(of(TEXT, &[], r#"{"prompt":"a"}"#), (16, Finish::Length));
    assert_eq!(
        of(CHAT, &[], &format!("{message}}}")),
        (CHAT_TOKENS, Finish::Length)
    );
    assert_eq!(
        of(TEXT, &[], r#"{"prompt":"a","max_tokens":9}"#),
        (9, Finish::Length)
    );
    let both = format!(r#"{message},"max_tokens":9,"max_completion_tokens":8}}"#);
    assert_eq!(of(CHAT, &[], &both), (8, Finish::Length));
    let seven = [("x-sim-output-tokens", "7")];
    assert_eq!(
        of(TEXT, &seven, r#"{"prompt":"a","max_tokens":9}"#),
        (7, Finish::Stop)
    );
    assert_eq!(
        of(TEXT, &seven, r#"{"prompt":"a","max_tokens":6}"#),
        (6, Finish::Length)
    );
}

#[test]
fn every_choice_is_a_request() {
    let ask = ask(TEXT, &[], r#"{"prompt":["a","b c"],"n":2,"max_tokens":3}"#);
    let lengths: Vec<usize> = ask
        .requests()
        .iter()
        .map(|request| request.prompt.len())
        .collect();
    assert_eq!(lengths, [1, 1, 2, 2]);
    assert_eq!(ask.prompt_tokens(), 3);
}

#[test]
fn stream_options() {
    let of = |options: &str| {
        let ask = ask(
            TEXT,
            &[],
            &format!(r#"{{"prompt":"a","stream":true,"stream_options":{options}}}"#),
        );
        (ask.stream, ask.wishes.usage, ask.wishes.running)
    };
    assert_eq!(of("null"), (true, false, false));
    assert_eq!(of("{}"), (true, false, false));
    assert_eq!(of(r#"{"include_usage":true}"#), (true, true, false));
    assert_eq!(
        of(r#"{"include_usage":true,"continuous_usage_stats":true}"#),
        (true, true, true)
    );
    assert_eq!(
        of(r#"{"continuous_usage_stats":true}"#),
        (true, false, false),
        "running counts need the total"
    );
}

#[test]
fn bad_requests_name_the_thing() {
    let vllm = Personality::of(EngineKind::Vllm);
    let error = |endpoint, list: &[(&'static str, &'static str)], body: &str| {
        Ask::parse(vllm, endpoint, &headers(list), body.as_bytes())
            .expect_err("the request is bad")
            .to_string()
    };
    assert!(error(TEXT, &[], "{").starts_with("the body is no JSON of this route"));
    assert!(error(TEXT, &[], "{}").contains("prompt"));
    assert!(error(CHAT, &[], r#"{"prompt":"a"}"#).contains("messages"));
    assert!(error(TEXT, &[], r#"{"prompt":"a","stream_options":{}}"#).contains("stream"));
    assert!(error(TEXT, &[], r#"{"prompt":"a","n":0}"#).contains('0'));
    assert!(error(TEXT, &[], r#"{"prompt":"a","n":129}"#).contains("129"));
    for value in ["x", "-1", "9999999"] {
        let message = error(TEXT, &[("x-sim-output-tokens", value)], r#"{"prompt":"a"}"#);
        assert!(
            message.contains("x-sim-output-tokens") && message.contains(value),
            "{message}"
        );
    }
}

#[track_caller]
fn refused(engine: EngineKind, endpoint: Endpoint, body: &str) -> String {
    Ask::parse(
        Personality::of(engine),
        endpoint,
        &HeaderMap::new(),
        body.as_bytes(),
    )
    .expect_err("the request is bad")
    .to_string()
}

#[test]
fn trtllm_takes_no_member_that_it_does_not_know() {
    let trtllm = EngineKind::Trtllm;
    let message = refused(trtllm, TEXT, r#"{"prompt":"a","return_token_ids":true}"#);
    assert!(message.contains("'extra_forbidden'"), "{message}");
    assert!(
        message.contains("('body', 'return_token_ids')"),
        "{message}"
    );
    let nested = r#"{"prompt":"a","stream":true,"stream_options":{"include_obfuscation":false}}"#;
    let message = refused(trtllm, TEXT, nested);
    assert!(
        message.contains("('body', 'stream_options', 'include_obfuscation')"),
        "{message}"
    );
    assert!(refused(trtllm, TEXT, r#"{"prompt":"a","stream_options":{}}"#).contains("stream"));
}

#[test]
fn stream_options_mean_what_the_engine_makes_of_them() {
    let of = |engine, options: &str| {
        let body = format!(r#"{{"prompt":"a","stream":true,"stream_options":{options}}}"#);
        let personality = Personality::of(engine);
        let ask = Ask::parse(personality, TEXT, &HeaderMap::new(), body.as_bytes());
        let wishes = ask.expect("the request is good").wishes;
        (wishes.usage, wishes.running)
    };
    let continuous = r#"{"continuous_usage_stats":true}"#;
    assert_eq!(of(EngineKind::Vllm, continuous), (false, false));
    assert_eq!(of(EngineKind::Sglang, continuous), (false, true));
    assert_eq!(of(EngineKind::Trtllm, continuous), (true, true));
    assert_eq!(of(EngineKind::Trtllm, "{}"), (true, false));
    assert_eq!(
        of(EngineKind::Trtllm, r#"{"include_usage":false}"#),
        (false, false)
    );
    let both = r#"{"include_usage":true,"continuous_usage_stats":true}"#;
    assert_eq!(of(EngineKind::LlamaCpp, both), (true, false));
}

#[test]
fn ids_are_bounded() {
    assert_eq!(sim_id(&HeaderMap::new()), None);
    assert_eq!(
        sim_id(&headers(&[("x-sim-id", "a7")])).as_deref(),
        Some("a7")
    );
    let mut long = HeaderMap::new();
    long.insert("x-sim-id", "y".repeat(300).try_into().expect("a value"));
    assert_eq!(sim_id(&long).map(|id| id.len()), Some(128));
}
