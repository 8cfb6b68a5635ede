//! Any bytes as an answer: nothing breaks, and how they are cut changes nothing. The first byte is the length of a read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadproof_wire::{Answer, AnswerContext, Decoder, Endpoint, Event, TransportEnd};

fn read(content_type: &str, bytes: &[u8], size: usize) -> (Vec<Event>, Answer) {
    let mut decoder = Decoder::new(AnswerContext {
        endpoint: Endpoint::ChatCompletions,
        status: 200,
        content_type: Some(content_type),
        content_encoding: None,
        stream_requested: Some(true),
        n: Some(2),
        prompts: None,
        echo: None,
    });
    let mut events = Vec::new();
    for push in bytes.chunks(size) {
        let was_whole = decoder.pending_whole();
        let known = events.len();
        decoder.push(push, &mut events);
        assert!(was_whole || events[known..].iter().all(|event| !event.early));
    }
    let answer = decoder.finish(TransportEnd::Clean, &mut events);
    assert_eq!(answer.events, events.len() as u64);
    events.iter_mut().for_each(|event| event.early = false);
    (events, answer)
}

fuzz_target!(|data: &[u8]| {
    let Some((size, bytes)) = data.split_first() else {
        return;
    };
    for content_type in ["text/event-stream", "application/json"] {
        let whole = read(content_type, bytes, bytes.len().max(1));
        assert_eq!(read(content_type, bytes, usize::from(*size).max(1)), whole);
    }
});
