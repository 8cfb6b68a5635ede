//! Which push an event is dated by.

use crate::*;

#[test]
fn an_event_is_early_if_only_its_line_ends_were_missing() {
    let mut decoder = Decoder::new(STREAM);
    let mut events = Vec::new();
    let data = format!("data: {}", chat(0, r#"{"content":"a"}"#, ""));
    decoder.push(&data.as_bytes()[..20], &mut events);
    assert_eq!((events.len(), decoder.pending_whole()), (0, false));
    decoder.push(&data.as_bytes()[20..], &mut events);
    assert_eq!((events.len(), decoder.pending_whole()), (0, true));
    decoder.push(b"\n", &mut events);
    assert_eq!((events.len(), decoder.pending_whole()), (0, true));
    decoder.push(b"\ndata: [DONE]", &mut events);
    assert_eq!(
        (events.len(), events[0].early, decoder.pending_whole()),
        (1, true, true)
    );
    let answer = decoder.finish(TransportEnd::Clean, &mut events);
    assert_eq!(
        (events.len(), events[1].early, answer.terminator),
        (2, true, Some(Terminator::Done))
    );
    assert!(!decoder.pending_whole());
}

#[test]
fn a_body_is_never_pending() {
    let mut decoder = Decoder::new(BODY);
    decoder.push(b"{}", &mut Vec::new());
    assert!(!decoder.pending_whole());
}
