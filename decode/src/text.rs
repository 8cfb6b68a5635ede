//! The report as a person reads it: the answer, its events, two lines each, and the summary.

use crate::report::{AnswerReport, EndpointFrom, EventReport, First, Form, Report, Summary, Times};
use crate::words;
use std::fmt::{self, Display, Formatter};

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let form = match self.form {
            Form::Body => "a body without a head",
            Form::Http => "an HTTP response",
            Form::Har => "a HAR file",
            Form::Timed => "a timed recording",
        };
        writeln!(out, "{form}")?;
        notes(out, &self.notes)?;
        for answer in &self.answers {
            writeln!(out)?;
            answer.fmt(out)?;
        }
        Ok(())
    }
}

impl Display for AnswerReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(entry) = self.entry {
            write!(out, "entry {entry}: ")?;
        }
        let known = match self.endpoint_from {
            EndpointFrom::Option => "as told",
            EndpointFrom::Path => "by its path",
            EndpointFrom::Body => "learned from the body",
        };
        let what = match self.framing {
            "events" => "event stream",
            "lines" => "stream of lines",
            "messages" => "gRPC messages",
            _ => "whole body, no stream",
        };
        writeln!(
            out,
            "POST {} ({known}), status {}, {what}",
            self.endpoint, self.status
        )?;
        notes(out, &self.notes)?;
        if !self.events.is_empty() {
            let place = if self.timed { "ms" } else { "byte" };
            writeln!(out, "\n   # {place:>9} tokens  why")?;
        }
        for event in &self.events {
            event.fmt(out)?;
        }
        writeln!(out)?;
        self.summary.fmt(out)
    }
}

impl Display for EventReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let place = self
            .at_ms
            .map_or_else(|| self.offset.to_string(), |at| format!("{at:.1}"));
        let tokens = words::tokens(self.tokens);
        write!(out, "{:>4} {place:>9} {tokens:>6}  ", self.index)?;
        let firsts: Vec<&str> = self
            .first
            .iter()
            .map(|first| match first {
                First::Event => "first event",
                First::Token => "first token",
                First::Answer => "first answer",
            })
            .collect();
        if !firsts.is_empty() {
            write!(out, "[{}] ", firsts.join(", "))?;
        }
        writeln!(out, "{}: {}", self.reason, self.why)?;
        if !self.data.is_empty() {
            writeln!(out, "{:23}{}", "", self.data)?;
        }
        Ok(())
    }
}

impl Display for Summary {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: String| writeln!(out, "{name:<15} {value}");
        line("outcome", format!("{}: {}", self.outcome, self.outcome_why))?;
        line(
            "end",
            format!(
                "{}, end mark {}, transport {}",
                self.state,
                self.end_mark.unwrap_or("none"),
                self.transport
            ),
        )?;
        line(
            "events",
            format!(
                "{}, with a token {}, visible {}; comments {}",
                self.events, self.token_events, self.visible_events, self.comments
            ),
        )?;
        let input = &self.input_tokens;
        line(
            "input tokens",
            format!("{} (source {})", number(input.count), input.source),
        )?;
        let output = &self.output_tokens;
        line(
            "output tokens",
            format!(
                "{} (source {}: {}); at least {} by the events",
                number(output.count),
                output.source,
                output.why,
                output.at_least
            ),
        )?;
        for (name, count) in [
            ("cached", self.cached_tokens),
            ("reasoning", self.reasoning_tokens),
        ] {
            if let Some(count) = count {
                line(name, count.to_string())?;
            }
        }
        for (name, value) in self.texts() {
            line(name, value)?;
        }
        self.times.iter().try_for_each(|times| times.fmt(out))
    }
}

impl Summary {
    /// What is there only sometimes.
    fn texts(&self) -> Vec<(&'static str, String)> {
        let reasons: Vec<&str> = self
            .finish_reasons
            .iter()
            .map(|reason| reason.as_deref().unwrap_or("none"))
            .collect();
        let anomalies: Vec<String> = self
            .anomalies
            .iter()
            .map(|anomaly| format!("{} ×{}", anomaly.name, anomaly.count))
            .collect();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let all = [
            ("finish reasons", reasons.join(", ")),
            ("error", text(&self.error)),
            ("model", text(&self.model)),
            ("id", text(&self.response_id)),
            ("anomalies", anomalies.join(", ")),
            ("flags", self.flags.join(", ")),
        ];
        all.into_iter()
            .filter(|(_, value)| !value.is_empty())
            .collect()
    }
}

impl Display for Times {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let ms = |value: Option<f64>| {
            value.map_or_else(|| "none".to_owned(), |value| format!("{value:.1} ms"))
        };
        writeln!(
            out,
            "{:<15} first event {}, first token (TTFT) {}, first answer {}",
            "times",
            ms(self.first_event_ms),
            ms(self.ttft_ms),
            ms(self.first_answer_ms)
        )?;
        writeln!(
            out,
            "{:<15} TPOT {}, gap mean {} (per token {}), longest stall {}, e2e {}, bursts {}",
            "",
            ms(self.tpot_ms),
            ms(self.gap_mean_ms),
            ms(self.gap_per_token_ms),
            ms(self.max_stall_ms),
            ms(self.e2e_ms),
            self.bursts
        )
    }
}

fn number(count: Option<u64>) -> String {
    count.map_or_else(|| "unknown".to_owned(), |count| count.to_string())
}

fn notes(out: &mut Formatter<'_>, notes: &[String]) -> fmt::Result {
    notes
        .iter()
        .try_for_each(|note| writeln!(out, "note: {note}"))
}
