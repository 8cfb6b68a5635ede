//! The encoders against byte strings, and the tables against their own rules.

use super::*;
use crate::encode::shape::{Recall, Shape};

const ID: &str = "0a2c";

fn manner(engine: EngineKind, endpoint: Endpoint) -> Manner {
    Manner {
        id: ID.to_owned(),
        created: 1_796_040_000,
        model: "acme/otter-8b-fp8".to_owned(),
        fingerprint: "0.33.0-tp2-1a2b3c4d".to_owned(),
        limit: 256,
        ..Manner::new(engine, endpoint)
    }
}

fn vllm(endpoint: Endpoint, change: impl FnOnce(&mut Manner)) -> Writer {
    let mut manner = manner(EngineKind::Vllm, endpoint);
    change(&mut manner);
    Writer::new(manner).expect("vLLM has this route")
}

fn answer(text: &str) -> Token<'_> {
    Token {
        id: 7,
        text,
        kind: TokenKind::Answer,
    }
}

const END_OF_TEXT: Token<'_> = Token {
    id: 2,
    text: "",
    kind: TokenKind::Silent,
};

fn step<'a>(tokens: &'a [Token<'a>], finish: Option<Finish>) -> Step<'a> {
    Step {
        choice: 0,
        tokens,
        finish,
        prompt: 14,
        cached: 0,
        times: Times::default(),
    }
}

/// The events that `write` writes, without their blank lines.
fn events(write: impl FnOnce(&mut Sheet)) -> Vec<String> {
    let mut sheet = Sheet::default();
    write(&mut sheet);
    let event = |written: Written<'_>| {
        let text = std::str::from_utf8(written.bytes).expect("the encoders write UTF-8");
        text.trim_end_matches('\n').to_owned()
    };
    sheet.events().map(event).collect()
}

/// What every template says when everything is asked for.
fn every_template(engine: EngineKind, endpoint: Endpoint, mut check: impl FnMut(&str)) {
    for wishes in [
        Wishes::default(),
        Wishes {
            usage: true,
            running: true,
            token_ids: true,
            text: true,
            details: true,
            input_count: true,
            output_count: true,
        },
    ] {
        for (text, said) in [
            (Accumulation::Delta, false),
            (Accumulation::Cumulative, true),
        ] {
            let manner = Manner {
                n: 1 + u32::from(said),
                wishes,
                settings: Settings {
                    text,
                    cache_report: said,
                    request_metrics: !said,
                    reasons: said,
                },
                ..manner(engine, endpoint)
            };
            for event in one_answer(manner, &mut check) {
                check(&event);
            }
        }
    }
}

fn one_answer(manner: Manner, check: &mut impl FnMut(&str)) -> Vec<String> {
    let choices = manner.n;
    let manner = Manner {
        streamed: false,
        ..manner
    };
    let mut writer = Writer::new(manner).expect("the engine has this route");
    let thought = Token {
        kind: TokenKind::Reasoning,
        ..answer("\"hm\"")
    };
    let mut broken = writer.clone();
    let mut list = events(|sheet| {
        broken.step(&step(&[answer("a")], None), sheet);
        broken.error("it \"broke\" – 🦦", sheet);
    });
    list.extend(events(|sheet| {
        for (tokens, finish) in [
            (&[thought][..], None),
            (&[thought, answer(" wörd")], None),
            (&[answer("\n")], None),
            (&[END_OF_TEXT], Some(Finish::Stop)),
        ] {
            for choice in 0..choices {
                writer.step(
                    &Step {
                        choice,
                        ..step(tokens, finish)
                    },
                    sheet,
                );
            }
        }
        writer.end(sheet);
    }));
    let mut body = Vec::new();
    writer.whole(&mut body);
    check(std::str::from_utf8(&body).expect("the encoders write UTF-8"));
    list
}

fn all_routes() -> impl Iterator<Item = (EngineKind, Endpoint)> {
    EngineKind::ALL
        .into_iter()
        .flat_map(|engine| Endpoint::ALL.map(|endpoint| (engine, endpoint)))
        .filter(|(engine, endpoint)| speaks(*engine, *endpoint))
}

#[test]
fn everything_that_is_written_is_json_or_an_end_mark() {
    let mut routes = 0;
    for (engine, endpoint) in all_routes() {
        routes += 1;
        every_template(engine, endpoint, |event| {
            let data = event.rsplit_once("data: ").map_or(event, |(_, data)| data);
            if data != "[DONE]" {
                let parsed: Result<serde_json::Value, _> = serde_json::from_str(data);
                assert!(parsed.is_ok(), "{engine:?} {endpoint:?}: {event}");
            }
        });
    }
    assert_eq!(routes, 30);
}

