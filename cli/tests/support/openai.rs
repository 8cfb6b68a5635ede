//! The streamed answers of OpenAI's two completion endpoints, read anew: a second opinion on what loadproof reports.

use super::client::Answer;
use serde_json::Value;
use std::time::Duration;

/// What an event stream says, and when it said it.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    /// Arrival of the read that completed the first event with text.
    pub(crate) first_token: Option<Duration>,
    /// The same for the last.
    pub(crate) last_token: Option<Duration>,
    /// Events with text.
    pub(crate) token_events: usize,
    /// The text of them all.
    pub(crate) text: String,
    /// The object `usage`, if one came.
    pub(crate) usage: Option<Value>,
    /// llama.cpp's own account of its time, if one came.
    pub(crate) timings: Option<Value>,
    /// Why the engine stopped.
    pub(crate) finish_reason: Option<String>,
    /// `[DONE]` came last.
    pub(crate) done: bool,
}

impl Stream {
    /// Reads the body of an answer.
    pub(crate) fn of(answer: &Answer) -> Self {
        let mut stream = Self {
            first_token: None,
            last_token: None,
            token_events: 0,
            text: String::new(),
            usage: None,
            timings: None,
            finish_reason: None,
            done: false,
        };
        for (data, end) in events(answer.text()) {
            assert!(!stream.done, "an event after [DONE]: {data:?}");
            if data == "[DONE]" {
                stream.done = true;
            } else {
                let event = serde_json::from_str(data)
                    .unwrap_or_else(|error| panic!("{error} in event {data:?}"));
                stream.take(&event, answer.arrival_of(end));
            }
        }
        stream
    }

    /// A number from the object `usage`.
    pub(crate) fn usage(&self, name: &str) -> Option<u64> {
        self.usage.as_ref()?.get(name)?.as_u64()
    }

    /// A number from llama.cpp's `timings`.
    pub(crate) fn timing(&self, name: &str) -> Option<f64> {
        self.timings.as_ref()?.get(name)?.as_f64()
    }

    fn take(&mut self, event: &Value, at: Duration) {
        let choice = &event["choices"][0];
        let texts = [
            &choice["text"],
            &choice["delta"]["content"],
            &choice["delta"]["reasoning_content"],
        ];
        let text: String = texts.into_iter().filter_map(Value::as_str).collect();
        if !text.is_empty() {
            self.first_token.get_or_insert(at);
            self.last_token = Some(at);
            self.token_events += 1;
            self.text.push_str(&text);
        }
        let keep = |kept: &mut Option<Value>, name: &str| {
            if let Some(found @ Value::Object(_)) = event.get(name) {
                *kept = Some(found.clone());
            }
        };
        keep(&mut self.usage, "usage");
        keep(&mut self.timings, "timings");
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish_reason = Some(reason.to_owned());
        }
    }
}

/// The data of each event, with the number of bytes up to and with its blank line.
fn events(body: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(length) = body[start..].find("\n\n") {
        let end = start + length + 2;
        let block = &body[start..start + length];
        if let Some(data) = block.strip_prefix("data: ") {
            assert!(
                !data.contains('\n'),
                "an event of one line was expected: {block:?}"
            );
            found.push((data, end));
        } else {
            assert!(
                block.starts_with(':'),
                "neither an event's data nor a comment: {block:?}"
            );
        }
        start = end;
    }
    assert_eq!(&body[start..], "", "the stream ends within an event");
    found
}
