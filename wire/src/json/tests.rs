//! Reading in place, against serde_json as the oracle.

use super::{Cursor, Decoded, Progress, cut_text, is_whole};
use crate::limits;
use proptest::prelude::*;
use serde::de::IgnoredAny;

fn oracle_is_whole(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

#[test]
fn what_is_json_and_what_is_not() {
    let whole = [
        "{}",
        "[]",
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1.5e-7",
        "12E+3",
        r#""""#,
        r#"" \u00e9\n\"\\ ""#,
        r#"{"a":[1,{"b":null}],"c":""}"#,
        " \t\r\n[ 1 , 2 ] ",
        r#"{"":{}}"#,
    ];
    let broken = [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,]",
        "{,}",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r"{a:1}",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "nul",
        "nulls",
        "tru e",
        "NaN",
        r#"""#,
        r#""\x""#,
        r#""\u12g4""#,
        r#""\u123""#,
        "\"\n\"",
        "{} {}",
        "[1 2]",
        r#"{"a":1 "b":2}"#,
        "[}",
        "{]",
        "{}x",
        "{}\u{c}",
        "[DONE]",
    ];
    for text in whole {
        assert!(is_whole(text.as_bytes()), "{text} is JSON");
        assert!(
            oracle_is_whole(text.as_bytes()),
            "{text} is JSON to the oracle"
        );
    }
    for text in broken {
        assert!(!is_whole(text.as_bytes()), "{text} is no JSON");
        assert!(
            !oracle_is_whole(text.as_bytes()),
            "{text} is no JSON to the oracle"
        );
    }
}

#[test]
fn bytes_in_strings_need_not_be_utf_8() {
    assert!(is_whole(b"{\"a\":\"\xc3\",\"\xff\":1}"));
}

#[test]
fn nesting_has_an_end() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(is_whole(nested(limits::JSON_DEPTH).as_bytes()));
    assert!(!is_whole(nested(limits::JSON_DEPTH + 1).as_bytes()));
    let mixed = |depth: usize| format!("{}0{}", r#"{"a":["#.repeat(depth), "]}".repeat(depth));
    assert!(is_whole(mixed(limits::JSON_DEPTH / 2).as_bytes()));
    assert!(!is_whole(mixed(limits::JSON_DEPTH / 2 + 1).as_bytes()));
}

#[test]
fn counts_are_whole_numbers() {
    let count = |text: &str| Cursor::new(text.as_bytes()).whole(Cursor::count).flatten();
    assert_eq!(count("0"), Some(0));
    assert_eq!(count("18446744073709551615"), Some(u64::MAX));
    for none in [
        "18446744073709551616",
        "-1",
        "1.0",
        "1e3",
        "null",
        r#""3""#,
        "[3]",
        "{}",
    ] {
        assert_eq!(count(none), None, "{none}");
    }
}

#[test]
fn other_kinds_read_as_absent() {
    let text = |text: &'static str| Cursor::new(text.as_bytes()).whole(Cursor::text);
    let length = |text: &str| Cursor::new(text.as_bytes()).whole(Cursor::length);
    let filled = |text: &str| Cursor::new(text.as_bytes()).whole(Cursor::is_filled);
    assert_eq!(text(r#" "a\"b" "#), Some(Some(br#"a\"b"#.as_slice())));
    assert_eq!(text("[1]"), Some(None));
    assert_eq!(text("[1"), None);
    assert_eq!(
        (length("[1,[2,3],{}]"), length("[]")),
        (Some(Some(3)), Some(Some(0)))
    );
    assert_eq!((length("null"), length("{}")), (Some(None), Some(None)));
    let is_filled = [r#""a""#, r#"{"a":null}"#, "[0]"];
    assert!(is_filled.iter().all(|value| filled(value) == Some(true)));
    let is_empty = [r#""""#, "{}", "[]", "null", "true", "7"];
    assert!(is_empty.iter().all(|value| filled(value) == Some(false)));
}

#[test]
fn a_long_text_is_cut_at_a_character() {
    let long = "é".repeat(limits::TEXT_BYTES);
    assert_eq!(
        cut_text(long.as_bytes()),
        "é".repeat(limits::TEXT_BYTES / 2)
    );
    let odd = format!("x{long}");
    assert_eq!(cut_text(odd.as_bytes()).len(), limits::TEXT_BYTES - 1);
    let bad = vec![0xff; limits::TEXT_BYTES];
    assert_eq!(cut_text(&bad), "\u{fffd}".repeat(limits::TEXT_BYTES / 3));
}

#[test]
fn escapes_are_undone() {
    let table = [
        (r"plain", "plain"),
        (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r"\u00e9\u20ac", "é€"),
        (r"\ud83e\udda6", "🦦"),
        (r"\ud83e", "\u{fffd}"),
        (r"\ud83ex", "\u{fffd}x"),
        (r"\ud83e\n", "\u{fffd}\n"),
        (r"\ud83e\u0041", "\u{fffd}A"),
        (r"\ud83e\ud83e\udda6", "\u{fffd}🦦"),
        (r"\udda6", "\u{fffd}"),
    ];
    for (raw, text) in table {
        assert_eq!(cut_text(raw.as_bytes()), text, "{raw}");
        assert_eq!(
            decode_in_pieces(raw.as_bytes(), 1),
            (text.to_owned(), text.len() as u64),
            "{raw}"
        );
    }
}

fn decode_in_pieces(raw: &[u8], size: usize) -> (String, u64) {
    let mut decoded = Decoded::default();
    let quoted = [raw, b"\""].concat();
    let last = quoted
        .chunks(size)
        .map(|piece| (decoded.push(piece), piece.len()))
        .last();
    let Some((Progress::End(taken), len)) = last else {
        panic!("the string has no end: {last:?}")
    };
    assert_eq!(taken, len);
    (decoded.text(), decoded.len())
}

/// JSON, mostly: values, and pieces that break them.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\"", "\"\\u00e9\"", "\"x\\", "\"", "null", "true", "fals", "0", "-1.5e3",
            "1.", " ", "\n", "\u{1}", "é",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_is_what_serde_json_takes(bytes in nearly_json()) {
        prop_assert_eq!(is_whole(&bytes), oracle_is_whole(&bytes));
        let walked = Cursor::new(&bytes).whole(Cursor::skip).is_some();
        prop_assert_eq!(walked, oracle_is_whole(&bytes));
    }

    #[test]
    fn no_bytes_are_beyond_it(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(is_whole(&bytes), oracle_is_whole(&bytes));
    }

    #[test]
    fn a_tree_is_whole_and_half_of_it_is_not(value in value(), part in any::<prop::sample::Index>()) {
        let text = serde_json::to_vec(&value).unwrap();
        prop_assert!(is_whole(&text));
        let half = &text[..part.index(text.len())];
        prop_assert_eq!(is_whole(half), oracle_is_whole(half));
    }

    #[test]
    fn a_text_is_decoded_as_serde_json_does(text in any::<String>(), size in 1_usize..9, ascii in any::<bool>()) {
        let quoted = if ascii { ascii_json(&text) } else { serde_json::to_string(&text).unwrap() };
        let raw = &quoted.as_bytes()[1..quoted.len() - 1];
        let (decoded, len) = decode_in_pieces(raw, size);
        prop_assert_eq!(len, text.len() as u64);
        prop_assert_eq!(&decoded, &text[..text.floor_char_boundary(limits::TEXT_BYTES)]);
        prop_assert_eq!(decoded, cut_text(raw));
    }
}

/// The text as Python's `json.dumps` writes it.
fn ascii_json(text: &str) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}
