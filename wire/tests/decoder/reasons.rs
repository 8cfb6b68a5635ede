//! Each event says by which rule it was judged.

use crate::*;

/// The reasons of these events, each the data of one.
fn reasons(endpoint: Endpoint, data: &[&str]) -> Vec<Reason> {
    let context = AnswerContext { endpoint, ..STREAM };
    let (events, _) = stream(context, data);
    events.iter().map(|event| event.reason).collect()
}

#[test]
fn of_chat() {
    let events = [
        (
            chat(0, r#"{"role":"assistant","content":""}"#, ""),
            Reason::Role,
        ),
        (
            chat(0, r#"{"reasoning_content":"a"}"#, ""),
            Reason::Reasoning,
        ),
        (chat(0, r#"{"content":"a"}"#, ""), Reason::Text),
        (
            chat(0, r#"{"tool_calls":[{"function":{"name":"f"}}]}"#, ""),
            Reason::ToolCall,
        ),
        (chat(0, r#"{"content":""}"#, ""), Reason::Empty),
        (chat(1, r#"{"content":"a"}"#, &usage(2)), Reason::Counter),
        (chat(1, r#"{"content":"b"}"#, &usage(2)), Reason::NoGrowth),
        (
            r#"{"choices":[{"index":2,"delta":{"content":"a"},"logprobs":{"content":[{}]}}]}"#
                .to_owned(),
            Reason::Logprobs,
        ),
        (
            r#"{"choices":[{"index":3,"delta":{},"token_ids":[7]}]}"#.to_owned(),
            Reason::TokenIds,
        ),
        (
            chat(
                0,
                r#"{"role":"assistant"}"#,
                r#","prompt_progress":{"total":9}"#,
            ),
            Reason::Progress,
        ),
        (finished(0, "stop"), Reason::Finish),
        (format!(r#"{{"choices":[]{}}}"#, usage(9)), Reason::Usage),
        (r#"{"error":{"message":"m"}}"#.to_owned(), Reason::Error),
        ("null".to_owned(), Reason::Unrelated),
        (String::new(), Reason::Heartbeat),
        ("plain".to_owned(), Reason::Unreadable),
        ("[DONE]".to_owned(), Reason::EndMark),
    ];
    let data: Vec<&str> = events.iter().map(|(data, _)| data.as_str()).collect();
    let expected: Vec<Reason> = events.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons(Endpoint::ChatCompletions, &data), expected);
}

#[test]
fn of_messages() {
    let events = [
        (r#"{"type":"message_start","message":{}}"#, Reason::Opening),
        (r#"{"type":"ping"}"#, Reason::Heartbeat),
        (
            r#"{"type":"content_block_start","content_block":{"type":"text"}}"#,
            Reason::Opening,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"thinking":"a"}}"#,
            Reason::Reasoning,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"signature":"a"}}"#,
            Reason::Empty,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"text":"a"}}"#,
            Reason::Text,
        ),
        (
            r#"{"type":"content_block_delta","delta":{"partial_json":"a"}}"#,
            Reason::ToolCall,
        ),
        (r#"{"type":"content_block_stop"}"#, Reason::Closing),
        (
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            Reason::Finish,
        ),
        (r#"{"type":"error","error":{"message":"m"}}"#, Reason::Error),
        (r#"{"type":"message_stop"}"#, Reason::EndMark),
        (r#"{"type":"new"}"#, Reason::Unrelated),
    ];
    let (data, expected): (Vec<&str>, Vec<Reason>) = events.into_iter().unzip();
    assert_eq!(reasons(Endpoint::Messages, &data), expected);
}

#[test]
fn of_responses() {
    let events = [
        (
            r#"{"type":"response.created","response":{}}"#,
            Reason::Opening,
        ),
        (r#"{"type":"response.content_part.added"}"#, Reason::Opening),
        (
            r#"{"type":"response.reasoning_text.delta","delta":"a"}"#,
            Reason::Reasoning,
        ),
        (
            r#"{"type":"response.output_text.delta","delta":"a"}"#,
            Reason::Text,
        ),
        (
            r#"{"type":"response.output_text.delta","delta":""}"#,
            Reason::Empty,
        ),
        (
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}"#,
            Reason::ToolCall,
        ),
        (
            r#"{"type":"response.function_call_arguments.delta","delta":"a"}"#,
            Reason::ToolCall,
        ),
        (
            r#"{"type":"response.output_text.done","text":"a"}"#,
            Reason::Closing,
        ),
        (
            r#"{"type":"response.completed","response":{"status":"completed"}}"#,
            Reason::EndMark,
        ),
        (r#"{"type":"error","message":"m"}"#, Reason::Error),
    ];
    let (data, expected): (Vec<&str>, Vec<Reason>) = events.into_iter().unzip();
    assert_eq!(reasons(Endpoint::Responses, &data), expected);
}

#[test]
fn of_the_engines_own_dialects() {
    let generate = r#"{"text":"a","meta_info":{"completion_tokens":1,"finish_reason":null}}"#;
    let progress =
        r#"{"content":"","tokens":[0],"tokens_predicted":0,"prompt_progress":{"total":3}}"#;
    let last = r#"{"token":{"id":1,"text":"","special":true},"generated_text":"a"}"#;
    let cases: [(Endpoint, &[(&str, Reason)]); 4] = [
        (
            Endpoint::Generate,
            &[
                (generate, Reason::Counter),
                (generate, Reason::Empty),
                (r#"{"error":{"message":"m"}}"#, Reason::Error),
                ("[DONE]", Reason::EndMark),
            ],
        ),
        (
            Endpoint::Completion,
            &[
                (progress, Reason::Progress),
                (r#"{"content":"a","tokens_predicted":1}"#, Reason::Counter),
                (r#"{"content":"","stop":true}"#, Reason::Finish),
                (r#"{"error":{"message":"m"}}"#, Reason::Error),
                ("null", Reason::Unrelated),
            ],
        ),
        (
            Endpoint::GenerateStream,
            &[
                (last, Reason::OneEach),
                (r#"{"error":"m","error_type":"e"}"#, Reason::Error),
            ],
        ),
        (
            Endpoint::TritonGenerateStream,
            &[
                (r#"{"text_output":"a"}"#, Reason::Text),
                (
                    r#"{"text_output":"","finish_reason":"None"}"#,
                    Reason::Empty,
                ),
                (
                    r#"{"text_output":"","finish_reason":"stop"}"#,
                    Reason::Finish,
                ),
                (r#"{"error":"m"}"#, Reason::Error),
            ],
        ),
    ];
    for (endpoint, events) in cases {
        let (data, expected): (Vec<&str>, Vec<Reason>) = events.iter().copied().unzip();
        assert_eq!(reasons(endpoint, &data), expected, "{endpoint:?}");
    }
}

#[test]
fn of_lines() {
    let context = AnswerContext {
        endpoint: Endpoint::OllamaChat,
        content_type: Some("application/x-ndjson"),
        ..STREAM
    };
    let lines = [
        (r#"{"message":{"thinking":"a"}}"#, Reason::Reasoning),
        (r#"{"message":{"content":"a"}}"#, Reason::Text),
        (r#"{"message":{"content":""}}"#, Reason::Empty),
        (r#"{"message":{},"done":true}"#, Reason::EndMark),
        (r#"{"error":"m"}"#, Reason::Error),
    ];
    let (lines, expected): (Vec<&str>, Vec<Reason>) = lines.into_iter().unzip();
    let (events, _) = read(context, &lines.join("\n"), TransportEnd::Clean);
    let found: Vec<Reason> = events.iter().map(|event| event.reason).collect();
    assert_eq!(found, expected);
}

#[test]
fn each_has_a_name_of_its_own() {
    let mut names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Reason::ALL.len());
}
