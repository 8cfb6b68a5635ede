//! What an answer's bytes prove: each rule by example.

use loadproof_wire::limits::{CHOICES, LINE_BYTES, TEXT_BYTES, WHOLE_BODY_BYTES};
use loadproof_wire::{
    Anomaly, Answer, AnswerContext, CountSource, Decoder, Endpoint, Event, FinishState, Terminator,
    Tokens, TransportEnd,
};

const STREAM: AnswerContext<'static> = AnswerContext {
    endpoint: Endpoint::ChatCompletions,
    status: 200,
    content_type: Some("text/event-stream"),
    content_encoding: None,
    stream_requested: Some(true),
    n: None,
    prompts: None,
    echo: None,
};

const COMPLETIONS: AnswerContext<'static> = AnswerContext {
    endpoint: Endpoint::Completions,
    ..STREAM
};

const BODY: AnswerContext<'static> = AnswerContext {
    content_type: Some("application/json"),
    stream_requested: Some(false),
    ..STREAM
};

fn read(context: AnswerContext<'_>, body: &str, end: TransportEnd) -> (Vec<Event>, Answer) {
    let mut decoder = Decoder::new(context);
    let mut events = Vec::new();
    decoder.push(body.as_bytes(), &mut events);
    let answer = decoder.finish(end, &mut events);
    (events, answer)
}

/// The answer of these events, each the data of one, ended cleanly.
fn stream(context: AnswerContext<'_>, data: &[&str]) -> (Vec<Event>, Answer) {
    let body: String = data
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    read(context, &body, TransportEnd::Clean)
}

fn body(body: &str) -> Answer {
    read(BODY, body, TransportEnd::Clean).1
}

/// A chunk of one choice.
fn chat(index: u32, delta: &str, more: &str) -> String {
    format!(r#"{{"choices":[{{"index":{index},"delta":{delta}}}]{more}}}"#)
}

/// The tokens that the last of these deltas proves, and whether it is visible and shows an answer.
fn judge(delta: &str) -> (Tokens, bool, bool) {
    let (events, _) = stream(STREAM, &[&chat(0, delta, "")]);
    (events[0].tokens, events[0].visible, events[0].answer)
}

fn tokens(events: &[Event]) -> Vec<Tokens> {
    events.iter().map(|event| event.tokens).collect()
}

// ---- What proves a token

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
fn several_choices_of_a_chunk_add_up() {
    let chunk = r#"{"choices":[{"index":0,"delta":{},"token_ids":[1]},{"index":1,"delta":{},"token_ids":[1,2]},{"index":2,"delta":{}}]}"#;
    let (events, answer) = stream(STREAM, &[chunk]);
    assert_eq!(tokens(&events), [Tokens::Exactly(3)]);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::TokenIds)
    );
}

// ---- Running counters

fn usage(output: u64) -> String {
    format!(r#","usage":{{"prompt_tokens":5,"completion_tokens":{output}}}"#)
}

fn timings(output: u64) -> String {
    format!(r#","timings":{{"cache_n":2,"prompt_n":3,"predicted_n":{output}}}"#)
}

#[test]
fn a_counter_decides() {
    let text = r#"{"content":"a"}"#;
    let (events, answer) = stream(
        STREAM,
        &[
            &chat(0, text, &usage(0)),
            &chat(0, "{}", &usage(2)),
            &chat(0, text, &usage(2)),
            &chat(0, text, &usage(3)),
        ],
    );
    assert_eq!(
        tokens(&events),
        [
            Tokens::None,
            Tokens::Exactly(2),
            Tokens::None,
            Tokens::Exactly(1)
        ]
    );
    // What is shown before the first token is an echo; after it, an answer, also without a token of its own.
    assert_eq!(
        events.iter().map(|event| event.answer).collect::<Vec<_>>(),
        [false, false, true, true]
    );
    assert_eq!(
        events.iter().map(|event| event.visible).collect::<Vec<_>>(),
        [false, false, false, true]
    );
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::Continuous)
    );
    assert_eq!(
        (answer.input_tokens, answer.output_tokens_min),
        (Some(5), 3)
    );
}

