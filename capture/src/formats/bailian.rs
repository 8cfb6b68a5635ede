//! Bailian's traces (alibaba-edu/qwen-bailian-usagetraces-anon): JSON lines of chat turns that name the turn before.
//!
//! Times are seconds; blocks are 16 tokens, the last, shorter one included. A turn without its parent in the file begins a
//! session.

use std::collections::HashMap;
use std::io::BufRead;

use super::blocks::Chain;
use super::lines::Lines;
use super::mooncake::lengths;
use super::sessions::Sessions;
use super::{Entry, Format, FormatError, Import, Imported, Reading, Tail, TimeUnit};

const BLOCK: u32 = 16;

pub(super) static BAILIAN: Format = Format {
    name: "bailian",
    says: "JSON lines of chat turns, with lengths and block ids",
    export: None,
    import: Some(Import::Lines(read)),
};

fn read(input: &mut dyn BufRead, reading: &Reading) -> Result<Imported, FormatError> {
    let block = reading.block.unwrap_or(BLOCK);
    let mut lines = Lines::new(input);
    let mut chain = Chain::default();
    let mut roots: HashMap<String, String> = HashMap::new();
    let mut sessions = Sessions::default();
    let mut entries = Vec::new();
    while let Some(mut members) = lines.next()? {
        let at = members.time("timestamp", TimeUnit::Seconds)?;
        let chat = members.name("chat_id")?;
        let chat = members.required("chat_id", chat)?;
        let parent = members.name("parent_chat_id")?;
        let root = parent
            .and_then(|parent| roots.get(&parent))
            .unwrap_or(&chat)
            .clone();
        let turn = members.count("turn")?;
        let mut entry = Entry {
            at_ns: members.required("timestamp", at)?,
            ..lengths(&mut members, block, Tail::Kept)?
        };
        chain.check(members.line, &entry.ids)?;
        sessions.of(&root).join(&mut entry);
        roots.insert(chat, root);
        entry.turn = turn
            .and_then(|turn| u32::try_from(turn).ok())
            .or(entry.turn);
        entries.push(Entry {
            extra: members.rest(),
            ..entry
        });
    }
    let (entries, _) = Imported::from_first(entries);
    Ok(Imported {
        entries,
        block: Some(block),
        start_us: None,
    })
}
