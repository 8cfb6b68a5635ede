//! What the holes of the templates mean.
//!
//! | hole | is |
//! |---|---|
//! | `id` `model` `fingerprint` `message` | texts, without quotes; `ascii_message` in ASCII alone |
//! | `created` `limit` `index` | whole numbers; `date` is `created` as ISO 8601 |
//! | `seq` `block` | events written before this one; blocks begun before this one's |
//! | `text` `reasoning` | what is new, without quotes |
//! | `all_text` `all_reasoning` | all of the choice so far; `step_text` is new or all, as the server was started |
//! | `new_ids` `all_ids` `step_ids` `last_id` | the same of token ids: lists, and the newest |
//! | `finish` | why the choice ended, in quotes, or `null` |
//! | `count` `prompt` `sum` `cached` `uncached` `reasoned` | tokens: of the choice, or of all where a total stands; `step_count` as `step_text` |
//! | `choices` | all choices of a body |
//! | `ttft_ms` `queue_ms` `prefill_ms` `decode_ms` `latency_s` … | the engine's own times of the choice; `null` for what has no value |
//!
//! | group | is there |
//! |---|---|
//! | `text` | answer text is new, or no parser holds it back where there is none |
//! | `reasoning` `silent` | reasoning is new; nothing is |
//! | `finish` `length` | the choice has ended; by its limit |
//! | `opened` `leads` | the choice's first output has come; it is the first choice |
//! | `ended` `several` `batch` | the answer is over; it has several choices; the request has several prompts |
//! | `usage` `running` `ids` `words` `details` `in_count` `out_count` | that was asked for |
//! | `cached` `reasons` `metrics` | the server was started so |
//! | `gaps` | there is more than one token |

use super::shape::Shape;
use super::template::{Holes, fill};
use super::writer::Choice;
use super::{Finish, Manner, Usage, escape, python};
use crate::Accumulation;

/// What is written at the moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'w> {
    pub(super) shape: &'static Shape,
    pub(super) manner: &'w Manner,
    pub(super) choices: &'w [Choice],
    /// The choice it is about.
    pub(super) index: usize,
    pub(super) choice: &'w Choice,
    /// What is new.
    pub(super) piece: Piece<'w>,
    pub(super) counts: Usage,
    pub(super) seq: u64,
    pub(super) message: &'w str,
    pub(super) ended: bool,
}

/// What an event carries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Piece<'w> {
    pub(super) text: &'w str,
    pub(super) reasoning: &'w str,
    pub(super) ids: &'w [u32],
}

impl Holes for Moment<'_> {
    fn put(&self, hole: &str, out: &mut Vec<u8>) {
        if let Some((_, part)) = self.shape.parts.iter().find(|(name, _)| *name == hole) {
            return fill(part, self, out);
        }
        if hole == "choices" {
            return self.put_choices(out);
        }
        let known =
            self.put_text(hole, out) || self.put_count(hole, out) || self.put_time(hole, out);
        debug_assert!(known, "{hole} is no hole");
    }

    fn has(&self, group: &str) -> bool {
        let Manner {
            wishes, settings, ..
        } = self.manner;
        match group {
            "text" => !settings.reasons || !self.piece.text.is_empty(),
            "reasoning" => !self.piece.reasoning.is_empty(),
            "silent" => self.piece.text.is_empty() && self.piece.reasoning.is_empty(),
            "finish" => self.choice.finish.is_some(),
            "length" => self.choice.finish == Some(Finish::Length),
            "opened" => self.choice.opened,
            "leads" => self.index == 0,
            "ended" => self.ended,
            "several" => self.choices.len() > 1,
            "batch" => self.manner.prompts > 1,
            "usage" => wishes.usage,
            "running" => wishes.running,
            "ids" => wishes.token_ids,
            "words" => wishes.text,
            "details" => wishes.details,
            "in_count" => wishes.input_count,
            "out_count" => wishes.output_count,
            "cached" => settings.cache_report,
            "reasons" => settings.reasons,
            "metrics" => settings.request_metrics && self.choices.len() == 1,
            "gaps" => self.counts.completion > 1,
            _ => {
                debug_assert!(false, "{group} is no group");
                false
            }
        }
    }
}

