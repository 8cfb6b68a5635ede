//! What a request's body says, taken while it passes by.

mod any_body;

use any_body::{check, check_input, scan};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use wire::limits::{JSON_DEPTH, TEXT_BYTES};
use wire::{AnswerForm, Endpoint, RequestDetails, RequestFacts};

/// The facts, in one push, cut in two anywhere, and byte by byte.
fn facts(endpoint: Endpoint, body: &str) -> RequestFacts {
    let body = body.as_bytes();
    let facts = scan(endpoint, [body]);
    for cut in 0..=body.len() {
        let (head, tail) = body.split_at(cut);
        assert_eq!(
            scan(endpoint, [head, tail]),
            facts,
            "cut at {cut}: {}",
            body.escape_ascii()
        );
    }
    assert_eq!(
        scan(endpoint, body.chunks(1)),
        facts,
        "byte by byte: {}",
        body.escape_ascii()
    );
    facts
}

fn chat(body: &str) -> RequestFacts {
    facts(Endpoint::ChatCompletions, body)
}

fn completions(body: &str) -> RequestFacts {
    facts(Endpoint::Completions, body)
}

fn whole() -> RequestFacts {
    RequestFacts {
        whole: true,
        ..RequestFacts::default()
    }
}

/// The details of messages without anything but text.
fn text_only() -> RequestDetails {
    RequestDetails {
        system: Some(false),
        images: Some(0),
        sounds: Some(0),
        ..RequestDetails::default()
    }
}

/// What the facts of a route are, apart from those that every route states alike.
fn stated(endpoint: Endpoint, body: &str) -> (RequestFacts, [Option<u64>; 2]) {
    let facts = facts(endpoint, body);
    let sizes = [facts.prompt_bytes, facts.prompt_tokens];
    (facts, sizes)
}

