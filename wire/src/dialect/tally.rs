//! What is counted alike in every dialect, event by event.

use super::Evidence;
use crate::json::{cut_plain, cut_text};
use crate::sse::Field;
use crate::{Anomaly, EngineTimes, Event, Reason, Terminator, Tokens};

/// The counts so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) token_events: u64,
    pub(crate) visible_events: u64,
    /// Lower bound of the generated tokens.
    pub(crate) tokens_min: u64,
    pub(crate) model: Option<String>,
    pub(crate) response_id: Option<String>,
    /// An error object came.
    pub(crate) errored: bool,
    /// Message of the first error object that has one.
    pub(crate) error: Option<String>,
    /// What the engine states of its own times.
    pub(crate) times: EngineTimes,
    /// The end mark that was seen.
    pub(crate) mark: Option<Terminator>,
    anomalies: [u64; Anomaly::ALL.len()],
}

impl Tally {
    /// Counts an event and says what it is to those who measure.
    pub(crate) fn take(&mut self, evidence: Evidence, early: bool) -> Event {
        self.events += 1;
        let is_token = evidence.tokens != Tokens::None;
        let visible = is_token && evidence.shows.anything();
        self.token_events += u64::from(is_token);
        self.visible_events += u64::from(visible);
        self.tokens_min = self.tokens_min.saturating_add(match evidence.tokens {
            Tokens::None => 0,
            Tokens::AtLeastOne => 1,
            Tokens::Exactly(count) => u64::from(count),
        });
        // What is shown before the first token is an echo of the request.
        let answer = evidence.shows.answer && self.token_events > 0;
        Event {
            tokens: evidence.tokens,
            reason: evidence.reason,
            visible,
            answer,
            early,
        }
    }

    /// Keeps the first name and id that are not empty; both as they are written in JSON.
    pub(crate) fn name(&mut self, model: &[u8], response_id: &[u8]) {
        self.name_by(cut_text, model, response_id);
    }

    /// The same of texts that are no JSON.
    pub(crate) fn name_plain(&mut self, model: &[u8], response_id: &[u8]) {
        self.name_by(cut_plain, model, response_id);
    }

    fn name_by(&mut self, text: fn(&[u8]) -> String, model: &[u8], response_id: &[u8]) {
        for (kept, raw) in [
            (&mut self.model, model),
            (&mut self.response_id, response_id),
        ] {
            if kept.is_none() && !raw.is_empty() {
                *kept = Some(text(raw));
            }
        }
    }

    /// An error object came, with its message as it is written in JSON.
    pub(crate) fn error(&mut self, message: Option<&[u8]>) {
        self.errored = true;
        if let (None, Some(message)) = (&self.error, message) {
            self.error = Some(cut_text(message));
        }
    }

    /// The same with a message that is no JSON.
    pub(crate) fn error_plain(&mut self, message: &[u8]) {
        self.errored = true;
        if self.error.is_none() {
            self.error = Some(cut_plain(message));
        }
    }

    /// An event came whose data is no JSON. One without any data is a heartbeat.
    pub(crate) fn unreadable(&mut self, field: Field, data: &[u8]) -> Reason {
        match field {
            Field::Error => {
                self.error(Some(data).filter(|data| !data.is_empty()));
                Reason::Error
            }
            Field::Data if data.is_empty() => Reason::Heartbeat,
            Field::Data => {
                self.anomaly(Anomaly::BadJson);
                Reason::Unreadable
            }
        }
    }

    pub(crate) fn anomaly(&mut self, anomaly: Anomaly) {
        self.anomalies_of(anomaly, 1);
    }

    /// Something went wrong so many times.
    pub(crate) fn anomalies_of(&mut self, anomaly: Anomaly, times: u64) {
        for (count, kind) in self.anomalies.iter_mut().zip(Anomaly::ALL) {
            if kind == anomaly {
                *count = count.saturating_add(times);
            }
        }
    }

    /// What went wrong, each with its count.
    pub(crate) fn anomalies(&self) -> Vec<(Anomaly, u64)> {
        Anomaly::ALL
            .into_iter()
            .zip(self.anomalies)
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
