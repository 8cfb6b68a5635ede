//! Which session an exchange belongs to, as which turn, and how long its user thought before.
//!
//! A session that has a name (a header's, a field's) is that name's hash. Without one, a chat is taken for the next turn of the
//! session whose last prompt it begins with, if a message of the model's side follows there; where several had the same
//! prompt, of the one that ended last. What is not gone on from in the last 65,536 exchanges at least is forgotten.

use super::prompt::Chain;
use super::recent::Recent;
use crate::Row;

/// Whose an exchange is, by its own word: a hash.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    Header(u64),
    Field(u64),
    Unnamed,
}

/// The sessions so far.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    known: Recent<u64, Turn>,
    /// Where unnamed sessions stand, by the hash of their last prompt; the latest is the last.
    ends: Recent<u64, Vec<(u64, Turn)>>,
}

/// The last turn of a session.
#[derive(Debug, Clone, Copy)]
struct Turn {
    number: u32,
    /// On the clock of arrivals.
    end_ns: u64,
}

/// Unnamed sessions that stand at the same prompt.
const ALIKE: usize = 16;

impl Sessions {
    /// Fills in what the row says of its session. `new` names the session that it begins if it goes on with none.
    pub(super) fn place(&mut self, row: &mut Row, owner: Owner, chain: Option<&Chain>, new: u64) {
        let (session, by, before) = match owner {
            Owner::Header(session) => (session, "header", self.known.take(&session)),
            Owner::Field(session) => (session, "field", self.known.take(&session)),
            Owner::Unnamed => match chain.filter(|chain| chain.end.is_some()) {
                None => return,
                Some(chain) => {
                    let found = chain.before.iter().find_map(|end| self.go_on(*end));
                    let (session, turn) =
                        found.map_or((new, None), |(session, turn)| (session, Some(turn)));
                    (session, "prefix", turn)
                }
            },
        };
        let turn = Turn {
            number: before.map_or(1, |before| before.number.saturating_add(1)),
            end_ns: row.arrival_ns.saturating_add(row.end_ns),
        };
        row.session = Some(session);
        row.session_by = Some(by.to_owned());
        row.turn = Some(turn.number);
        // One that arrived before the last turn had ended was not thought about.
        row.think_ns = before.and_then(|before| row.arrival_ns.checked_sub(before.end_ns));
        match (by, chain.and_then(|chain| chain.end)) {
            ("prefix", Some(end)) => self.stand(end, session, turn),
            _ => self.known.put(session, turn),
        }
    }

    fn go_on(&mut self, end: u64) -> Option<(u64, Turn)> {
        let mut standing = self.ends.take(&end)?;
        let found = standing.pop();
        if !standing.is_empty() {
            self.ends.put(end, standing);
        }
        found
    }

    fn stand(&mut self, end: u64, session: u64, turn: Turn) {
        let mut standing = self.ends.take(&end).unwrap_or_default();
        if standing.len() == ALIKE {
            standing.remove(0);
        }
        standing.push((session, turn));
        self.ends.put(end, standing);
    }
}
