//! From a finished exchange to its row: what the record has no word of is taken from the body that was kept.
//!
//! One thread owns it, beside the [`crate::Store`] that takes the rows. It holds the capture's key, and of earlier exchanges
//! hashes only: which sessions there are, and where their prompts ended. What is given in (bodies, names) is forgotten when the
//! row is made.
//!
//! Rows come in the order in which exchanges end, and turns are counted in it.

mod key;
mod prompt;
mod recent;
mod sessions;

pub use key::{KeyError, new_name};

use crate::{About, Level, Row, Unit};
use judge::prefix::{Hashing, Mac};
use measure::Record;
use prompt::Units;
use sessions::{Owner, Sessions};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use tokenizers::Tokenizer;
use wire::Prompt;

/// Units in a block unless it is said: 16 tokens, or 64 bytes, which is about as much text.
const BLOCK_TOKENS: u32 = 16;
const BLOCK_BYTES: u32 = 64;

/// Stands for a model's name that nobody vouches for.
const OTHER: &str = "other";

/// What a scribe is to do.
#[derive(Debug, Clone)]
pub struct ScribeSettings {
    /// How much is kept.
    pub level: Level,
    /// Units in a block; `None`: 16 tokens or 64 bytes.
    pub block: Option<u32>,
    /// A tokenizer in Hugging Face's format (`tokenizer.json`): blocks are tokens then.
    pub tokenizer: Option<PathBuf>,
    /// Keeps the key from one capture to the next, on purpose; without, it goes with the scribe.
    pub key_file: Option<PathBuf>,
    /// Share of sessions that get rows, above 0 and up to 1.
    pub sample: f64,
}

/// What kept a scribe from beginning.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The tokenizer's file.
    #[error(
        "the tokenizer {path} can't be used: {why}; give a tokenizer.json of Hugging Face's tokenizers"
    )]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The sample.
    #[error("a sample of {0}: give a share above 0 and up to 1")]
    Sample(f64),
}

/// What was kept of a request, for its row to be made of.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// The body, or its beginning; `None`: nothing was kept.
    pub body: Option<Vec<u8>>,
    /// Session, by a header.
    pub session: Option<String>,
    /// Tenant, by a header.
    pub tenant: Option<String>,
}

/// Makes rows.
pub struct Scribe {
    settings: ScribeSettings,
    hashing: Hashing,
    tokenizer: Option<(Tokenizer, String)>,
    sessions: Sessions,
}

// ---- Scribe

impl Scribe {
    /// Makes or reads its key, and reads the tokenizer.
    ///
    /// # Errors
    /// A file can't be used, or the sample is none.
    pub fn new(settings: ScribeSettings) -> Result<Self, SetupError> {
        if !(settings.sample > 0.0 && settings.sample <= 1.0) {
            return Err(SetupError::Sample(settings.sample));
        }
        let tokenizer = settings.tokenizer.as_deref().map(load).transpose()?;
        let default = if tokenizer.is_some() {
            BLOCK_TOKENS
        } else {
            BLOCK_BYTES
        };
        let block = settings.block.unwrap_or(default).max(1);
        let hashing = Hashing {
            mac: Mac::Blake3Keyed,
            key: key::key(settings.key_file.as_deref())?,
            block_tokens: usize::try_from(block).unwrap_or(usize::MAX),
            include_partial: true,
        };
        Ok(Self {
            settings,
            hashing,
            tokenizer,
            sessions: Sessions::default(),
        })
    }

