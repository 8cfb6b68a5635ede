//! OpenTelemetry `gen_ai` spans with their messages, a session at a time, as GuideLLM and inference-perf read them.
//!
//! Both want the lists of messages as text that holds JSON. They call the usage by different names, so that each span has
//! both. GuideLLM drops spans with status 2, inference-perf keeps no session's arrival and waits 15 s at most.

use std::collections::BTreeMap;
use std::io::BufRead;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::lines::{Lines, Members};
use super::{Entry, Export, Files, Format, FormatError, Import, Imported, Reading, Text, Trace};

const TIME: &str = "dates, UTC, to 1 µs";
const CARRIES: &[&str] = &[
    "messages and answers",
    "times and durations",
    "sessions",
    "models",
    "prompt and output lengths",
    "failures, as status 2",
];
const LOSES: &[&str] = &[
    "sampling settings",
    "tools",
    "shared prefixes, but by the text itself",
];

pub(super) static OTEL: Format = Format {
    name: "otel",
    says: "OpenTelemetry gen_ai spans, a session a line; read by GuideLLM",
    export: Some(Export {
        text: true,
        blocks: None,
        time: TIME,
        carries: CARRIES,
        loses: LOSES,
        commands: include_str!("commands/otel.md"),
        write: write_lines,
    }),
    import: Some(Import::Lines(read)),
};

pub(super) static OTEL_FILES: Format = Format {
    name: "otel-files",
    says: "the same spans, a session a file; read by inference-perf",
    export: Some(Export {
        text: true,
        blocks: None,
        time: TIME,
        carries: CARRIES,
        loses: LOSES,
        commands: include_str!("commands/otel-files.md"),
        write: write_files,
    }),
    import: Some(Import::Lines(read)),
};

fn write_lines(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for (name, spans) in sessions(trace)? {
        files.line(
            "otel.jsonl",
            &json!({ "trace_id": name, "spans": spans }).to_string(),
        )?;
    }
    Ok(())
}

fn write_files(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for (name, spans) in sessions(trace)? {
        files.line(
            &format!("{name}.json"),
            &json!({ "spans": spans }).to_string(),
        )?;
    }
    Ok(())
}

fn sessions(trace: &Trace) -> Result<BTreeMap<String, Vec<Value>>, FormatError> {
    let mut sessions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (at, entry) in trace.entries.iter().enumerate() {
        let Some(text) = &entry.text else { continue };
        let name = match entry.session {
            Some(session) => format!("s-{session:06}"),
            None => format!("r-{at:06}"),
        };
        let span = span(entry, text, (&name, at, trace.start_us))?;
        sessions.entry(name).or_default().push(span);
    }
    Ok(sessions)
}

fn span(
    entry: &Entry,
    text: &Text,
    (trace_id, at, start_us): (&str, usize, i64),
) -> Result<Value, FormatError> {
    let model = entry.model.as_deref().unwrap_or("unknown");
    let chat = |(role, content): (&str, &str)| json!({ "role": role, "content": content });
    let asked = text.messages();
    let asked: Vec<Value> = asked
        .iter()
        .map(|message| chat((&message.role, &message.content)))
        .collect();
    let answered: Vec<Value> = text
        .answer
        .iter()
        .map(|answer| chat(("assistant", answer)))
        .collect();
    let end_ns = entry.at_ns.saturating_add(entry.e2e_ns.unwrap_or(0));
    Ok(json!({
        "span_id": format!("{:016x}", at + 1),
        "trace_id": trace_id,
        "start_time": date(start_us, entry.at_ns)?,
        "end_time": date(start_us, end_ns)?,
        "name": format!("chat {model}"),
        "status": { "code": if entry.failed { 2 } else { 1 } },
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "gen_ai.input.messages": Value::Array(asked).to_string(),
            "gen_ai.output.messages": Value::Array(answered).to_string(),
            "gen_ai.usage.input_tokens": entry.input,
            "gen_ai.usage.prompt_tokens": entry.input,
            "gen_ai.usage.output_tokens": entry.output,
            "gen_ai.usage.completion_tokens": entry.output,
        },
    }))
}

