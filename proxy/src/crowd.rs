//! Clients' connections, counted; and which of them makes room for a new one.
//!
//! Above [`ROOM_FROM`] of the limit, each connection that comes sends one away: the one that has been silent for longest
//! among those that are owed nothing. It is closed as a server may close any idle connection, after what it carries.

use crate::accepted::ClientSide;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Percent of the limit above which room is made.
const ROOM_FROM: usize = 90;

/// Every client's connection.
pub(crate) struct Crowd {
    /// `limits.connections`
    most: usize,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    next: u64,
    inside: HashMap<u64, Member>,
}

struct Member {
    /// None before its socket is read, which is so in a TLS handshake.
    side: Option<Arc<ClientSide>>,
    leave: CancellationToken,
}

/// A connection's place. Dropping it gives it back.
pub(crate) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    leave: CancellationToken,
}

/// What came of a new connection.
pub(crate) struct Entered {
    /// None: there is no room.
    pub(crate) place: Option<Place>,
    /// An idle connection was asked to leave.
    pub(crate) sent_away: bool,
}

impl Crowd {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            members: Mutex::default(),
        })
    }

    /// A new connection comes. `closing` ends all of them.
    pub(crate) fn enter(self: &Arc<Self>, closing: &CancellationToken) -> Entered {
        let mut members = self.members.lock();
        let count = members.inside.len();
        let is_crowded = (count + 1).saturating_mul(100) > self.most.saturating_mul(ROOM_FROM);
        let sent_away = is_crowded && members.send_one_away();
        if count >= self.most {
            return Entered {
                place: None,
                sent_away,
            };
        }
        let number = members.next;
        members.next += 1;
        let leave = closing.child_token();
        let member = Member {
            side: None,
            leave: leave.clone(),
        };
        members.inside.insert(number, member);
        Entered {
            place: Some(Place {
                crowd: Arc::clone(self),
                number,
                leave,
            }),
            sent_away,
        }
    }
}

impl Members {
    /// Asks the connection to leave that has been idle for longest; false if none is.
    fn send_one_away(&self) -> bool {
        let idle = self.inside.values().filter_map(|member| {
            let side = member.side.as_ref()?;
            let is_idle = !side.is_owed() && !member.leave.is_cancelled();
            is_idle.then(|| (side.last_read(), &member.leave))
        });
        let longest = idle.min_by_key(|(silent_since, _)| *silent_since);
        if let Some((_, leave)) = longest {
            leave.cancel();
        }
        longest.is_some()
    }
}

impl Place {
    /// Cancelled when the connection is to finish what it carries and take nothing new.
    pub(crate) fn leave(&self) -> &CancellationToken {
        &self.leave
    }

    /// Its socket is read from here on.
    pub(crate) fn seen(&self, side: Arc<ClientSide>) {
        if let Some(member) = self.crowd.members.lock().inside.get_mut(&self.number) {
            member.side = Some(side);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.members.lock().inside.remove(&self.number);
    }
}