    /// What holds for the rows that it makes. The capture's name and the pod are the caller's.
    pub fn about(&self, capture: String, pod: String) -> About {
        let name = self
            .hashing
            .key
            .digest(&[b"loadproof capture: name of the key"]);
        About {
            version: 1,
            capture,
            pod,
            segment: 0,
            previous: String::new(),
            level: self.settings.level,
            unit: self.unit(),
            block: u32::try_from(self.hashing.block_tokens).unwrap_or(u32::MAX),
            tokenizer: self.tokenizer.as_ref().map(|(_, sum)| sum.clone()),
            key: key::hex(name.get(..8).unwrap_or_default()),
            sample: self.settings.sample,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The row of an exchange; `None` if its session is not in the sample. `wall_us` is the wall clock when the clock of its
    /// stamps was at zero. A model's name that is not `known` becomes `other`: a client can write into it what it likes.
    pub fn row(
        &mut self,
        record: &Record,
        kept: &Kept,
        wall_us: i64,
        known: impl Fn(&str) -> bool,
    ) -> Option<Row> {
        let mut row = Row::of(record, wall_us);
        for name in [&mut row.model, &mut row.answer_model]
            .into_iter()
            .flatten()
        {
            if !known(name) {
                OTHER.clone_into(name);
            }
        }
        if self.settings.level < Level::Prefix {
            let owner = self.hash(b"session", kept.session.as_deref());
            return self.in_sample(owner, &row).then_some(row);
        }
        let prompt = kept
            .body
            .as_ref()
            .map(|body| Prompt::read(record.identity.endpoint, body));
        let chain = prompt.as_ref().map(|prompt| {
            let tokenizer = self.tokenizer.as_ref().map(|(tokenizer, _)| tokenizer);
            Units::of(prompt, tokenizer, &self.hashing.key).chain(&self.hashing, &prompt.salt)
        });
        let field = |name: fn(&Prompt) -> Option<&String>| prompt.as_ref().and_then(name);
        let user = field(|prompt| prompt.user.as_ref());
        let by_field = field(|prompt| prompt.session.as_ref()).or(user);
        let owner = match (&kept.session, by_field) {
            (Some(name), _) => Owner::Header(self.hash(b"session", Some(name))?),
            (None, Some(name)) => Owner::Field(self.hash(b"session", Some(name))?),
            (None, None) => Owner::Unnamed,
        };
        row.tenant = self.hash(b"tenant", kept.tenant.as_ref().or(user).map(String::as_str));
        let new = self.hash_of(b"first turn", &row.exchange.to_le_bytes());
        self.sessions.place(&mut row, owner, chain.as_ref(), new);
        if let (Some(chain), Some(prompt)) = (chain, &prompt) {
            if self.tokenizer.is_some() && prompt.whole && !chain.has_media {
                self.count_tokens(&mut row, chain.units);
            }
            row.prompt_units = prompt.whole.then_some(chain.units);
            row.blocks = chain.blocks;
            if !prompt.whole {
                row.blocks.truncate(chain.full);
            }
        }
        self.in_sample(row.session, &row).then_some(row)
    }

    /// Counts where the engine and the request don't.
    fn count_tokens(&self, row: &mut Row, units: u64) {
        if row.input_tokens.is_none() && units > 0 {
            row.input_tokens = Some(units);
            "tokenizer".clone_into(&mut row.input_source);
        }
    }

    fn unit(&self) -> Unit {
        match self.tokenizer {
            Some(_) => Unit::Tokens,
            None => Unit::Bytes,
        }
    }

    fn hash(&self, what: &[u8], name: Option<&str>) -> Option<u64> {
        name.map(|name| self.hash_of(what, name.as_bytes()))
    }

    fn hash_of(&self, what: &[u8], bytes: &[u8]) -> u64 {
        prompt::short(&self.hashing.key.digest(&[what, bytes]))
    }

    /// Whole sessions are in or out; an exchange of no session stands for itself.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of all hashes, to 53 bits"
    )]
    fn in_sample(&self, session: Option<u64>, row: &Row) -> bool {
        let of = session.unwrap_or_else(|| self.hash_of(b"alone", &row.exchange.to_le_bytes()));
        let place = self.hash_of(b"sample", &of.to_le_bytes());
        self.settings.sample >= 1.0 || (place as f64 / 2_f64.powi(64)) < self.settings.sample
    }
}

fn load(path: &Path) -> Result<(Tokenizer, String), SetupError> {
    let failed = |why: String| SetupError::Tokenizer {
        path: path.to_owned(),
        why,
    };
    let bytes = std::fs::read(path).map_err(|why| failed(why.to_string()))?;
    let tokenizer = Tokenizer::from_bytes(&bytes).map_err(|why| failed(why.to_string()))?;
    Ok((tokenizer, key::hex(&Sha256::digest(&bytes))))
}

#[cfg(test)]
mod tests;