/// Every `$name{` that is opened is closed, and no template holds a line end but between the lines of its event.
#[test]
fn templates_are_in_order() {
    for (engine, endpoint) in all_routes() {
        let shape: &Shape = engines::shape(engine, endpoint).expect("a route");
        let parts = shape.parts.iter().map(|(_, part)| *part);
        for template in shape.templates().into_iter().chain(parts) {
            let opened = template.matches("$?").count() + template.matches("$!").count();
            assert_eq!(
                opened,
                template.matches("$}").count(),
                "{engine:?} {endpoint:?}: {template}"
            );
            assert!(!template.contains("\n\n"), "{template}");
        }
        let events = shape.templates().concat();
        let parts = shape
            .parts
            .iter()
            .map(|(name, part)| (format!("${name}"), *part));
        let shown: String = parts
            .filter(|(name, _)| events.contains(name.as_str()))
            .map(|(_, part)| part)
            .chain([events.as_str()])
            .collect();
        assert_eq!(
            shape.recall == Recall::All,
            shown.contains("$all_") || shown.contains("$step_"),
            "{engine:?} {endpoint:?}"
        );
    }
}

#[test]
fn a_chat_of_vllm() {
    let mut writer = vllm(Endpoint::ChatCompletions, |_| {});
    let written = events(|sheet| {
        writer.step(&step(&[answer("Good")], None), sheet);
        writer.step(&step(&[END_OF_TEXT], Some(Finish::Stop)), sheet);
        writer.end(sheet);
    });
    assert_eq!(
        written,
        [
            concat!(
                r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
                r#""model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"role":"assistant","content":""},"#,
                r#""logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
            ),
            concat!(
                r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
                r#""model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"content":"Good"},"logprobs":null,"#,
                r#""finish_reason":null,"token_ids":null}],"kv_transfer_params":null}"#,
            ),
            concat!(
                r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
                r#""model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"#,
                r#""finish_reason":"stop","stop_reason":null,"token_ids":null,"weight_versions":null}],"#,
                r#""system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d","kv_transfer_params":null}"#,
            ),
            "data: [DONE]",
        ]
    );
}

#[test]
fn a_chat_of_vllm_that_reasons_and_counts() {
    let mut writer = vllm(Endpoint::ChatCompletions, |manner| {
        manner.n = 2;
        manner.wishes.usage = true;
        manner.wishes.running = true;
        manner.wishes.token_ids = true;
        manner.settings.reasons = true;
        manner.settings.cache_report = true;
    });
    let thought = Token {
        kind: TokenKind::Reasoning,
        ..answer("User")
    };
    let tokens = [thought, thought, answer("So"), END_OF_TEXT];
    let written = events(|sheet| {
        for choice in 0..2 {
            let step = Step {
                choice,
                cached: 8,
                ..step(&tokens, Some(Finish::Stop))
            };
            writer.step(&step, sheet);
        }
        writer.end(sheet);
    });
    assert_eq!(
        written[2..5],
        [
            concat!(
                r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
                r#""model":"acme/otter-8b-fp8","choices":[{"index":1,"delta":{"role":"assistant","content":""},"#,
                r#""logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":14,"total_tokens":14,"#,
                r#""completion_tokens":0,"completion_tokens_details":{"reasoning_tokens":0}},"prompt_token_ids":null,"#,
                r#""prompt_text":null}"#,
            ),
            concat!(
                r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
                r#""model":"acme/otter-8b-fp8","choices":[{"index":1,"delta":{"content":"So","reasoning":"UserUser"},"#,
                r#""logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":[7,7,7,2],"#,
                r#""weight_versions":null}],"usage":{"prompt_tokens":14,"total_tokens":18,"completion_tokens":4,"#,
                r#""completion_tokens_details":{"reasoning_tokens":2}},"kv_transfer_params":null}"#,
            ),
            concat!(
                r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
                r#""model":"acme/otter-8b-fp8","choices":[],"usage":{"prompt_tokens":14,"total_tokens":22,"#,
                r#""completion_tokens":8,"prompt_tokens_details":{"cached_tokens":8,"created_cache_tokens":0},"#,
                r#""completion_tokens_details":{"reasoning_tokens":4}},"#,
                r#""system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d"}"#,
            ),
        ]
    );
}

#[test]
fn a_completion_of_vllm() {
    let mut writer = vllm(Endpoint::Completions, |manner| {
        manner.wishes.usage = true;
        manner.wishes.running = true;
    });
    let written = events(|sheet| {
        writer.step(&step(&[answer("Seven")], Some(Finish::Length)), sheet);
        writer.end(sheet);
    });
    assert_eq!(
        written,
        [
            concat!(
                r#"data: {"id":"cmpl-0a2c","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
                r#""choices":[{"index":0,"text":"Seven","logprobs":null,"finish_reason":"length","stop_reason":null,"#,
                r#""prompt_token_ids":null,"token_ids":null,"weight_versions":null}],"#,
                r#""usage":{"prompt_tokens":14,"total_tokens":15,"completion_tokens":1},"kv_transfer_params":null}"#,
            ),
            concat!(
                r#"data: {"id":"cmpl-0a2c","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
                r#""choices":[],"usage":{"prompt_tokens":14,"total_tokens":15,"completion_tokens":1},"#,
                r#""system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d"}"#,
            ),
            "data: [DONE]",
        ]
    );
}

