//! What AIPerf reads: Mooncake's lines with sessions, bodies as they were sent, and turns. Times are milliseconds.
//!
//! AIPerf collects a session's turns into one conversation and puts its own answers between them. A later turn of a session
//! therefore says how much its prompt is longer than what was said before it, not how long it is, and how long after the
//! answer it comes instead of when. A body, in contrast, is sent untouched: it holds the whole conversation.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Map, Value, json};

use super::blocks::Chain;
use super::lines::{Lines, Members};
use super::mooncake::lengths;
use super::sessions::{Session, Sessions};
use super::units::milliseconds;
use super::{
    BlockSize, Entry, Export, Files, Format, FormatError, Import, Imported, Reading, Tail, Text,
    TimeUnit, Trace,
};

const BLOCK: u32 = 512;
const TIME: &str =
    "ms; the first turn of a session after the first arrival, later ones after the answer before";

pub(super) static MOONCAKE_TRACE: Format = Format {
    name: "aiperf-mooncake-trace",
    says: "Mooncake's lines with sessions: later turns as what they add, after a wait",
    export: Some(Export {
        text: false,
        blocks: Some(BlockSize {
            tokens: BLOCK,
            tail: Tail::Kept,
        }),
        time: TIME,
        carries: &[
            "arrivals of sessions",
            "think times",
            "turns",
            "prompt and output lengths",
            "shared prefixes of first turns",
        ],
        loses: &[
            "arrivals of later turns: they follow the answers of the replay",
            "block ids of later turns",
            "models",
            "outcomes",
            "sampling settings",
            "turns that don't go on with the conversation: they are sessions of their own",
        ],
        commands: include_str!("commands/aiperf-mooncake-trace.md"),
        write: write_sessions,
    }),
    import: Some(Import::Lines(read)),
};

pub(super) static PAYLOAD: Format = Format {
    name: "aiperf-payload",
    says: "bodies as they were sent, with arrivals and sessions, AIPerf's `mooncake_trace` with `payload`",
    export: Some(Export {
        text: true,
        blocks: None,
        time: TIME,
        carries: &[
            "bodies, untouched",
            "arrivals of sessions",
            "think times",
            "turns",
            "output lengths",
        ],
        loses: &[
            "arrivals of later turns: they follow the answers of the replay",
            "prompt lengths in tokens",
            "outcomes",
        ],
        commands: include_str!("commands/aiperf-payload.md"),
        write: write_payloads,
    }),
    import: Some(Import::Lines(read)),
};

pub(super) static MULTI_TURN: Format = Format {
    name: "aiperf-multi-turn",
    says: "conversations, a session a line, answered live",
    export: Some(Export {
        text: true,
        blocks: None,
        time: "ms after the answer before",
        carries: &["what the user adds in each turn", "think times", "turns"],
        loses: &[
            "arrivals of sessions",
            "recorded answers",
            "system prompts",
            "lengths",
            "models",
            "outcomes",
            "sampling settings",
        ],
        commands: include_str!("commands/aiperf-multi-turn.md"),
        write: write_turns,
    }),
    import: None,
};

pub(super) static RAW_PAYLOAD: Format = Format {
    name: "aiperf-raw-payload",
    says: "bodies as they were sent, one a line",
    export: Some(Export {
        text: true,
        blocks: None,
        time: "none",
        carries: &["bodies, untouched, in order of arrival"],
        loses: &[
            "arrivals",
            "sessions and think times",
            "lengths in tokens",
            "outcomes",
        ],
        commands: include_str!("commands/aiperf-raw-payload.md"),
        write: write_raw,
    }),
    import: Some(Import::Lines(read_raw)),
};

