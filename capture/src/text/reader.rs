//! Reading texts, for whoever has a private key.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::file::{Member, walk};
use super::{Identities, Text, TextError};

/// The longest batch that is decrypted, packed and unpacked.
const BATCH_BYTES: u64 = 256 * 1024 * 1024;

/// The longest line of a batch.
const LINE_BYTES: u64 = 64 * 1024 * 1024;

/// A file of texts, open for reading.
#[derive(Debug)]
pub struct Reader<'i> {
    file: File,
    path: PathBuf,
    members: Vec<Member>,
    identities: &'i Identities,
    /// The batch that was read last, by its place, and its texts.
    latest: Option<(usize, Vec<Text>)>,
    whole: bool,
}

impl<'i> Reader<'i> {
    /// Opens a file of texts; decrypts nothing yet. One that is still being written can be opened, too.
    ///
    /// # Errors
    /// It can't be read, or has something in it that is no batch.
    pub fn open(path: &Path, identities: &'i Identities) -> Result<Self, TextError> {
        let mut file = File::open(path).map_err(TextError::file("opening", path))?;
        let found = walk(&mut file).map_err(TextError::file("reading", path))?;
        if found.members.is_empty() && found.len > 0 && !found.ended {
            return Err(TextError::Damaged {
                path: path.to_owned(),
                what: "no file of texts: its first member is no batch".to_owned(),
            });
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            members: found.members,
            identities,
            latest: None,
            whole: found.ended,
        })
    }

    /// Whether the file was ended by its writer; otherwise it is being written, or was cut.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Batches in the file.
    pub fn batches(&self) -> usize {
        self.members.len()
    }

    /// The texts of one batch, from 0, in the order in which their exchanges ended.
    ///
    /// # Errors
    /// No identity opens it, or it is damaged. Other batches can be read all the same.
    pub fn batch(&mut self, at: usize) -> Result<&[Text], TextError> {
        let known = matches!(&self.latest, Some((known, _)) if *known == at);
        if !known {
            self.latest = None;
            let texts = match self.members.get(at).cloned() {
                Some(member) => self.read(&member)?,
                None => Vec::new(),
            };
            self.latest = Some((at, texts));
        }
        Ok(self.latest.as_ref().map_or(&[], |(_, texts)| texts))
    }

    /// What an exchange said; `None` if it is not in this file.
    ///
    /// # Errors
    /// As [`Reader::batch`], of the batches that it could be in.
    pub fn find(&mut self, exchange: u64) -> Result<Option<Text>, TextError> {
        for at in 0..self.members.len() {
            let may_be = self.members.get(at).is_some_and(|member| {
                (member.exchanges.0..=member.exchanges.1).contains(&exchange)
            });
            if !may_be {
                continue;
            }
            let mut texts = self.batch(at)?.iter();
            if let Some(text) = texts.find(|text| text.exchange == exchange) {
                return Ok(Some(text.clone()));
            }
        }
        Ok(None)
    }

    fn read(&mut self, member: &Member) -> Result<Vec<Text>, TextError> {
        if member.bytes > BATCH_BYTES {
            return Err(self.damaged(member, "longer than any batch"));
        }
        self.file
            .seek(SeekFrom::Start(member.at))
            .map_err(TextError::file("reading", &self.path))?;
        let sealed = BufReader::new((&self.file).take(member.bytes));
        let plain = age::Decryptor::new_buffered(sealed)
            .and_then(|decryptor| decryptor.decrypt(self.identities.iter()));
        let plain = match plain {
            Ok(plain) => plain,
            Err(age::DecryptError::NoMatchingKeys) => {
                return Err(TextError::NotForUs {
                    path: self.path.clone(),
                    batch: member.name.clone(),
                });
            }
            Err(error) => return Err(self.damaged(member, &error.to_string())),
        };
        let unpacked =
            zstd::Decoder::new(plain).map_err(|error| self.damaged(member, &error.to_string()))?;
        let mut lines = BufReader::new(unpacked.take(BATCH_BYTES));
        let mut texts = Vec::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut lines).take(LINE_BYTES).read_until(b'\n', &mut line);
            match read {
                Ok(0) => return Ok(texts),
                Ok(_) => {}
                Err(error) => return Err(self.damaged(member, &error.to_string())),
            }
            let text = serde_json::from_slice(&line)
                .map_err(|error| self.damaged(member, &error.to_string()))?;
            texts.push(text);
        }
    }

    fn damaged(&self, member: &Member, what: &str) -> TextError {
        TextError::Damaged {
            path: self.path.clone(),
            what: format!("batch {}: {what}", member.name),
        }
    }
}
