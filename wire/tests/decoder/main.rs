//! What an answer's bytes prove: each rule by example.

mod bodies;
mod codings;
mod counters;
mod dates;
mod endings;
mod engine_times;
mod grpc;
mod limits;
mod llamacpp;
mod messages;
mod ollama;
mod reasons;
mod responses;
mod sglang;
mod tgi;
mod tokens;
mod totals;
mod triton;

use wire::limits::{CHOICES, LINE_BYTES, TEXT_BYTES, WHOLE_BODY_BYTES};
use wire::{
    Anomaly, Answer, AnswerContext, CallAnswer, CallAnswers, CountSource, Decoder, Endpoint,
    EngineTimes, Event, FinishState, Reason, Terminator, Tokens, TransportEnd,
};

const STREAM: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    stream_requested: Some(true),
    ..AnswerContext::new(Endpoint::ChatCompletions, 200)
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

fn tokens(events: &[Event]) -> Vec<Tokens> {
    events.iter().map(|event| event.tokens).collect()
}

/// A usage object that states so many generated tokens.
fn usage(output: u64) -> String {
    format!(r#","usage":{{"prompt_tokens":5,"completion_tokens":{output}}}"#)
}

/// The same as llama.cpp's timings.
fn timings(output: u64) -> String {
    format!(r#","timings":{{"cache_n":2,"prompt_n":3,"predicted_n":{output}}}"#)
}

/// A chunk of one choice that has finished.
fn finished(index: u32, reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}
