//! What the decoder makes of an answer, and what it should.

use std::collections::BTreeMap;

use sim::{Finish, Record};
use wire::{
    Answer, AnswerContext, Decoder, Endpoint, EngineKind, Event, Terminator, Tokens, TransportEnd,
};

use crate::client::Heard;
use crate::dialects::{Asks, Route, Shape};

/// An answer as it was read.
pub(crate) struct Reading {
    pub(crate) answer: Answer,
    /// Each event with the time of its last byte.
    events: Vec<(u64, Event)>,
}

/// What the events of one time claim.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Claims {
    /// Tokens that are counted.
    pub(crate) claimed: u32,
    /// Events that prove at least one.
    pub(crate) proofs: u32,
}

/// Reads an answer in pieces of `split` bytes.
pub(crate) fn read(asked: (Route, Shape), heard: &Heard, split: usize) -> Reading {
    read_pieces(asked, heard, split, TransportEnd::Clean)
}

/// Reads an answer that ended like this.
pub(crate) fn read_until(asked: (Route, Shape), heard: &Heard, end: TransportEnd) -> Reading {
    read_pieces(asked, heard, usize::MAX, end)
}

fn read_pieces(
    (route, shape): (Route, Shape),
    heard: &Heard,
    split: usize,
    end: TransportEnd,
) -> Reading {
    let body = heard.body();
    let content_type = heard.field("content-type");
    let number = |name: &str| heard.field(name).and_then(|value| value.parse().ok());
    let mut decoder = Decoder::new(AnswerContext {
        content_type: content_type.as_deref(),
        stream_requested: Some(route.streamed),
        n: Some(shape.n),
        prompts: Some(shape.prompts),
        text_mode: Some(shape.text),
        num_output_tokens: Some(shape.text),
        generated_tokens: number("x-generated-tokens"),
        prompt_tokens: number("x-prompt-tokens"),
        ..AnswerContext::new(route.endpoint, heard.status())
    });
    let mut events = Vec::new();
    let mut new = Vec::new();
    let mut read = 0;
    for piece in body.bytes.chunks(split) {
        decoder.push(piece, &mut new);
        // An event ends with its blank line, which lies in this piece; events of one time are judged together, so that the
        // time of the blank line's write is enough.
        let ends = line_ends(&body.bytes[..read + piece.len()], route);
        for event in new.drain(..) {
            let end = ends[events.len()];
            events.push((body.time_of(end), event));
        }
        read += piece.len();
    }
    let answer = decoder.finish(end, &mut new);
    Reading { answer, events }
}

/// Where the last visible byte of each event lies.
fn line_ends(bytes: &[u8], route: Route) -> Vec<usize> {
    let lines = matches!(
        route.endpoint,
        Endpoint::OllamaChat | Endpoint::OllamaGenerate
    );
    let end: &[u8] = if lines { b"\n" } else { b"\n\n" };
    bytes
        .windows(end.len())
        .enumerate()
        .filter(|(_, window)| *window == end)
        .map(|(at, _)| at - 1)
        .collect()
}

impl Reading {
    /// The claims of the events of each time.
    pub(crate) fn by_time(&self) -> BTreeMap<u64, Claims> {
        let mut times: BTreeMap<u64, Claims> = BTreeMap::new();
        for (at_ns, event) in &self.events {
            let claims = times.entry(*at_ns).or_default();
            match event.tokens {
                Tokens::None => {}
                Tokens::AtLeastOne => claims.proofs += 1,
                Tokens::Exactly(tokens) => claims.claimed += tokens,
            }
        }
        times
    }

    /// Whether the dialect counts the tokens of each event.
    pub(crate) fn counts_each(&self, (route, shape): (Route, Shape)) -> bool {
        let everything = shape.asks == Asks::Everything;
        match (route.engine, route.endpoint) {
            (_, Endpoint::InferenceGenerate | Endpoint::Completion | Endpoint::Generate) => true,
            (_, Endpoint::GenerateStream | Endpoint::Root) => true,
            (_, Endpoint::TritonGenerateStream) => shape.asks != Asks::Nothing,
            (EngineKind::Tgi | EngineKind::Triton, _) => false,
            (_, Endpoint::Completions | Endpoint::ChatCompletions) => everything,
            _ => false,
        }
    }
}

