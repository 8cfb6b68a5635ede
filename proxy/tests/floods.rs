//! Attacks by HTTP/2 frames: what reaches the engine, how the connection ends, and that others are served.
//!
//! The frames of an attack come at one instant of the paused clock, which is faster than any client can be, or a
//! millisecond apart, so that whatever each of them begins is under way before the next.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

#[path = "support/attack.rs"]
mod attack;
mod support;

use attack::*;
use support::{House, pause};

/// How often something was refused for `reason`.
fn refused(house: &House, reason: &str) -> u64 {
    let metrics = house
        .proxy
        .exporter()
        .encode(exporter::Format::Text, &exporter::Live::default())
        .unwrap();
    let line = format!("loadproof_rejected_requests_total{{reason=\"{reason}\"}} ");
    String::from_utf8(metrics)
        .unwrap()
        .lines()
        .find_map(|text| text.strip_prefix(&line))
        .expect("there from the start")
        .parse()
        .unwrap()
}

/// Runs an attack against a silent engine; returns how it ended, and how many requests reached the engine.
async fn run(pace: Pace, frames: impl IntoIterator<Item = Vec<u8>>) -> (Ending, usize) {
    let (engine, reached) = engine(0);
    let house = House::new(&engine, "");
    let ending = attack(&house, pace, frames).await;
    another_client_is_served(&house).await;
    if ending.closed {
        pause(1_000).await;
        assert_eq!(
            house.proxy.in_flight().prefill(),
            0,
            "a closed connection has no exchange: {ending:?}"
        );
        assert!(reached.open() <= 1, "one connection is kept for others");
    }
    (ending, reached.heads())
}

#[tokio::test(start_paused = true)]
async fn fault_39_rapid_reset_ends_the_connection_and_hardly_reaches_the_engine() {
    for pace in [Pace::AtOnce, Pace::Apart] {
        let pairs = (0..2_000).map(|index| {
            let mut pair = request(index, &chat());
            pair.extend(frame(RST_STREAM, 0, stream(index), &[0, 0, 0, 8]));
            pair
        });
        let (ending, reached) = run(pace, pairs).await;
        assert_eq!(
            (ending.closed, ending.go_away),
            (true, Some(ENHANCE_YOUR_CALM)),
            "{pace:?}: {ending:?}"
        );
        assert!(
            reached <= 5,
            "{pace:?}: {reached} requests reached the engine"
        );
    }
}

