//! Scorers, agreement and paired accuracy beyond the vectors.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use judge::accuracy::agreement::Agreement;
use judge::accuracy::{
    Choice, ClusteredAccuracy, JsonFields, JsonSchema, PairedAccuracy, Pattern, Score, Scorer,
    Take, TextOptions, Tolerance,
};
use judge::{JudgeError, Standing};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

const RIGHT: Score = Score {
    correct: true,
    malformed: false,
};
const WRONG: Score = Score {
    correct: false,
    malformed: false,
};

fn check(scorer: &Scorer, output: &str, gold: &str, expected: Score) {
    let score = scorer.score(Some(output), gold).unwrap();
    assert_eq!(score, expected, "{output:?} against {gold:?}");
}

#[test]
fn numbers_are_whole_texts() {
    let exact = Scorer::Numeric(Tolerance::default());
    let right = ["12", " +12\n", "12.0", "1.2e1", "1200%", "12.000"];
    for output in right {
        check(&exact, output, "12", RIGHT);
    }
    check(&exact, ".5", "0.5", RIGHT);
    check(&exact, "-1,234,567.5", "-1234567.5", RIGHT);
    let malformed = [
        "",
        "12 apples",
        "1,23",
        "12,3456",
        "1,234,56",
        "NaN",
        "inf",
        "1e999",
        "12.",
        "--1",
        "0x1F",
        "1 2",
        "１２",
        "%",
        ".",
        "1e",
        "12 %",
    ];
    for output in malformed {
        check(&exact, output, "12", Score::MALFORMED);
    }
    let near = Scorer::Numeric(Tolerance {
        absolute: 0.5,
        relative: 0.1,
    });
    check(&near, "110", "100", RIGHT);
    check(&near, "110.1", "100", WRONG);
    check(&near, "0.5", "0", RIGHT);
    let refused = exact.score(Some("12"), "twelve").unwrap_err();
    assert!(matches!(
        refused,
        JudgeError::Gold {
            scorer: "numeric",
            ..
        }
    ));
}

#[test]
fn texts_are_folded_as_asked() {
    let folded = Scorer::Exact(TextOptions {
        casefold: true,
        ..TextOptions::default()
    });
    check(&folded, "STRASSE", "straße", RIGHT);
    check(&folded, "ΣΊΣΥΦΟΣ", "σίσυφος", RIGHT);
    let bare = Scorer::Exact(TextOptions {
        strip: true,
        ignore_punctuation: true,
        ..TextOptions::default()
    });
    check(
        &bare,
        "\u{2003}«Paris», (really)!\u{a0}",
        "Paris really",
        RIGHT,
    );
    // A currency sign is a symbol, not punctuation.
    check(&bare, "$5", "5", WRONG);
    assert_eq!(bare.score(None, "").unwrap(), Score::MALFORMED);
}

#[test]
fn patterns_find_and_choices_are_closed() {
    let pattern = |text, group, take| Pattern::new(text, group, take).unwrap();
    let first = Scorer::Regex(pattern(r"\d+", 0, Take::First), TextOptions::default());
    check(&first, "3 then 42", "3", RIGHT);
    let optional = Scorer::Regex(pattern("a(b)?", 1, Take::First), TextOptions::default());
    check(&optional, "a", "b", Score::MALFORMED);
    let choice = Scorer::Choice(Choice {
        pattern: pattern(r"\b([A-E])\b", 1, Take::Last),
        choices: vec!["A".to_owned(), "B".to_owned()],
    });
    check(&choice, "not A but B", "B", RIGHT);
    check(&choice, "not B but A", "B", WRONG);
    check(&choice, "E", "B", Score::MALFORMED);
    assert!(matches!(
        Pattern::new("(?=a)", 0, Take::First),
        Err(JudgeError::Pattern(_))
    ));
}

