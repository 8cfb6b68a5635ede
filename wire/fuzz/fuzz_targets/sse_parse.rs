//! Any bytes as an answer: nothing breaks, and how they are cut changes nothing. The first byte is the length of a read,
//! the second one chooses the route.

#![no_main]

use libfuzzer_sys::fuzz_target;
use loadproof_wire::{Answer, AnswerContext, Decoder, Endpoint, Event, TransportEnd};

fn read(context: AnswerContext<'_>, bytes: &[u8], size: usize) -> (Vec<Event>, Answer) {
    let mut decoder = Decoder::new(context);
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
    let [size, route, bytes @ ..] = data else {
        return;
    };
    let routes = [&Endpoint::ALL[..], &Endpoint::GRPC].concat();
    let endpoint = routes[usize::from(*route) % routes.len()];
    for content_type in [
        "text/event-stream",
        "application/json",
        "application/x-ndjson",
        "application/grpc",
    ] {
        let context = AnswerContext {
            content_type: Some(content_type),
            stream_requested: Some(true),
            n: Some(2),
            ..AnswerContext::new(endpoint, 200)
        };
        let whole = read(context, bytes, bytes.len().max(1));
        assert_eq!(read(context, bytes, usize::from(*size).max(1)), whole);
    }
});
