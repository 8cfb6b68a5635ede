//! What streams say, dialect by dialect.

use super::*;

/// What the events say, as `choice kind: text`.
fn said(events: &[&str]) -> Vec<String> {
    let mut joined = Joined::default();
    for event in events {
        joined.event(&serde_json::from_str(event).unwrap());
    }
    joined
        .finish()
        .iter()
        .map(|said| format!("{} {:?}: {}", said.choice, said.kind, said.text))
        .collect()
}

#[test]
fn chats_are_joined_by_choice_and_kind() {
    let events = [
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}},{"index":1,"delta":{"content":"B"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"ann@exa"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"mple.com"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}"#,
        r#"{"error":{"message":"out of memory"}}"#,
    ];
    assert_eq!(
        said(&events),
        [
            "0 Reasoning: hm",
            "1 Answer: B",
            "0 Answer: ann@example.com",
            "0 Tool: f",
            "0 Arguments: {}",
            "0 Error: out of memory"
        ]
    );
}

#[test]
fn blocks_and_items_are_told_apart() {
    let messages = [
        r#"{"type":"message_start","message":{"id":"m","content":[]}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
    ];
    assert_eq!(
        said(&messages),
        ["0 Answer: Hi", "1 Tool: f", "1 Arguments: {}"]
    );
    let responses = [
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"!"}"#,
        r#"{"type":"response.output_text.done","output_index":0,"text":"Hi!"}"#,
        r#"{"type":"response.completed","response":{"output":[{"content":[{"text":"Hi!"}]}]}}"#,
    ];
    assert_eq!(said(&responses), ["0 Answer: Hi!"]);
}

#[test]
fn flat_events_say_what_is_new_or_all_so_far() {
    assert_eq!(
        said(&[r#"{"content":"a"}"#, r#"{"content":"a"}"#]),
        ["0 Answer: aa"]
    );
    assert_eq!(
        said(&[
            r#"{"text":"a"}"#,
            r#"{"text":"a b"}"#,
            r#"{"text":"a b c"}"#
        ]),
        ["0 Answer: a b c"]
    );
    assert_eq!(
        said(&[r#"{"text":"a"}"#, r#"{"text":"a"}"#, r#"{"text":" b"}"#]),
        ["0 Answer: aa b"]
    );
    assert_eq!(
        said(&[r#"{"text_output":"x"}"#, r#"{"text_output":"y"}"#]),
        ["0 Answer: xy"]
    );
    assert_eq!(
        said(&[
            r#"{"index":1,"token":{"text":"Hi","special":false},"generated_text":null}"#,
            r#"{"index":2,"token":{"text":"</s>","special":true},"generated_text":"Hi"}"#,
        ]),
        ["0 Answer: Hi"]
    );
    assert_eq!(
        said(&[
            r#"{"message":{"role":"assistant","content":"a"}}"#,
            r#"{"response":"b"}"#
        ]),
        ["0 Answer: ab"]
    );
}
