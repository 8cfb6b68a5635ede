//! What limits the use of a record.

/// A limit that the shell knows of; the others follow from the bytes and stamps and are set when the record is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    /// See [`Flags::client_limited`].
    ClientLimited,
    /// See [`Flags::buffered_upstream`]: known of the engine, whatever the stamps say.
    BufferedUpstream,
    /// See [`Flags::shared_stamps`].
    SharedStamps,
    /// See [`Flags::usage_injected`].
    UsageInjected,
    /// See [`Flags::unobserved`].
    Unobserved,
    /// See [`Flags::undelivered`].
    Undelivered,
}

/// What limits the use of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// The queue to the client was full once: later stamps are the client's pace.
    pub client_limited: bool,
    /// The tokens came in clumps that no decode step explains: at least 8 bursts with a median gap below 1 ms; or all
    /// within 1 ms, though they are of 4 events or more, or 16 tokens by the engine's word; or the engine is known to hold
    /// such answers. Something between the engine's
    /// decoding and us holds them back (a gateway, a parser that waits for a whole tool call): first token and gaps are
    /// its, not the engine's.
    pub buffered_upstream: bool,
    /// Stamps may belong to a later read than the bytes (HTTP/2 to the engine).
    pub shared_stamps: bool,
    /// The body ended without its framing's end.
    pub truncated: bool,
    /// The body was compressed and not decoded, or not to its end: an unknown coding, or damage.
    pub opaque: bool,
    /// A line above the limit: decoding stopped there.
    pub oversize_event: bool,
    /// Usage was injected into the request.
    pub usage_injected: bool,
    /// The total stated and the tokens counted contradict each other.
    pub usage_mismatch: bool,
    /// TPOT rests on a token count (of the first burst, or of all) that is only a lower bound.
    pub tpot_estimated: bool,
    /// The observer failed (a caught panic), or nobody decoded the answer; bytes went on.
    pub unobserved: bool,
    /// The client left before all bytes that were read had reached it.
    pub undelivered: bool,
}

impl Flags {
    /// The names of those that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let mut flags = self;
        let set = flags.all().map(|(name, flag)| (name, *flag));
        set.into_iter()
            .filter(|(_, is_set)| *is_set)
            .map(|(name, _)| name)
    }

    /// Those of these names. `None` if one is no flag.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let mut flags = Self::default();
        for name in names {
            let mut all = flags.all().into_iter();
            *all.find(|(one, _)| *one == name)?.1 = true;
        }
        Some(flags)
    }

    fn all(&mut self) -> [(&'static str, &mut bool); 11] {
        [
            ("client_limited", &mut self.client_limited),
            ("buffered_upstream", &mut self.buffered_upstream),
            ("shared_stamps", &mut self.shared_stamps),
            ("truncated", &mut self.truncated),
            ("opaque", &mut self.opaque),
            ("oversize_event", &mut self.oversize_event),
            ("usage_injected", &mut self.usage_injected),
            ("usage_mismatch", &mut self.usage_mismatch),
            ("tpot_estimated", &mut self.tpot_estimated),
            ("unobserved", &mut self.unobserved),
            ("undelivered", &mut self.undelivered),
        ]
    }

    /// Part of the answer went by unread, so that what was not seen may still have happened.
    pub fn sight_lost(&self) -> bool {
        self.opaque || self.oversize_event || self.unobserved
    }

    pub(crate) fn set(&mut self, flag: Flag) {
        match flag {
            Flag::ClientLimited => self.client_limited = true,
            Flag::BufferedUpstream => self.buffered_upstream = true,
            Flag::SharedStamps => self.shared_stamps = true,
            Flag::UsageInjected => self.usage_injected = true,
            Flag::Unobserved => self.unobserved = true,
            Flag::Undelivered => self.undelivered = true,
        }
    }
}