#[test]
fn responses() {
    let body = r#"{"model":"m","stream":true,"instructions":"Be brief.","max_output_tokens":7,"tools":[{}],
        "input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]},{"role":"user","content":"you"}],"n":1}"#;
    let (facts, sizes) = stated(Endpoint::Responses, body);
    assert_eq!(sizes, [Some(9 + 2 + 3), None]);
    assert_eq!(
        (facts.messages, facts.max_tokens, facts.tools, facts.stream),
        (Some(2), Some(7), Some(1), Some(true))
    );
    let (facts, sizes) = stated(Endpoint::Responses, r#"{"input":"Hi","max_tokens":3}"#);
    assert_eq!(
        (sizes, facts.messages, facts.max_tokens),
        ([Some(2), None], None, None)
    );
}

#[test]
fn messages() {
    let body = r#"{"model":"m","max_tokens":5,"system":[{"type":"text","text":"Be brief."}],
        "messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"prompt":"no"}"#;
    let (facts, sizes) = stated(Endpoint::Messages, body);
    assert_eq!(sizes, [Some(9 + 2), None]);
    assert_eq!(
        (facts.messages, facts.max_tokens, facts.prompts),
        (Some(1), Some(5), None)
    );
    let (_, sizes) = stated(
        Endpoint::Messages,
        r#"{"system":"Be","messages":[{"content":"Hi"}],"system":"Be brief."}"#,
    );
    assert_eq!(sizes, [Some(9 + 2), None]);
}

/// Bytes and tokens of the prompt, then prompts, answers for each, and the limit.
fn sizes(endpoint: Endpoint, body: &str) -> ([Option<u64>; 2], [Option<u32>; 3]) {
    let (facts, sizes) = stated(endpoint, body);
    (sizes, [facts.prompts, facts.n, facts.max_tokens])
}

#[test]
fn token_ids_by_other_names() {
    for (endpoint, body, tokens, counts) in [
        (
            Endpoint::Completion,
            r#"{"prompt":[1,2],"n":2,"max_tokens":4}"#,
            2,
            [Some(1), Some(2), Some(4)],
        ),
        (
            Endpoint::Generate,
            r#"{"input_ids":[[1,2],[3]],"max_tokens":4}"#,
            3,
            [Some(2), None, None],
        ),
        (
            Endpoint::InferenceGenerate,
            r#"{"token_ids":[1,2,3],"sampling_params":{"n":2,"max_tokens":9},"prompt":"no"}"#,
            3,
            [Some(1), Some(2), Some(9)],
        ),
    ] {
        let expected = ([None, Some(tokens)], counts);
        assert_eq!(sizes(endpoint, body), expected, "{body}");
    }
}

#[test]
fn texts_by_other_names() {
    use Endpoint as E;
    let parameters = r#"{"inputs":"ab","parameters":{"max_new_tokens":6}}"#;
    let triton = r#"{"text_input":"ab","max_tokens":6}"#;
    for (endpoint, body, counts) in [
        (
            E::Completion,
            r#"{"prompt":["ab",[1]],"n_predict":6,"max_tokens":4}"#,
            [2, 0, 6],
        ),
        (
            E::Generate,
            r#"{"text":["a","b"],"sampling_params":{"n":3,"max_new_tokens":6}}"#,
            [2, 3, 6],
        ),
        (E::Generate, parameters, [1, 0, 6]),
        (E::GenerateStream, parameters, [1, 0, 6]),
        (E::Root, parameters, [1, 0, 6]),
        (E::TritonGenerate, triton, [1, 0, 6]),
        (E::TritonGenerateStream, triton, [1, 0, 6]),
        (
            E::TritonGenerate,
            r#"{"text_input":["ab"],"parameters":{"max_tokens":6}}"#,
            [1, 0, 6],
        ),
        (
            E::OllamaGenerate,
            r#"{"prompt":"a","system":"b","options":{"num_predict":6}}"#,
            [1, 0, 6],
        ),
        (
            E::OllamaChat,
            r#"{"messages":[{"content":"ab"}],"options":{"num_predict":-1}}"#,
            [0, 0, 0],
        ),
    ] {
        // 0: not stated.
        let counts = counts.map(|count| Some(count).filter(|count| *count > 0));
        assert_eq!(sizes(endpoint, body), ([Some(2), None], counts), "{body}");
    }
}

#[test]
fn sampling_may_stand_one_level_below() {
    let body = r#"{"sampling_params":{"temperature":0.5,"top_p":0.25,"sampling_seed":3,"deeper":{"temperature":9}}}"#;
    let facts = facts(Endpoint::Generate, body);
    assert_eq!(
        (facts.temperature, facts.top_p, facts.seed),
        (Some(0.5), Some(0.25), Some(3))
    );
    assert_eq!(completions(body).temperature, None);
}

#[test]
fn some_routes_say_themselves_whether_they_stream() {
    use Endpoint as E;
    for (endpoint, body, stream) in [
        (E::GenerateStream, r#"{"stream":false}"#, Some(true)),
        (E::TritonGenerateStream, "{", Some(true)),
        (E::TritonGenerate, r#"{"stream":true}"#, Some(false)),
        (E::Root, r#"{"stream":true}"#, Some(true)),
        (E::Root, "{}", None),
        (E::OllamaChat, "{}", Some(true)),
        (E::OllamaChat, r#"{"stream":false}"#, Some(false)),
        (E::OllamaGenerate, r#"{"a":1"#, None),
    ] {
        assert_eq!(facts(endpoint, body).stream, stream, "{endpoint:?} {body}");
    }
}

#[test]
fn a_chat() {
    let body = r#"{
        "model": "acme\/otter-8b", "stream": true, "n": 2, "max_tokens": 7, "temperature": 0.5, "top_p": 1, "seed": -3,
        "stream_options": {"include_usage": true, "continuous_usage_stats": false, "other": {"include_usage": false}},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"n": 9, "stream": false}}}, {}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "h\u00e9\n"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
            ], "name": "x"},
            {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
        ]
    }"#;
    let expected = RequestFacts {
        whole: true,
        model: Some("acme/otter-8b".to_owned()),
        stream: Some(true),
        n: Some(2),
        prompts: None,
        messages: Some(3),
        tools: Some(2),
        prompt_tokens: None,
        prompt_bytes: Some(9 + 4),
        max_tokens: Some(7),
        echo: None,
        include_usage: Some(true),
        continuous_usage: Some(false),
        temperature: Some(0.5),
        top_p: Some(1.0),
        seed: Some(-3),
        details: RequestDetails {
            system: Some(true),
            tool_bytes: Some(94),
            images: Some(1),
            sounds: Some(0),
            ..RequestDetails::default()
        },
    };
    assert_eq!(chat(body), expected);
}

