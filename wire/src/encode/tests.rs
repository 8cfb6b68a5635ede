//! The encoders against byte strings of vLLM 0.33.

use super::*;

const CHAT: Identity<'_> = Identity {
    endpoint: Endpoint::ChatCompletions,
    id: "chatcmpl-0a2c",
    created: 1_796_040_000,
    model: "acme/otter-8b-fp8",
    fingerprint: "vllm-0.33.0-tp2-1a2b3c4d",
};

const TEXT: Identity<'_> = Identity {
    endpoint: Endpoint::Completions,
    id: "cmpl-c0ffee",
    ..CHAT
};

#[track_caller]
fn check(write: impl FnOnce(&mut Vec<u8>), expected: &str) {
    let mut out = Vec::new();
    write(&mut out);
    assert_eq!(
        String::from_utf8(out).expect("the encoders write UTF-8"),
        expected
    );
}

fn counts(prompt: u64, completion: u64) -> Usage {
    Usage {
        prompt,
        completion,
        ..Usage::default()
    }
}

#[test]
fn a_chat_opens_with_a_role_chunk() {
    check(
        |out| CHAT.role(out, 0, None),
        concat!(
            r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
            r#""model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"role":"assistant","content":""},"#,
            r#""logprobs":null,"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}"#,
            "\n\n"
        ),
    );
    check(
        |out| CHAT.role(out, 0, Some(counts(14, 0))),
        concat!(
            r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
            r#""model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"role":"assistant","content":""},"#,
            r#""logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":14,"total_tokens":14,"#,
            r#""completion_tokens":0,"completion_tokens_details":null},"prompt_token_ids":null,"prompt_text":null}"#,
            "\n\n"
        ),
    );
    check(|out| TEXT.role(out, 0, None), "");
}

#[test]
fn chat_chunks() {
    let delta = Delta {
        text: Some("Good"),
        ..Delta::default()
    };
    check(
        |out| CHAT.delta(out, &delta),
        concat!(
            r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
            r#""model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"content":"Good"},"logprobs":null,"#,
            r#""finish_reason":null,"token_ids":null}],"kv_transfer_params":null}"#,
            "\n\n"
        ),
    );
    let finish = Delta {
        text: Some(""),
        finish: Some("stop"),
        running: Some(counts(14, 3)),
        ..Delta::default()
    };
    check(
        |out| CHAT.delta(out, &finish),
        concat!(
            r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
            r#""model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"content":""},"logprobs":null,"#,
            r#""finish_reason":"stop","stop_reason":null,"token_ids":null,"weight_versions":null}],"#,
            r#""usage":{"prompt_tokens":14,"total_tokens":17,"completion_tokens":3,"completion_tokens_details":null},"#,
            r#""kv_transfer_params":null}"#,
            "\n\n"
        ),
    );
    let thinking = Delta {
        choice: 1,
        reasoning: Some("User"),
        token_ids: Some(&[7, 8]),
        ..Delta::default()
    };
    check(
        |out| CHAT.delta(out, &thinking),
        concat!(
            r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
            r#""model":"acme/otter-8b-fp8","choices":[{"index":1,"delta":{"reasoning":"User"},"logprobs":null,"#,
            r#""finish_reason":null,"token_ids":[7,8]}],"kv_transfer_params":null}"#,
            "\n\n"
        ),
    );
}

#[test]
fn completions_chunks() {
    let delta = Delta {
        text: Some("Seven"),
        running: Some(counts(9, 1)),
        ..Delta::default()
    };
    check(
        |out| TEXT.delta(out, &delta),
        concat!(
            r#"data: {"id":"cmpl-c0ffee","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
            r#""choices":[{"index":0,"text":"Seven","logprobs":null,"finish_reason":null,"stop_reason":null,"#,
            r#""prompt_token_ids":null,"token_ids":null,"weight_versions":null}],"#,
            r#""usage":{"prompt_tokens":9,"total_tokens":10,"completion_tokens":1},"kv_transfer_params":null}"#,
            "\n\n"
        ),
    );
    let finish = Delta {
        finish: Some("stop"),
        last: true,
        ..Delta::default()
    };
    check(
        |out| TEXT.delta(out, &finish),
        concat!(
            r#"data: {"id":"cmpl-c0ffee","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
            r#""choices":[{"index":0,"text":"","logprobs":null,"finish_reason":"stop","stop_reason":null,"#,
            r#""prompt_token_ids":null,"token_ids":null,"weight_versions":null}],"#,
            r#""system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d","kv_transfer_params":null}"#,
            "\n\n"
        ),
    );
}

