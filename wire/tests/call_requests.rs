//! Facts of the requests of gRPC calls, however the body is cut.

#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails the test"
)]

use wire::*;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [&varint(field << 3 | 2), &varint(value.len() as u64), value].concat()
}

fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[flag], &length.to_be_bytes()[..], message].concat()
}

fn read(endpoint: Endpoint, body: &[u8], size: usize) -> Vec<CallRequest> {
    let (mut scan, mut found) = (CallScan::new(endpoint), Vec::new());
    for piece in body.chunks(size) {
        scan.push(piece, |request| found.push(request));
    }
    found
}

/// The requests of a body, whole and in every cut of a few bytes.
fn of(endpoint: Endpoint, body: &[u8]) -> Vec<CallRequest> {
    let whole = read(endpoint, body, body.len().max(1));
    for size in [1, 2, 3, 5, 7, 64] {
        assert_eq!(read(endpoint, body, size), whole, "{size}");
    }
    whole
}

fn ids(count: u64) -> Vec<u8> {
    let list: Vec<u8> = (0..count).flat_map(varint).collect();
    [bytes(1, "text of them"), bytes(2, list)].concat()
}

#[test]
fn generate_states_its_prompt_and_its_limit() {
    let sampling = [vec![0x0d, 0, 0, 0, 0], number(8, 300), number(15, 2)].concat();
    let vllm = [
        bytes(1, "r"),
        bytes(2, ids(5_000)),
        bytes(4, &sampling),
        number(5, 1),
    ]
    .concat();
    let body = framed(0, &vllm);
    let [request] = &of(Endpoint::VllmGrpc, &body)[..] else {
        unreachable!("one message")
    };
    assert_eq!((request.id.as_str(), request.end), ("r", body.len() as u64));
    let expected = RequestFacts {
        whole: true,
        stream: Some(true),
        n: Some(2),
        prompts: Some(1),
        prompt_tokens: Some(5_000),
        max_tokens: Some(300),
        ..RequestFacts::default()
    };
    assert_eq!(request.facts, expected);

    let mut scan = RequestScan::new(Endpoint::VllmGrpc);
    scan.push(&body);
    assert_eq!(scan.finish(), expected);
    assert_eq!(
        RequestScan::new(Endpoint::VllmGrpc).finish(),
        RequestFacts::default()
    );

    // The numbers of SGLang are others: 5 is no `stream`, 15 no `n`, 3 no text.
    let sglang = [
        bytes(2, ids(3)),
        bytes(3, "x"),
        bytes(4, &sampling),
        number(5, 1),
    ]
    .concat();
    let [request] = &of(Endpoint::SglangGrpc, &framed(0, &sglang))[..] else {
        unreachable!("one message")
    };
    let facts = &request.facts;
    assert_eq!(
        (facts.stream, facts.n, facts.prompt_bytes),
        (Some(false), None, None)
    );
    assert_eq!(
        (facts.prompt_tokens, facts.max_tokens),
        (Some(3), Some(300))
    );
    let text = framed(0, &bytes(3, "a prompt"));
    let [request] = &of(Endpoint::VllmGrpc, &text)[..] else {
        unreachable!("one message")
    };
    assert_eq!(
        (request.facts.prompt_bytes, request.facts.prompt_tokens),
        (Some(8), None)
    );
}

fn input(name: &str, datatype: &str, rest: &[Vec<u8>]) -> Vec<u8> {
    bytes(
        5,
        [bytes(1, name), bytes(2, datatype), rest.concat()].concat(),
    )
}

#[test]
fn a_stream_states_each_of_its_requests() {
    let asked = bytes(
        4,
        [
            bytes(1, "triton_enable_empty_final_response"),
            bytes(2, number(1, 1)),
        ]
        .concat(),
    );
    let raw = [
        bytes(1, "ensemble"),
        bytes(3, "a"),
        asked,
        input("text_input", "BYTES", &[bytes(3, varint(1))]),
        input("max_tokens", "INT32", &[number(3, 1)]),
        bytes(7, b"\x05\0\0\0hello"),
        bytes(7, 96_u32.to_le_bytes()),
    ]
    .concat();
    let inside = [
        bytes(1, "m"),
        input("input_ids", "INT32", &[bytes(3, [1, 40])]),
        input(
            "request_output_len",
            "INT32",
            &[bytes(5, bytes(2, varint(128)))],
        ),
        input("text_input", "BYTES", &[bytes(5, bytes(8, "hi"))]),
    ]
    .concat();
    let body = [
        framed(0, &raw),
        framed(1, b"zipped"),
        framed(0, b""),
        framed(0, &inside),
    ]
    .concat();
    let [first, zipped, empty, last] = &of(Endpoint::TritonGrpc, &body)[..] else {
        unreachable!("four messages")
    };
    assert_eq!((first.id.as_str(), first.end_asked), ("a", true));
    let facts = &first.facts;
    assert_eq!(facts.model.as_deref(), Some("ensemble"));
    assert_eq!((facts.prompt_bytes, facts.max_tokens), (Some(5), Some(96)));
    assert!(facts.whole);
    assert_eq!((zipped.facts.whole, zipped.bytes), (false, 11));
    assert_eq!(
        (empty.id.as_str(), empty.end_asked, empty.facts.whole),
        ("", false, true)
    );
    let facts = &last.facts;
    assert_eq!(
        (facts.prompt_tokens, facts.max_tokens),
        (Some(40), Some(128))
    );
    assert_eq!(facts.prompt_bytes, Some(2));
    assert_eq!(last.end, body.len() as u64);
}

/// A request with an image, or with a prompt of a million tokens, must not end the reading of those after it.
#[test]
fn of_a_giant_request_its_beginning_counts_and_the_next_is_read() {
    let giant = [
        bytes(1, "m"),
        bytes(3, "g"),
        bytes(7, vec![0; limits::WHOLE_BODY_BYTES]),
    ]
    .concat();
    let body = [framed(0, &giant), framed(0, &bytes(3, "next"))].concat();
    let [first, next] = &read(Endpoint::TritonGrpc, &body, 16_384)[..] else {
        unreachable!("two messages")
    };
    assert_eq!((first.id.as_str(), first.facts.whole), ("g", false));
    assert_eq!(first.facts.model.as_deref(), Some("m"));
    assert_eq!((next.id.as_str(), next.facts.whole), ("next", true));
}

#[test]
fn what_is_no_protobuf_states_nothing_and_the_next_is_read() {
    let body = [framed(0, b"\xff\xff"), framed(0, &bytes(3, "next"))].concat();
    let [first, next] = &of(Endpoint::TritonGrpc, &body)[..] else {
        unreachable!("two messages")
    };
    assert!(!first.facts.whole && next.facts.whole);
    assert_eq!(
        read(Endpoint::TritonGrpc, &body[..9], 4).len(),
        1,
        "half a message is none"
    );
}
