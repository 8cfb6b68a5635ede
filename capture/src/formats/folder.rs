//! An export as a folder: the files, `meta.json` on what they hold, and a page on how their readers are called.
//!
//! The folder has to be new or empty: an export is never mixed with another. Files have mode 0600 where that is known.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Export, Files, Format, FormatError, Prefixes, Rounding, Tail, Trace};

/// The page of commands. (Put together, since it is no document of this checkout.)
const COMMANDS: &str = concat!("COMMANDS", ".md");

/// A folder that files are written into.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Files and their number of lines.
    written: BTreeMap<String, u64>,
    open: Option<(String, BufWriter<File>)>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// Files of the format, with their number of lines.
    pub files: BTreeMap<String, u64>,
    /// What `meta.json` says.
    pub meta: Value,
}

impl Folder {
    /// A folder that is made, or is there and empty.
    ///
    /// # Errors
    /// If it holds something, or can't be made.
    pub fn create(path: &Path) -> Result<Self, FormatError> {
        fs::create_dir_all(path)?;
        if fs::read_dir(path)?.next().is_some() {
            return Err(FormatError::File(format!(
                "{} is not empty: an export is a folder of its own",
                path.display()
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            written: BTreeMap::new(),
            open: None,
        })
    }

    /// Writes an export as a whole.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn export(
        mut self,
        (format, export): (&Format, &Export),
        trace: &Trace,
    ) -> Result<Exported, FormatError> {
        export.write(trace, &mut self)?;
        let files = std::mem::take(&mut self.written);
        let meta = meta((format, export), trace, &files);
        self.line("meta.json", &format!("{meta:#}"))?;
        self.line(COMMANDS, &commands(export, trace))?;
        self.close()?;
        Ok(Exported { files, meta })
    }

    fn close(&mut self) -> io::Result<()> {
        match self.open.take() {
            Some((_, mut writer)) => writer.flush(),
            None => Ok(()),
        }
    }
}

/// A name is opened once, and written until the next name comes.
impl Files for Folder {
    fn line(&mut self, file: &str, line: &str) -> io::Result<()> {
        if self.open.as_ref().is_none_or(|(open, _)| open != file) {
            self.close()?;
            let mut options = OpenOptions::new();
            options.create(true).append(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            self.open = Some((
                file.to_owned(),
                BufWriter::new(options.open(self.path.join(file))?),
            ));
        }
        if let Some((_, writer)) = &mut self.open {
            writer.write_all(line.as_bytes())?;
            writer.write_all(b"\n")?;
            *self.written.entry(file.to_owned()).or_default() += 1;
        }
        Ok(())
    }
}

fn meta(
    (format, export): (&Format, &Export),
    trace: &Trace,
    files: &BTreeMap<String, u64>,
) -> Value {
    let about = &trace.about;
    let blocks = export.blocks.map(|blocks| {
        json!({
            "tokens": blocks.tokens,
            "last_short_block": match blocks.tail { Tail::Kept => "kept", Tail::Dropped => "dropped" },
            "ids": match trace.prefixes {
                Prefixes::Exact => "exact: equal ids are equal tokens",
                Prefixes::Approximate => "approximate: blocks were captured in bytes, and told in tokens by the mean of bytes a token",
                Prefixes::Unknown | Prefixes::NotSaid => "unknown: the capture has no hashes, every id is new and nothing is shared",
            },
            "scope": "this file: numbered from 0 by first sight",
        })
    });
    let left_out: BTreeMap<&str, u64> = trace.left_out.clone();
    json!({
        "format": format.name,
        "files": files,
        "requests": trace.entries.len(),
        "time_unit": export.time,
        "rounding": match trace.rounding {
            Rounding::None => "none",
            Rounding::Times => "times to 10 ms",
            Rounding::Full => "times to 10 ms and without a date, lengths to the middle of ranges that double",
        },
        "blocks": blocks,
        "captured": {
            "capture": about.capture,
            "level": about.level,
            "block": about.block,
            "block_unit": about.unit,
            "tokenizer_sha256": about.tokenizer,
            "key": about.key,
            "sample": about.sample,
            "rows": trace.rows,
            "left_out": left_out,
            "output_length_is_lower_bound": trace.lower_bounds,
        },
        "carries": export.carries,
        "does_not_carry": export.loses,
        "written_by": concat!("loadproof ", env!("CARGO_PKG_VERSION")),
    })
}

fn commands(export: &Export, trace: &Trace) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for model in trace
        .entries
        .iter()
        .filter_map(|entry| entry.model.as_deref())
    {
        *counts.entry(model).or_default() += 1;
    }
    let model = counts
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map_or("MODEL", |(model, _)| model);
    let seconds = trace
        .entries
        .last()
        .map_or(1, |entry| entry.at_ns / 1_000_000_000 + 1);
    export
        .commands
        .replace("{model}", &shell_word(model))
        .replace("{count}", &trace.entries.len().to_string())
        .replace(
            "{rate}",
            &(trace.entries.len() as u64).div_ceil(seconds).to_string(),
        )
        .replace("{seconds}", &seconds.to_string())
        .trim_end()
        .to_owned()
}

/// A client chose the model's name: in a command it is one word, whatever it is.
fn shell_word(name: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-/:@".contains(character);
    if name.chars().all(plain) && !name.starts_with('-') {
        name.to_owned()
    } else {
        "MODEL".to_owned()
    }
}
