//! Totals, and where they come from.

use crate::*;

#[test]
fn usage_of_completions_is_added() {
    let of_prompt = |prompt: u32, cached: u32, output: u32| {
        format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{output},"prompt_tokens_details":{{"cached_tokens":{cached}}}}}}}"#
        )
    };
    let (_, answer) = stream(COMPLETIONS, &[&of_prompt(4, 0, 2), &of_prompt(6, 2, 3)]);
    assert_eq!(
        (
            answer.input_tokens,
            answer.output_tokens,
            answer.cached_tokens
        ),
        (Some(10), Some(5), Some(2))
    );
    assert_eq!(answer.output_source, CountSource::Usage);
}

#[test]
fn usage_of_a_chat_is_added_if_there_is_one_for_each_choice() {
    let total = |output: u32| {
        format!(
            r#"{{"usage":{{"prompt_tokens":30,"completion_tokens":{output},"completion_tokens_details":{{"reasoning_tokens":1}}}}}}"#
        )
    };
    let (one, two) = (chat(0, "{}", ""), chat(1, "{}", ""));
    let (_, answer) = stream(STREAM, &[&one, &total(3), &two, &total(2)]);
    assert_eq!(
        (
            answer.input_tokens,
            answer.output_tokens,
            answer.reasoning_tokens
        ),
        (Some(30), Some(5), Some(2))
    );
    let (_, answer) = stream(STREAM, &[&one, &total(3), &total(4)]);
    assert_eq!(
        (
            answer.input_tokens,
            answer.output_tokens,
            answer.reasoning_tokens
        ),
        (Some(30), Some(4), Some(1))
    );
}

#[test]
fn reasoning_tokens_stand_in_two_places() {
    for (more, reasoning) in [
        (r#""reasoning_tokens":2"#, Some(2)),
        (
            r#""reasoning_tokens":0,"completion_tokens_details":null"#,
            Some(0),
        ),
        (
            r#""completion_tokens_details":{"reasoning_tokens":3},"reasoning_tokens":2"#,
            Some(3),
        ),
        (r#""completion_tokens_details":{"audio_tokens":3}"#, None),
    ] {
        let chunk = format!(r#"{{"choices":[],"usage":{{"completion_tokens":5,{more}}}}}"#);
        assert_eq!(
            stream(STREAM, &[&chunk]).1.reasoning_tokens,
            reasoning,
            "{more}"
        );
    }
}

#[test]
fn usage_that_is_null_or_empty_is_nothing() {
    for usage in [
        "null",
        "{}",
        "[]",
        "0",
        r#"{"completion_tokens":null}"#,
        r#"{"completion_tokens":"3"}"#,
    ] {
        let chunk = chat(0, r#"{"content":"a"}"#, &format!(r#","usage":{usage}"#));
        let (events, answer) = stream(
            STREAM,
            &[&chunk, &format!(r#"{{"choices":[],"usage":{usage}}}"#)],
        );
        assert_eq!(
            tokens(&events),
            [Tokens::AtLeastOne, Tokens::None],
            "{usage}"
        );
        assert_eq!(
            (answer.output_tokens, answer.output_source),
            (None, CountSource::None),
            "{usage}"
        );
    }
}

#[test]
fn each_prompt_counts_once() {
    let chunk = |index: u32, prompt: u32| {
        format!(
            r#"{{"choices":[{{"index":{index},"text":"a"}}],"usage":{{"prompt_tokens":{prompt},"completion_tokens":1}}}}"#
        )
    };
    let chunks = [chunk(0, 4), chunk(1, 4), chunk(2, 6), chunk(3, 6)];
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let context = AnswerContext {
        n: Some(2),
        prompts: Some(2),
        ..COMPLETIONS
    };
    let (_, answer) = stream(context, &chunks);
    assert_eq!(
        (answer.input_tokens, answer.output_tokens),
        (Some(10), Some(4))
    );
    // The second prompt was never heard of: what it is made of is unknown.
    let (_, answer) = stream(context, &chunks[..2]);
    assert_eq!((answer.input_tokens, answer.output_tokens), (None, Some(2)));
}

#[test]
fn prompt_ids_tell_the_input() {
    let first = r#"{"choices":[{"index":0,"text":"a","prompt_token_ids":[1,2,3]}]}"#;
    let second = r#"{"choices":[{"index":1,"text":"b","prompt_token_ids":[4]}]}"#;
    let two = AnswerContext {
        prompts: Some(2),
        ..COMPLETIONS
    };
    assert_eq!(stream(two, &[first, second]).1.input_tokens, Some(4));
    assert_eq!(stream(two, &[first]).1.input_tokens, None);
    let of_one_prompt = AnswerContext {
        n: Some(2),
        ..COMPLETIONS
    };
    assert_eq!(
        stream(of_one_prompt, &[first, second]).1.input_tokens,
        Some(3)
    );
    let of_chat = r#"{"choices":[{"index":0,"delta":{}}],"prompt_token_ids":[1,2]}"#;
    assert_eq!(stream(STREAM, &[of_chat]).1.input_tokens, Some(2));
}

#[test]
fn a_list_that_is_missing_once_is_no_total() {
    let with = r#"{"choices":[{"index":0,"text":"a","token_ids":[1]}]}"#;
    let without = r#"{"choices":[{"index":0,"text":"b"}]}"#;
    let (_, answer) = stream(COMPLETIONS, &[with, without]);
    assert_eq!(
        (
            answer.output_tokens,
            answer.output_source,
            answer.output_tokens_min
        ),
        (None, CountSource::None, 2)
    );
    let logprobs = r#"{"choices":[{"index":0,"text":"b","logprobs":{"tokens":["b"]}}]}"#;
    let (_, answer) = stream(COMPLETIONS, &[logprobs]);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(1), CountSource::Logprobs)
    );
    let (_, answer) = stream(COMPLETIONS, &[with, logprobs]);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (None, CountSource::None)
    );
}

#[test]
fn numbers_do_not_overflow() {
    let most = chat(0, "{}", &usage(u64::MAX));
    let (events, answer) = stream(STREAM, &[&most, &chat(1, "{}", &usage(u64::MAX))]);
    assert_eq!(tokens(&events), [Tokens::Exactly(u32::MAX); 2]);
    assert_eq!(answer.output_tokens, Some(u64::MAX));
}

#[test]
fn sglang_lists_all_ids_at_the_end() {
    let text = chat(0, r#"{"content":"a"}"#, "");
    let all =
        r#"{"choices":[],"usage":null,"sglext":{"input_ids":[1,2,3],"output_ids":[[4,5],[6]]}}"#;
    let (_, answer) = stream(STREAM, &[&text, all]);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::TokenIds)
    );
    assert_eq!(answer.input_tokens, Some(3));
}
