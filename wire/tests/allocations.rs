//! Memory: none is asked for on the way of a token, and none grows with the traffic.

use allocation_counter::measure;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::ops::Range;
use wire::limits::{LINE_BYTES, TEXT_BYTES, WHOLE_BODY_BYTES};
use wire::{AnswerContext, Decoder, Endpoint, Event, RequestScan, TransportEnd};

const STREAM: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    stream_requested: Some(true),
    ..AnswerContext::new(Endpoint::ChatCompletions, 200)
};

/// Events as vLLM, with and without running usage, and llama.cpp write them, in reads of some size.
fn reads(counts: Range<u32>, size: usize) -> Vec<Vec<u8>> {
    let chat = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1796040000,"model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"content":" a"},"logprobs":null,"finish_reason":null,"token_ids":null}],"kv_transfer_params":null}"#;
    let choices = r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"a"},"token_ids":[1]},{"index":1,"delta":{"reasoning":"b"}}]}"#;
    let llamacpp = r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"caf\u00e9"}}],"id":"chatcmpl-2","model":"acme.gguf","timings":{"cache_n":0,"prompt_n":9,"predicted_n":1}}"#;
    let mut events: Vec<String> = [chat, choices, llamacpp]
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    events.push(": keep-alive\n\n".to_owned());
    events.push("data: {\"choices\":\ndata: []}\n\n".to_owned());
    events.extend(counts.map(|count| {
        let usage = format!(r#""usage":{{"prompt_tokens":9,"completion_tokens":{count}}}"#);
        format!(
            "data: {{\"choices\":[{{\"index\":2,\"delta\":{{\"content\":\"a\"}}}}],{usage}}}\n\n"
        )
    }));
    events
        .concat()
        .as_bytes()
        .chunks(size)
        .map(<[u8]>::to_vec)
        .collect()
}

fn push_all(decoder: &mut Decoder, reads: &[Vec<u8>], events: &mut Vec<Event>) {
    for read in reads {
        events.clear();
        decoder.push(read, events);
        decoder.pending_whole();
    }
}

#[test]
fn a_token_event_asks_for_no_memory() {
    for size in [1, 7, 100, 281, 4096] {
        let (first, rest) = (reads(0..400, size), reads(400..800, size));
        let mut decoder = Decoder::new(STREAM);
        let mut events = Vec::new();
        // The buffers find their sizes, and the choices their places.
        let warming = measure(|| push_all(&mut decoder, &first, &mut events));
        assert!(warming.count_total > 0, "what is asked for is counted");
        let asked = measure(|| push_all(&mut decoder, &rest, &mut events));
        assert_eq!(asked.count_total, 0, "reads of {size}: {asked:?}");
        assert!(
            decoder
                .finish(TransportEnd::Clean, &mut events)
                .token_events
                >= 400
        );
    }
}

/// An event of each dialect that says `number` where it counts.
fn dialects(number: u32) -> Vec<(Endpoint, &'static str, Vec<u8>)> {
    const SSE: &str = "text/event-stream";
    let sse = |data: String| format!("data: {data}\n\n").into_bytes();
    vec![
        (
            Endpoint::Responses,
            SSE,
            sse(format!(
                r#"{{"delta":" {number}","item_id":"m","sequence_number":{number},"type":"response.output_text.delta"}}"#
            )),
        ),
        (
            Endpoint::Messages,
            SSE,
            sse(format!(
                r#"{{"type":"content_block_delta","delta":{{"type":"text_delta","text":" {number}"}},"index":0}}"#
            )),
        ),
        (
            Endpoint::Completion,
            SSE,
            sse(format!(
                r#"{{"index":0,"content":" a","tokens":[6],"stop":false,"tokens_predicted":{number},"tokens_evaluated":20}}"#
            )),
        ),
        (
            Endpoint::Generate,
            SSE,
            sse(format!(
                r#"{{"text":"so far {number}","output_ids":[4,5],"meta_info":{{"id":"g","finish_reason":null,"completion_tokens":{number}}}}}"#
            )),
        ),
        (
            Endpoint::InferenceGenerate,
            SSE,
            sse(format!(
                r#"{{"request_id":"r","usage":null,"choices":[{{"index":0,"finish_reason":null,"token_ids":[{number}]}}]}}"#
            )),
        ),
        (
            Endpoint::GenerateStream,
            SSE,
            sse(format!(
                r#"{{"index":{number},"token":{{"id":5,"text":" a","special":false}},"generated_text":null,"details":null}}"#
            )),
        ),
        (
            Endpoint::TritonGenerateStream,
            SSE,
            sse(format!(
                r#"{{"model_name":"m","num_output_tokens":1,"text_output":"so far {number}"}}"#
            )),
        ),
        (
            Endpoint::OllamaGenerate,
            "application/x-ndjson",
            format!("{{\"model\":\"m\",\"response\":\" {number}\",\"done\":false}}\n").into_bytes(),
        ),
    ]
    .into_iter()
    .chain(grpc(number))
    .collect()
}

