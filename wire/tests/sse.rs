//! Framing of event streams: each rule by example, each example in every way that it can be cut in two, and byte by byte.

use proptest::prelude::*;
use wire::limits::LINE_BYTES;
use wire::sse::{Field, Frame, Framer, Rest};

/// What came out of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    frames: Vec<(Field, Vec<u8>)>,
    comments: u64,
    rest: Rest,
    oversize: bool,
}

fn read<'b>(pushes: impl IntoIterator<Item = &'b [u8]>) -> Seen {
    let mut framer = Framer::default();
    let mut frames = Vec::new();
    let mut keep = |frame: Frame<'_>| frames.push((frame.field, frame.data.to_vec()));
    pushes
        .into_iter()
        .for_each(|bytes| framer.push(bytes, &mut keep));
    let rest = framer.finish(&mut keep);
    Seen {
        frames,
        comments: framer.comments(),
        rest,
        oversize: framer.is_oversize(),
    }
}

/// The same in one push, cut in two anywhere, and byte by byte.
fn read_any_way(bytes: &[u8]) -> Seen {
    let seen = read([bytes]);
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(
            read([head, tail]),
            seen,
            "cut at {cut}: {}",
            bytes.escape_ascii()
        );
    }
    assert_eq!(
        read(bytes.chunks(1)),
        seen,
        "byte by byte: {}",
        bytes.escape_ascii()
    );
    seen
}

fn check(stream: &str, frames: &[&str]) {
    let seen = read_any_way(stream.as_bytes());
    let data: Vec<_> = seen
        .frames
        .iter()
        .map(|(_, data)| String::from_utf8_lossy(data).into_owned())
        .collect();
    assert_eq!(data, frames, "{}", stream.escape_debug());
    assert!(
        seen.frames.iter().all(|(field, _)| *field == Field::Data),
        "{}",
        stream.escape_debug()
    );
}

