//! What reading costs: an event of an answer from bytes to [`Event`], and the walk over a request's body.
//!
//! An answer is 1000 events of one shape, read event by event or 16 events at a time. Elements are events, so that the
//! reported time divided by 1000, or the throughput, is the cost of one.

use criterion::{BatchSize, Bencher, Criterion, Throughput, criterion_group, criterion_main};
use loadproof_wire::{AnswerContext, Decoder, Endpoint, RequestScan};
use std::hint::black_box;

const EVENTS: usize = 1000;

/// The event with this number.
type Shape = fn(usize) -> String;

fn vllm_chat(_: usize) -> String {
    let head = r#"{"id":"chatcmpl-8f3a2b9c0d1e4f5a8b7c6d5e4f3a2b1c","object":"chat.completion.chunk","created":1796040000,"model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"content":" morning"},"logprobs":null,"finish_reason":null,"token_ids":null}],"kv_transfer_params":null}"#;
    format!("data: {head}\n\n")
}

fn vllm_completions_with_usage(number: usize) -> String {
    let head = r#"{"id":"cmpl-8f3a2b9c0d1e4f5a8b7c6d5e4f3a2b1c","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","choices":[{"index":0,"text":" herons","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null,"weight_versions":null}],"usage":{"prompt_tokens":9,"total_tokens":"#;
    let (total, output) = (number + 10, number + 1);
    format!(
        "data: {head}{total},\"completion_tokens\":{output}}},\"kv_transfer_params\":null}}\n\n"
    )
}

fn llamacpp_chat(_: usize) -> String {
    let head = r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":" morning"}}],"created":1796043000,"id":"chatcmpl-Yb3kfGf0q8Jm1vQkQ2dXw7uPz5n9s4Ra","model":"acme-dunlin-3b-Q4_K_M.gguf","system_fingerprint":"b9100-0c1e570","object":"chat.completion.chunk"}"#;
    format!("data: {head}\n\n")
}

fn vllm_responses(number: usize) -> String {
    format!(
        "event: response.output_text.delta\ndata: {{\"content_index\":0,\"delta\":\" morning\",\"item_id\":\"msg_8f3a2b9c0d1e4f5a\",\
         \"logprobs\":[],\"output_index\":0,\"sequence_number\":{number},\"type\":\"response.output_text.delta\"}}\n\n"
    )
}

fn vllm_messages(_: usize) -> String {
    let data = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":" morning"},"index":0}"#;
    format!("event: content_block_delta\ndata: {data}\n\n")
}

fn decoder(endpoint: Endpoint) -> Decoder {
    Decoder::new(AnswerContext {
        content_type: Some("text/event-stream; charset=utf-8"),
        stream_requested: Some(true),
        ..AnswerContext::new(endpoint, 200)
    })
}

fn answers(criterion: &mut Criterion) {
    let shapes: [(&str, Endpoint, Shape); 5] = [
        ("vllm chat", Endpoint::ChatCompletions, vllm_chat),
        (
            "vllm completions, running usage",
            Endpoint::Completions,
            vllm_completions_with_usage,
        ),
        ("llamacpp chat", Endpoint::ChatCompletions, llamacpp_chat),
        ("vllm responses", Endpoint::Responses, vllm_responses),
        ("vllm messages", Endpoint::Messages, vllm_messages),
    ];
    let mut group = criterion.benchmark_group("answer");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for (name, endpoint, shape) in shapes {
        let events: Vec<String> = (0..EVENTS).map(shape).collect();
        let bytes = events.iter().map(String::len).sum::<usize>() / EVENTS;
        for per_read in [1, 16] {
            let reads: Vec<String> = events.chunks(per_read).map(<[String]>::concat).collect();
            let name = format!("{name}, {bytes} bytes, {per_read} a read");
            group.bench_function(name, |bencher| read_answer(bencher, endpoint, &reads));
        }
    }
    group.finish();
}

fn read_answer(bencher: &mut Bencher<'_>, endpoint: Endpoint, reads: &[String]) {
    let mut events = Vec::new();
    let mut read = |decoder: &mut Decoder| {
        for read in reads {
            events.clear();
            decoder.push(black_box(read.as_bytes()), &mut events);
            black_box(decoder.pending_whole());
            black_box(&events);
        }
    };
    bencher.iter_batched_ref(|| decoder(endpoint), &mut read, BatchSize::LargeInput);
}

fn requests(criterion: &mut Criterion) {
    let image = "iVBORw0KGgo".repeat(1 << 18);
    let words = r#"It was the best of times,\nit was the \"worst\" of times. "#.repeat(1 << 10);
    let ids = vec!["12345"; 1 << 16].join(",");
    let bodies = [
        (
            "one image",
            Endpoint::ChatCompletions,
            format!(
                r#"{{"model":"m","messages":[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{image}"}}}}]}}],"stream":true}}"#
            ),
        ),
        (
            "prose",
            Endpoint::ChatCompletions,
            format!(
                r#"{{"model":"m","messages":[{{"role":"user","content":"{words}"}}],"stream":true}}"#
            ),
        ),
        (
            "token ids",
            Endpoint::Completions,
            format!(r#"{{"model":"m","prompt":[{ids}],"stream":true}}"#),
        ),
    ];
    let mut group = criterion.benchmark_group("request");
    for (name, endpoint, body) in &bodies {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(
            format!("{name}, {} KB in reads of 16 KB", body.len() / 1024),
            |bencher| {
                bencher.iter(|| {
                    let mut scan = RequestScan::new(*endpoint);
                    body.as_bytes()
                        .chunks(16 * 1024)
                        .for_each(|read| scan.push(black_box(read)));
                    scan.finish()
                });
            },
        );
    }
    group.finish();
}

criterion_group!(benches, answers, requests);
criterion_main!(benches);