#[test]
fn the_usage_chunk_drops_its_nulls() {
    check(
        |out| TEXT.usage(out, counts(9, 4)),
        concat!(
            r#"data: {"id":"cmpl-c0ffee","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
            r#""choices":[],"usage":{"prompt_tokens":9,"total_tokens":13,"completion_tokens":4},"#,
            r#""system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d"}"#,
            "\n\n"
        ),
    );
    let detailed = Usage {
        prompt: 37,
        completion: 4,
        cached: Some(32),
        reasoning: Some(2),
    };
    check(
        |out| CHAT.usage(out, detailed),
        concat!(
            r#"data: {"id":"chatcmpl-0a2c","object":"chat.completion.chunk","created":1796040000,"#,
            r#""model":"acme/otter-8b-fp8","choices":[],"usage":{"prompt_tokens":37,"total_tokens":41,"#,
            r#""completion_tokens":4,"prompt_tokens_details":{"cached_tokens":32,"created_cache_tokens":0},"#,
            r#""completion_tokens_details":{"reasoning_tokens":2}},"#,
            r#""system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d"}"#,
            "\n\n"
        ),
    );
}

#[test]
fn whole_bodies_keep_their_nulls() {
    let north = Choice {
        text: " north",
        reasoning: None,
        finish: "length",
    };
    check(
        |out| TEXT.whole(out, &[north], counts(6, 16)),
        concat!(
            r#"{"id":"cmpl-c0ffee","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
            r#""choices":[{"index":0,"text":" north","logprobs":null,"finish_reason":"length","stop_reason":null,"#,
            r#""token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null,"#,
            r#""weight_versions":null}],"service_tier":null,"system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d","#,
            r#""usage":{"prompt_tokens":6,"total_tokens":22,"completion_tokens":16,"prompt_tokens_details":null,"#,
            r#""completion_tokens_details":null},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#
        ),
    );
    let hello = Choice {
        text: "Hello.",
        reasoning: None,
        finish: "stop",
    };
    let cached = Usage {
        cached: Some(32),
        ..counts(40, 3)
    };
    check(
        |out| CHAT.whole(out, &[hello], cached),
        concat!(
            r#"{"id":"chatcmpl-0a2c","object":"chat.completion","created":1796040000,"model":"acme/otter-8b-fp8","#,
            r#""choices":[{"index":0,"message":{"role":"assistant","content":"Hello.","refusal":null,"#,
            r#""annotations":null,"audio":null,"function_call":null,"tool_calls":[],"reasoning":null},"#,
            r#""logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null,"routed_experts":null,"#,
            r#""weight_versions":null}],"service_tier":null,"system_fingerprint":"vllm-0.33.0-tp2-1a2b3c4d","#,
            r#""usage":{"prompt_tokens":40,"total_tokens":43,"completion_tokens":3,"prompt_tokens_details":"#,
            r#"{"cached_tokens":32,"created_cache_tokens":0,"multimodal_tokens":null},"#,
            r#""completion_tokens_details":null},"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"#,
            r#""kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}"#
        ),
    );
}

#[test]
fn errors_come_in_two_spellings() {
    let error = ErrorObject {
        message: "EngineCore said \"no\" – 🦦",
        r#type: "InternalServerError",
        param: None,
        code: 500,
    };
    check(
        |out| TEXT.error(out, &error),
        concat!(
            r#"data: {"error": {"message": "EngineCore said \"no\" \u2013 \ud83e\udda6", "type": "InternalServerError", "#,
            r#""param": null, "code": 500}}"#,
            "\n\n"
        ),
    );
    check(
        |out| CHAT.error(out, &error),
        concat!(
            r#"data: {"error":{"message":"EngineCore said \"no\" – 🦦","type":"InternalServerError","param":null,"code":500}}"#,
            "\n\n"
        ),
    );
}

#[test]
fn marks_and_comments() {
    check(done, "data: [DONE]\n\n");
    check(keep_alive, ": keep-alive\n\n");
}

#[test]
fn text_is_escaped() {
    let delta = Delta {
        text: Some("\"\\\n\u{1}é"),
        ..Delta::default()
    };
    let mut out = Vec::new();
    TEXT.delta(&mut out, &delta);
    let text = String::from_utf8(out).expect("the encoders write UTF-8");
    assert!(text.contains(r#""text":"\"\\\n\u0001é""#), "{text}");
    assert_eq!(
        text.matches('\n').count(),
        2,
        "no bare line end inside an event"
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
