//! Weka's agent traces (kv-cache-tester): a session a line, its requests within. Times are seconds from the session's start.
//!
//! Blocks are 64 tokens, whole ones only. Ids hold within a session: what sessions share with each other is not said.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Map, Value, json};

use super::blocks::{Chain, Renumbering};
use super::lines::{Lines, Members};
use super::mooncake::counted;
use super::units::seconds;
use super::{
    BlockSize, Entry, Export, Files, Format, FormatError, Import, Imported, Reading, Tail,
    TimeUnit, Trace,
};

const BLOCK: u32 = 64;

pub(super) static WEKA: Format = Format {
    name: "weka",
    says: "sessions of lengths, waits and block ids; read by AIPerf, GuideLLM and inference-perf",
    export: Some(Export {
        text: false,
        blocks: Some(BlockSize {
            tokens: BLOCK,
            tail: Tail::Dropped,
        }),
        time: "s after the start of the session",
        carries: &[
            "turns, their times in a session, think times",
            "prompt and output lengths",
            "TTFT and durations as captured",
            "models",
            "prefixes shared within a session, by whole blocks of 64 tokens",
        ],
        loses: &[
            "arrivals of sessions",
            "prefixes shared by sessions",
            "outcomes",
            "sampling settings",
        ],
        commands: include_str!("commands/weka.md"),
        write,
    }),
    import: Some(Import::Lines(read)),
};

fn write(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    let mut sessions: BTreeMap<(bool, u64), Vec<&Entry>> = BTreeMap::new();
    for (at, entry) in trace.entries.iter().enumerate() {
        let key = entry
            .session
            .map_or((true, at as u64), |session| (false, session));
        sessions.entry(key).or_default().push(entry);
    }
    for ((alone, number), entries) in sessions {
        let name = format!("{}-{number}", if alone { "r" } else { "s" });
        files.line("weka.jsonl", &session(&name, &entries).to_string())?;
    }
    Ok(())
}

fn session(name: &str, entries: &[&Entry]) -> Value {
    let start = entries.first().map_or(0, |entry| entry.at_ns);
    let mut ids = Renumbering::default();
    let mut models: Vec<&str> = entries.iter().map(|entry| model(entry)).collect();
    let requests: Vec<Value> = entries
        .iter()
        .map(|entry| request(entry, start, &mut ids))
        .collect();
    models.sort_unstable();
    models.dedup();
    json!({
        "id": name,
        "models": models,
        "block_size": BLOCK,
        "hash_id_scope": "local",
        "tool_tokens": 0,
        "system_tokens": 0,
        "requests": requests,
    })
}

fn model(entry: &Entry) -> &str {
    entry.model.as_deref().unwrap_or("unknown")
}

fn request(entry: &Entry, start: u64, ids: &mut Renumbering) -> Value {
    let mut before = None;
    let mut local = Vec::new();
    for id in &entry.ids {
        let id = ids.id(before, Some(*id));
        local.push(id);
        before = Some(id);
    }
    let streamed = entry.stream == Some(true);
    let mut request = Map::from_iter([
        ("t".to_owned(), seconds(entry.at_ns - start).into()),
        ("type".to_owned(), if streamed { "s" } else { "n" }.into()),
        ("model".to_owned(), model(entry).into()),
        ("in".to_owned(), entry.input.into()),
        ("out".to_owned(), entry.output.into()),
        ("hash_ids".to_owned(), local.into()),
    ]);
    let times = [
        ("api_time", entry.e2e_ns),
        ("think_time", entry.think_ns),
        ("ttft", entry.ttft_ns.filter(|_| streamed)),
    ];
    let times = times
        .into_iter()
        .filter_map(|(name, ns)| Some((name.to_owned(), seconds(ns?).into())));
    request.extend(times);
    Value::Object(request)
}

fn read(input: &mut dyn BufRead, _: &Reading) -> Result<Imported, FormatError> {
    let mut lines = Lines::new(input);
    let mut imported = Imported::default();
    let mut ids = Renumbering::default();
    let mut number = 0;
    while let Some(mut members) = lines.next()? {
        let size = block(&mut members)?;
        if imported.block.is_some_and(|block| block != size) {
            return Err(FormatError::line(
                members.line,
                "has another \"block_size\" than the lines before: blocks of two sizes can't be compared",
            ));
        }
        imported.block = Some(size);
        let requests = members.list("requests")?;
        let requests = members.required("requests", requests)?;
        for name in ["id", "models", "hash_id_scope"] {
            members.any(name);
        }
        let mut of_session = Vec::new();
        let mut chain = Chain::default();
        for request in requests {
            let request = members.within(request, "requests")?;
            let entry = exchange(request, size)?;
            chain.check(members.line, &entry.ids)?;
            of_session.push(entry);
        }
        number += 1;
        let rest = members.rest();
        imported.entries.extend(
            one_session(of_session, number - 1, &mut ids).map(|mut entry| {
                entry.extra.extend(
                    rest.clone()
                        .into_iter()
                        .filter(|(_, value)| value.as_u64() != Some(0)),
                );
                entry
            }),
        );
    }
    (imported.entries, _) = Imported::from_first(imported.entries);
    Ok(imported)
}

fn block(members: &mut Members) -> Result<u32, FormatError> {
    let size = members.count("block_size")?;
    let size = members.required("block_size", size)?;
    let small = u32::try_from(size).ok().filter(|size| *size > 0);
    small.ok_or_else(|| {
        FormatError::line(
            members.line,
            format!("\"block_size\" is {size}: tokens a block are wanted"),
        )
    })
}

/// The turns of a session, with ids that are no other session's.
fn one_session(
    entries: Vec<Entry>,
    session: u64,
    ids: &mut Renumbering,
) -> impl Iterator<Item = Entry> {
    let mut known = BTreeMap::new();
    let mut renumbered = Vec::new();
    for (turn, entry) in (1..).zip(entries) {
        let new = |id: &u64| *known.entry(*id).or_insert_with(|| ids.id(None, None));
        let ids = entry.ids.iter().map(new).collect();
        renumbered.push(Entry {
            session: Some(session),
            turn: Some(turn),
            ids,
            ..entry
        });
    }
    renumbered.into_iter()
}

fn exchange(mut members: Members, block: u32) -> Result<Entry, FormatError> {
    let kind = members.text("type")?;
    let streamed = match kind.as_deref() {
        Some("s") => true,
        Some("n") => false,
        Some("subagent") => {
            return Err(FormatError::line(
                members.line,
                "has a subagent, whose requests have no place in a row: write them as sessions",
            ));
        }
        other => {
            return Err(FormatError::line(
                members.line,
                format!("\"type\" is {other:?}: \"s\" or \"n\" is wanted"),
            ));
        }
    };
    let at = members.time("t", TimeUnit::Seconds)?;
    let input = members.count("in")?;
    let input = members.required("in", input)?;
    let ids = members.ids("hash_ids")?.unwrap_or_default();
    counted(
        members.line,
        (&ids, input),
        BlockSize {
            tokens: block,
            tail: Tail::Dropped,
        },
    )?;
    Ok(Entry {
        at_ns: members.required("t", at)?,
        stream: Some(streamed),
        model: members.text("model")?.filter(|model| model != "unknown"),
        input: Some(input),
        output: members.count("out")?,
        e2e_ns: members.time("api_time", TimeUnit::Seconds)?,
        think_ns: members.time("think_time", TimeUnit::Seconds)?,
        ttft_ns: members.time("ttft", TimeUnit::Seconds)?,
        ids,
        extra: members.rest(),
        ..Entry::default()
    })
}
