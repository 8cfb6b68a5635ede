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
//! | `plain` | 1: the events are those of the engine alone, openings included and stamps left out | 0 |
//!
//! Burst *k* is due at the request's arrival + `first_us` + the first *k* gaps, and begins when it is due and the burst
//! before it is written. An event is an ordinary chunk of one token with one more key at its end:
//! `"sim":{"seq":N,"at_ns":T}`, its number and the time at which it was put together, which is right before its write.
//! [`Stamp::find`] reads it. Role chunks and the like are left out. What an answer says of the engine's own times is the
//! plan, and of the prefix cache that it was empty. The truth log holds the time of the write itself. All faults that shape a stream work here
//! too; those that count tokens don't.

use wire::encode::{Part, Sheet, Times};

use crate::answer::{Story, notes};
use crate::clock::Clock;
use crate::driver::Progress;
use crate::engine::Finish;
use crate::outbox::{BrokeOff, Outbox};
use crate::pace::Pace;
use crate::text::Word;

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
    plain: bool,
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
        "x-sim-script: {0:?} is unknown; use first_us, gap_us, bursts, events, bytes or plain, each =NUMBER"
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
        let object = event.trim_ascii_end().len();
        debug_assert!(event[..object].ends_with(b"}"));
        let end = event.split_off(object.saturating_sub(1));
        event.extend_from_slice(self.member().as_bytes());
        event.extend_from_slice(&end);
    }

    fn member(self) -> String {
        let Self { seq, at_ns } = self;
        format!(",{key}{seq},\"at_ns\":{at_ns}}}", key = Self::KEY)
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
            plain: false,
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
            "plain" => {
                self.plain = match value.trim() {
                    "0" => false,
                    "1" => true,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Tells a story's answer by this script, from `arrived_ns` on.
    pub(crate) async fn tell(
        self,
        mut story: Story,
        mut outbox: Outbox,
        (clock, mut pace): (Clock, Pace),
        arrived_ns: u64,
    ) -> Result<(), BrokeOff> {
        let mut sheet = Sheet::default();
        story.writer.open(&mut sheet);
        let first_ns = self.first_us.saturating_mul(1_000);
        let mut progress = Progress {
            admitted: true,
            times: Times {
                admitted_ns: 0,
                first_token_ns: first_ns,
                last_token_ns: first_ns,
            },
            ..Progress::default()
        };
        let total = self.bursts.saturating_mul(self.events);
        let gaps = self.gaps_us.iter().cycle();
        for gap_us in gaps.take(usize::try_from(self.bursts).unwrap_or(usize::MAX)) {
            let due_ns = arrived_ns.saturating_add(progress.times.last_token_ns);
            pace.until(due_ns).await;
            for _ in 0..self.events {
                progress.tokens += 1;
                progress.finish = (progress.tokens == total).then_some(Finish::Length);
                let stamp = Stamp {
                    seq: u64::from(progress.tokens - 1),
                    at_ns: clock.stamp(),
                };
                self.event(&mut story, progress, stamp, &mut sheet);
                self.put(stamp, &mut sheet, &mut outbox).await?;
            }
            outbox.drained().await?;
            if progress.finish.is_none() {
                let gap_ns = gap_us.saturating_mul(1_000);
                progress.times.last_token_ns = progress.times.last_token_ns.saturating_add(gap_ns);
            }
        }
        Self::end(story, progress, &mut outbox).await
    }

    /// Writes the next token, as long as was asked for.
    fn event(&self, story: &mut Story, progress: Progress, stamp: Stamp, sheet: &mut Sheet) {
        let mut word = Word::of("x".to_owned());
        if self.bytes > 0 {
            let mut trial = Sheet::default();
            let tokens = [word.token()];
            let step = story.step(0, progress, &tokens);
            story.writer.clone().step(&step, &mut trial);
            let output = trial.events().filter(|event| event.part == Part::Output);
            let own = output.map(|event| event.bytes.len()).max().unwrap_or(0);
            let member = if self.plain { 0 } else { stamp.member().len() };
            let missing = self.bytes.saturating_sub(own + member);
            word.text.push_str(&"x".repeat(missing));
        }
        let tokens = [word.token()];
        let step = story.step(0, progress, &tokens);
        story.writer.step(&step, sheet);
    }

    /// Hands on what was written of a token.
    async fn put(
        &self,
        stamp: Stamp,
        sheet: &mut Sheet,
        outbox: &mut Outbox,
    ) -> Result<(), BrokeOff> {
        let word = Word::of(String::new());
        let tokens = [word.token()];
        for written in sheet.events() {
            let notes = notes(0, &tokens, &written);
            match written.part {
                Part::Output if !self.plain => {
                    let mut event = written.bytes.to_vec();
                    stamp.put(&mut event);
                    outbox.event(&event, &notes).await?;
                }
                Part::Opening if !self.plain => {}
                _ => outbox.event(written.bytes, &notes).await?,
            }
        }
        sheet.clear();
        outbox.told().await
    }

    async fn end(
        mut story: Story,
        progress: Progress,
        outbox: &mut Outbox,
    ) -> Result<(), BrokeOff> {
        let usage = story.total(&[progress]);
        let mut sheet = Sheet::default();
        story.writer.end(&mut sheet);
        let stated = story.writer.states_total();
        story.exchange.note(|record| {
            record.finish = vec![progress.finish];
            record.times = vec![progress.times];
            record.usage = stated.then_some(usage);
        });
        for written in sheet.events() {
            if written.part != Part::End || !story.faults.no_done {
                outbox
                    .event(written.bytes, &notes(0, &[], &written))
                    .await?;
            }
        }
        outbox.told().await?;
        outbox.finish().await
    }
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
            plain: true,
        };
        assert_eq!(
            Script::parse("first_us=5; gap_us=0,100, 50000;bursts=3;events=4;bytes=900;plain=1;"),
            Ok(script)
        );
        for item in [
            "gap",
            "gap_us=",
            "gap_us=1,,2",
            "bursts=-1",
            "tokens=3",
            "plain=2",
        ] {
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