#[test]
fn fault_24_a_line_ends_with_lf_crlf_or_cr() {
    check("data: a\n\ndata: b\n\n", &["a", "b"]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
    check("data: a\r\rdata: b\r\r", &["a", "b"]);
    check("data: a\n\r\ndata: b\r\n\n", &["a", "b"]);
    check("data: a\r\n\ndata: b\n\r", &["a", "b"]);
}

#[test]
fn nothing_between_cr_and_lf_is_nothing() {
    let seen = read([&b"data: a\r"[..], b"", b"\ndata: b\r\n\r", b"", b"\n"]);
    assert_eq!(seen.frames, [(Field::Data, b"a\nb".to_vec())]);
}

#[test]
fn one_space_after_the_colon_may_be_missing() {
    check("data:a\n\ndata: a\n\n", &["a", "a"]);
    check("data:{\"a\":1}\n\n", &["{\"a\":1}"]);
}

#[test]
fn white_space_around_the_data_goes() {
    check("data: {} \n\ndata:   [DONE]\t\n\n", &["{}", "[DONE]"]);
}

#[test]
fn empty_data_is_an_event() {
    check("data:\n\ndata\n\ndata: \n\n", &["", "", ""]);
}

#[test]
fn without_data_there_is_no_event() {
    check("\n\nevent: ping\n\nid: 7\n\nretry: 10\n\n: hi\n\n", &[]);
}

#[test]
fn other_fields_are_passed_over() {
    check(
        "retry: 3\nid: 7\nevent: message\nx-foo: bar\nno colon\ndatabase: b\nerrors: c\ndata: a\nid\n\n",
        &["a"],
    );
}

#[test]
fn bare_json_is_an_unknown_field() {
    check("{\"a\":1}\n\ndata: b\n\n", &["b"]);
}

#[test]
fn several_lines_of_data_are_joined() {
    check("data: a\ndata: b\n\n", &["a\nb"]);
    check("data: {\"a\":\ndata: 1}\n\n", &["{\"a\":\n1}"]);
    check(
        "data: a\n: between\nevent: x\ndata:\ndata: b\n\n",
        &["a\n\nb"],
    );
}

#[test]
fn lines_that_are_json_each_but_not_together_are_an_event_each() {
    check(
        "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n\n",
        &["{\"a\":1}", "{\"b\":2}", "[DONE]"],
    );
    check("data: {\"a\":1}\ndata: not so\n\n", &["{\"a\":1}\nnot so"]);
    check("data: not so\ndata: {\"a\":1}\n\n", &["not so\n{\"a\":1}"]);
    check("data: [1,\ndata: 2\ndata: ]\n\n", &["[1,\n2\n]"]);
}

#[test]
fn only_single_lines_are_events_of_their_own() {
    check(
        "data: {\"a\":\ndata: 1}\ndata: {}\n\n",
        &["{\"a\":\n1}\n{}"],
    );
    check("data: {}\ndata:\ndata: {}\n\n", &["{}\n\n{}"]);
}

#[test]
fn a_comment_counts_and_does_no_more() {
    let seen = read_any_way(b": ping\ndata: {\"a\":\n:\ndata: 1}\n:pong\n\n: end");
    assert_eq!(seen.frames, [(Field::Data, b"{\"a\":\n1}".to_vec())]);
    assert_eq!((seen.comments, seen.rest), (4, Rest::Nothing));
}

#[test]
fn a_byte_order_mark_may_lead() {
    check("\u{feff}data: a\n\n", &["a"]);
    check("\u{feff}: c\ndata: a\n\n", &["a"]);
    check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
}

#[test]
fn an_error_line_is_the_data_of_an_error() {
    let seen = read_any_way(b"error: {\"code\":500}\n\ndata: a\n\n");
    assert_eq!(
        seen.frames,
        [
            (Field::Error, b"{\"code\":500}".to_vec()),
            (Field::Data, b"a".to_vec())
        ]
    );
}

#[test]
fn at_the_end_whole_json_and_the_mark_count() {
    check("data: {\"a\":1}", &["{\"a\":1}"]);
    check("data: {\"a\":1}\n", &["{\"a\":1}"]);
    check("data: {\"a\":1}\r\n", &["{\"a\":1}"]);
    check("data: [DONE]", &["[DONE]"]);
    check("data: null", &["null"]);
    check("data: {\"a\":1}\ndata: [DONE]", &["{\"a\":1}", "[DONE]"]);
    check("data: {\"a\":\ndata: 1}", &["{\"a\":\n1}"]);
}

#[test]
fn at_the_end_the_rest_is_dropped() {
    for (stream, rest) in [
        ("data: {\"a\":", Rest::Dropped),
        ("data: plain\n", Rest::Dropped),
        ("data:\n", Rest::Nothing),
        ("dat", Rest::Nothing),
        ("event: x", Rest::Nothing),
        ("data: a\n\n", Rest::Nothing),
    ] {
        assert_eq!(
            read_any_way(stream.as_bytes()).rest,
            rest,
            "{}",
            stream.escape_debug()
        );
    }
}

#[test]
fn bytes_are_passed_on_as_they_are() {
    let seen = read_any_way(b"data: \"\xf0\x9f\xa6\xa6 \xc3\"\n\n");
    assert_eq!(
        seen.frames,
        [(Field::Data, b"\"\xf0\x9f\xa6\xa6 \xc3\"".to_vec())]
    );
}

#[test]
fn a_line_has_a_limit() {
    let line = |length: usize| format!("data: {}", "x".repeat(length - 6));
    let stream = |length: usize| format!("data: a\n\n{}\n\ndata: b\n\n", line(length));
    for (length, frames, oversize) in [(LINE_BYTES, 3, false), (LINE_BYTES + 1, 1, true)] {
        for size in [usize::MAX, 1, 1000] {
            let bytes = stream(length);
            let seen = read(bytes.as_bytes().chunks(size.min(bytes.len())));
            assert_eq!(
                (seen.frames.len(), seen.oversize),
                (frames, oversize),
                "{length} in pushes of {size}"
            );
        }
    }
    // It need not end to be too long.
    assert!(read([line(LINE_BYTES + 1).as_bytes()]).oversize);
}

#[test]
fn an_event_has_a_limit() {
    let half = "x".repeat(LINE_BYTES / 2);
    let stream = format!("data: {half}\ndata: {half}\n\n");
    assert!(read([stream.as_bytes()]).oversize);
    assert!(read(stream.as_bytes().chunks(7)).oversize);
    let fits = format!("data: {half}\ndata: {}\n\n", &half[1..]);
    assert_eq!(read([fits.as_bytes()]).frames[0].1.len(), LINE_BYTES);
    assert_eq!(read(fits.as_bytes().chunks(7)), read([fits.as_bytes()]));
}

#[test]
fn comments_before_the_limit_are_kept() {
    let stream = format!(": a\n\n{}\n: b\n", "x".repeat(LINE_BYTES + 1));
    let seen = read([stream.as_bytes()]);
    assert_eq!((seen.comments, seen.oversize), (1, true));
}

/// For each push: data of its frames, each with whether it was early, and whether what is pending is whole.
fn dated(pushes: &[&str]) -> Vec<(Vec<(String, bool)>, bool)> {
    let mut framer = Framer::default();
    let dated = |framer: &mut Framer, push: &str| {
        let mut frames = Vec::new();
        framer.push(push.as_bytes(), |frame| {
            frames.push((
                String::from_utf8_lossy(frame.data).into_owned(),
                frame.early,
            ));
        });
        (frames, framer.pending_whole())
    };
    pushes.iter().map(|push| dated(&mut framer, push)).collect()
}

fn frame(data: &str, early: bool) -> (String, bool) {
    (data.to_owned(), early)
}

#[test]
fn an_event_is_dated_by_the_push_that_made_it_whole() {
    // Whole before its line end, before its blank line, and not at all.
    assert_eq!(
        dated(&["data: {\"a\":", "1}", "\n", "\n"]),
        [
            (vec![], false),
            (vec![], true),
            (vec![], true),
            (vec![frame("{\"a\":1}", true)], false)
        ]
    );
    assert_eq!(
        dated(&["data: {}\n\n"]),
        [(vec![frame("{}", false)], false)]
    );
    assert_eq!(
        dated(&["data: {}\n\ndata: [DONE]", " \r", "\n\r\n"]),
        [
            (vec![frame("{}", false)], true),
            (vec![], true),
            (vec![frame("[DONE]", true)], false)
        ]
    );
    assert_eq!(
        dated(&["data: x", "\n\n"]),
        [(vec![], false), (vec![frame("x", false)], false)]
    );
}

#[test]
fn an_event_of_the_same_length_is_not_early_too() {
    assert_eq!(
        dated(&["data: {}", "\n\ndata: []\n\n"]),
        [
            (vec![], true),
            (vec![frame("{}", true), frame("[]", false)], false)
        ]
    );
}

#[test]
fn what_follows_whole_json_can_undo_it() {
    assert_eq!(
        dated(&["data: 1", "2\n\n"]),
        [(vec![], true), (vec![frame("12", false)], false)]
    );
    assert_eq!(
        dated(&["data: {}\n", "data: x\n", "\n"]),
        [
            (vec![], true),
            (vec![], false),
            (vec![frame("{}\nx", false)], false)
        ]
    );
}

#[test]
fn an_event_of_several_lines_is_dated_too() {
    assert_eq!(
        dated(&["data: {\"a\":\nda", "ta: 1", "}", "\n\n"]),
        [
            (vec![], false),
            (vec![], false),
            (vec![], true),
            (vec![frame("{\"a\":\n1}", true)], false)
        ]
    );
}

#[test]
fn events_without_blank_lines_are_dated_one_by_one() {
    assert_eq!(
        dated(&["data: {}\n", "data: [", "]\n", "data: [DONE]\n", "\n"]),
        [
            (vec![], true),
            (vec![], true),
            (vec![frame("{}", true)], true),
            (vec![frame("[]", true)], true),
            (vec![frame("[DONE]", true)], false),
        ]
    );
}

#[test]
fn a_pending_event_is_early_at_the_end() {
    let mut framer = Framer::default();
    framer.push(b"data: {}", |_| panic!("nothing has ended yet"));
    let mut early = None;
    framer.finish(|frame| early = Some(frame.early));
    assert_eq!(early, Some(true));
}

/// A stream, mostly: lines, and pieces that break them.
fn nearly_a_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "data:",
        "data: ",
        "data",
        "error: ",
        ": comment",
        "event: x",
        "id",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\r\n\r\n",
        "{}",
        "{\"a\":",
        "1}",
        "[DONE]",
        "null",
        "text",
        " ",
        "\u{feff}",
        "é",
        "}",
        "\"",
    ]);
    let bytes = prop::collection::vec(any::<u8>(), 0..4);
    let pieces = prop_oneof![8 => piece.prop_map(|piece| piece.as_bytes().to_vec()), 1 => bytes];
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// Pushes that end at these places.
fn cut(bytes: &[u8], mut places: Vec<prop::sample::Index>) -> Vec<&[u8]> {
    places.sort_by_key(|place| place.index(bytes.len() + 1));
    let mut pushes = Vec::new();
    let mut start = 0;
    for end in places
        .iter()
        .map(|place| place.index(bytes.len() + 1))
        .chain([bytes.len()])
    {
        pushes.push(&bytes[start..end]);
        start = end;
    }
    pushes
}

proptest! {
    #[test]
    fn cuts_change_nothing(bytes in nearly_a_stream(), places in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let whole = read([bytes.as_slice()]);
        prop_assert_eq!(&read(cut(&bytes, places)), &whole);
        prop_assert_eq!(&read(bytes.chunks(1)), &whole);
    }

    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..20) {
        prop_assert_eq!(read(bytes.chunks(size)), read([bytes.as_slice()]));
    }

    /// Only the first frame of a push can be early, and only if the push before left it whole.
    #[test]
    fn early_means_whole_before(bytes in nearly_a_stream(), size in 1_usize..12) {
        let mut framer = Framer::default();
        for push in bytes.chunks(size) {
            let was_whole = framer.pending_whole();
            let mut early = Vec::new();
            framer.push(push, |frame| early.push(frame.early));
            prop_assert!(early.iter().skip(1).all(|early| !early));
            prop_assert!(was_whole || early.first() != Some(&true));
        }
    }
}
