//! What a process left that died: its logs become segments at the next start.

use std::fs;
use std::path::Path;

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
    let wall_us = found.first_wall_us.unwrap_or(now_us);
    if folder
        .segment(&about.capture, about.segment, wall_us)
        .exists()
    {
        folder::remove(path)?;
        return Ok(None);
    }
    let sealed = sealing::seal(folder, &found, SealedBy::Recovered, now_us)?;
    folder::remove(path)?;
    Ok(Some(sealed))
}

/// What the pod's segments take.
pub(crate) fn bytes_of_segments(folder: &Folder) -> Result<u64, Error> {
    let mut bytes = 0;
    for path in crate::segment::paths(folder.root())? {
        let of_pod = path
            .parent()
            .is_some_and(|up| up.ends_with(format!("pod={}", folder.pod())));
        if of_pod {
            bytes += fs::metadata(&path).doing("look at", &path)?.len();
            bytes += fs::metadata(texts::beside(&path)).map_or(0, |texts| texts.len());
        }
    }
    Ok(bytes)
}
