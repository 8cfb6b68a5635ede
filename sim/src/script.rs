//! A scripted backend for calibration: events at known moments, whatever any model would do.
//!
//! The header `x-sim-script` of a streaming request on a generating route replaces the engine. Its value is a list of
//! `key=value`, divided by semicolons, all of them optional:
//!
//! | key | meaning | default |
//! |---|---|---|
//! | `first_us` | from the request to the first burst; at 0 it shares a write with the head | 0 |
//! | `gap_us` | from one burst to the next; several, divided by commas, are used in turn | 10000 |
//! | `bursts` | how many | 10 |
//! | `events` | events of a burst, each a chunk of its own, all in one write | 1 |
//! | `bytes` | length of an event, reached by padding its text | as short as it goes |
//!
//! Burst *k* is due at the request's arrival + `first_us` + the first *k* gaps, and begins when it is due and the burst
//! before it is written. An event is an ordinary chunk of one token with one more key at its end:
//! `"sim":{"seq":N,"at_ns":T}`, its number and the time at which it was put together, which is right before its write.
//! [`Stamp::find`] reads it. The truth log holds the time of the write itself. All faults that shape a stream work here
//! too; those that count tokens don't.

use wire::encode::{self, Delta, Usage};

use crate::answer::Story;
use crate::clock::Clock;
use crate::engine::Finish;
use crate::link::Note;
use crate::outbox::{BrokeOff, Outbox};
use crate::pace::Pace;
use crate::truth::Kind;

/// The header's name.
pub const SCRIPT_HEADER: &str = "x-sim-script";

/// Events of a script at most.
const EVENTS: u64 = 10_000_000;

/// Longest event, in bytes.
const EVENT_BYTES: usize = 16 << 20;

/// When to write what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    first_us: u64,
    gaps_us: Vec<u64>,
    bursts: u32,
    events: u32,
    bytes: usize,
}

/// What a scripted event says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its number, counting from 0.
    pub seq: u64,
    /// When it was put together, in nanoseconds of the simulator's clock.
    pub at_ns: u64,
}

/// A value of `x-sim-script` that says nothing known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadScript {
    /// Not a key, or not a value of it.
    #[error(
        "x-sim-script: {0:?} is unknown; use first_us, gap_us, bursts, events or bytes, each =NUMBER"
    )]
    Item(String),
    /// Too much of it.
    #[error(
        "x-sim-script: {0} events or bytes of an event are more than {EVENTS} or {EVENT_BYTES}"
    )]
    TooMuch(u64),
}

impl Stamp {
    const KEY: &str = "\"sim\":{\"seq\":";

    /// The stamp in an event, which may be in any line.
    pub fn find(event: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(event).ok()?;
        let (_, rest) = text.rsplit_once(Self::KEY)?;
        let (seq, rest) = rest.split_once(",\"at_ns\":")?;
        let (at_ns, _) = rest.split_once('}')?;
        Some(Self {
            seq: seq.parse().ok()?,
            at_ns: at_ns.parse().ok()?,
        })
    }

    /// Puts the stamp at the end of an event's object.
    fn put(self, event: &mut Vec<u8>) {
        const END: &str = "}\n\n";
        debug_assert!(event.ends_with(END.as_bytes()));
        event.truncate(event.len() - END.len());
        let Self { seq, at_ns } = self;
        event.extend_from_slice(
            format!(",{key}{seq},\"at_ns\":{at_ns}}}{END}", key = Self::KEY).as_bytes(),
        );
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            first_us: 0,
            gaps_us: vec![10_000],
            bursts: 10,
            events: 1,
            bytes: 0,
        }
    }
}