#[test]
fn each_choice_has_its_counter() {
    let (events, answer) = stream(
        AnswerContext {
            n: Some(2),
            ..STREAM
        },
        &[
            &chat(0, "{}", &usage(1)),
            &chat(1, "{}", &usage(1)),
            &chat(1, "{}", &usage(4)),
            &chat(0, "{}", &usage(1)),
        ],
    );
    assert_eq!(
        tokens(&events),
        [
            Tokens::Exactly(1),
            Tokens::Exactly(1),
            Tokens::Exactly(3),
            Tokens::None
        ]
    );
    assert_eq!(
        (answer.input_tokens, answer.output_tokens),
        (Some(5), Some(5))
    );
}

#[test]
fn a_counter_that_comes_late_is_a_total() {
    let text = r#"{"content":"a"}"#;
    let (events, answer) = stream(
        STREAM,
        &[
            &chat(0, text, ""),
            &chat(0, text, ""),
            &chat(0, "{}", &usage(3)),
        ],
    );
    assert_eq!(
        tokens(&events),
        [Tokens::AtLeastOne, Tokens::AtLeastOne, Tokens::None]
    );
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::Usage)
    );
    assert_eq!(answer.output_tokens_min, 2);
    // It proves no token, but what it comes with does.
    let (events, _) = stream(STREAM, &[&chat(0, text, ""), &chat(0, text, &usage(3))]);
    assert_eq!(tokens(&events), [Tokens::AtLeastOne, Tokens::AtLeastOne]);
}

#[test]
fn a_counter_that_was_missing_says_nothing_about_one_event() {
    let text = r#"{"content":"a"}"#;
    let (events, answer) = stream(
        STREAM,
        &[
            &chat(0, text, &usage(1)),
            &chat(0, text, ""),
            &chat(0, text, &usage(5)),
            &chat(0, text, &usage(6)),
        ],
    );
    assert_eq!(
        tokens(&events),
        [
            Tokens::Exactly(1),
            Tokens::AtLeastOne,
            Tokens::AtLeastOne,
            Tokens::Exactly(1)
        ]
    );
    assert_eq!(
        (answer.output_tokens, answer.output_tokens_min),
        (Some(6), 4)
    );
}

#[test]
fn a_counter_that_stops_is_no_total() {
    let text = r#"{"content":"a"}"#;
    let (_, answer) = stream(STREAM, &[&chat(0, text, &usage(1)), &chat(0, text, "")]);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (None, CountSource::None)
    );
    assert_eq!(answer.output_tokens_min, 2);
}

#[test]
fn a_counter_does_not_go_back() {
    let (events, answer) = stream(
        STREAM,
        &[
            &chat(0, "{}", &usage(3)),
            &chat(0, "{}", &usage(1)),
            &chat(0, "{}", &usage(4)),
        ],
    );
    assert_eq!(
        tokens(&events),
        [Tokens::Exactly(3), Tokens::None, Tokens::Exactly(1)]
    );
    assert_eq!(answer.anomalies, [(Anomaly::CounterWentBack, 1)]);
}

#[test]
fn llamacpp_counts_in_its_timings() {
    let (events, answer) = stream(
        STREAM,
        &[
            &chat(0, r#"{"role":"assistant","content":null}"#, &timings(0)),
            &chat(0, r#"{"content":"a"}"#, &timings(2)),
            &chat(0, "{}", &timings(3)),
        ],
    );
    assert_eq!(
        tokens(&events),
        [Tokens::None, Tokens::Exactly(2), Tokens::Exactly(1)]
    );
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::Counter)
    );
    assert_eq!(
        (answer.input_tokens, answer.cached_tokens),
        (Some(5), Some(2))
    );
}

