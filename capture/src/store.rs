//! The writer: rows into an open log, logs into sealed segments.
//!
//! One thread owns it and may be kept waiting by a disk; traffic never is, since what can't be kept is dropped and counted.
//! Time is an argument: [`Store::tick`] is to be called each second or so, and is what seals by age, comes back after a
//! full disk, and makes rows safe from a kill.
//!
//! After a failure capturing stops, and is tried again after [`RETRY`]. What a log holds stays in it until it is sealed.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use measure::Nanos;
use rustix::fs::statvfs;

use crate::about::About;
use crate::chain::Chain;
use crate::erasure::{self, Erased, Tenant};
use crate::error::Error;
use crate::folder::{self, Folder};
use crate::limits::{Limits, Moment};
use crate::log::{Found, Log};
use crate::notice::Notice;
use crate::recovery;
use crate::retention::Shelf;
use crate::row::{Count, Row};
use crate::seal::SealedBy;
use crate::sealing;
use crate::segment::Segment;
use crate::stop::{Status, Stop};
use crate::text::{Recipients, Text};
use crate::texts::{Lost, Texts};

/// How long capturing stays stopped before it is tried again.
pub const RETRY: Nanos = Nanos::from_secs(10);
/// Notices that are kept for whoever fetches them.
const NOTICES: usize = 64;

/// A capture that is being written.
#[derive(Debug)]
pub struct Store {
    folder: Folder,
    about: About,
    limits: Limits,
    now: Moment,
    log: Option<Open>,
    /// Rows of this capture in sealed segments.
    rows_before: u64,
    shelf: Shelf,
    chain: Chain,
    /// What was dropped and is in no file yet.
    unsaid: BTreeMap<&'static str, u64>,
    retry_at: Nanos,
    status: Status,
    notices: VecDeque<Notice>,
    texts: Option<Texts>,
}

#[derive(Debug)]
struct Open {
    log: Log,
    since: Nanos,
}

impl Store {
    /// Begins a capture: locks the folder for the pod, and seals what a process that died left there.
    ///
    /// `about` needs a capture's name that is new; its `segment` and `previous` are set here.
    ///
    /// # Errors
    /// The folder can't be made, another process has it, or a name in `about` can't be part of a file's name.
    pub fn open(folder: &Path, about: About, limits: Limits, now: Moment) -> Result<Self, Error> {
        folder::check_name("the capture's name", &about.capture)?;
        let folder = Folder::hold(folder, &about.pod)?;
        let chain = Chain::new(&about.capture);
        let mut store = Self {
            folder,
            about: About {
                segment: 0,
                previous: String::new(),
                ..about
            },
            limits,
            now,
            log: None,
            rows_before: 0,
            shelf: Shelf::default(),
            chain,
            unsaid: BTreeMap::new(),
            retry_at: Nanos::ZERO,
            status: Status::default(),
            notices: VecDeque::new(),
            texts: None,
        };
        for notice in recovery::recover(&store.folder, now.wall_us)? {
            store.notice(notice);
        }
        store.shelf = Shelf::open(&store.folder)?;
        store.expire();
        Ok(store)
    }

    /// Keeps texts too, for these recipients.
    pub fn keep_texts(&mut self, recipients: Recipients) {
        self.texts = Some(Texts::new(recipients));
    }

    /// Takes what the exchange said whose row is appended next. Without [`Store::keep_texts`] it is passed over.
    ///
    /// # Errors
    /// The text was not kept, and is counted in [`Status::texts_dropped`].
    pub fn append_text(&mut self, text: &Text) -> Result<(), Stop> {
        let Some(mut texts) = self.texts.take() else {
            return Ok(());
        };
        let kept = self.try_append_text(&mut texts, text);
        self.texts = Some(texts);
        kept
    }

    /// Takes a row. It is safe from a kill after the next [`Store::tick`].
    ///
    /// # Errors
    /// The row was not kept, and is counted under the reason's label.
    pub fn append(&mut self, row: &Row) -> Result<(), Stop> {
        let kept = self.try_append(row);
        if let Err(stop) = kept {
            self.count_dropped(stop.label(), 1);
        }
        kept
    }

    /// Counts rows that never came here, so that the segment says so.
    pub fn count_dropped(&mut self, reason: &'static str, rows: u64) {
        *self.unsaid.entry(reason).or_default() += rows;
        *self.status.dropped.entry(reason).or_default() += rows;
    }

