//! What the encoders write is read as it was meant: by the decoder in every cut, and by the scan of requests.

use loadproof_wire::encode::{
    self, Choice, Delta, ErrorObject, Identity, Prompt, RequestShape, Streaming, Usage,
};
use loadproof_wire::{
    Answer, AnswerContext, CountSource, Decoder, Endpoint, Event, FinishState, RequestFacts,
    RequestScan, Terminator, Tokens, TransportEnd,
};

const ENDPOINTS: [Endpoint; 2] = [Endpoint::Completions, Endpoint::ChatCompletions];

fn identity(endpoint: Endpoint) -> Identity<'static> {
    Identity {
        endpoint,
        id: "an-id",
        created: 1_796_040_000,
        model: "otter \"8b\"",
        fingerprint: "vllm-0",
    }
}

/// Decodes at once and byte by byte, which must agree.
#[track_caller]
fn decode(endpoint: Endpoint, content_type: &str, n: u32, body: &[u8]) -> (Vec<Event>, Answer) {
    let read = |size: usize| {
        let mut decoder = Decoder::new(AnswerContext {
            content_type: Some(content_type),
            stream_requested: Some(content_type == STREAM),
            n: Some(n),
            ..AnswerContext::new(endpoint, 200)
        });
        let mut events = Vec::new();
        for piece in body.chunks(size) {
            decoder.push(piece, &mut events);
        }
        let answer = decoder.finish(TransportEnd::Clean, &mut events);
        (events, answer)
    };
    let (events, answer) = read(body.len());
    let (pieces, from_pieces) = read(1);
    assert_eq!(answer, from_pieces);
    let tokens =
        |events: &[Event]| -> Vec<Tokens> { events.iter().map(|event| event.tokens).collect() };
    assert_eq!(tokens(&events), tokens(&pieces));
    (events, answer)
}

const STREAM: &str = "text/event-stream; charset=utf-8";

fn usage(prompt: u64, completion: u64) -> Usage {
    Usage {
        prompt,
        completion,
        ..Usage::default()
    }
}

/// Two choices, three steps each of 1, 2 and 1 tokens, the last of which is silent.
fn stream(endpoint: Endpoint, streaming: Streaming) -> Vec<u8> {
    let identity = identity(endpoint);
    let mut out = Vec::new();
    let running = |tokens| (streaming == Streaming::RunningUsage).then(|| usage(7, tokens));
    for choice in 0..2 {
        identity.role(&mut out, choice, running(0));
    }
    for (text, so_far) in [("otter", 1), (" \"森\" 🦦", 3), ("", 4)] {
        for choice in 0..2 {
            let delta = Delta {
                choice,
                text: Some(text),
                finish: text.is_empty().then_some("stop"),
                running: running(so_far),
                last: streaming == Streaming::Events,
                ..Delta::default()
            };
            identity.delta(&mut out, &delta);
        }
        encode::keep_alive(&mut out);
    }
    if streaming != Streaming::Events {
        let total = Usage {
            cached: Some(4),
            ..usage(7, 8)
        };
        identity.usage(&mut out, total);
    }
    encode::done(&mut out);
    out
}

#[test]
fn streams() {
    for endpoint in ENDPOINTS {
        for streaming in [Streaming::Events, Streaming::Usage, Streaming::RunningUsage] {
            let (events, answer) = decode(endpoint, STREAM, 2, &stream(endpoint, streaming));
            let roles = usize::from(endpoint == Endpoint::ChatCompletions) * 2;
            let tokens: Vec<Tokens> = events[roles..roles + 6]
                .iter()
                .map(|event| event.tokens)
                .collect();
            let (one, two) = (Tokens::Exactly(1), Tokens::Exactly(2));
            let (some, none) = (Tokens::AtLeastOne, Tokens::None);
            match streaming {
                Streaming::RunningUsage => assert_eq!(tokens, [one, one, two, two, one, one]),
                _ => assert_eq!(tokens, [some, some, some, some, none, none]),
            }
            assert!(
                events[..roles]
                    .iter()
                    .all(|event| event.tokens == Tokens::None)
            );
            let stated = (streaming != Streaming::Events).then_some(());
            assert_eq!(answer.output_tokens, stated.map(|()| 8));
            assert_eq!(answer.input_tokens, stated.map(|()| 7));
            assert_eq!(answer.cached_tokens, stated.map(|()| 4));
            let source = if stated.is_some() {
                CountSource::Usage
            } else {
                CountSource::None
            };
            assert_eq!(answer.output_source, source);
            assert_eq!(
                (answer.state, answer.terminator),
                (FinishState::Complete, Some(Terminator::Done))
            );
            assert_eq!(
                answer.finish_reasons,
                [Some("stop".to_owned()), Some("stop".to_owned())]
            );
            assert_eq!(answer.model.as_deref(), Some("otter \"8b\""));
            assert_eq!(
                (answer.response_id.as_deref(), answer.comments),
                (Some("an-id"), 3)
            );
            assert_eq!(answer.anomalies, []);
        }
    }
}