/// The totals that the answer lets a reader know: input and output.
pub(crate) fn expect_totals(
    (route, shape): (Route, Shape),
    record: &Record,
) -> (Option<u64>, Option<u64>) {
    let asked = shape.asks != Asks::Nothing;
    let several = shape.n > 1;
    let (input, output) = match (route.engine, route.endpoint, route.streamed) {
        (_, Endpoint::OllamaChat | Endpoint::OllamaGenerate, _) => (false, false),
        (_, Endpoint::TritonGenerate | Endpoint::TritonGenerateStream, _) => (asked, asked),
        // A whole body of llama.cpp counts its first choice, and the prompt of that.
        (EngineKind::LlamaCpp, Endpoint::Completions | Endpoint::ChatCompletions, false) => {
            (shape.prompts == 1, !several && shape.prompts == 1)
        }
        (_, _, false) => (true, true),
        (EngineKind::Tgi, Endpoint::GenerateStream | Endpoint::Root, _) => (asked, true),
        (EngineKind::Tgi | EngineKind::LlamaCpp, Endpoint::Completions, _) => (true, true),
        // Timings count both, asked or not.
        (EngineKind::LlamaCpp, Endpoint::ChatCompletions, _) => (true, true),
        (_, Endpoint::Completions | Endpoint::ChatCompletions, _) => (asked, asked),
        (_, Endpoint::InferenceGenerate, _) => (asked, true),
        _ => (true, true),
    };
    let generated = record.output_tokens();
    (
        record.prompt_tokens.filter(|_| input),
        Some(generated).filter(|_| output),
    )
}

/// What a whole answer, or one that was not cut, ends with.
pub(crate) fn expected_mark(route: Route, finish: Finish) -> Terminator {
    if !route.streamed {
        return Terminator::Body;
    }
    match (route.engine, route.endpoint) {
        (EngineKind::LlamaCpp, Endpoint::Responses) => Terminator::ResponseCompleted,
        (_, Endpoint::Responses) if finish == Finish::Length => Terminator::ResponseIncomplete,
        (_, Endpoint::Responses) => Terminator::ResponseCompleted,
        (_, Endpoint::Messages) => Terminator::MessageStop,
        (_, Endpoint::Completion) => Terminator::Stop,
        (_, Endpoint::OllamaChat | Endpoint::OllamaGenerate) => Terminator::OllamaDone,
        (_, Endpoint::GenerateStream | Endpoint::Root | Endpoint::TritonGenerateStream) => {
            Terminator::Eof
        }
        _ => Terminator::Done,
    }
}

/// The finish reasons as the dialect spells them.
pub(crate) fn expected_finish(
    (route, shape): (Route, Shape),
    finish: &[Finish],
) -> Vec<Option<String>> {
    let (stop, length) = match (route.engine, route.endpoint) {
        (_, Endpoint::Messages) => ("end_turn", "max_tokens"),
        (EngineKind::LlamaCpp, Endpoint::Responses) => ("completed", "completed"),
        (_, Endpoint::Responses) => ("completed", "incomplete"),
        (_, Endpoint::Completion) => ("eos", "limit"),
        (EngineKind::Tgi, Endpoint::ChatCompletions) => ("stop", "length"),
        (EngineKind::Tgi, _) => ("eos_token", "length"),
        (EngineKind::Triton, Endpoint::Completions | Endpoint::ChatCompletions) => ("stop", "stop"),
        _ => ("stop", "length"),
    };
    let spelled = |finish: &Finish| {
        let reason = match finish {
            Finish::Stop => stop,
            Finish::Length => length,
        };
        Some(reason.to_owned())
    };
    let tells = shape.asks != Asks::Nothing;
    match (route.engine, route.endpoint) {
        (EngineKind::Triton, Endpoint::TritonGenerate | Endpoint::TritonGenerateStream)
            if !tells =>
        {
            Vec::new()
        }
        (EngineKind::Tgi, Endpoint::Generate | Endpoint::GenerateStream | Endpoint::Root)
            if !tells =>
        {
            vec![None]
        }
        _ => finish.iter().map(spelled).collect(),
    }
}
