//! What reading costs: an event of an answer from bytes to [`Event`], and the walk over a request's body.
//!
//! An answer is 1000 events of one shape, read event by event or 16 events at a time. Elements are events, so that the
//! reported time divided by 1000, or the throughput, is the cost of one.

use criterion::{BatchSize, Bencher, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wire::{AnswerContext, Decoder, Endpoint, RequestScan};

const EVENTS: usize = 1000;

/// The event with this number.
type Shape = fn(usize) -> Vec<u8>;

fn vllm_chat(_: usize) -> Vec<u8> {
    let head = r#"{"id":"chatcmpl-8f3a2b9c0d1e4f5a8b7c6d5e4f3a2b1c","object":"chat.completion.chunk","created":1796040000,"model":"acme/otter-8b-fp8","choices":[{"index":0,"delta":{"content":" morning"},"logprobs":null,"finish_reason":null,"token_ids":null}],"kv_transfer_params":null}"#;
    format!("data: {head}\n\n").into_bytes()
}

fn vllm_completions_with_usage(number: usize) -> Vec<u8> {
    let head = r#"{"id":"cmpl-8f3a2b9c0d1e4f5a8b7c6d5e4f3a2b1c","object":"text_completion","created":1796040000,"model":"acme/otter-8b-fp8","choices":[{"index":0,"text":" herons","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null,"weight_versions":null}],"usage":{"prompt_tokens":9,"total_tokens":"#;
    let (total, output) = (number + 10, number + 1);
    format!(
        "data: {head}{total},\"completion_tokens\":{output}}},\"kv_transfer_params\":null}}\n\n"
    )
    .into_bytes()
}

fn llamacpp_chat(_: usize) -> Vec<u8> {
    let head = r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":" morning"}}],"created":1796043000,"id":"chatcmpl-Yb3kfGf0q8Jm1vQkQ2dXw7uPz5n9s4Ra","model":"acme-dunlin-3b-Q4_K_M.gguf","system_fingerprint":"b9100-0c1e570","object":"chat.completion.chunk"}"#;
    format!("data: {head}\n\n").into_bytes()
}

fn vllm_responses(number: usize) -> Vec<u8> {
    format!(
        "event: response.output_text.delta\ndata: {{\"content_index\":0,\"delta\":\" morning\",\"item_id\":\"msg_8f3a2b9c0d1e4f5a\",\
         \"logprobs\":[],\"output_index\":0,\"sequence_number\":{number},\"type\":\"response.output_text.delta\"}}\n\n"
    ).into_bytes()
}

fn vllm_messages(_: usize) -> Vec<u8> {
    let data = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":" morning"},"index":0}"#;
    format!("event: content_block_delta\ndata: {data}\n\n").into_bytes()
}

fn llamacpp_completion(number: usize) -> Vec<u8> {
    let count = number + 1;
    format!(
        "data: {{\"index\":0,\"content\":\" morning\",\"tokens\":[601],\"stop\":false,\"id_slot\":-1,\"tokens_predicted\":{count},\
         \"tokens_evaluated\":20}}\n\n"
    ).into_bytes()
}

/// A text so far of 64 tokens, again and again.
fn sglang_generate(number: usize) -> Vec<u8> {
    let (count, tokens) = (number + 1, number % 64 + 1);
    let (text, ids) = (" morning".repeat(tokens), vec!["401"; tokens].join(","));
    format!(
        "data: {{\"text\":\"{text}\",\"output_ids\":[{ids}],\"meta_info\":{{\"id\":\"8f3a2b9c0d1e4f5a\",\"finish_reason\":null,\
         \"prompt_tokens\":6,\"weight_version\":\"default\",\"num_retractions\":0,\"completion_tokens\":{count},\"cached_tokens\":4}}}}\n\n"
    ).into_bytes()
}

fn tgi_generate_stream(number: usize) -> Vec<u8> {
    let index = number + 1;
    format!(
        "data: {{\"index\":{index},\"token\":{{\"id\":500,\"text\":\" morning\",\"logprob\":-0.5,\"special\":false}},\
         \"generated_text\":null,\"details\":null}}\n\n"
    ).into_bytes()
}

fn triton_generate_stream(_: usize) -> Vec<u8> {
    let data = r#"{"batch_index":0,"context_logits":0.0,"cum_log_probs":0.0,"generation_logits":0.0,"model_name":"ensemble","model_version":"1","output_log_probs":0.0,"sequence_index":0,"text_output":" morning"}"#;
    format!("data: {data}\n\n").into_bytes()
}

fn ollama_generate(_: usize) -> Vec<u8> {
    let data = r#"{"model":"acme/heron-32b-awq","created_at":"2026-11-30T12:00:00.000Z","response":" morning","done":false,"done_reason":null}"#;
    format!("{data}\n").into_bytes()
}

fn vllm_grpc(_: usize) -> Vec<u8> {
    b"\x00\x00\x00\x00\x0b\x0a\x09\x0a\x01\x0b\x10\x07\x18\x01\x20\x04".to_vec()
}

fn triton_grpc(_: usize) -> Vec<u8> {
    let response = b"\x0a\x08ensemble\x12\x011\x1a\x0277\x2a\x17\x0a\x0btext_output\x12\x05BYTES\x1a\x01\x01\x32\x0c\x08\x00\x00\x00 morning";
    [&[0, 0, 0, 0, 58, 0x12, 56], response.as_slice()].concat()
}

fn decoder(endpoint: Endpoint) -> Decoder {
    Decoder::new(AnswerContext {
        content_type: Some(match endpoint {
            Endpoint::OllamaGenerate => "application/x-ndjson",
            Endpoint::VllmGrpc | Endpoint::TritonGrpc => "application/grpc",
            _ => "text/event-stream; charset=utf-8",
        }),
        stream_requested: Some(true),
        ..AnswerContext::new(endpoint, 200)
    })
}

fn answers(criterion: &mut Criterion) {
    let shapes: [(&str, Endpoint, Shape); 12] = [
        ("vllm chat", Endpoint::ChatCompletions, vllm_chat),
        (
            "vllm completions, running usage",
            Endpoint::Completions,
            vllm_completions_with_usage,
        ),
        ("llamacpp chat", Endpoint::ChatCompletions, llamacpp_chat),
        ("vllm responses", Endpoint::Responses, vllm_responses),
        ("vllm messages", Endpoint::Messages, vllm_messages),
        (
            "llamacpp completion",
            Endpoint::Completion,
            llamacpp_completion,
        ),
        ("sglang generate", Endpoint::Generate, sglang_generate),
        (
            "tgi generate_stream",
            Endpoint::GenerateStream,
            tgi_generate_stream,
        ),
        (
            "triton generate_stream",
            Endpoint::TritonGenerateStream,
            triton_generate_stream,
        ),
        ("ollama generate", Endpoint::OllamaGenerate, ollama_generate),
        ("vllm gRPC", Endpoint::VllmGrpc, vllm_grpc),
        ("triton gRPC", Endpoint::TritonGrpc, triton_grpc),
    ];
    let mut group = criterion.benchmark_group("answer");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for (name, endpoint, shape) in shapes {
        let events: Vec<Vec<u8>> = (0..EVENTS).map(shape).collect();
        let bytes = events.iter().map(Vec::len).sum::<usize>() / EVENTS;
        for per_read in [1, 16] {
            let reads: Vec<Vec<u8>> = events.chunks(per_read).map(<[Vec<u8>]>::concat).collect();
            let name = format!("{name}, {bytes} bytes, {per_read} a read");
            group.bench_function(name, |bencher| read_answer(bencher, endpoint, &reads));
        }
    }
    group.finish();
}

fn read_answer(bencher: &mut Bencher<'_>, endpoint: Endpoint, reads: &[Vec<u8>]) {
    let mut events = Vec::new();
    let mut read = |decoder: &mut Decoder| {
        for read in reads {
            events.clear();
            decoder.push(black_box(read), &mut events);
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