impl Script {
    /// Reads the header's value.
    pub(crate) fn parse(list: &str) -> Result<Self, BadScript> {
        let mut script = Self::default();
        for item in list
            .split(';')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            script
                .set(item)
                .ok_or_else(|| BadScript::Item(item.to_owned()))?;
        }
        let events = u64::from(script.bursts) * u64::from(script.events);
        if events > EVENTS {
            return Err(BadScript::TooMuch(events));
        }
        if script.bytes > EVENT_BYTES {
            return Err(BadScript::TooMuch(script.bytes as u64));
        }
        Ok(script)
    }

    fn set(&mut self, item: &str) -> Option<()> {
        let (key, value) = item.split_once('=')?;
        match key.trim() {
            "first_us" => self.first_us = value.trim().parse().ok()?,
            "gap_us" => {
                let gaps: Result<Vec<u64>, _> =
                    value.split(',').map(|gap| gap.trim().parse()).collect();
                self.gaps_us = gaps.ok()?;
            }
            "bursts" => self.bursts = value.trim().parse().ok()?,
            "events" => self.events = value.trim().parse().ok()?,
            "bytes" => self.bytes = value.trim().parse().ok()?,
            _ => return None,
        }
        Some(())
    }

    /// Tells a story's answer by this script, from `arrived_ns` on.
    pub(crate) async fn tell(
        self,
        story: Story,
        mut outbox: Outbox,
        (clock, mut pace): (Clock, Pace),
        arrived_ns: u64,
    ) -> Result<(), BrokeOff> {
        let mut due_ns = arrived_ns.saturating_add(self.first_us.saturating_mul(1_000));
        let mut seq = 0;
        let total = u64::from(self.bursts) * u64::from(self.events);
        for gap_us in self
            .gaps_us
            .iter()
            .cycle()
            .take(usize::try_from(self.bursts).unwrap_or(usize::MAX))
        {
            pace.until(due_ns).await;
            for _ in 0..self.events {
                let last = seq + 1 == total;
                let event = self.event(
                    &story,
                    Stamp {
                        seq,
                        at_ns: clock.stamp(),
                    },
                    last,
                );
                let token = Note {
                    choice: 0,
                    kind: Kind::Answer,
                    tokens: 1,
                };
                outbox.event(&event, &[token]).await?;
                seq += 1;
            }
            outbox.drained().await?;
            due_ns = due_ns.saturating_add(gap_us.saturating_mul(1_000));
        }
        self.end(&story, &mut outbox, total).await
    }

    fn event(&self, story: &Story, stamp: Stamp, last: bool) -> Vec<u8> {
        let mut text = String::from("x");
        loop {
            let delta = Delta {
                text: Some(&text),
                finish: last.then_some(Finish::Length.as_str()),
                running: story
                    .ask
                    .running_usage
                    .then(|| story.running(0, count(stamp.seq + 1))),
                last: !story.ask.include_usage,
                ..Delta::default()
            };
            let mut event = Vec::new();
            story.identity().delta(&mut event, &delta);
            stamp.put(&mut event);
            if event.len() >= self.bytes {
                return event;
            }
            text.push_str(&"x".repeat(self.bytes - event.len()));
        }
    }

    async fn end(&self, story: &Story, outbox: &mut Outbox, tokens: u64) -> Result<(), BrokeOff> {
        let plain = |kind| {
            [Note {
                choice: 0,
                kind,
                tokens: 0,
            }]
        };
        story
            .exchange
            .note(|record| record.finish = vec![Some(Finish::Length)]);
        if story.ask.include_usage && !story.faults.no_usage {
            let usage = Usage {
                prompt: story.ask.prompt_tokens(),
                completion: tokens,
                ..Usage::default()
            };
            story.exchange.note(|record| record.usage = Some(usage));
            let mut event = Vec::new();
            story.identity().usage(&mut event, usage);
            outbox.event(&event, &plain(Kind::Usage)).await?;
        }
        if !story.faults.no_done {
            let mut event = Vec::new();
            encode::done(&mut event);
            outbox.event(&event, &plain(Kind::Done)).await?;
        }
        outbox.finish().await
    }
}

fn count(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read() {
        assert_eq!(Script::parse(""), Ok(Script::default()));
        let script = Script {
            first_us: 5,
            gaps_us: vec![0, 100, 50_000],
            bursts: 3,
            events: 4,
            bytes: 900,
        };
        assert_eq!(
            Script::parse("first_us=5; gap_us=0,100, 50000;bursts=3;events=4;bytes=900;"),
            Ok(script)
        );
        for item in ["gap", "gap_us=", "gap_us=1,,2", "bursts=-1", "tokens=3"] {
            assert_eq!(
                Script::parse(&format!("events=2;{item}")),
                Err(BadScript::Item(item.to_owned()))
            );
        }
        assert_eq!(
            Script::parse("bursts=10000;events=1001"),
            Err(BadScript::TooMuch(10_010_000))
        );
        assert_eq!(
            Script::parse("bytes=99999999"),
            Err(BadScript::TooMuch(99_999_999))
        );
    }

    #[test]
    fn a_stamp_is_found_where_it_was_put() {
        let stamp = Stamp {
            seq: 7,
            at_ns: 1_234_567,
        };
        let mut event = b"data: {\"a\":1}\n\n".to_vec();
        stamp.put(&mut event);
        assert_eq!(
            event,
            b"data: {\"a\":1,\"sim\":{\"seq\":7,\"at_ns\":1234567}}\n\n"
        );
        assert_eq!(Stamp::find(&event), Some(stamp));
        assert_eq!(Stamp::find(b"data: [DONE]\n\n"), None);
    }
}
