//! From the bytes of an exchange, as far as a copy of them was kept, to its [`Text`].

use wire::sse::Framer;

use super::said::Joined;
use super::{Body, Kept, LeftOut, Part, Redaction, Text, heads, json};

/// An exchange's bodies, and the header fields that are of use.
#[derive(Debug, Default)]
pub struct Heard {
    /// Number of the exchange.
    pub exchange: u64,
    /// `user-agent` of the request.
    pub agent: Option<String>,
    /// The request.
    pub request: HeardBody,
    /// The answer.
    pub answer: HeardBody,
}

/// A body as far as it was kept.
#[derive(Debug, Default)]
pub struct HeardBody {
    /// `content-type`
    pub content_type: Option<String>,
    /// It has a `content-encoding` other than `identity`.
    pub compressed: bool,
    /// Its first bytes, without the framing of the transport.
    pub bytes: Kept,
}

// ---- Redaction

impl Redaction {
    /// What an exchange said, redacted.
    pub fn text(&mut self, heard: &Heard) -> Text {
        Text {
            exchange: heard.exchange,
            agent: heard
                .agent
                .as_deref()
                .map(|field| heads::agent(field).to_owned()),
            request: self.part(&heard.request),
            answer: self.part(&heard.answer),
        }
    }

    fn part(&mut self, heard: &HeardBody) -> Part {
        let media_type = heard.content_type.as_deref().map(heads::media_type);
        let events = match media_type {
            _ if heard.compressed => None,
            Some("text/event-stream") => Some(events(heard.bytes.bytes(), heard.bytes.is_cut())),
            Some("application/x-ndjson" | "application/ndjson" | "application/jsonl") => {
                Some(lines(heard.bytes.bytes()))
            }
            _ => None,
        };
        let body = match events {
            Some(joined) => Body::Said(self.said(joined)),
            None => self.body(heard, media_type),
        };
        Part {
            media_type: media_type.map(str::to_owned),
            cut: heard.bytes.is_cut(),
            body,
        }
    }

    fn said(&mut self, joined: Joined) -> Vec<super::Said> {
        let mut said = joined.finish();
        for one in &mut said {
            one.text = if json::is_json(&one.text) {
                json::redact(&one.text, self)
            } else {
                self.apply(&one.text).into_owned()
            };
        }
        said
    }

    fn body(&mut self, heard: &HeardBody, media_type: Option<&str>) -> Body {
        if heard.compressed {
            return Body::LeftOut(LeftOut::Compressed);
        }
        if heard.bytes.bytes().is_empty() && !heard.bytes.is_cut() {
            return Body::LeftOut(LeftOut::Empty);
        }
        if heard.bytes.is_cut() {
            return Body::LeftOut(LeftOut::TooLarge);
        }
        match std::str::from_utf8(heard.bytes.bytes()) {
            Ok(text) if media_type != Some("application/grpc") => {
                Body::Text(if json::is_json(text) {
                    json::redact(text, self)
                } else {
                    self.apply(text).into_owned()
                })
            }
            _ => Body::LeftOut(LeftOut::NotText),
        }
    }
}

// ---- Streams

/// Joins server-sent events. The last one of a stream that was cut is left out: it may be half of one.
fn events(bytes: &[u8], cut: bool) -> Joined {
    let (mut framer, mut joined) = (Framer::default(), Joined::default());
    let mut each = |frame: wire::sse::Frame<'_>| event(&mut joined, frame.data);
    framer.push(bytes, &mut each);
    if !cut {
        framer.finish(&mut each);
    }
    joined
}

/// Joins a stream of a JSON object a line. Half a line is no JSON and says nothing.
fn lines(bytes: &[u8]) -> Joined {
    let mut joined = Joined::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        event(&mut joined, line);
    }
    joined
}

fn event(joined: &mut Joined, data: &[u8]) {
    if let Ok(value) = serde_json::from_slice(data) {
        joined.event(&value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Room;
    use super::*;

    fn body(content_type: &str, bytes: &[u8]) -> HeardBody {
        HeardBody {
            content_type: Some(content_type.to_owned()),
            bytes: bytes.to_vec().into(),
            ..HeardBody::default()
        }
    }

    /// The same, of which more came than was kept.
    fn cut(heard: HeardBody) -> HeardBody {
        let all = heard.bytes.bytes();
        let mut bytes = Room::new(all.len(), all.len()).copy();
        bytes.push(all);
        bytes.push(b"more");
        HeardBody { bytes, ..heard }
    }

    fn part(heard: &HeardBody) -> Part {
        Redaction::new(&[]).unwrap().part(heard)
    }

    #[test]
    fn a_secret_that_is_streamed_in_pieces_is_redacted_as_a_whole() {
        let stream = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"to ann@exa\"}}]}\n\n\
            : ping\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"mple.com\"}}]}\n\ndata: [DONE]\n\n";
        let part = part(&body("text/event-stream; charset=utf-8", stream));
        let Body::Said(said) = part.body else {
            panic!("{part:?}")
        };
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].text, "to [email]");
    }

    #[test]
    fn lines_are_a_stream_too() {
        let stream =
            b"{\"message\":{\"content\":\"a\"}}\n{\"message\":{\"content\":\"b\"}}\n{\"mess";
        let part = part(&body("application/x-ndjson", stream));
        assert!(matches!(part.body, Body::Said(said) if said[0].text == "ab"));
    }

    #[test]
    fn json_stays_json_and_other_text_is_kept() {
        let text = r#"{"model": "m", "messages": [{"content": "hi a@b.example"}]}"#;
        assert_eq!(
            part(&body("application/json", text.as_bytes())).body,
            Body::Text(text.replace("a@b.example", "[email]"))
        );
        assert_eq!(
            part(&body("text/plain", b"no, a@b.example")).body,
            Body::Text("no, [email]".to_owned())
        );
    }

    #[test]
    fn what_cant_be_redacted_is_left_out_and_says_why() {
        let json = || body("application/json", b"{\"a\":1}");
        let cases = [
            (cut(json()), LeftOut::TooLarge),
            (
                HeardBody {
                    compressed: true,
                    ..json()
                },
                LeftOut::Compressed,
            ),
            (body("application/json", b"\xff\xfe"), LeftOut::NotText),
            (body("application/grpc", b"abc"), LeftOut::NotText),
            (HeardBody::default(), LeftOut::Empty),
        ];
        for (heard, why) in cases {
            assert_eq!(part(&heard).body, Body::LeftOut(why));
        }
    }

    #[test]
    fn of_a_cut_stream_the_whole_events_are_kept() {
        let heard = cut(body(
            "text/event-stream",
            b"data: {\"content\":\"a\"}\n\ndata: {\"content\":\"b\"}",
        ));
        let part = part(&heard);
        assert!(part.cut);
        assert!(matches!(part.body, Body::Said(said) if said[0].text == "a"));
    }
}
