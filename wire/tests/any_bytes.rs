//! The fuzz targets' property in the ordinary tests: recorded answers on every route, damaged and cut anywhere.

#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails the test"
)]

mod any_answer;
mod corpus;

use any_answer::{Input, check, check_as_packed, routes};
use corpus::{Case, Corpus};
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::Path;
use std::sync::LazyLock;
use wire::{AnswerContext, Decoder, Endpoint, Event, FinishState, TransportEnd};

static CORPUS: LazyLock<Corpus> = LazyLock::new(|| {
    Corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corpus")).unwrap()
});

/// The seed of each recorded answer.
static SEEDS: LazyLock<Vec<(Endpoint, Vec<u8>)>> = LazyLock::new(|| {
    let seed = |case: &Case| {
        let endpoint = case.decoded_endpoint().unwrap();
        (
            endpoint,
            Input::seed(endpoint, &CORPUS.bytes(case).unwrap()),
        )
    };
    CORPUS.cases.iter().map(seed).collect()
});

/// What the fuzzer starts from reaches each dialect: a token is seen on each route of which an answer was recorded, and
/// those are all but two that share their dialect with another.
#[test]
fn seeds_reach_every_dialect() {
    let mut without: Vec<Endpoint> = routes();
    for (endpoint, seed) in SEEDS.iter() {
        let input = Input::parse(seed).unwrap();
        assert_eq!(input.endpoint, *endpoint);
        if check(input) {
            without.retain(|route| route != endpoint);
        }
    }
    let others = [
        // TGI's, as /generate_stream; vLLM's, with other numbers of fields.
        Endpoint::Root,
        Endpoint::SglangGrpc,
    ];
    assert_eq!(without, others);
}

/// A seed with some bytes changed, put in or taken out, perhaps on another route.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b"\r\n\"\\{}[]:,0 ".to_vec())
    ];
    let edits = prop::collection::vec((any::<Index>(), 0..3_u8, byte), 0..6);
    let head = (any::<u8>(), prop::option::of(any::<u8>()), any::<u8>());
    (any::<Index>(), edits, head).prop_map(|(which, edits, (size, route, cut))| {
        let mut data = SEEDS[which.index(SEEDS.len())].1.clone();
        data[0] = size;
        data[1] = route.unwrap_or(data[1]);
        data[2] = cut;
        for (place, edit, byte) in edits {
            let place = 3 + place.index((data.len() - 3).max(1));
            match edit {
                0 if place < data.len() => data[place] = byte,
                1 if place < data.len() => drop(data.remove(place)),
                _ => data.insert(place.min(data.len()), byte),
            }
        }
        data
    })
}

proptest! {
    #[test]
    fn damaged_answers(data in damaged()) {
        check(Input::parse(&data).unwrap());
        check_as_packed(Input::parse(&data).unwrap());
    }

    #[test]
    fn made_up_bytes(data in prop::collection::vec(any::<u8>(), 3..300)) {
        check(Input::parse(&data).unwrap());
        check_as_packed(Input::parse(&data).unwrap());
    }

    /// Damage in what is compressed.
    #[test]
    fn damaged_packing(place in any::<Index>(), byte in any::<u8>(), head in any::<[u8; 3]>()) {
        let case = CORPUS.cases.iter().find(|case| case.id == "generic-gzip").unwrap();
        let mut data = [&head[..], &CORPUS.bytes(case).unwrap()].concat();
        let place = 3 + place.index(data.len() - 3);
        data[place] = byte;
        check_as_packed(Input::parse(&data).unwrap());
    }
}

/// Bytes that say that an answer has ended, or why a choice did, in any dialect.
const MARKS: [&str; 9] = [
    "[DONE]",
    "message_stop",
    "response.completed",
    "response.incomplete",
    "\"stop\":true",
    "\"done\":true",
    "\"finish_reason\":\"",
    "\"finish_reason\": \"",
    "\"generated_text\":\"",
];

/// Wherever a recorded stream is cut, it is not whole before a mark came, and no more is counted than the whole one proves.
#[test]
fn a_cut_stream_claims_nothing() {
    for case in CORPUS.cases.iter().filter(|case| case.is_event_stream()) {
        let bytes = CORPUS.bytes(case).unwrap();
        let whole = CORPUS.play(case).unwrap();
        let marks = MARKS.map(str::as_bytes);
        let has_mark = |prefix: &[u8]| {
            marks
                .iter()
                .any(|mark| prefix.windows(mark.len()).any(|window| window == *mark))
        };
        for length in (0..bytes.len()).step_by(7) {
            let prefix = &bytes[..length];
            let context = AnswerContext {
                content_type: Some("text/event-stream"),
                stream_requested: Some(true),
                ..case.context(case.decoded_endpoint().unwrap(), whole.status)
            };
            let (mut decoder, mut events) = (Decoder::new(context), Vec::<Event>::new());
            decoder.push(prefix, &mut events);
            let answer = decoder.finish(TransportEnd::Cut, &mut events);
            assert!(
                answer.state != FinishState::Complete || has_mark(prefix),
                "{}: {length} bytes are called whole",
                case.id
            );
            assert!(
                answer.output_tokens_min <= whole.answer.output_tokens_min,
                "{}: {length} bytes count more than all",
                case.id
            );
        }
    }
}
