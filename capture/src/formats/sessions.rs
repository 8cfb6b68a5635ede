//! Sessions of a file that is being read: their names as small numbers, and what is known of their latest turn.

use std::collections::HashMap;

use super::Entry;

/// The sessions met so far.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: HashMap<String, Session>,
}

/// One of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) turns: u32,
    /// Its latest turn.
    pub(super) latest: Option<Entry>,
}

impl Sessions {
    /// The session of this name.
    pub(super) fn of(&mut self, name: &str) -> &mut Session {
        let number = self.known.len() as u64;
        self.known
            .entry(name.to_owned())
            .or_insert_with(|| Session {
                number,
                ..Session::default()
            })
    }
}

impl Session {
    /// Makes an entry its next turn.
    pub(super) fn join(&mut self, entry: &mut Entry) {
        self.turns += 1;
        entry.session = Some(self.number);
        entry.turn = Some(self.turns);
        self.latest = Some(Entry {
            ids: Vec::new(),
            text: None,
            extra: serde_json::Map::new(),
            ..entry.clone()
        });
    }
}