#[test]
fn prompts_come_in_four_forms() {
    for (prompt, prompts, tokens, bytes) in [
        (r#""h\u00e9""#, Some(1), None, Some(3)),
        (r#"["ab","c",""]"#, Some(3), None, Some(3)),
        ("[1,22,333]", Some(1), Some(3), None),
        ("[[1,2],[3]]", Some(2), Some(3), None),
        // llama.cpp takes texts and ids mixed as one prompt, and lists of either.
        (r#"[1,"ab",2]"#, Some(1), None, Some(2)),
        (r#"["ab",[1,2]]"#, Some(2), None, Some(2)),
        (r#"[[1,"ab"],[2]]"#, Some(2), None, None),
        // Nothing to be counted on.
        ("[]", None, None, None),
        ("[1,[2]]", None, None, None),
        ("[null]", None, None, None),
        (r#"[{"a":1}]"#, None, None, None),
        ("null", None, None, None),
        ("7", None, None, None),
        (r#"{"prompt_string":"a"}"#, None, None, None),
    ] {
        let found = completions(&format!(r#"{{"prompt":{prompt}}}"#));
        let expected = RequestFacts {
            prompts,
            prompt_tokens: tokens,
            prompt_bytes: bytes,
            ..whole()
        };
        assert_eq!(found, expected, "{prompt}");
    }
}

#[test]
fn each_endpoint_has_its_input() {
    let body = r#"{"prompt":"abc","messages":[{"content":"d"}]}"#;
    assert_eq!(
        chat(body),
        RequestFacts {
            messages: Some(1),
            prompt_bytes: Some(1),
            details: text_only(),
            ..whole()
        }
    );
    assert_eq!(
        completions(body),
        RequestFacts {
            prompts: Some(1),
            prompt_bytes: Some(3),
            ..whole()
        }
    );
}

#[test]
fn text_counts_where_it_is_content() {
    for (messages, bytes) in [
        (r#"[{"content":"abc"}]"#, 3),
        (r#"[{"content":["ab","c"]}]"#, 3),
        (
            r#"[{"content":[{"text":"ab"},{"type":"text","text":"c"}]}]"#,
            3,
        ),
        (
            r#"[{"content":[{"type":"tool_result","content":[{"text":"abc"}]}]}]"#,
            3,
        ),
        (r#"[{"content":{"a":"b"}}]"#, 0),
        (r#"[{"role":"user","name":"abc"}]"#, 0),
        (r#"["abc"]"#, 0),
        ("[]", 0),
    ] {
        let found = chat(&format!(r#"{{"messages":{messages}}}"#));
        assert_eq!(found.prompt_bytes, Some(bytes), "{messages}");
    }
}

#[test]
fn the_newer_limit_wins() {
    let max = |body: &str| chat(body).max_tokens;
    assert_eq!(
        max(r#"{"max_tokens":1,"max_completion_tokens":2}"#),
        Some(2)
    );
    assert_eq!(
        max(r#"{"max_completion_tokens":2,"max_tokens":1}"#),
        Some(2)
    );
    assert_eq!(
        max(r#"{"max_completion_tokens":null,"max_tokens":1}"#),
        Some(1)
    );
    assert_eq!(max(r#"{"max_tokens":null}"#), None);
}

#[test]
fn fault_57_of_two_members_with_the_same_key_the_last_holds() {
    for (body, expected) in [
        (
            r#"{"n":1,"n":2}"#,
            RequestFacts {
                n: Some(2),
                ..whole()
            },
        ),
        (r#"{"n":1,"n":"2"}"#, whole()),
        (r#"{"model":"a","model":null}"#, whole()),
        (
            r#"{"messages":[{"content":"abc"}],"messages":[]}"#,
            RequestFacts {
                messages: Some(0),
                prompt_bytes: Some(0),
                details: text_only(),
                ..whole()
            },
        ),
        (r#"{"messages":[{"content":"abc"}],"messages":7}"#, whole()),
        (
            r#"{"stream_options":{"include_usage":true},"stream_options":{}}"#,
            whole(),
        ),
        // What is no flag takes the place of one, too.
        (
            r#"{"stream_options":{"include_usage":true,"include_usage":null}}"#,
            whole(),
        ),
        (
            r#"{"stream_options":{"continuous_usage_stats":true,"continuous_usage_stats":[]}}"#,
            whole(),
        ),
        (
            r#"{"stream_options":{"include_usage":true,"include_usage":false}}"#,
            RequestFacts {
                include_usage: Some(false),
                ..whole()
            },
        ),
    ] {
        assert_eq!(chat(body), expected, "{body}");
    }
    let twice = completions(r#"{"prompt":["a","b"],"prompt":[1,2]}"#);
    assert_eq!(
        twice,
        RequestFacts {
            prompts: Some(1),
            prompt_tokens: Some(2),
            ..whole()
        }
    );
}

#[test]
fn other_kinds_are_unknown() {
    let body = r#"{"model":7,"stream":"true","n":1.5,"max_tokens":-1,"echo":0,"temperature":"hot","top_p":[1],"seed":1.0,"tools":{},"messages":"a"}"#;
    assert_eq!(chat(body), whole());
    assert_eq!(
        chat(r#"{"n":4294967296,"seed":9223372036854775808}"#),
        whole()
    );
    assert_eq!(
        chat(&format!(r#"{{"temperature":0.{}}}"#, "1".repeat(64))),
        whole()
    );
}

#[test]
fn facts_stand_at_the_top() {
    let body = r#"{"a":{"model":"x","stream":true,"n":3},"b":[{"seed":1}],"stream_options":[{"include_usage":true}]}"#;
    assert_eq!(chat(body), whole());
}

#[test]
fn what_was_learned_stands() {
    for (body, learned) in [
        (r#"{"n":2,"stream":true"#, true),
        (r#"{"n":2,"stream":tru"#, false),
        (r#"{"n":2,"stream":true,}"#, true),
        (r#"{"n":2,"stream":true}x"#, true),
        (r#"{"n":2,"messages":[{"content":"ab"}"#, false),
        (r#"{"n":2,"a":NaN,"stream":true}"#, false),
        (r#"{"n":2,"a":"\x","stream":true}"#, false),
        (r#"{"n":2]"#, false),
    ] {
        let expected = RequestFacts {
            n: Some(2),
            stream: learned.then_some(true),
            ..RequestFacts::default()
        };
        assert_eq!(chat(body), expected, "{body}");
    }
    // A number has not ended where the body breaks off.
    assert_eq!(chat(r#"{"n":2"#), RequestFacts::default());
}

#[test]
fn what_is_no_object_has_no_facts() {
    for body in [
        "",
        " ",
        "[]",
        "[{\"n\":1}]",
        "\"a\"",
        "7",
        "null",
        "{",
        "n=1",
        "\u{feff}",
        "\u{1f}",
    ] {
        assert_eq!(chat(body), RequestFacts::default(), "{body}");
    }
}

#[test]
fn a_byte_order_mark_may_lead() {
    assert_eq!(
        chat("\u{feff}{\"n\":1}"),
        RequestFacts {
            n: Some(1),
            ..whole()
        }
    );
    for broken in [
        &b"\xef\xbb{}"[..],
        b"\xef \xbb\xbf{\"n\":1}",
        b" \xef\xbb\xbf{\"n\":1}",
        b"\xef\xbb\xbf\xef\xbb\xbf{\"n\":1}",
    ] {
        let facts = scan(Endpoint::Completions, [broken]);
        assert_eq!(facts, RequestFacts::default(), "{}", broken.escape_ascii());
    }
    let spaced = b"\xef\xbb\xbf {\"n\":1}";
    assert_eq!(scan(Endpoint::Completions, [&spaced[..]]).n, Some(1));
}

#[test]
fn fault_57_nesting_has_an_end() {
    let nested = |depth: usize| {
        format!(
            r#"{{"n":1,"a":{}{}}}"#,
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        )
    };
    assert_eq!(
        chat(&nested(JSON_DEPTH)),
        RequestFacts {
            n: Some(1),
            ..whole()
        }
    );
    assert_eq!(
        chat(&nested(JSON_DEPTH + 1)),
        RequestFacts {
            n: Some(1),
            ..RequestFacts::default()
        }
    );
}

#[test]
fn a_long_name_is_cut_at_a_character() {
    let body = format!(r#"{{"model":"x{}"}}"#, "é".repeat(TEXT_BYTES));
    assert_eq!(
        scan(Endpoint::Completions, [body.as_bytes()])
            .model
            .unwrap()
            .len(),
        TEXT_BYTES - 1
    );
    let key = format!(r#"{{"{}n":1,"n":2}}"#, "x".repeat(TEXT_BYTES));
    assert_eq!(scan(Endpoint::Completions, [key.as_bytes()]).n, Some(2));
}

#[test]
fn text_that_is_no_utf_8_is_read_on() {
    let body = b"{\"model\":\"a\xff\",\"n\":1}";
    let expected = RequestFacts {
        model: Some("a\u{fffd}".to_owned()),
        n: Some(1),
        ..whole()
    };
    assert_eq!(scan(Endpoint::Completions, [&body[..]]), expected);
}

// ---- Any body

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..70_000_i64).prop_map(Value::from),
        (0..40_u8).prop_map(|tenths| json!(f64::from(tenths) / 8.0)),
        "[a-zé\"\\\\\n🦦]{0,12}".prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "content",
        "text",
        "n",
        "model",
        "include_usage",
        "continuous_usage_stats",
        "x",
    ]);
    scalar().prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

fn request() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec![
        "model",
        "stream",
        "n",
        "prompt",
        "messages",
        "tools",
        "max_tokens",
        "max_completion_tokens",
        "echo",
        "stream_options",
        "temperature",
        "top_p",
        "seed",
        "stop",
    ]);
    prop::collection::vec((key, tree()), 0..10).prop_map(|members| {
        members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_scan_says_what_a_tree_says(body in request(), size in 1_usize..40, pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_vec_pretty(&body) } else { serde_json::to_vec(&body) }.unwrap();
        check(&text, size);
        for endpoint in [Endpoint::Completions, Endpoint::ChatCompletions] {
            let mut details = scan(endpoint, [text.as_slice()]).details;
            let tools = body["tools"].is_array().then(|| body["tools"].to_string().len() as u64);
            prop_assert!(pretty || details.tool_bytes == tools, "{}", body);
            (details.tool_bytes, details.stops) = (None, None);
            let is_chat = endpoint == Endpoint::ChatCompletions && body["messages"].is_array();
            let expected = if is_chat { text_only() } else { RequestDetails::default() };
            prop_assert_eq!(details, expected, "{}", body);
        }
    }

    #[test]
    fn damaged_bodies(body in request(), edits in prop::collection::vec((any::<Index>(), any::<u8>()), 0..3), size in 1_usize..40) {
        let mut text = serde_json::to_vec(&body).unwrap();
        for (place, byte) in edits {
            let place = place.index(text.len());
            text[place] = byte;
        }
        check(&text, size);
    }

    /// A raw control character in a string is let pass; but for that, the scan takes what serde_json takes.
    #[test]
    fn whole_means_json(bytes in prop::collection::vec(prop::sample::select(b"{}[]:,\"\\ue019-.+ antrfls\n".to_vec()), 0..20)) {
        let text = [b"{\"a\":".as_slice(), &bytes, b"}"].concat();
        let in_string = serde_json::from_slice::<serde::de::IgnoredAny>(&text.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect::<Vec<_>>()).is_ok();
        prop_assert_eq!(scan(Endpoint::Completions, [text.as_slice()]).whole, in_string);
    }

    #[test]
    fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..40) {
        check(&bytes, size);
    }
}

#[test]
fn details_of_a_request() {
    let body = r#"{"messages":[{"role":"developer","content":"a"},{"role":"user","content":[{"type":"image_url"},
        {"type":"input_image"},{"type":"input_audio"},{"type":"text","text":"image"}]},{"role":"system"}],
        "stop":["a","b"],"top_k":-1,"min_p":0.1,"presence_penalty":1.5,"frequency_penalty":-2,"priority":3,
        "response_format":{"type":"json_schema","json_schema":{"type":"x"}},"tools":[ ]}"#;
    let expected = RequestDetails {
        system: Some(true),
        tool_bytes: Some(3),
        answer_form: Some(AnswerForm::JsonSchema),
        images: Some(2),
        sounds: Some(1),
        stops: Some(2),
        top_k: Some(-1),
        min_p: Some(0.1),
        presence_penalty: Some(1.5),
        frequency_penalty: Some(-2.0),
        priority: Some(3),
    };
    assert_eq!(chat(body).details, expected);
    let nothing = r#"{"stop":null,"top_k":null,"response_format":null,"min_p":"0"}"#;
    assert_eq!(chat(nothing).details, RequestDetails::default());
}

#[test]
fn what_leads_a_chat() {
    let leads = |endpoint, body| facts(endpoint, body).details.system;
    use Endpoint as E;
    for (endpoint, body, expected) in [
        (
            E::ChatCompletions,
            r#"{"messages":[{"role":"user"},{"role":"system"}]}"#,
            Some(false),
        ),
        (
            E::ChatCompletions,
            r#"{"messages":[{"content":"","role":"system"}]}"#,
            Some(true),
        ),
        (
            E::ChatCompletions,
            r#"{"messages":[{"role":"system"}],"messages":[]}"#,
            Some(false),
        ),
        (E::ChatCompletions, r#"{"prompt":"a"}"#, None),
        (
            E::Messages,
            r#"{"system":"a","messages":[{"role":"user"}]}"#,
            Some(true),
        ),
        (
            E::Messages,
            r#"{"messages":[{"role":"user"}],"system":""}"#,
            Some(false),
        ),
        (
            E::Responses,
            r#"{"instructions":"a","input":"b"}"#,
            Some(true),
        ),
        (
            E::OllamaChat,
            r#"{"messages":[{"role":"user","images":["a","b"]}]}"#,
            Some(false),
        ),
    ] {
        assert_eq!(leads(endpoint, body), expected, "{body}");
    }
    let images = facts(
        E::OllamaChat,
        r#"{"messages":[{"role":"user","images":["a","b"]}]}"#,
    );
    assert_eq!(images.details.images, Some(2));
}

#[test]
fn stop_strings_are_counted() {
    let stops = |endpoint, body| facts(endpoint, body).details.stops;
    use Endpoint as E;
    assert_eq!(stops(E::Completions, r#"{"stop":"a"}"#), Some(1));
    assert_eq!(stops(E::Completions, r#"{"stop":[]}"#), Some(0));
    assert_eq!(stops(E::Messages, r#"{"stop_sequences":["a"]}"#), Some(1));
    assert_eq!(
        stops(E::Root, r#"{"parameters":{"stop":["a","b"]}}"#),
        Some(2)
    );
    assert_eq!(
        stops(
            E::OllamaChat,
            r#"{"options":{"num_ctx":[1,"x"],"stop":["a"]}}"#
        ),
        Some(1)
    );
}

/// Bodies, and what form they want.
fn forms() -> Vec<(Endpoint, &'static str, Option<AnswerForm>)> {
    use AnswerForm as F;
    use Endpoint as E;
    vec![
        (
            E::ChatCompletions,
            r#"{"response_format":{"type":"text"}}"#,
            None,
        ),
        (
            E::ChatCompletions,
            r#"{"response_format":{"type":"json_object"}}"#,
            Some(F::JsonObject),
        ),
        (
            E::ChatCompletions,
            r#"{"response_format":{"x":{"type":"json_object"}}}"#,
            None,
        ),
        (
            E::ChatCompletions,
            r#"{"structured_outputs":{"choice":["a"]}}"#,
            Some(F::Choice),
        ),
        (
            E::Completions,
            r#"{"guided_json":{"type":"object"},"guided_regex":null}"#,
            Some(F::JsonSchema),
        ),
        (
            E::Completion,
            r#"{"grammar":"root ::= x"}"#,
            Some(F::Grammar),
        ),
        (
            E::Completion,
            r#"{"grammar":"","json_schema":{}}"#,
            Some(F::JsonSchema),
        ),
        (
            E::Generate,
            r#"{"sampling_params":{"regex":"a"}}"#,
            Some(F::Regex),
        ),
        (
            E::GenerateStream,
            r#"{"parameters":{"grammar":{"type":"json","value":{"type":"x"}}}}"#,
            Some(F::JsonSchema),
        ),
        (
            E::GenerateStream,
            r#"{"parameters":{"grammar":{"type":"regex","value":"a"}}}"#,
            Some(F::Regex),
        ),
        (
            E::Responses,
            r#"{"text":{"format":{"type":"json_schema"}}}"#,
            Some(F::JsonSchema),
        ),
        (E::Responses, r#"{"text":{"type":"json_schema"}}"#, None),
        (E::OllamaChat, r#"{"format":"json"}"#, Some(F::JsonObject)),
        (
            E::OllamaChat,
            r#"{"format":{"type":"object"}}"#,
            Some(F::JsonSchema),
        ),
    ]
}

#[test]
fn forms_of_an_answer() {
    for (endpoint, body, expected) in forms() {
        assert_eq!(
            facts(endpoint, body).details.answer_form,
            expected,
            "{body}"
        );
    }
}

/// What the fuzzer kept: an input for each way through the scan that it found, and each that once went wrong.
#[test]
fn what_the_fuzzer_kept_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/request_scan");
    let mut kept = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check_input(&std::fs::read(entry.unwrap().path()).unwrap());
        kept += 1;
    }
    assert!(kept > 100, "{kept} inputs are there");
}