fn write_sessions(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    let mut sessions = Sessions::default();
    for (at, entry) in trace.entries.iter().enumerate() {
        let mut line = json!({ "output_length": entry.output });
        let name = entry
            .session
            .map_or_else(|| format!("r-{at}"), |session| format!("s-{session}"));
        let session = sessions.of(&name);
        let added = session
            .latest
            .as_ref()
            .and_then(|before| added(entry, before));
        let parts = line.as_object_mut();
        let Some(parts) = parts else { continue };
        match (added, entry.think_ns) {
            (Some(added), Some(think)) => {
                parts.insert("session_id".to_owned(), session_name(&name, session).into());
                parts.insert("delay".to_owned(), milliseconds(think).into());
                parts.insert("input_length".to_owned(), added.into());
            }
            _ => {
                session.turns += 1;
                parts.insert("session_id".to_owned(), session_name(&name, session).into());
                parts.insert("timestamp".to_owned(), milliseconds(entry.at_ns).into());
                parts.insert("input_length".to_owned(), entry.input.into());
                parts.insert("hash_ids".to_owned(), entry.ids.clone().into());
            }
        }
        session.latest = Some(Entry {
            input: entry.input,
            output: entry.output,
            ..Entry::default()
        });
        files.line("mooncake-trace.jsonl", &line.to_string())?;
    }
    Ok(())
}

/// A session that begins anew has a name of its own.
fn session_name(name: &str, session: &Session) -> String {
    match session.turns {
        0 | 1 => name.to_owned(),
        begun => format!("{name}.{begun}"),
    }
}

/// Tokens that a turn adds to what was said before it. `None` if it does not go on there.
fn added(entry: &Entry, before: &Entry) -> Option<u64> {
    let said = before.input?.checked_add(before.output?)?;
    entry.input?.checked_sub(said).filter(|added| *added > 0)
}

fn write_payloads(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for (at, entry) in trace.entries.iter().enumerate() {
        let Some(text) = &entry.text else { continue };
        let name = entry
            .session
            .map_or_else(|| format!("r-{at}"), |session| format!("s-{session}"));
        let mut line = Map::new();
        line.insert("session_id".to_owned(), name.into());
        match entry.think_ns {
            Some(think) => line.insert("delay".to_owned(), milliseconds(think).into()),
            None => line.insert("timestamp".to_owned(), milliseconds(entry.at_ns).into()),
        };
        line.insert("payload".to_owned(), Value::Object(body(text)));
        line.insert("output_length".to_owned(), entry.output.into());
        files.line("payload.jsonl", &Value::Object(line).to_string())?;
    }
    Ok(())
}

fn write_raw(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for text in trace.entries.iter().filter_map(|entry| entry.text.as_ref()) {
        files.line("raw.jsonl", &Value::Object(body(text)).to_string())?;
    }
    Ok(())
}

/// The body, and the wish to be told the usage if it is streamed: nobody else adds it.
fn body(text: &Text) -> Map<String, Value> {
    let mut body = text.request.clone();
    if body.get("stream") == Some(&Value::Bool(true)) {
        body.entry("stream_options")
            .or_insert_with(|| json!({ "include_usage": true }));
    }
    body
}

fn write_turns(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    let mut conversations: BTreeMap<(u64, u64), Vec<Value>> = BTreeMap::new();
    for (at, entry) in trace.entries.iter().enumerate() {
        let Some(text) = &entry.text else { continue };
        let mut turn = json!({ "text": text.newest() });
        if let (Some(think), Some(turn)) = (entry.think_ns, turn.as_object_mut()) {
            turn.insert("delay".to_owned(), milliseconds(think).into());
        }
        let alone = if entry.session.is_some() {
            0
        } else {
            at as u64 + 1
        };
        conversations
            .entry((alone, entry.session.unwrap_or(0)))
            .or_default()
            .push(turn);
    }
    for ((alone, session), turns) in conversations {
        let name = if alone == 0 {
            format!("s-{session}")
        } else {
            format!("r-{}", alone - 1)
        };
        files.line(
            "multi-turn.jsonl",
            &json!({ "session_id": name, "turns": turns }).to_string(),
        )?;
    }
    Ok(())
}