    /// Hands rows to the operating system, seals what is old enough, and tries again what had failed.
    pub fn tick(&mut self, now: Moment) {
        self.now = now;
        self.expire();
        if self.status.stopped.is_some() && now.mono >= self.retry_at {
            self.resume();
        }
        if self.status.stopped.is_none()
            && let Some(stop) = self.out_of_room()
        {
            self.stop(stop, None);
        }
        self.say_dropped();
        self.flush();
        let aged =
            |open: &Open| now.mono.0 >= open.since.0.saturating_add(self.limits.segment_age.0);
        if self.status.stopped.is_none() && self.log.as_ref().is_some_and(aged) {
            self.seal(SealedBy::Age);
        }
    }

    /// Ends the capture: what is in the log is sealed.
    ///
    /// # Errors
    /// The last segment could not be written; its log stays, and the next start tries again.
    pub fn close(mut self) -> Result<Status, Error> {
        // A capture ends with a segment that says so, even an empty one.
        if self.log.is_none() && (self.about.segment > 0 || !self.unsaid.is_empty()) {
            self.open_log()?;
        }
        self.say_dropped();
        self.flush();
        if self.log.is_some() {
            self.try_seal(SealedBy::Closed)?;
        }
        Ok(self.status())
    }

    /// Erases a tenant from all that the pod has captured; what is in the log is sealed first.
    ///
    /// # Errors
    /// A file can't be read or written. What was erased until then is.
    pub fn erase(&mut self, tenant: Tenant<'_>) -> Result<Erased, Error> {
        self.say_dropped();
        self.flush();
        if self.log.is_some() {
            self.try_seal(SealedBy::Age)?;
        }
        let erased = erasure::erase_from(&self.folder, &self.shelf, tenant, self.now.wall_us);
        if let Some(chain) = Chain::load(self.folder.root(), self.folder.pod(), &self.about.capture)
        {
            self.about.previous.clone_from(&chain.last);
            self.chain = chain;
        }
        self.shelf = Shelf::open(&self.folder)?;
        erased
    }

    /// Where it stands.
    pub fn status(&self) -> Status {
        Status {
            bytes: self.bytes(),
            ..self.status.clone()
        }
    }

    /// What happened since the last call, the oldest first; of more than 64, the latest.
    pub fn notices(&mut self) -> impl Iterator<Item = Notice> + '_ {
        self.notices.drain(..)
    }

    fn bytes(&self) -> u64 {
        self.shelf.bytes() + self.open_bytes()
    }

    /// Bytes of the segment that is open.
    fn open_bytes(&self) -> u64 {
        let log = self.log.as_ref().map_or(0, |open| open.log.bytes());
        log + self.texts.as_ref().map_or(0, Texts::bytes)
    }
}

// ---- rows

impl Store {
    fn try_append(&mut self, row: &Row) -> Result<(), Stop> {
        if let Some(stop) = self.status.stopped {
            return Err(stop);
        }
        if self
            .limits
            .quota_bytes
            .is_some_and(|quota| self.bytes() >= quota)
        {
            self.stop(Stop::Quota, None);
            return Err(Stop::Quota);
        }
        if self.log.is_none()
            && let Err(why) = self.open_log()
        {
            return Err(self.failed(&why));
        }
        let Some(Open { log, .. }) = &mut self.log else {
            return Err(Stop::Broken);
        };
        if !log.push(row).unwrap_or(false) {
            return Err(Stop::TooLarge);
        }
        self.status.rows += 1;
        if log.is_ripe() {
            self.flush();
        }
        if self.open_bytes() >= self.limits.segment_bytes {
            self.flush();
            self.seal(SealedBy::Size);
        }
        Ok(())
    }

    fn try_append_text(&mut self, texts: &mut Texts, text: &Text) -> Result<(), Stop> {
        let opened = match self.status.stopped {
            Some(stop) => Err(stop),
            None if self.log.is_some() => Ok(()),
            None => self.open_log().map_err(|why| self.failed(&why)),
        };
        if let Err(stop) = opened {
            self.status.texts_dropped += 1;
            return Err(stop);
        }
        self.status.texts += 1;
        let path = self.folder.texts(&self.about.capture, self.about.segment);
        texts.push(&path, text).map_err(|lost| self.lost(&lost))
    }

    fn lost(&mut self, lost: &Lost) -> Stop {
        self.status.texts -= lost.texts;
        self.status.texts_dropped += lost.texts;
        self.failed(&lost.why)
    }

    fn open_log(&mut self) -> Result<(), Error> {
        let path = self.folder.log(&self.about.capture, self.about.segment);
        self.log = Some(Open {
            log: Log::create(path, self.about.clone(), self.rows_before)?,
            since: self.now.mono,
        });
        Ok(())
    }