#[test]
fn whole_bodies_keep_their_nulls() {
    let whole = |endpoint, cache_report| {
        let mut writer = vllm(endpoint, |manner| {
            manner.streamed = false;
            manner.settings.cache_report = cache_report;
        });
        let tokens = [answer(" north")];
        let step = Step {
            cached: 8,
            ..step(&tokens, Some(Finish::Length))
        };
        writer.step(&step, &mut Sheet::default());
        let mut body = Vec::new();
        writer.whole(&mut body);
        String::from_utf8(body).expect("the encoders write UTF-8")
    };
    assert_eq!(
        whole(Endpoint::Completions, false),
        concat!(
            r#"{"id":"cmpl-0a2c","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
            r#""choices":[{"index":0,"text":" north","logprobs":null,"finish_reason":"length","stop_reason":null,"#,
            r#""token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null,"#,
            r#""weight_versions":null}],"service_tier":null,"system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d","#,
            r#""usage":{"prompt_tokens":14,"total_tokens":15,"completion_tokens":1,"prompt_tokens_details":null,"#,
            r#""completion_tokens_details":null},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#
        )
    );
    assert_eq!(
        whole(Endpoint::ChatCompletions, true),
        concat!(
            r#"{"id":"chatcmpl-0a2c","object":"chat.completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
            r#""choices":[{"index":0,"message":{"role":"assistant","content":" north","refusal":null,"#,
            r#""annotations":null,"audio":null,"function_call":null,"tool_calls":[],"reasoning":null},"#,
            r#""logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null,"routed_experts":null,"#,
            r#""weight_versions":null}],"service_tier":null,"system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d","#,
            r#""usage":{"prompt_tokens":14,"total_tokens":15,"completion_tokens":1,"prompt_tokens_details":"#,
            r#"{"cached_tokens":8,"created_cache_tokens":0,"multimodal_tokens":null},"#,
            r#""completion_tokens_details":null},"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"#,
            r#""kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#
        )
    );
}

#[test]
fn errors_are_spelled_as_each_route_does() {
    const MESSAGE: &str = "EngineCore said \"no\" – 🦦";
    let error = |endpoint| {
        let mut writer = vllm(endpoint, |_| {});
        events(|sheet| writer.error(MESSAGE, sheet))
    };
    assert_eq!(
        error(Endpoint::Completions),
        [
            concat!(
                r#"data: {"error": {"message": "EngineCore said \"no\" \u2013 \ud83e\udda6", "#,
                r#""type": "InternalServerError", "param": null, "code": 500}}"#,
            ),
            "data: [DONE]",
        ]
    );
    assert_eq!(
        error(Endpoint::ChatCompletions)[0],
        concat!(
            r#"data: {"error":{"message":"EngineCore said \"no\" – 🦦","type":"InternalServerError","#,
            r#""param":null,"code":500}}"#,
        ),
    );
    assert_eq!(error(Endpoint::Responses), Vec::<String>::new());
    let refusal = Refusal {
        status: 400,
        message: "no \"x\"",
        param: Some("n"),
    };
    assert_eq!(
        String::from_utf8_lossy(&refusal.body(EngineKind::Vllm, Endpoint::Completions)),
        r#"{"error":{"message":"no \"x\"","type":"BadRequestError","param":"n","code":400}}"#
    );
    assert_eq!(
        String::from_utf8_lossy(&refusal.body(EngineKind::Trtllm, Endpoint::Completions)),
        r#"{"object":"error","message":"no \"x\"","type":"BadRequestError","param":"n","code":400}"#
    );
}

#[test]
fn text_is_escaped() {
    let mut writer = vllm(Endpoint::Completions, |_| {});
    let written = events(|sheet| writer.step(&step(&[answer("\"\\\n\u{1}é$id")], None), sheet));
    assert!(
        written[0].contains(r#""text":"\"\\\n\u0001é$id""#),
        "{}",
        written[0]
    );
}

#[test]
fn request_bodies() {
    let shape = RequestShape {
        model: Some("otter"),
        prompt: Prompt::TokenIds(&[5, 6]),
        max_tokens: Some(9),
        streaming: Streaming::RunningUsage,
        n: 2,
        ignore_eos: true,
        seed: Some(3),
    };
    let completions = String::from_utf8(shape.body(Endpoint::Completions)).expect("JSON is UTF-8");
    assert_eq!(
        completions,
        concat!(
            r#"{"model":"otter","prompt":[5,6],"max_tokens":9,"n":2,"ignore_eos":true,"seed":3,"#,
            r#""stream":true,"#,
            r#""stream_options":{"include_usage":true,"continuous_usage_stats":true}}"#
        )
    );
    let plain = RequestShape {
        model: None,
        prompt: Prompt::Text("say \"hi\""),
        streaming: Streaming::Whole,
        n: 1,
        ignore_eos: false,
        seed: None,
        ..shape
    };
    let chat = String::from_utf8(plain.body(Endpoint::ChatCompletions)).expect("JSON is UTF-8");
    assert_eq!(
        chat,
        r#"{"messages":[{"role":"user","content":"say \"hi\""}],"max_completion_tokens":9}"#
    );
    let ids = String::from_utf8(shape.body(Endpoint::ChatCompletions)).expect("JSON is UTF-8");
    assert!(ids.contains(r#""content":"5 6""#), "{ids}");
}