/// The three ways of making a server reset a stream that it goes on working for.
#[tokio::test(start_paused = true)]
async fn fault_40_a_client_that_makes_us_reset_its_streams_is_let_go() {
    type Provoke = fn(u32) -> Vec<u8>;
    let zero = |index| frame(WINDOW_UPDATE, 0, stream(index), &[0, 0, 0, 0]);
    let overflow = |index| frame(WINDOW_UPDATE, 0, stream(index), &[0x7f, 0xff, 0xff, 0xff]);
    let after_end = |index| frame(DATA, 0, stream(index), b"more");
    let ways: [(&str, Provoke); 3] = [
        ("zero increment", zero),
        ("window overflow", overflow),
        ("data after the end", after_end),
    ];
    for (way, provoke) in ways {
        for pace in [Pace::AtOnce, Pace::Apart] {
            let pairs = (0..2_000).map(|index| [request(index, &chat()), provoke(index)].concat());
            let (ending, reached) = run(pace, pairs).await;
            assert!(
                ending.closed && ending.go_away.is_some_and(|code| code != 0),
                "{way}: {ending:?}"
            );
            assert!(
                reached <= 100,
                "{way}: {reached} requests reached the engine"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fault_40_a_head_that_goes_on_for_ever_is_cut() {
    for piece in [0, 4096] {
        let block = field("x-flood", &"y".repeat(100)).repeat(40);
        let begin = frame(HEADERS, END_STREAM, 1, &chat());
        let more = frame(CONTINUATION, 0, 1, &block[..piece.min(block.len())]);
        let frames = std::iter::once(begin).chain(std::iter::repeat_n(more, 5_000));
        let (ending, reached) = run(Pace::AtOnce, frames).await;
        assert!(
            ending.closed && ending.go_away.is_some_and(|code| code != 0),
            "{piece}: {ending:?}"
        );
        assert_eq!(reached, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn fault_40_data_without_data_ends_the_connection() {
    let begin = frame(HEADERS, END_HEADERS, 1, &chat());
    let empty = frame(DATA, 0, 1, &[]);
    let frames = std::iter::once(begin).chain(std::iter::repeat_n(empty, 20_000));
    let (ending, reached) = run(Pace::AtOnce, frames).await;
    assert_eq!(
        (ending.closed, ending.go_away),
        (true, Some(ENHANCE_YOUR_CALM)),
        "{ending:?}"
    );
    assert!(reached <= 1);
}

/// One entry of the table, and a thousand references to it in each head.
#[tokio::test(start_paused = true)]
async fn fault_40_a_small_head_that_unpacks_to_a_large_one_is_refused() {
    let entry = [&[0x40, 1, b'x', 126][..], &[b'y'; 126]].concat();
    let bomb = [chat(), entry, [0xbe].repeat(2_000)].concat();
    let frames = (0..200).map(|index| request(index, &bomb));
    let (ending, reached) = run(Pace::AtOnce, frames).await;
    assert_eq!(reached, 0, "{ending:?}");
}

#[tokio::test(start_paused = true)]
async fn fault_41_frames_that_carry_nothing_end_the_connection_above_their_rate() {
    let floods = [
        ("ping", frame(PING, 0, 0, &[0; 8])),
        ("settings", frame(SETTINGS, 0, 0, &[])),
        ("priority", frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 1])),
        ("of no known kind", frame(0xee, 0, 0, &[0; 16])),
        ("window update", frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
    ];
    for (kind, flood) in floods {
        let (engine, _) = engine(0);
        let house = House::new(&engine, "");
        let within = attack(
            &house,
            Pace::AtOnce,
            std::iter::repeat_n(flood.clone(), 900),
        )
        .await;
        assert!(!within.closed, "{kind} within its rate: {within:?}");
        assert_eq!(refused(&house, "http2_control_frames"), 0);
        let above = attack(
            &house,
            Pace::AtOnce,
            std::iter::repeat_n(flood.clone(), 20_000),
        )
        .await;
        assert_eq!(
            (above.closed, above.go_away),
            (true, Some(ENHANCE_YOUR_CALM)),
            "{kind}: {above:?}"
        );
        assert_eq!(refused(&house, "http2_control_frames"), 1, "{kind}");
        another_client_is_served(&house).await;
    }
}

#[tokio::test(start_paused = true)]
async fn fault_41_the_rate_of_frames_is_the_configurations() {
    let (engine, _) = engine(0);
    let house = House::new(&engine, "limits:\n  http2_control_frames: 100\n");
    let ping = frame(PING, 0, 0, &[0; 8]);
    let ending = attack(&house, Pace::AtOnce, std::iter::repeat_n(ping, 200)).await;
    assert_eq!(ending.go_away, Some(ENHANCE_YOUR_CALM), "{ending:?}");
}

#[tokio::test(start_paused = true)]
async fn fault_39_streams_above_their_rate_are_refused_and_the_others_are_served() {
    let (engine, reached) = engine(4);
    let house = House::new(&engine, "limits:\n  http2_new_streams: 10\n");
    let get = fields("GET", "/x", "front.test");
    let ending = attack(
        &house,
        Pace::AtOnce,
        (0..30).map(|index| request(index, &get)),
    )
    .await;
    assert!(!ending.closed, "{ending:?}");
    assert_eq!(ending.resets, [REFUSED_STREAM; 20]);
    assert_eq!(reached.heads(), 10);
    assert_eq!(refused(&house, "http2_new_streams"), 20);
}

/// What would be a second line, or another request, if somebody wrote it out as text.
#[tokio::test(start_paused = true)]
async fn fault_43_what_would_break_out_of_its_place_on_http_1_is_reset() {
    let with = |name: &str, value: &str| [chat(), field(name, value)].concat();
    let blocks = [
        fields("POST", "/a b", "front.test"),
        fields("POST", "/a\r\nx: y", "front.test"),
        fields("POST", "/a\nb", "front.test"),
        fields("POST", "/a\tb", "front.test"),
        fields("POST", "/a\0b", "front.test"),
        fields("POST", "", "front.test"),
        fields("PO ST", "/", "front.test"),
        fields("POST", "/", "front.test\r\nx: y"),
        with("x-a", "b\r\nx-c: d"),
        with("x-a", "b\nc"),
        with("x-a", "b\0c"),
        with("x-a\r\nb", "c"),
        with("x a", "c"),
        with("X-Upper", "c"),
        with("transfer-encoding", "chunked"),
        with("connection", "close"),
        with("upgrade", "h2c"),
        with("host", "other.test"),
        [with("host", "front.test"), field("host", "front.test")].concat(),
        [with("content-length", "0"), field("content-length", "0")].concat(),
        [with("content-length", "0"), field("content-length", "5")].concat(),
        with("content-length", "+0"),
    ];
    for block in blocks {
        let (engine, reached) = engine(0);
        let house = House::new(&engine, "");
        let ending = attack(&house, Pace::AtOnce, [request(0, &block)]).await;
        let told = ending.resets == [PROTOCOL_ERROR] || ending.go_away == Some(PROTOCOL_ERROR);
        assert!(told, "{}: {ending:?}", block.escape_ascii());
        assert_eq!(reached.heads(), 0, "{}", block.escape_ascii());
        assert_eq!(house.proxy.in_flight().prefill(), 0);
    }
    // The same without what is wrong with it.
    for block in [
        chat(),
        with("host", "front.test"),
        with("content-length", "0"),
    ] {
        let (engine, reached) = engine(0);
        let house = House::new(&engine, "");
        let ending = attack(&house, Pace::AtOnce, [request(0, &block)]).await;
        assert_eq!(
            (ending.resets.len(), ending.go_away),
            (0, None),
            "{ending:?}"
        );
        assert_eq!(reached.heads(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn fault_44_a_body_of_another_length_than_stated_is_reset_and_the_engine_told() {
    let block = [chat(), field("content-length", "10")].concat();
    for data in ["five.", "eleven bytes"] {
        let (engine, reached) = engine(0);
        let house = House::new(&engine, "");
        let begin = frame(HEADERS, END_HEADERS, 1, &block);
        let end = frame(DATA, END_STREAM, 1, data.as_bytes());
        let ending = attack(&house, Pace::AtOnce, [begin, end]).await;
        assert!(ending.resets.contains(&PROTOCOL_ERROR), "{ending:?}");
        assert_eq!(reached.whole(), 0, "no engine takes it for whole");
        assert_eq!((reached.open(), house.proxy.in_flight().prefill()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn fault_42_windows_of_one_byte_hold_little_and_not_for_long() {
    const STREAMS: u32 = 90;
    for (bytes, ms) in [(0, 1_000), (1, 1_000)] {
        let (engine, reached) = engine(50 * 1024 * 1024);
        let mut house = House::new(&engine, "");
        let ending = sip(&house, STREAMS, (bytes, ms, 90)).await;
        assert_eq!(reached.heads(), 90, "{ending:?}");
        // Each has a queue of its own (256 KiB), a piece of it and what the server has taken before it, what is read ahead
        // behind it, and the pipe to the engine (64 KiB each); all of them share the budget.
        let bound = 90 * (256 + 6 * 64) * 1024 + 64 * 1024 * 1024;
        assert!(reached.written() <= bound, "{} bytes", reached.written());
        for _ in 0..STREAMS {
            assert_eq!(house.record().await.outcome, measure::Outcome::SlowClient);
        }
        assert_eq!(reached.open(), 0, "the engine was told of each");
        another_client_is_served(&house).await;
        house.is_quiet().await;
    }
}