    /// Puts what was dropped into the log.
    fn say_dropped(&mut self) {
        if let Some(open) = &mut self.log
            && !self.unsaid.is_empty()
        {
            let counts = std::mem::take(&mut self.unsaid)
                .into_iter()
                .map(|(kind, count)| Count {
                    kind: kind.into(),
                    count,
                });
            open.log.push_dropped(&counts.collect::<Vec<_>>());
        }
    }

    fn flush(&mut self) {
        let Some(open) = &mut self.log else { return };
        if let Err((why, rows)) = open.log.flush() {
            let stop = self.failed(&why);
            self.status.rows -= rows;
            self.count_dropped(stop.label(), rows);
        }
        if let Some(Err(lost)) = self.texts.as_mut().map(Texts::flush) {
            self.lost(&lost);
        }
    }
}

// ---- stopping and going on

impl Store {
    fn failed(&mut self, why: &Error) -> Stop {
        let stop = Stop::of(why);
        self.stop(stop, Some(why.in_full()));
        stop
    }

    fn stop(&mut self, stop: Stop, why: Option<String>) {
        self.retry_at = Nanos(self.now.mono.0.saturating_add(RETRY.0));
        if self.status.stopped != Some(stop) {
            self.status.stopped = Some(stop);
            self.notice(Notice::Stopped { stop, why });
        }
    }

    fn out_of_room(&mut self) -> Option<Stop> {
        if let Some(quota) = self.limits.quota_bytes
            && self.bytes() >= quota
        {
            // An upload may have made room.
            self.shelf.forget_gone();
            if self.bytes() >= quota {
                return Some(Stop::Quota);
            }
        }
        let disk = statvfs(self.folder.root()).ok()?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        (free < self.limits.low_water_bytes).then_some(Stop::LowWater)
    }

    /// Deletes what has had its time.
    fn expire(&mut self) {
        loop {
            match self
                .shelf
                .expire(&self.folder, &self.limits, self.now.wall_us)
            {
                Ok(Some(path)) => {
                    // Its note was written anew, which is ours if the segment was.
                    let (root, pod) = (self.folder.root(), self.folder.pod());
                    if let Some(chain) = Chain::load(root, pod, &self.about.capture) {
                        self.chain.first = chain.first;
                    }
                    self.notice(Notice::Expired { path });
                }
                Ok(None) => return,
                Err(why) => {
                    return self.notice(Notice::NotDeleted { why: why.in_full() });
                }
            }
        }
    }

    /// Tries what had failed: a log that is due is sealed first, which takes less room than it gives back.
    fn resume(&mut self) {
        let due = |open: &Open| {
            self.open_bytes() >= self.limits.segment_bytes
                || self.now.mono.0 >= open.since.0.saturating_add(self.limits.segment_age.0)
        };
        if self.log.as_ref().is_some_and(due)
            && let Err(why) = self.try_seal(SealedBy::Age)
        {
            self.failed(&why);
            return;
        }
        if let Some(stop) = self.out_of_room() {
            return self.stop(stop, None);
        }
        self.status.stopped = None;
        self.notice(Notice::Resumed);
    }

    fn notice(&mut self, notice: Notice) {
        if self.notices.len() == NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back(notice);
    }
}

// ---- sealing

impl Store {
    fn seal(&mut self, by: SealedBy) {
        if let Err(why) = self.try_seal(by) {
            self.failed(&why);
        }
        self.expire();
    }

    fn try_seal(&mut self, by: SealedBy) -> Result<(), Error> {
        let Some(open) = &self.log else { return Ok(()) };
        let path = open.log.path().to_owned();
        self.texts.iter_mut().for_each(Texts::close);
        let found = Found::open(&path)?.ok_or_else(|| {
            Error::file(&path, "its beginning is gone: something else wrote to it")
        })?;
        let sealed = sealing::seal(&self.folder, &found, by, self.now.wall_us)?;
        self.log = None;
        self.rows_before += sealed.seal.rows;
        self.shelf.add(&Segment {
            path: sealed.path.clone(),
            about: found.header.about,
            seal: sealed.seal.clone(),
        })?;
        self.chain.sealed(self.about.segment, &sealed.sha256);
        self.chain.ended = by == SealedBy::Closed;
        self.about.segment += 1;
        self.about.previous.clone_from(&sealed.sha256);
        self.status.segments += 1;
        self.notice(Notice::Sealed {
            path: sealed.path,
            rows: sealed.seal.rows,
            bytes: sealed.bytes,
        });
        self.chain.store(&self.folder)?;
        folder::remove(&path)
    }
}