fn date(start_us: i64, after_ns: u64) -> Result<String, FormatError> {
    let us = start_us.saturating_add(i64::try_from(after_ns / 1000).unwrap_or(i64::MAX));
    let at =
        Timestamp::from_microsecond(us).map_err(|error| FormatError::File(error.to_string()))?;
    Ok(at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

fn read(input: &mut dyn BufRead, _: &Reading) -> Result<Imported, FormatError> {
    let mut lines = Lines::new(input);
    let mut dated = Vec::new();
    let mut session = 0;
    while let Some(mut members) = lines.next()? {
        let spans = members.list("spans")?;
        let spans = members.required("spans", spans)?;
        let mut turns = Vec::new();
        for span in spans {
            turns.extend(exchange(members.within(span, "spans")?)?);
        }
        turns.sort_by_key(|(at, _)| *at);
        let numbered = (1..).zip(turns);
        dated.extend(numbered.map(|(turn, (at, entry))| {
            (
                at,
                Entry {
                    session: Some(session),
                    turn: Some(turn),
                    ..entry
                },
            )
        }));
        session += 1;
    }
    Ok(Imported::dated(dated))
}

/// The exchange of a span, with its start in ns after 1970-01-01 UTC. `None` of a span of something else.
fn exchange(mut span: Members) -> Result<Option<(i128, Entry)>, FormatError> {
    let attributes = span.any("attributes").unwrap_or(Value::Object(Map::new()));
    let mut attributes = span.within(attributes, "attributes")?;
    match attributes.text("gen_ai.operation.name")?.as_deref() {
        None | Some("chat" | "text_completion" | "generate_content") => {}
        Some(_) => return Ok(None),
    }
    let start = instant(&mut span, "start_time")?;
    let end = instant(&mut span, "end_time")?;
    let status = span
        .any("status")
        .and_then(|status| status.get("code").and_then(Value::as_u64));
    let mut usage = |names: [&str; 2]| -> Result<Option<u64>, FormatError> {
        let [first, second] = names;
        let counts = (attributes.count(first)?, attributes.count(second)?);
        Ok(counts.0.or(counts.1))
    };
    let input = usage(["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"])?;
    let output = usage([
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
    ])?;
    let messages = attributes.text("gen_ai.input.messages")?;
    let text = messages
        .map(|messages| said(&span, &messages))
        .transpose()?;
    attributes.any("gen_ai.output.messages");
    let model = attributes
        .text("gen_ai.request.model")?
        .filter(|model| model != "unknown");
    for name in ["span_id", "trace_id", "name"] {
        span.any(name);
    }
    let mut extra = span.rest();
    extra.extend(attributes.rest());
    let e2e_ns = u64::try_from(end - start).ok();
    let failed = status == Some(2);
    Ok(Some((
        start,
        Entry {
            model,
            input,
            output,
            e2e_ns,
            failed,
            text,
            extra,
            ..Entry::default()
        },
    )))
}

fn said(span: &Members, messages: &str) -> Result<Text, FormatError> {
    let messages = serde_json::from_str::<Value>(messages)
        .ok()
        .filter(Value::is_array);
    let messages = messages.ok_or_else(|| {
        FormatError::line(span.line, "\"gen_ai.input.messages\" holds no JSON: a list of messages, written as text, is wanted")
    })?;
    Ok(Text {
        request: Map::from_iter([("messages".to_owned(), messages)]),
        answer: None,
    })
}

fn instant(span: &mut Members, name: &str) -> Result<i128, FormatError> {
    let cell = span.text(name)?;
    let cell = span.required(name, cell)?;
    let at = cell.parse::<Timestamp>();
    let at = at.map_err(|_| {
        span.wrong(
            name,
            &Value::String(cell.clone()),
            "a date such as 2026-11-30T10:00:00.125Z",
        )
    })?;
    Ok(at.as_nanosecond())
}