#[test]
fn json_is_compared_by_meaning() {
    let fields = Scorer::JsonFields(JsonFields {
        compare: vec!["a".to_owned()],
        ..JsonFields::default()
    });
    check(
        &fields,
        r#"{"a": {"x": 1, "y": [2]}}"#,
        r#"{"a": {"y": [2.0], "x": 1.0}}"#,
        RIGHT,
    );
    check(&fields, r#"{"a": 1}"#, r#"{"a": true}"#, WRONG);
    check(&fields, r#"{"a": 1}"#, r#"{"b": 1}"#, WRONG);
    check(&fields, r#"[1]"#, r#"{"a": 1}"#, Score::MALFORMED);
    check(&fields, r#"{"a": NaN}"#, r#"{"a": 1}"#, Score::MALFORMED);
    assert!(fields.score(Some("{}"), "no object").is_err());
    let schema = JsonSchema::new(&json!({"type": "array", "items": {"type": "integer"}})).unwrap();
    let schema = Scorer::JsonSchema(schema.strip_fences());
    check(&schema, " [1, 2] ", "", RIGHT);
    check(&schema, "```json\n[1]\n```\n", "", RIGHT);
    check(&schema, "```\n[1]\n```", "", RIGHT);
    check(&schema, "text ```\n[1]\n```", "", Score::MALFORMED);
    check(&schema, "[1.5]", "", Score::MALFORMED);
    assert!(JsonSchema::new(&json!({"type": 5})).is_err());
    assert!(JsonSchema::new(&json!({"$ref": "http://127.0.0.1:1/other.json"})).is_err());
}

proptest! {
    #[test]
    fn the_deciding_interval_contains_the_difference(n in 1_u64..2000, one in 0.0..1.0_f64, two in 0.0..1.0_f64) {
        let part = |share: f64, of: u64| format!("{}", (share * of as f64).floor()).parse::<u64>().unwrap();
        let b = part(one, n);
        let c = part(two, n - b);
        let slice = PairedAccuracy::new(n, b, c).unwrap();
        let tango = slice.tango(0.95);
        prop_assert!(tango.lower <= slice.delta() + 1e-9 && slice.delta() <= tango.upper + 1e-9);
        let bounds = slice.one_sided95();
        prop_assert!(tango.lower <= bounds.lower && bounds.upper <= tango.upper);
        let mirrored = PairedAccuracy::new(n, c, b).unwrap();
        prop_assert!((mirrored.tango(0.95).upper + tango.lower).abs() < 1e-9);
        prop_assert!(slice.mid_p() <= slice.exact_p() + 1e-12);
        prop_assert!(!(slice.decide(0.05) == Standing::NonInferior && slice.decide(0.02) == Standing::Inferior && b < c));
    }

    #[test]
    fn clusters_of_one_are_independent(items in vec(-1.0..1.0_f64, 2..50)) {
        let clusters: Vec<Vec<f64>> = items.iter().map(|item| vec![*item]).collect();
        let accuracy = ClusteredAccuracy::of(&clusters).unwrap();
        prop_assert!((accuracy.se - accuracy.independent_se.unwrap()).abs() < 1e-12);
        prop_assert!(accuracy.interval(0.95).contains(accuracy.delta));
        let one = ClusteredAccuracy::of(&[items]);
        prop_assert_eq!(one, None);
    }

    #[test]
    fn agreement_is_symmetric(a in vec(0_u32..4, 0..30), b in vec(0_u32..4, 0..30)) {
        let (one, other) = (Agreement::of(&a, &b), Agreement::of(&b, &a));
        prop_assert_eq!(one, other);
        prop_assert_eq!(one.is_exact(), a == b);
        prop_assert!(one.edit_distance >= a.len().abs_diff(b.len()));
        prop_assert!(one.edit_distance <= a.len().max(b.len()) - one.first_divergence.unwrap_or(a.len()));
    }
}

#[test]
fn a_slice_must_add_up() {
    assert!(PairedAccuracy::new(0, 0, 0).is_err());
    assert!(PairedAccuracy::new(10, 6, 5).is_err());
}
