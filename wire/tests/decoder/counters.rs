//! Running counters: when they prove tokens, and when they are totals.

use crate::*;

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
fn a_counter_that_was_missing_is_still_a_running_one() {
    let text = r#"{"content":"a"}"#;
    let (_, answer) = stream(
        STREAM,
        &[
            &chat(0, text, &usage(1)),
            &chat(0, text, ""),
            &chat(0, text, &usage(5)),
        ],
    );
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(5), CountSource::Continuous)
    );
}

#[test]
fn a_counter_that_stops_is_no_total() {
    let text = r#"{"content":"a"}"#;
    for counter in [usage(1), timings(1)] {
        let (_, answer) = stream(STREAM, &[&chat(0, text, &counter), &chat(0, text, "")]);
        assert_eq!(
            (answer.output_tokens, answer.output_source),
            (None, CountSource::None),
            "{counter}"
        );
        assert_eq!(answer.output_tokens_min, 2, "{counter}");
    }
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
