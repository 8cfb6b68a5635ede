//! What the encoders write is read as it was meant: by the decoder in every cut, and by the scan of requests. The dialects of
//! all engines are read back by the tests of the simulator.

#![expect(
    clippy::expect_used,
    reason = "a test that can't go on fails; clippy knows functions with #[test] alone"
)]

use wire::encode::{
    self, Finish, Manner, Prompt, RequestShape, Sheet, Step, Streaming, Times, Token, TokenKind,
    Writer,
};
use wire::{
    Answer, AnswerContext, CountSource, Decoder, Endpoint, EngineKind, Event, FinishState,
    RequestDetails, RequestFacts, RequestScan, Terminator, Tokens, TransportEnd,
};

const ENDPOINTS: [Endpoint; 2] = [Endpoint::Completions, Endpoint::ChatCompletions];

const VLLM: EngineKind = EngineKind::Vllm;

fn writer(endpoint: Endpoint, change: impl FnOnce(&mut Manner)) -> Writer {
    let mut manner = Manner {
        id: "an-id".to_owned(),
        created: 1_796_040_000,
        model: "otter \"8b\"".to_owned(),
        ..Manner::new(VLLM, endpoint)
    };
    change(&mut manner);
    Writer::new(manner).expect("vLLM has this route")
}

fn token(text: &str, kind: TokenKind) -> Token<'_> {
    Token { id: 5, text, kind }
}

fn step<'a>(choice: u32, tokens: &'a [Token<'a>], finish: Option<Finish>) -> Step<'a> {
    Step {
        choice,
        tokens,
        finish,
        prompt: 7,
        cached: 4,
        times: Times::default(),
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

/// Two choices, three steps each of 1, 2 and 1 tokens, the last of which is silent.
fn stream(endpoint: Endpoint, streaming: Streaming) -> Vec<u8> {
    let mut writer = writer(endpoint, |manner| {
        manner.n = 2;
        manner.wishes.usage = streaming != Streaming::Events;
        manner.wishes.running = streaming == Streaming::RunningUsage;
        manner.settings.cache_report = true;
    });
    let mut sheet = Sheet::default();
    let mut out = Vec::new();
    let (word, more, end) = (
        [token("otter", TokenKind::Answer)],
        [
            token(" \"森\"", TokenKind::Answer),
            token(" 🦦", TokenKind::Answer),
        ],
        [token("", TokenKind::Silent)],
    );
    for (tokens, finish) in [(&word[..], None), (&more, None), (&end, Some(Finish::Stop))] {
        for choice in 0..2 {
            writer.step(&step(choice, tokens, finish), &mut sheet);
        }
        out.extend_from_slice(sheet.bytes());
        out.extend_from_slice(encode::keep_alive(VLLM, endpoint).as_bytes());
        sheet.clear();
    }
    writer.end(&mut sheet);
    assert_eq!(writer.states_total(), streaming != Streaming::Events);
    [out.as_slice(), sheet.bytes()].concat()
}

#[test]
fn streams() {
    for endpoint in ENDPOINTS {
        for streaming in [Streaming::Events, Streaming::Usage, Streaming::RunningUsage] {
            let (events, answer) = decode(endpoint, STREAM, 2, &stream(endpoint, streaming));
            let roles = usize::from(endpoint == Endpoint::ChatCompletions);
            // The choices open one after the other.
            let bearing = events
                .iter()
                .enumerate()
                .filter(|(at, _)| ![0, 2 * roles].contains(at) || roles == 0);
            let tokens: Vec<Tokens> = bearing.take(6).map(|(_, event)| event.tokens).collect();
            let (one, two) = (Tokens::Exactly(1), Tokens::Exactly(2));
            let (some, none) = (Tokens::AtLeastOne, Tokens::None);
            match streaming {
                Streaming::RunningUsage => assert_eq!(tokens, [one, one, two, two, one, one]),
                _ => assert_eq!(tokens, [some, some, some, some, none, none]),
            }
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
            let id = match endpoint {
                Endpoint::ChatCompletions => "chatcmpl-an-id",
                _ => "cmpl-an-id",
            };
            assert_eq!(
                (answer.response_id.as_deref(), answer.comments),
                (Some(id), 3)
            );
            assert_eq!(answer.anomalies, []);
        }
    }
}

#[test]
fn reasoning_is_no_answer() {
    let mut writer = writer(Endpoint::ChatCompletions, |manner| {
        manner.wishes.usage = true;
        manner.settings.reasons = true;
    });
    let thought = |text| token(text, TokenKind::Reasoning);
    let said = |text| token(text, TokenKind::Answer);
    let mut sheet = Sheet::default();
    for (tokens, finish) in [
        (&[thought("hm")][..], None),
        (&[thought(" so"), said("It")], None),
        (&[said(" is")], None),
        (&[token("", TokenKind::Silent)], Some(Finish::Stop)),
    ] {
        writer.step(&step(0, tokens, finish), &mut sheet);
    }
    writer.end(&mut sheet);
    let (events, answer) = decode(Endpoint::ChatCompletions, STREAM, 1, sheet.bytes());
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
        let mut writer = writer(endpoint, |manner| manner.wishes.token_ids = true);
        let mut sheet = Sheet::default();
        writer.step(
            &step(0, &[token("", TokenKind::Silent); 3], None),
            &mut sheet,
        );
        let (events, _) = decode(endpoint, STREAM, 1, sheet.bytes());
        assert_eq!(
            events.last().map(|event| event.tokens),
            Some(Tokens::Exactly(3))
        );
    }
}

#[test]
fn whole_bodies() {
    for endpoint in ENDPOINTS {
        let mut writer = writer(endpoint, |manner| {
            manner.n = 2;
            manner.streamed = false;
            manner.settings.cache_report = true;
        });
        for choice in 0..2 {
            let words = [
                token("two", TokenKind::Answer),
                token(" words", TokenKind::Answer),
            ];
            writer.step(
                &step(choice, &words, Some(Finish::Length)),
                &mut Sheet::default(),
            );
        }
        let mut out = Vec::new();
        let stated = writer.whole(&mut out).expect("a body counts");
        assert_eq!((stated.prompt, stated.completion), (7, 4));
        let (events, answer) = decode(endpoint, "application/json", 2, &out);
        assert_eq!(events, []);
        assert_eq!(
            (
                answer.input_tokens,
                answer.output_tokens,
                answer.cached_tokens
            ),
            (Some(7), Some(4), Some(4))
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
    for endpoint in ENDPOINTS {
        let mut sheet = Sheet::default();
        writer(endpoint, |_| {}).error("no – 🦦", &mut sheet);
        let (_, answer) = decode(endpoint, STREAM, 1, sheet.bytes());
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
                details: RequestDetails {
                    system: chat.then_some(false),
                    images: chat.then_some(0),
                    sounds: chat.then_some(0),
                    ..RequestDetails::default()
                },
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
