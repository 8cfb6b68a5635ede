//! Recorded answers of engines, each read as a whole, by its own reads and in reads of 1 and of 7 bytes.

#![expect(
    clippy::expect_used,
    reason = "what goes wrong in a helper fails the test"
)]

mod corpus;

use corpus::{Corpus, Verdict};
use std::fmt::Write;
use std::path::Path;
use wire::EngineTimes;

fn corpus() -> Corpus {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corpus");
    Corpus::read(&folder).expect("the listing is readable")
}

#[test]
fn every_answer_is_understood_as_expected() {
    let corpus = corpus();
    let mut faults = String::new();
    for case in &corpus.cases {
        match corpus.check(case).expect("the case can be played") {
            Verdict::Pass => {}
            Verdict::Skipped => writeln!(faults, "{}: not decoded", case.id).unwrap(),
            Verdict::Fail(differences) => {
                differences
                    .iter()
                    .for_each(|difference| writeln!(faults, "{}: {difference}", case.id).unwrap());
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn the_corpus_has_each_engine() {
    let corpus = corpus();
    let of = |engine: &str| {
        corpus
            .cases
            .iter()
            .filter(|case| case.engine == engine)
            .count()
    };
    let engines = [
        ("vllm", 41),
        ("vllm-rust", 4),
        ("sglang", 20),
        ("sglang-rust", 1),
        ("trtllm", 9),
        ("triton-openai", 2),
        ("triton", 11),
        ("tgi", 15),
        ("llamacpp", 15),
        ("generic", 27),
    ];
    for (engine, cases) in engines {
        assert_eq!(of(engine), cases, "{engine}");
    }
    let all: usize = engines.iter().map(|(_, cases)| cases).sum();
    assert_eq!(corpus.cases.len(), all);
}

#[test]
fn nothing_is_claimed_beyond_the_truth() {
    let corpus = corpus();
    let mut checked = 0;
    for case in &corpus.cases {
        let observed = corpus.play(case).expect("the case can be played");
        if let Some(tokens) = case.truth("output_tokens") {
            assert!(
                observed.answer.output_tokens_min <= tokens,
                "{}: lower bound",
                case.id
            );
            assert!(
                observed
                    .answer
                    .output_tokens
                    .is_none_or(|stated| stated == tokens),
                "{}: total",
                case.id
            );
            checked += 1;
        }
        if let (Some(first), Some(claimed)) = (
            case.truth("first_token_event"),
            observed.first_token_event(),
        ) {
            assert!(claimed as u64 >= first, "{}: first token", case.id);
            checked += 1;
        }
    }
    assert!(checked >= 4, "only {checked} truths were found");
}

#[test]
fn what_engines_state_of_their_own_times_is_read_where_one_choice_has_them() {
    let ms = |ms: u64| Some(ms * 1_000_000);
    let none = EngineTimes::default();
    // A slot of llama.cpp: 120 ms to the first token; its wait for the slot is not told.
    let slot = |decode| EngineTimes {
        prefill: ms(120),
        decode: ms(decode),
        ..none
    };
    let sglang = |e2e| EngineTimes {
        e2e: ms(e2e),
        ..none
    };
    let stated = [
        ("llama-chat-http1-joined", slot(30)),
        ("llama-chat-no-role", slot(90)),
        ("llama-chat-progress", slot(60)),
        ("llama-completion-json", slot(90)),
        ("llama-completion-ping", slot(30)),
        ("llama-completion-plain", slot(90)),
        ("llama-completion-return-tokens", slot(60)),
        ("llama-completion-stop-hold", slot(90)),
        ("llama-responses", slot(120)),
        ("sglang-generate-abort", sglang(260)),
        ("sglang-generate-cumulative", sglang(300)),
        ("sglang-generate-incremental", sglang(290)),
        ("sglang-generate-json", sglang(270)),
        (
            "tgi-generate-json-http1",
            EngineTimes {
                queue: ms(1),
                e2e: ms(71),
                ..none
            },
        ),
        (
            "vllm-chat-server-metrics",
            EngineTimes {
                queue: Some(400_000),
                prefill: Some(55_200_000),
                decode: Some(9_100_000),
                ..none
            },
        ),
    ];
    let corpus = corpus();
    let mut seen = Vec::new();
    for case in &corpus.cases {
        let times = corpus
            .play(case)
            .expect("the case can be played")
            .answer
            .engine_times;
        if times.is_stated() {
            seen.push((case.id.as_str(), times));
        }
    }
    seen.sort_unstable_by_key(|&(id, _)| id);
    assert_eq!(seen, stated);
}