/// The same of gRPC services; vLLM's message counts nothing.
fn grpc(number: u32) -> [(Endpoint, &'static str, Vec<u8>); 2] {
    [
        (
            Endpoint::VllmGrpc,
            "application/grpc",
            b"\x00\x00\x00\x00\x09\x0a\x07\x0a\x01\x0b\x10\x07\x20\x04".to_vec(),
        ),
        (
            Endpoint::TritonGrpc,
            "application/grpc",
            [
                b"\x00\x00\x00\x00\x1b\x12\x19\x2a\x07\x12\x05BYTES\x32\x0e\x0a\x00\x00\x00"
                    .as_slice(),
                format!("{number:010}").as_bytes(),
            ]
            .concat(),
        ),
    ]
}

#[test]
fn a_token_event_of_any_dialect_asks_for_no_memory() {
    for which in 0..dialects(0).len() {
        let (endpoint, content_type, _) = dialects(0).swap_remove(which);
        let reads = |numbers: Range<u32>, size: usize| -> Vec<Vec<u8>> {
            let events = numbers.map(|number| dialects(number).swap_remove(which).2);
            let bytes = events.collect::<Vec<_>>().concat();
            bytes.chunks(size).map(<[u8]>::to_vec).collect()
        };
        for size in [1, 7, 100, 4096] {
            let (first, rest) = (reads(1000..1400, size), reads(1400..1800, size));
            let mut decoder = Decoder::new(AnswerContext {
                content_type: Some(content_type),
                ..AnswerContext::new(endpoint, 200)
            });
            let mut events = Vec::new();
            push_all(&mut decoder, &first, &mut events);
            let asked = measure(|| push_all(&mut decoder, &rest, &mut events));
            assert_eq!(
                asked.count_total, 0,
                "{endpoint:?}, reads of {size}: {asked:?}"
            );
            let answer = decoder.finish(TransportEnd::Clean, &mut events);
            assert_eq!(
                (answer.token_events, answer.anomalies),
                (800, vec![]),
                "{endpoint:?}"
            );
        }
    }
}

#[test]
fn an_endless_line_is_not_kept() {
    let piece = vec![b'x'; 16 * 1024];
    for begin in ["data: ", ": ", "event: "] {
        let asked = measure(|| {
            let mut decoder = Decoder::new(STREAM);
            decoder.push(begin.as_bytes(), &mut Vec::new());
            (0..1000).for_each(|_| decoder.push(&piece, &mut Vec::new()));
            drop(decoder.finish(TransportEnd::Cut, &mut Vec::new()));
        });
        assert!(
            asked.bytes_max < 3 * LINE_BYTES as u64,
            "{begin}: {asked:?}"
        );
    }
}

#[test]
fn an_endless_event_is_not_kept() {
    let asked = measure(|| {
        let mut decoder = Decoder::new(STREAM);
        (0..10_000).for_each(|_| {
            decoder.push(b"data: and so on, and so on, and so on\n", &mut Vec::new());
        });
    });
    assert!(asked.bytes_max < 3 * LINE_BYTES as u64, "{asked:?}");
}

#[test]
fn an_endless_body_is_not_kept() {
    let piece = vec![b' '; 16 * 1024];
    let asked = measure(|| {
        let context = AnswerContext {
            content_type: Some("application/json"),
            ..STREAM
        };
        let mut decoder = Decoder::new(context);
        (0..1000).for_each(|_| decoder.push(&piece, &mut Vec::new()));
    });
    // A buffer that grows by doubling has its last two sizes at once.
    assert!(asked.bytes_max <= 2 * WHOLE_BODY_BYTES as u64, "{asked:?}");
}

#[test]
fn a_request_of_100_mb_is_scanned_in_constant_memory() {
    let image = vec![b'A'; 1024 * 1024];
    let mut facts = None;
    let asked = measure(|| {
        let mut scan = RequestScan::new(Endpoint::ChatCompletions);
        scan.push(br#"{"model":"m","messages":[{"content":[{"type":"image_url","image_url":{"url":"data:;base64,"#);
        (0..100).for_each(|_| scan.push(&image));
        scan.push(br#""}}]}],"stream":true}"#);
        facts = Some(scan.finish());
    });
    assert!(asked.bytes_max <= 4 * TEXT_BYTES as u64, "{asked:?}");
    let facts = facts.unwrap();
    assert_eq!(
        (
            facts.whole,
            facts.stream,
            facts.messages,
            facts.prompt_bytes
        ),
        (true, Some(true), Some(1), Some(0))
    );
}

/// The first bytes of a gzip body, and what follows them.
#[expect(clippy::unwrap_used, reason = "memory can be written to")]
fn packed(plain: &[u8], begin: usize) -> (Vec<u8>, Vec<u8>) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    let mut packed = encoder.finish().unwrap();
    let rest = packed.split_off(begin);
    (packed, rest)
}

const GZIP: AnswerContext<'static> = AnswerContext {
    content_encoding: Some("gzip"),
    ..STREAM
};

#[test]
fn what_is_compressed_asks_once() {
    let plain = reads(0..4000, 1 << 20).concat();
    let (first, rest) = packed(&plain, 4096);
    let (mut decoder, mut events) = (Decoder::new(GZIP), Vec::with_capacity(8000));
    decoder.push(&first, &mut events);
    let asked = measure(|| {
        for read in rest.chunks(100) {
            decoder.push(read, &mut events);
        }
    });
    assert_eq!(asked.count_total, 0, "{asked:?}");
    let answer = decoder.finish(TransportEnd::Clean, &mut events);
    assert!(answer.token_events >= 4000 && answer.anomalies.is_empty());
}

#[test]
fn a_bomb_is_not_kept() {
    let (_, bomb) = packed(&vec![0; 64 * 1024 * 1024], 0);
    let asked = measure(|| {
        let mut decoder = Decoder::new(GZIP);
        decoder.push(&bomb, &mut Vec::new());
        drop(decoder.finish(TransportEnd::Clean, &mut Vec::new()));
    });
    // The window of deflate and its tables, a piece, and the longest line.
    assert!(asked.bytes_max < 3 * LINE_BYTES as u64, "{asked:?}");
}

/// However the recorded answers are repeated and cut, an answer keeps no more than its limits allow.
#[test]
fn an_endless_answer_is_not_kept() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/corpus/cases/");
    for (file, endpoint) in [
        ("vllm-chat-token-ids.sse", Endpoint::ChatCompletions),
        ("sglang-generate-cumulative.sse", Endpoint::Generate),
        ("llama-completion-plain.sse", Endpoint::Completion),
        ("vllm-messages-tool.sse", Endpoint::Messages),
        ("vllm-responses-tool.sse", Endpoint::Responses),
        ("tgi-generate-details.sse", Endpoint::GenerateStream),
    ] {
        let body = std::fs::read(format!("{folder}{file}")).unwrap();
        let context = AnswerContext { endpoint, ..STREAM };
        let asked = measure(|| {
            let (mut decoder, mut events) = (Decoder::new(context), Vec::new());
            for size in (1..200).cycle().take(300) {
                for push in body.chunks(size) {
                    events.clear();
                    decoder.push(push, &mut events);
                }
            }
            drop(decoder.finish(TransportEnd::Cut, &mut events));
        });
        assert!(asked.bytes_max < 64 * 1024, "{file}: {asked:?}");
    }
}