#[test]
fn reasoning_is_no_answer() {
    let identity = identity(Endpoint::ChatCompletions);
    let mut out = Vec::new();
    identity.role(&mut out, 0, None);
    for delta in [
        Delta {
            reasoning: Some("hm"),
            ..Delta::default()
        },
        Delta {
            reasoning: Some(" so"),
            text: Some("It"),
            ..Delta::default()
        },
        Delta {
            text: Some(" is"),
            ..Delta::default()
        },
        Delta {
            finish: Some("stop"),
            ..Delta::default()
        },
    ] {
        identity.delta(&mut out, &delta);
    }
    let total = Usage {
        reasoning: Some(2),
        ..usage(3, 5)
    };
    identity.usage(&mut out, total);
    encode::done(&mut out);
    let (events, answer) = decode(Endpoint::ChatCompletions, STREAM, 1, &out);
    let shows: Vec<(bool, bool)> = events[..5]
        .iter()
        .map(|event| (event.visible, event.answer))
        .collect();
    assert_eq!(
        shows,
        [
            (false, false),
            (true, false),
            (true, true),
            (true, true),
            (false, false)
        ]
    );
    assert_eq!(
        (answer.reasoning_tokens, answer.output_tokens),
        (Some(2), Some(5))
    );
}

#[test]
fn token_ids_are_counted() {
    for endpoint in ENDPOINTS {
        let mut out = Vec::new();
        let delta = Delta {
            text: Some(""),
            token_ids: Some(&[5, 6, 7]),
            ..Delta::default()
        };
        identity(endpoint).delta(&mut out, &delta);
        let (events, _) = decode(endpoint, STREAM, 1, &out);
        assert_eq!(events[0].tokens, Tokens::Exactly(3));
    }
}

#[test]
fn whole_bodies() {
    let choice = Choice {
        text: "two words",
        reasoning: None,
        finish: "length",
    };
    for endpoint in ENDPOINTS {
        let mut out = Vec::new();
        identity(endpoint).whole(
            &mut out,
            &[choice, choice],
            Usage {
                cached: Some(16),
                ..usage(40, 4)
            },
        );
        let (events, answer) = decode(endpoint, "application/json", 2, &out);
        assert_eq!(events, []);
        assert_eq!(
            (
                answer.input_tokens,
                answer.output_tokens,
                answer.cached_tokens
            ),
            (Some(40), Some(4), Some(16))
        );
        assert_eq!(
            (answer.state, answer.terminator),
            (FinishState::Complete, Some(Terminator::Body))
        );
        assert_eq!(
            answer.finish_reasons,
            [Some("length".to_owned()), Some("length".to_owned())]
        );
    }
}

#[test]
fn errors() {
    let error = ErrorObject {
        message: "no – 🦦",
        r#type: "InternalServerError",
        param: None,
        code: 500,
    };
    for endpoint in ENDPOINTS {
        let mut out = Vec::new();
        identity(endpoint).error(&mut out, &error);
        encode::done(&mut out);
        let (_, answer) = decode(endpoint, STREAM, 1, &out);
        assert_eq!(
            (answer.state, answer.error.as_deref()),
            (FinishState::Errored, Some("no – 🦦"))
        );
    }
}

#[test]
fn requests() {
    for endpoint in ENDPOINTS {
        let chat = endpoint == Endpoint::ChatCompletions;
        for streaming in [
            Streaming::Whole,
            Streaming::Events,
            Streaming::Usage,
            Streaming::RunningUsage,
        ] {
            let shape = RequestShape {
                model: Some("otter"),
                prompt: Prompt::Text("say \"森\""),
                max_tokens: Some(9),
                streaming,
                n: 2,
                ignore_eos: true,
                seed: Some(-3),
            };
            let mut scan = RequestScan::new(endpoint);
            scan.push(&shape.body(endpoint));
            let counts = matches!(streaming, Streaming::Usage | Streaming::RunningUsage);
            let expected = RequestFacts {
                whole: true,
                model: Some("otter".to_owned()),
                stream: (streaming != Streaming::Whole).then_some(true),
                n: Some(2),
                prompts: (!chat).then_some(1),
                messages: chat.then_some(1),
                prompt_bytes: Some(9),
                max_tokens: Some(9),
                include_usage: counts.then_some(true),
                continuous_usage: (streaming == Streaming::RunningUsage).then_some(true),
                seed: Some(-3),
                ..RequestFacts::default()
            };
            assert_eq!(scan.finish(), expected);
        }
    }
    let ids = RequestShape {
        model: None,
        prompt: Prompt::TokenIds(&[1, 2, 3]),
        max_tokens: None,
        streaming: Streaming::Whole,
        n: 1,
        ignore_eos: false,
        seed: None,
    };
    let mut scan = RequestScan::new(Endpoint::Completions);
    scan.push(&ids.body(Endpoint::Completions));
    assert_eq!(scan.finish().prompt_tokens, Some(3));
}