fn read(input: &mut dyn BufRead, reading: &Reading) -> Result<Imported, FormatError> {
    let block = reading.block.unwrap_or(BLOCK);
    let mut lines = Lines::new(input);
    let mut chain = Chain::default();
    let mut sessions = Sessions::default();
    let mut entries = Vec::new();
    while let Some(mut members) = lines.next()? {
        let said = said(&mut members, block)?;
        chain.check(members.line, &said.ids)?;
        let whole = said.text.is_some();
        let name = members.name("session_id")?;
        let session = name.map(|name| sessions.of(&name));
        let before = session.as_ref().and_then(|session| session.latest.clone());
        let mut entry = placed(&mut members, said, before.as_ref())?;
        if let (false, Some(before)) = (whole, before) {
            let earlier = before
                .input
                .zip(before.output)
                .map(|(input, output)| input + output);
            entry.input = entry
                .input
                .zip(earlier)
                .map(|(added, earlier)| added + earlier);
        }
        if let Some(session) = session {
            session.join(&mut entry);
        }
        entries.push(Entry {
            extra: members.rest(),
            ..entry
        });
    }
    Ok(Imported::timed(entries, block))
}

/// When it arrives: at a time, or a wait after the turn before, whose end is not known.
fn placed(
    members: &mut Members,
    entry: Entry,
    before: Option<&Entry>,
) -> Result<Entry, FormatError> {
    let at = members.time("timestamp", TimeUnit::Milliseconds)?;
    let think_ns = members.time("delay", TimeUnit::Milliseconds)?;
    match (at, before) {
        (Some(at_ns), _) => Ok(Entry {
            at_ns,
            think_ns,
            ..entry
        }),
        (None, Some(before)) => {
            let at_ns = before.at_ns.saturating_add(think_ns.unwrap_or(0));
            Ok(Entry {
                at_ns,
                at_inferred: true,
                think_ns,
                ..entry
            })
        }
        (None, None) => Err(FormatError::line(
            members.line,
            "has no \"timestamp\": only later turns of a session may have a \"delay\" instead",
        )),
    }
}

/// What is asked, in whichever of the four ways.
fn said(members: &mut Members, block: u32) -> Result<Entry, FormatError> {
    let ways = ["input_length", "text_input", "messages", "payload"];
    let given: Vec<&str> = ways.into_iter().filter(|way| members.has(way)).collect();
    let [way] = given.as_slice() else {
        return Err(FormatError::line(
            members.line,
            format!("has {given:?}: exactly one of {ways:?} is wanted"),
        ));
    };
    if *way == "input_length" {
        return lengths(members, block, Tail::Kept);
    }
    let output = members.count("output_length")?;
    let value = members.any(way);
    let value = members.required(way, value)?;
    let request = if *way == "payload" {
        members.within(value, way)?.rest()
    } else {
        let name = if *way == "messages" {
            "messages"
        } else {
            "prompt"
        };
        Map::from_iter([(name.to_owned(), value)])
    };
    Ok(of_body(request, output))
}

fn of_body(request: Map<String, Value>, output: Option<u64>) -> Entry {
    let model = request
        .get("model")
        .and_then(Value::as_str)
        .map(str::to_owned);
    Entry {
        model,
        output,
        text: Some(Text {
            request,
            answer: None,
        }),
        ..Entry::default()
    }
}

/// Bodies have an order and no time: the n-th stands n ns after the first.
fn read_raw(input: &mut dyn BufRead, _: &Reading) -> Result<Imported, FormatError> {
    let mut lines = Lines::new(input);
    let mut entries = Vec::new();
    while let Some(members) = lines.next()? {
        if !members.has("messages") && !members.has("prompt") {
            return Err(FormatError::line(
                members.line,
                "has neither \"messages\" nor \"prompt\": a request's body is wanted",
            ));
        }
        let at_ns = entries.len() as u64;
        entries.push(Entry {
            at_ns,
            at_inferred: true,
            ..of_body(members.rest(), None)
        });
    }
    Ok(Imported {
        entries,
        block: None,
        start_us: None,
    })
}