#[test]
fn without_the_cached_part_timings_do_not_tell_the_prompt() {
    let chunk = chat(
        0,
        r#"{"content":"a"}"#,
        r#","timings":{"prompt_n":3,"predicted_n":1}"#,
    );
    let (_, answer) = stream(STREAM, &[&chunk]);
    assert_eq!((answer.output_tokens, answer.input_tokens), (Some(1), None));
}

// ---- Totals

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

// ---- How it ended

fn finished(index: u32, reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

#[test]
fn the_end_by_its_marks() {
    let text = chat(0, r#"{"content":"a"}"#, "");
    let (stop, open) = (finished(0, "stop"), chat(1, "{}", ""));
    for (data, state, terminator) in [
        (
            &[text.as_str(), &stop, "[DONE]"][..],
            FinishState::Complete,
            Some(Terminator::Done),
        ),
        (
            &[&text, &stop],
            FinishState::Complete,
            Some(Terminator::Missing),
        ),
        (&[&text, &stop, &open], FinishState::Cut, None),
        (
            &[&text, "[DONE]"],
            FinishState::Complete,
            Some(Terminator::Done),
        ),
        (&[&text], FinishState::Cut, None),
        (&[], FinishState::Cut, None),
        (&[&finished(0, ""), &text], FinishState::Cut, None),
        (
            &[&finished(0, "abort"), "[DONE]"],
            FinishState::Aborted,
            Some(Terminator::Done),
        ),
        (&[&finished(0, "timed_out")], FinishState::Aborted, None),
        (
            &[&finished(0, "stop"), &finished(1, "cancelled")],
            FinishState::Aborted,
            None,
        ),
        (
            &[&finished(0, "error"), "[DONE]"],
            FinishState::Errored,
            Some(Terminator::Done),
        ),
        (
            &[r#"{"error":"x"}"#, "[DONE]"],
            FinishState::Errored,
            Some(Terminator::Done),
        ),
    ] {
        for end in [TransportEnd::Clean, TransportEnd::Cut] {
            let body: String = data
                .iter()
                .map(|data| format!("data: {data}\n\n"))
                .collect();
            let (_, answer) = read(STREAM, &body, end);
            assert_eq!(
                (answer.state, answer.terminator),
                (state, terminator),
                "{data:?} {end:?}"
            );
        }
    }
}

#[test]
fn finish_reasons_are_listed_by_index() {
    let (_, answer) = stream(
        STREAM,
        &[
            &finished(2, "length"),
            &chat(1, "{}", ""),
            &finished(0, "a\\u0062c"),
        ],
    );
    let reasons: Vec<_> = answer.finish_reasons.iter().map(Option::as_deref).collect();
    assert_eq!(reasons, [Some("abc"), None, Some("length")]);
}

#[test]
fn an_error_says_its_message() {
    for (data, message) in [
        (
            r#"{"error": {"message": "caf\u00e9", "code": 500}}"#,
            Some("café"),
        ),
        (r#"{"error":"text"}"#, Some("text")),
        (r#"{"error":"text","error_type":"x"}"#, Some("text")),
        (r#"{"message":"flat","object":"error"}"#, Some("flat")),
        (
            r#"{"type":"error","error":{"type":"x","message":"nested"}}"#,
            Some("nested"),
        ),
        (r#"{"detail":"Not Found"}"#, Some("Not Found")),
        (r#"{"detail":[{"msg":"Field required"}]}"#, None),
        (r#"{"error":{"code":500}}"#, None),
        (r#"{"error":{"message":null}}"#, None),
    ] {
        let (events, answer) = stream(STREAM, &[data]);
        assert_eq!(
            (answer.state, answer.error.as_deref()),
            (FinishState::Errored, message),
            "{data}"
        );
        assert_eq!(tokens(&events), [Tokens::None]);
        let whole = body(data);
        assert_eq!(
            (whole.state, whole.error.as_deref()),
            (FinishState::Errored, message),
            "{data}"
        );
        assert_eq!(
            (whole.terminator, whole.finish_reasons),
            (None, vec![]),
            "{data}"
        );
    }
}

#[test]
fn what_is_no_error() {
    for data in [
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"error":null}"#,
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"error":""}"#,
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"detail":"low","message":"hi"}"#,
    ] {
        let (_, answer) = stream(STREAM, &[data]);
        assert_eq!(
            (answer.state, answer.error),
            (FinishState::Complete, None),
            "{data}"
        );
    }
}

#[test]
fn an_error_line_is_an_error() {
    for (line, message) in [
        (
            r#"error: {"code":500,"message":"full","type":"server_error"}"#,
            "full",
        ),
        (r#"error: {"error":{"message":"full"}}"#, "full"),
        ("error: full", "full"),
    ] {
        let (events, answer) = read(STREAM, &format!("{line}\n\n"), TransportEnd::Clean);
        assert_eq!(
            (answer.state, answer.error.as_deref()),
            (FinishState::Errored, Some(message)),
            "{line}"
        );
        assert_eq!(tokens(&events), [Tokens::None], "{line}");
    }
}

#[test]
fn a_refused_request_is_rejected() {
    let refused = AnswerContext {
        status: 429,
        stream_requested: Some(true),
        ..BODY
    };
    for (body, message) in [
        (r#"{"error":{"message":"busy"}}"#, Some("busy")),
        (r#"{"message":"no route"}"#, Some("no route")),
        (r#"{"detail":"Not Found"}"#, Some("Not Found")),
        ("<html>", None),
        ("", None),
    ] {
        let (_, answer) = read(refused, body, TransportEnd::Clean);
        assert_eq!(
            (answer.state, answer.terminator),
            (FinishState::Rejected, None),
            "{body}"
        );
        assert_eq!(answer.error.as_deref(), message, "{body}");
    }
    let as_events = AnswerContext {
        status: 500,
        ..STREAM
    };
    let (_, answer) = stream(as_events, &[r#"{"error":"early"}"#]);
    assert_eq!(
        (answer.state, answer.error.as_deref()),
        (FinishState::Rejected, Some("early"))
    );
}

// ---- Whole bodies

#[test]
fn a_body_is_an_answer_without_events() {
    let text = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"finish_reason":"length"}],
        "usage":{"prompt_tokens":8,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
    let (events, answer) = read(BODY, text, TransportEnd::Clean);
    assert_eq!(events, []);
    let expected = Answer {
        streamed: false,
        events: 0,
        comments: 0,
        token_events: 0,
        visible_events: 0,
        input_tokens: Some(8),
        output_tokens: Some(3),
        output_tokens_min: 0,
        output_source: CountSource::Usage,
        cached_tokens: Some(0),
        reasoning_tokens: Some(2),
        finish_reasons: vec![Some("stop".to_owned()), Some("length".to_owned())],
        state: FinishState::Complete,
        terminator: Some(Terminator::Body),
        error: None,
        model: Some("m".to_owned()),
        response_id: Some("x".to_owned()),
        anomalies: vec![],
    };
    assert_eq!(answer, expected);
}

#[test]
fn a_body_without_usage_may_list_its_tokens() {
    let text = r#"{"choices":[{"index":0,"token_ids":[1,2]},{"index":1,"token_ids":[3]}],"prompt_token_ids":[1,2,3,4]}"#;
    let answer = body(text);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::TokenIds)
    );
    assert_eq!(
        (answer.input_tokens, answer.output_tokens_min),
        (Some(4), 0)
    );
}

#[test]
fn a_body_of_llamacpp_with_two_choices_has_no_total() {
    let of = |choices: &str| {
        format!(
            r#"{{"choices":[{choices}],"usage":{{"prompt_tokens":8,"completion_tokens":2}},"timings":{{"predicted_n":2}}}}"#
        )
    };
    let two = body(&of(r#"{"index":0},{"index":1}"#));
    assert_eq!(
        (two.output_tokens, two.output_source, two.input_tokens),
        (None, CountSource::None, Some(8))
    );
    assert_eq!(body(&of(r#"{"index":0}"#)).output_tokens, Some(2));
}

#[test]
fn half_a_body_is_cut() {
    let (_, answer) = read(
        BODY,
        r#"{"choices":[{"index":0,"finish_reason":"stop"}"#,
        TransportEnd::Cut,
    );
    assert_eq!((answer.state, answer.terminator), (FinishState::Cut, None));
    assert_eq!(answer.anomalies, [(Anomaly::BadJson, 1)]);
    let (_, answer) = read(BODY, "", TransportEnd::Clean);
    assert_eq!((answer.state, answer.anomalies), (FinishState::Cut, vec![]));
    let (_, answer) = read(BODY, "null", TransportEnd::Clean);
    assert_eq!((answer.state, answer.terminator), (FinishState::Cut, None));
}

#[test]
fn a_body_where_a_stream_was_asked_for() {
    let context = AnswerContext {
        stream_requested: Some(true),
        ..BODY
    };
    let (events, answer) = read(
        context,
        r#"{"choices":[],"usage":{"completion_tokens":1}}"#,
        TransportEnd::Clean,
    );
    assert_eq!(events, []);
    assert_eq!((answer.output_tokens, answer.streamed), (Some(1), false));
    assert_eq!(answer.anomalies, [(Anomaly::BodyOnStream, 1)]);
}

#[test]
fn the_head_tells_a_stream_from_a_body() {
    for (content_type, stream_requested, status, streamed) in [
        (Some("text/event-stream; charset=utf-8"), None, 200, true),
        (Some("Text/Event-Stream"), Some(false), 500, true),
        (
            Some("application/json; charset=utf-8"),
            Some(true),
            200,
            false,
        ),
        (Some("application/problem+json"), Some(true), 200, false),
        (None, Some(true), 200, true),
        (None, Some(false), 200, false),
        (None, None, 200, false),
        (Some("text/plain"), Some(true), 200, true),
        (Some("text/plain"), Some(true), 404, false),
    ] {
        let context = AnswerContext {
            content_type,
            stream_requested,
            status,
            ..STREAM
        };
        let (_, answer) = read(context, "", TransportEnd::Clean);
        assert_eq!(answer.streamed, streamed, "{context:?}");
    }
}

// ---- What is not understood

#[test]
fn compressed_bodies_are_left_alone() {
    for (encoding, opaque) in [
        ("gzip", true),
        ("identity", false),
        ("", false),
        ("identity, br", true),
        ("Identity", false),
    ] {
        for context in [STREAM, BODY] {
            let context = AnswerContext {
                content_encoding: Some(encoding),
                ..context
            };
            let (events, answer) = read(context, "data: {}\n\n", TransportEnd::Clean);
            assert_eq!(
                answer.anomalies.contains(&(Anomaly::Opaque, 1)),
                opaque,
                "{encoding}"
            );
            assert!(!opaque || events.is_empty(), "{encoding}");
        }
    }
}

#[test]
fn where_decoding_stopped_only_the_transport_tells_the_end() {
    let long = "x".repeat(LINE_BYTES);
    let text = format!(
        "data: {}\n\ndata: {long}\n\ndata: [DONE]\n\n",
        chat(0, r#"{"content":"a"}"#, &usage(1))
    );
    for (end, state) in [
        (TransportEnd::Clean, FinishState::Complete),
        (TransportEnd::Cut, FinishState::Cut),
    ] {
        let (events, answer) = read(STREAM, &text, end);
        assert_eq!(events.len(), 1);
        assert_eq!((answer.state, answer.terminator), (state, None));
        assert_eq!(
            (
                answer.output_tokens,
                answer.input_tokens,
                answer.output_tokens_min
            ),
            (None, None, 1)
        );
        assert_eq!(answer.anomalies, [(Anomaly::OversizeEvent, 1)]);
    }
}

#[test]
fn a_body_has_a_limit() {
    let padded = |size: usize| format!("{}{}", r#"{"choices":[]}"#, " ".repeat(size - 14));
    let fits = body(&padded(WHOLE_BODY_BYTES));
    assert_eq!(
        (fits.state, fits.anomalies),
        (FinishState::Complete, vec![])
    );
    let above = body(&padded(WHOLE_BODY_BYTES + 1));
    assert_eq!(above.anomalies, [(Anomaly::OversizeEvent, 1)]);
    assert_eq!(
        (above.state, above.terminator),
        (FinishState::Complete, None)
    );
}

#[test]
fn what_is_no_json_is_counted() {
    let (_, answer) = stream(
        STREAM,
        &[
            "plain",
            "",
            "null",
            r#"{"a":"#,
            r#"{"choices":[{"index":0,"delta":{"content":"a"}}]"#,
        ],
    );
    assert_eq!(answer.anomalies, [(Anomaly::BadJson, 3)]);
    assert_eq!((answer.events, answer.token_events), (5, 0));
    let (_, answer) = read(STREAM, "data: {\"a\":", TransportEnd::Cut);
    assert_eq!(
        (answer.anomalies, answer.events),
        (vec![(Anomaly::BadJson, 1)], 0)
    );
}

#[test]
fn choices_have_a_limit() {
    let many: Vec<String> = (0..=u32::try_from(CHOICES).unwrap())
        .map(|index| chat(index, r#"{"content":"a"}"#, ""))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (events, answer) = stream(STREAM, &many);
    // The last one's state is not kept, but its token is seen.
    assert!(
        events
            .iter()
            .all(|event| event.tokens == Tokens::AtLeastOne)
    );
    assert_eq!(answer.finish_reasons.len(), CHOICES);
    assert_eq!(answer.anomalies, [(Anomaly::TooManyChoices, 1)]);
    let (_, within) = stream(STREAM, &many[..CHOICES]);
    assert_eq!(within.anomalies, []);
}

#[test]
fn texts_have_a_limit() {
    let long = "é".repeat(TEXT_BYTES);
    let (_, answer) = stream(
        STREAM,
        &[&format!(
            r#"{{"id":"{long}","model":"{long}","error":"{long}"}}"#
        )],
    );
    let cut = Some("é".repeat(TEXT_BYTES / 2));
    assert_eq!(
        (answer.model, answer.response_id, answer.error),
        (cut.clone(), cut.clone(), cut)
    );
}

#[test]
fn the_first_name_that_is_not_empty_is_kept() {
    let (_, answer) = stream(
        STREAM,
        &[
            r#"{"id":"","model":null}"#,
            r#"{"id":"a","model":"m"}"#,
            r#"{"id":"b","model":"n"}"#,
        ],
    );
    assert_eq!(
        (answer.response_id.as_deref(), answer.model.as_deref()),
        (Some("a"), Some("m"))
    );
}

// ---- Dates

#[test]
fn an_event_is_early_if_only_its_line_ends_were_missing() {
    let mut decoder = Decoder::new(STREAM);
    let mut events = Vec::new();
    let data = format!("data: {}", chat(0, r#"{"content":"a"}"#, ""));
    decoder.push(&data.as_bytes()[..20], &mut events);
    assert_eq!((events.len(), decoder.pending_whole()), (0, false));
    decoder.push(&data.as_bytes()[20..], &mut events);
    assert_eq!((events.len(), decoder.pending_whole()), (0, true));
    decoder.push(b"\n", &mut events);
    assert_eq!((events.len(), decoder.pending_whole()), (0, true));
    decoder.push(b"\ndata: [DONE]", &mut events);
    assert_eq!(
        (events.len(), events[0].early, decoder.pending_whole()),
        (1, true, true)
    );
    let answer = decoder.finish(TransportEnd::Clean, &mut events);
    assert_eq!(
        (events.len(), events[1].early, answer.terminator),
        (2, true, Some(Terminator::Done))
    );
    assert!(!decoder.pending_whole());
}

#[test]
fn a_body_is_never_pending() {
    let mut decoder = Decoder::new(BODY);
    decoder.push(b"{}", &mut Vec::new());
    assert!(!decoder.pending_whole());
}
