//! Reading in place says what a tree would say.

#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails the test"
)]

use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wire::{Answer, AnswerContext, Decoder, Endpoint, Event, Tokens, TransportEnd};

/// The events of a chat's stream, and its answer.
fn read(stream: &str) -> (Vec<Event>, Answer) {
    let mut decoder = Decoder::new(AnswerContext {
        content_type: Some("text/event-stream"),
        ..AnswerContext::new(Endpoint::ChatCompletions, 200)
    });
    let mut events = Vec::new();
    decoder.push(stream.as_bytes(), &mut events);
    let answer = decoder.finish(TransportEnd::Clean, &mut events);
    (events, answer)
}

/// What an event proves, read from a tree by the same rules.
#[derive(Debug, Default, PartialEq, Eq)]
struct Proof {
    tokens: Option<Tokens>,
    visible: bool,
    shows_answer: bool,
}

/// Counters of the choices, by index.
#[derive(Default)]
struct Oracle {
    counters: BTreeMap<u64, (u64, bool)>,
}

impl Oracle {
    fn judge(&mut self, chunk: &Value) -> Proof {
        let mut proof = Proof::default();
        let mut counter = chunk["usage"]["completion_tokens"]
            .as_u64()
            .or_else(|| chunk["timings"]["predicted_n"].as_u64());
        let mut known: Option<u64> = None;
        let (mut token, mut shows) = (false, false);
        for choice in elements(&chunk["choices"]).filter(|choice| choice.is_object()) {
            let (answer, reasoning) = shown(choice);
            let ids = elements(&choice["token_ids"]).count() as u64;
            let logprobs = elements(&choice["logprobs"]["content"])
                .count()
                .max(elements(&choice["logprobs"]["tokens"]).count());
            let evident = answer || reasoning || ids > 0 || logprobs > 0;
            let (last, behind) = self
                .counters
                .entry(choice["index"].as_u64().unwrap_or(0))
                .or_default();
            let stated = counter.take();
            let grown = stated
                .filter(|_| !*behind)
                .map(|count| count.saturating_sub(*last));
            let is_token = grown.map_or(evident, |grown| grown > 0);
            if let Some(count) = stated {
                (*last, *behind) = ((*last).max(count), false);
            } else if is_token {
                *behind = true;
            }
            shows |= answer || reasoning;
            proof.shows_answer |= answer;
            if is_token {
                token = true;
                let counts = [ids, logprobs as u64, grown.unwrap_or(0)];
                if let Some(count) = counts.into_iter().find(|count| *count > 0) {
                    known = Some(known.unwrap_or(0) + count);
                }
            }
        }
        proof.visible = token && shows;
        proof.tokens = token.then(|| {
            known.map_or(Tokens::AtLeastOne, |known| {
                Tokens::Exactly(known.try_into().unwrap())
            })
        });
        proof
    }
}

fn shown(choice: &Value) -> (bool, bool) {
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let filled = |value: &Value| {
        text(value)
            || value.as_array().is_some_and(|list| !list.is_empty())
            || value.as_object().is_some_and(|object| !object.is_empty())
    };
    let names = |call: &Value| {
        filled(&call["name"]) || filled(&call["arguments"]) || filled(&call["input"])
    };
    let delta = &choice["delta"];
    let called = elements(&delta["tool_calls"])
        .any(|call| names(&call["function"]) || names(&call["custom"]));
    let answer = text(&choice["text"])
        || text(&delta["content"])
        || text(&delta["refusal"])
        || called
        || names(&delta["function_call"]);
    (
        answer,
        text(&delta["reasoning"]) || text(&delta["reasoning_content"]),
    )
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Values of the kinds that are expected at some place, and of others.
fn scalar() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(""),
        json!("a"),
        json!("é\n\"\\"),
        json!("🦦"),
        json!(0),
        json!(1),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(true),
        json!([]),
        json!([1]),
        json!([[1, 2], "x", {}]),
        json!({}),
        json!({"a": []}),
    ])
}

fn object(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let member = |(key, value): (&'static str, BoxedStrategy<Value>)| {
        prop_oneof![1 => Just(None), 2 => value.prop_map(Some), 1 => scalar().prop_map(Some)]
            .prop_map(move |value| (key, value))
    };
    let members: Vec<_> = members.into_iter().map(member).collect();
    members
        .prop_map(|members| {
            members
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?)))
                .collect()
        })
        .boxed()
}

fn chunk() -> impl Strategy<Value = Value> {
    let any = || scalar().boxed();
    let count = || (0..6_u64).prop_map(Value::from).boxed();
    let list = |element: BoxedStrategy<Value>| {
        prop::collection::vec(element, 0..3)
            .prop_map(Value::from)
            .boxed()
    };
    let function = || {
        object(vec![
            ("name", any()),
            ("arguments", any()),
            ("input", any()),
        ])
    };
    let call = object(vec![
        ("function", function()),
        ("custom", function()),
        ("id", any()),
    ]);
    let delta = object(vec![
        ("role", any()),
        ("content", any()),
        ("reasoning", any()),
        ("reasoning_content", any()),
        ("refusal", any()),
        ("tool_calls", list(call)),
        ("function_call", function()),
    ]);
    let choice = object(vec![
        ("index", (0..3_u64).prop_map(Value::from).boxed()),
        ("text", any()),
        ("delta", delta),
        ("finish_reason", any()),
        ("token_ids", list(count())),
        ("prompt_token_ids", list(count())),
        (
            "logprobs",
            object(vec![
                ("content", list(any())),
                ("tokens", list(any())),
                ("top_logprobs", any()),
            ]),
        ),
    ]);
    let usage = object(vec![
        ("prompt_tokens", count()),
        ("completion_tokens", count()),
        ("prompt_tokens_details", any()),
    ]);
    object(vec![
        ("id", any()),
        ("object", any()),
        ("choices", list(choice)),
        ("usage", usage),
        (
            "timings",
            object(vec![("predicted_n", count()), ("prompt_n", count())]),
        ),
        ("kv_transfer_params", any()),
    ])
}

/// As serde_json, Python's `json.dumps`, or a pretty printer over several data lines writes it.
fn write(chunk: &Value, style: u8) -> String {
    match style {
        0 => format!("data: {chunk}\n\n"),
        1 => format!("data:{}\r\n\r\n", chunk.to_string().replace("\":", "\" : ")),
        _ => format!(
            "data: {}\n\n",
            serde_json::to_string_pretty(chunk)
                .unwrap()
                .replace('\n', "\ndata: ")
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn reading_in_place_says_what_a_tree_says(chunks in prop::collection::vec(chunk(), 0..8), style in 0..3_u8) {
        let stream: String = chunks.iter().map(|chunk| write(chunk, style)).collect();
        let (events, answer) = read(&stream);
        let mut oracle = Oracle::default();
        let mut token_came = false;
        prop_assert_eq!(events.len(), chunks.len());
        for (event, chunk) in events.iter().zip(&chunks) {
            let proof = oracle.judge(chunk);
            token_came |= proof.tokens.is_some();
            prop_assert_eq!(event.tokens, proof.tokens.unwrap_or(Tokens::None), "{}", chunk);
            prop_assert_eq!(event.visible, proof.visible, "{}", chunk);
            prop_assert_eq!(event.answer, proof.shows_answer && token_came, "{}", chunk);
        }
        prop_assert_eq!(answer.token_events, events.iter().filter(|event| event.tokens != Tokens::None).count() as u64);
    }
}
