//! All that a tenant left is taken out of a pod's segments.
//!
//! A segment that has rows of the tenant is written anew without them, under the same name, and replaces the old one at
//! once. It says in its metadata which file it stands in for, by its SHA-256, and how many rows are gone: the segment after
//! it still names the old hash, and so the chain stays whole and says why it differs. No segment is deleted, also one that
//! is left without a row. The texts of such a segment are deleted whole: whoever captured can't tell whose is which in them.

use std::path::Path;

use crate::chain::Chain;
use crate::error::Error;
use crate::folder::{self, Folder};
use crate::limits::Moment;
use crate::retention::Shelf;
use crate::row::Row;
use crate::seal::{Replaced, Seal};
use crate::sealing::{self, Put};
use crate::segment::Segment;
use crate::texts;

/// What an erasure took out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erased {
    /// Rows that are gone.
    pub rows: u64,
    /// Segments that had them.
    pub segments: u64,
    /// Of those, how many had texts, which are gone.
    pub texts: u64,
}

/// A tenant of a capture: hashes under different keys have nothing to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenant<'a> {
    /// Name of the key, as in [`crate::About::key`].
    pub key: &'a str,
    /// The tenant's hash, as in [`Row::tenant`].
    pub hash: u64,
}

/// Erases a tenant from what a pod has captured, where no process captures just now; one that does is asked itself, by
/// [`crate::Store::erase`].
///
/// # Errors
/// A process captures there, or a file can't be read or written. What was erased until then is.
pub fn erase(folder: &Path, pod: &str, tenant: Tenant<'_>, now: Moment) -> Result<Erased, Error> {
    let folder = Folder::hold(folder, pod)?;
    crate::recovery::recover(&folder, now.wall_us)?;
    let shelf = Shelf::open(&folder)?;
    erase_from(&folder, &shelf, tenant, now.wall_us)
}

/// Erases a tenant from sealed segments.
pub(crate) fn erase_from(
    folder: &Folder,
    shelf: &Shelf,
    tenant: Tenant<'_>,
    now_us: i64,
) -> Result<Erased, Error> {
    let mut erased = Erased::default();
    // One that was uploaded and deleted in the meantime has to be erased where it is.
    for path in shelf.paths().into_iter().filter(|path| path.exists()) {
        let segment = Segment::open(&path)?;
        if segment.about.key != tenant.key {
            continue;
        }
        let rows = erase_segment(folder, &segment, tenant.hash, now_us)?;
        if rows == 0 {
            continue;
        }
        erased.rows += rows;
        erased.segments += 1;
        let texts = texts::beside(&path);
        if texts.exists() {
            folder::remove(&texts)?;
            erased.texts += 1;
        }
    }
    Ok(erased)
}

/// Returns how many rows are gone.
fn erase_segment(
    folder: &Folder,
    segment: &Segment,
    tenant: u64,
    now_us: i64,
) -> Result<u64, Error> {
    let theirs = |row: &Row| row.tenant == Some(tenant);
    let mut seal = Seal {
        rows: 0,
        first_wall_us: None,
        last_wall_us: None,
        first_arrival_ns: None,
        last_arrival_ns: None,
        texts: None,
        ..segment.seal.clone()
    };
    let mut gone = 0;
    for row in segment.rows()? {
        let row = row?;
        if theirs(&row) {
            gone += 1;
        } else {
            seal.count(&row);
        }
    }
    if gone == 0 {
        return Ok(0);
    }
    let sha256 = sealing::sha256(&segment.path)?;
    seal.replaced.push(Replaced {
        sha256,
        erased: gone,
        at_us: now_us,
    });
    let kept = segment
        .rows()?
        .filter(|row| !row.as_ref().is_ok_and(theirs));
    let (sha256, _) = sealing::write(
        folder,
        Put::Instead(&segment.path),
        (&segment.about, &seal),
        kept,
    )?;
    let about = &segment.about;
    if let Some(mut chain) = Chain::load(folder.root(), folder.pod(), &about.capture)
        && chain.next == about.segment + 1
    {
        chain.last = sha256;
        chain.store(folder)?;
    }
    Ok(gone)
}
