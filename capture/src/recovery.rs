//! What a process left that died: its logs become segments at the next start.

use std::fs;
use std::path::Path;

use crate::chain::Chain;
use crate::error::{Doing, Error};
use crate::folder::{self, Folder};
use crate::log::Found;
use crate::notice::Notice;
use crate::seal::SealedBy;
use crate::sealing::{self, Sealed};
use crate::texts;

/// Seals the logs that are there, and removes what was not finished. Says what was done.
pub(crate) fn recover(folder: &Folder, now_us: i64) -> Result<Vec<Notice>, Error> {
    let mut notices = Vec::new();
    let state = folder.state();
    let mut logs = Vec::new();
    for entry in fs::read_dir(&state).doing("list", &state)? {
        let path = entry.doing("list", &state)?.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("log") => logs.push(path),
            Some("partial") => folder::remove(&path)?,
            _ => {}
        }
    }
    logs.sort();
    for path in logs {
        match recover_log(folder, &path, now_us) {
            Ok(Some(Sealed { path, seal, .. })) => notices.push(Notice::Recovered {
                path,
                rows: seal.rows,
                torn_bytes: seal.torn_bytes,
            }),
            Ok(None) => {}
            Err(why @ (Error::File { .. } | Error::Row { .. })) => {
                notices.push(Notice::Unreadable { why: why.in_full() });
            }
            Err(why) => return Err(why),
        }
    }
    texts::remove_orphans(&state)?;
    // Whatever was captured under this pod's name has ended: we hold its lock.
    for mut chain in Chain::all(folder.root(), folder.pod()) {
        if !chain.ended {
            chain.ended = true;
            chain.store(folder)?;
        }
    }
    Ok(notices)
}

/// Seals one log, unless its segment is there already: then the process died between sealing and deleting.
fn recover_log(folder: &Folder, path: &Path, now_us: i64) -> Result<Option<Sealed>, Error> {
    let Some(found) = Found::open(path)? else {
        folder::remove(path)?;
        return Ok(None);
    };
    let about = &found.header.about;
    folder::check_name("the capture's name", &about.capture)?;
    let known = Chain::load(folder.root(), folder.pod(), &about.capture);
    let mut chain = known.unwrap_or_else(|| Chain::new(&about.capture));
    let wall_us = found.first_wall_us.unwrap_or(now_us);
    let segment = folder.segment(&about.capture, about.segment, wall_us);
    if segment.exists() {
        chain.sealed(about.segment, &sealing::sha256(&segment)?);
        chain.store(folder)?;
        folder::remove(path)?;
        return Ok(None);
    }
    let sealed = sealing::seal(folder, &found, SealedBy::Recovered, now_us)?;
    chain.sealed(about.segment, &sealed.sha256);
    chain.store(folder)?;
    folder::remove(path)?;
    Ok(Some(sealed))
}
