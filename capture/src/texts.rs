//! The texts of the open segment, beside its log, and their file once it is sealed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::about::About;
use crate::error::{Doing, Error};
use crate::folder::{self, Folder};
use crate::segment::Segment;
use crate::text::{Batches, Recipients, SealedText, Text, TextError, recover, sealed};

/// What a store keeps of texts.
#[derive(Debug)]
pub(crate) struct Texts {
    recipients: Recipients,
    open: Option<Batches>,
}

/// Texts that were given up, and why.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) texts: u64,
    pub(crate) why: Error,
}

impl Texts {
    pub(crate) fn new(recipients: Recipients) -> Self {
        Self {
            recipients,
            open: None,
        }
    }

    /// Bytes in the open file.
    pub(crate) fn bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, Batches::bytes)
    }

    /// Takes a text into the file at `path`, which is begun if it isn't there.
    pub(crate) fn push(&mut self, path: &Path, text: &Text) -> Result<(), Lost> {
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let begun = Batches::create(path, self.recipients.clone());
                self.open.insert(begun.map_err(|why| Lost::new(1, why))?)
            }
        };
        let texts = open.pending() + 1;
        open.push(text).map_err(|why| Lost::new(texts, why))
    }

    /// Hands what was pushed to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), Lost> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let texts = open.pending();
        open.flush().map_err(|why| Lost::new(texts, why))
    }

    /// Lets go of the open file, which was flushed.
    pub(crate) fn close(&mut self) {
        self.open = None;
    }
}

impl Lost {
    fn new(texts: u64, why: TextError) -> Self {
        Self {
            texts,
            why: why.into(),
        }
    }
}

/// The file of a segment's texts.
pub(crate) fn beside(segment: &Path) -> PathBuf {
    segment.with_extension("text.tar")
}

/// Gives the texts of a segment their place beside it; `None` if it has none. A start after a crash finds them there already
/// if the process died between this and its segment.
pub(crate) fn seal(
    folder: &Folder,
    about: &About,
    segment: &Path,
) -> Result<Option<SealedText>, Error> {
    let open = folder.texts(&about.capture, about.segment);
    let place = beside(segment);
    if !open.exists() {
        return match place.exists() {
            true => Ok(Some(sealed(&place)?)),
            false => Ok(None),
        };
    }
    if place.exists() {
        let why = format!("it is in the way of {}: move it elsewhere", open.display());
        return Err(Error::file(&place, why));
    }
    folder::make(place.parent().unwrap_or(Path::new("")))?;
    Ok(recover(&open, &place)?.sealed)
}

/// What is wrong with the texts of a segment, by what that says of them.
pub(crate) fn fault(segment: &Segment) -> Option<String> {
    let place = beside(&segment.path);
    let said = segment.seal.texts.as_ref().map(|texts| &texts.sha256);
    let found = if place.exists() {
        match sealed(&place) {
            Ok(found) => Some(found.sha256),
            Err(why) => return Some(Error::from(why).in_full()),
        }
    } else {
        None
    };
    let what = match (said, &found) {
        (Some(_), None) => "is missing",
        (None, Some(_)) => "is there, and its segment knows of no texts",
        (said, found) if said == found.as_ref() => return None,
        _ => "was changed after it was sealed",
    };
    Some(format!("{} {what}", place.display()))
}

/// Deletes what is left of texts whose log is gone.
pub(crate) fn remove_orphans(state: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(state).doing("list", state)? {
        let path = entry.doing("list", state)?.path();
        let is_texts = path.extension().is_some_and(|end| end == "texts");
        if is_texts && !path.with_extension("log").exists() {
            folder::remove(&path)?;
        }
    }
    Ok(())
}