impl Moment<'_> {
    fn put_choices(&self, out: &mut Vec<u8>) {
        for (index, choice) in self.choices.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let counts = choice.usage();
            let of_choice = Self {
                index,
                choice,
                counts,
                ..*self
            };
            fill(self.shape.whole_choice, &of_choice, out);
        }
    }

    fn put_text(&self, hole: &str, out: &mut Vec<u8>) -> bool {
        let Self {
            manner,
            choice,
            piece,
            ..
        } = self;
        let deltas = manner.settings.text == Accumulation::Delta;
        match hole {
            "id" => escape(&manner.id, out),
            "model" => escape(&manner.model, out),
            "fingerprint" => escape(&manner.fingerprint, out),
            "message" => escape(self.message, out),
            "ascii_message" => python::escape_ascii(self.message, out),
            "text" => escape(piece.text, out),
            "reasoning" => escape(piece.reasoning, out),
            "all_text" => escape(&choice.text, out),
            "all_reasoning" => escape(&choice.reasoning, out),
            "step_text" if deltas => escape(piece.text, out),
            "step_text" => escape(&choice.text, out),
            "new_ids" => put_list(piece.ids, out),
            "all_ids" => put_list(&choice.ids, out),
            "step_ids" if deltas => put_list(piece.ids, out),
            "step_ids" => put_list(&choice.ids, out),
            "finish" => match choice.finish {
                Some(finish) => put(&format!("\"{}\"", self.spelled(finish)), out),
                None => put("null", out),
            },
            "date" => put(&date(manner.created), out),
            _ => return false,
        }
        true
    }

    fn spelled(&self, finish: Finish) -> &'static str {
        let (stop, length) = self.shape.finishes;
        match finish {
            Finish::Stop => stop,
            Finish::Length => length,
        }
    }

    fn put_count(&self, hole: &str, out: &mut Vec<u8>) -> bool {
        let Self {
            manner,
            choice,
            counts,
            ..
        } = self;
        let cached = counts.cached.unwrap_or(0);
        let number = match hole {
            "created" => manner.created,
            "limit" => manner.limit.into(),
            "index" => self.index as u64,
            "seq" => self.seq,
            "block" => choice.blocks.saturating_sub(1),
            "last_id" => choice.last_id.into(),
            "count" => counts.completion,
            "step_count" if manner.settings.text == Accumulation::Delta => {
                self.piece.ids.len() as u64
            }
            "step_count" => counts.completion,
            "prompt" => counts.prompt,
            "sum" => counts.prompt.saturating_add(counts.completion),
            "cached" => cached,
            "uncached" => counts.prompt.saturating_sub(cached),
            "reasoned" => counts.reasoning.unwrap_or(0),
            _ => return false,
        };
        put(&number.to_string(), out);
        true
    }

    fn put_time(&self, hole: &str, out: &mut Vec<u8>) -> bool {
        const MS: f64 = 1e6;
        let times = self.choice.times;
        let Usage {
            prompt, completion, ..
        } = self.counts;
        let fresh = prompt.saturating_sub(self.counts.cached.unwrap_or(0));
        let prefill_ns = number(times.first_token_ns.saturating_sub(times.admitted_ns));
        let decode_ns = number(times.last_token_ns.saturating_sub(times.first_token_ns));
        let (fresh, completion) = (number(fresh), number(completion));
        let value = match hole {
            "ttft_ms" => number(times.first_token_ns) / MS,
            "queue_ms" => number(times.admitted_ns) / MS,
            "prefill_ms" => prefill_ns / MS,
            "prefill_token_ms" => prefill_ns / MS / fresh,
            "prefill_rate" => fresh / prefill_ns * 1e9,
            "decode_ms" => decode_ns / MS,
            "decode_token_ms" => decode_ns / MS / completion,
            "decode_rate" => completion / decode_ns * 1e9,
            "gap_ms" => decode_ns / MS / (completion - 1.0),
            "rate" => completion / number(times.last_token_ns) * 1e9,
            "latency_s" => number(times.last_token_ns) / 1e9,
            "sent_s" => number(self.manner.created) + number(times.last_token_ns) / 1e9,
            "per_step" => completion / number(self.choice.steps),
            _ => return false,
        };
        match serde_json::Number::from_f64(value) {
            Some(value) => put(&value.to_string(), out),
            None => put("null", out),
        }
        true
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times and counts far below 2^53, and a figure for people"
)]
fn number(whole: u64) -> f64 {
    whole as f64
}

fn put(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
}

fn put_list(ids: &[u32], out: &mut Vec<u8>) {
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    put(&format!("[{}]", ids.join(",")), out);
}

/// Seconds since 1970 as ISO 8601, by Howard Hinnant's `civil_from_days`.
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(date(951_825_599), "2000-02-29T11:59:59.000Z");
        assert_eq!(date(1_796_040_000), "2026-11-30T12:00:00.000Z");
    }
}
