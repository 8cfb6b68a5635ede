//! What proves a token, and how many.

use crate::*;

/// The tokens that a delta proves, and whether it is visible and shows an answer.
fn judge(delta: &str) -> (Tokens, bool, bool) {
    let (events, _) = stream(STREAM, &[&chat(0, delta, "")]);
    (events[0].tokens, events[0].visible, events[0].answer)
}

#[test]
fn what_is_shown_is_a_token() {
    let nothing = (Tokens::None, false, false);
    let reasoning = (Tokens::AtLeastOne, true, false);
    let answer = (Tokens::AtLeastOne, true, true);
    for (delta, expected) in [
        (r#"{"role":"assistant","content":""}"#, nothing),
        (r#"{"role":"assistant","content":null}"#, nothing),
        ("{}", nothing),
        ("null", nothing),
        (r#"{"content":"a"}"#, answer),
        (r#"{"content":" "}"#, answer),
        (r#"{"content":"\u00e9"}"#, answer),
        (r#"{"refusal":"no"}"#, answer),
        (r#"{"reasoning":"a"}"#, reasoning),
        (r#"{"reasoning_content":"a","content":null}"#, reasoning),
        (r#"{"reasoning_content":"","content":""}"#, nothing),
        (r#"{"reasoning":"a","content":"b"}"#, answer),
        (
            r#"{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}]}"#,
            answer,
        ),
        (
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}"#,
            answer,
        ),
        (
            r#"{"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]}"#,
            answer,
        ),
        (
            r#"{"tool_calls":[{"index":0,"function":{"name":null,"arguments":""}}]}"#,
            nothing,
        ),
        (r#"{"tool_calls":[{"id":"x"}]}"#, nothing),
        (r#"{"tool_calls":[]}"#, nothing),
        (r#"{"function_call":{"name":"f"}}"#, answer),
        (r#"{"function_call":null}"#, nothing),
        // Unexpected kinds are no evidence, and do not hide the rest.
        (r#"{"content":5}"#, nothing),
        (r#"{"content":["a"],"reasoning":"b"}"#, reasoning),
    ] {
        assert_eq!(judge(delta), expected, "{delta}");
    }
}

#[test]
fn a_chunk_without_choices_is_no_token() {
    let (events, _) = stream(
        STREAM,
        &[
            "null",
            "[]",
            "3",
            "\"text\"",
            "",
            "plain text",
            "{}",
            r#"{"choices":[]}"#,
            r#"{"choices":null}"#,
            r#"{"choices":[null]}"#,
            r#"{"usage":{"completion_tokens":3}}"#,
            "[DONE]",
        ],
    );
    assert!(
        events
            .iter()
            .all(|event| event.tokens == Tokens::None && !event.visible && !event.answer)
    );
    assert_eq!(events.len(), 12);
}

#[test]
fn ids_and_logprobs_are_counted() {
    let choice = |more: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{}}{more}}}]}}"#);
    for (more, expected) in [
        (r#","token_ids":[1,2]"#, Tokens::Exactly(2)),
        (r#","token_ids":[]"#, Tokens::None),
        (r#","token_ids":null"#, Tokens::None),
        (
            r#","logprobs":{"content":[{"token":"a"},{"token":"b"},{"token":"c"}]}"#,
            Tokens::Exactly(3),
        ),
        (
            r#","logprobs":{"tokens":["a"],"token_logprobs":[0]}"#,
            Tokens::Exactly(1),
        ),
        (r#","logprobs":{"content":[]}"#, Tokens::None),
        (r#","logprobs":null"#, Tokens::None),
        (
            r#","logprobs":{"content":[1,2,3]},"token_ids":[1]"#,
            Tokens::Exactly(1),
        ),
        (r#","prompt_token_ids":[1,2,3]"#, Tokens::None),
    ] {
        assert_eq!(
            tokens(&stream(STREAM, &[&choice(more)]).0),
            [expected],
            "{more}"
        );
    }
}

#[test]
fn with_echo_logprobs_prove_nothing() {
    let chunk = r#"{"choices":[{"index":0,"text":"","logprobs":{"tokens":["Once"," upon"]}}]}"#;
    let echo = AnswerContext {
        echo: Some(true),
        ..COMPLETIONS
    };
    assert_eq!(tokens(&stream(echo, &[chunk]).0), [Tokens::None]);
    assert_eq!(
        tokens(&stream(COMPLETIONS, &[chunk]).0),
        [Tokens::Exactly(2)]
    );
}

#[test]
fn of_two_members_with_the_same_key_the_last_holds() {
    let chunk =
        r#"{"choices":[{"index":0,"delta":{"content":"a"},"delta":{}}],"model":"a","model":"b"}"#;
    let (events, answer) = stream(STREAM, &[chunk]);
    assert_eq!(tokens(&events), [Tokens::None]);
    assert_eq!(answer.model.as_deref(), Some("b"));
}

#[test]
fn of_two_lists_of_choices_the_last_holds() {
    let chunk =
        r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"choices":[{"index":1,"delta":{}}]}"#;
    let (events, answer) = stream(STREAM, &[chunk]);
    assert_eq!(tokens(&events), [Tokens::None]);
    assert_eq!(answer.finish_reasons, [None]);
}

#[test]
fn several_choices_of_a_chunk_add_up() {
    let chunk = r#"{"choices":[{"index":0,"delta":{},"token_ids":[1]},{"index":1,"delta":{},"token_ids":[1,2]},{"index":2,"delta":{}}]}"#;
    let (events, answer) = stream(STREAM, &[chunk]);
    assert_eq!(tokens(&events), [Tokens::Exactly(3)]);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::TokenIds)
    );
}
