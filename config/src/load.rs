//! Reads the file and checks: the one place of this room that touches the disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::check::{FileText, Sources, check};
use crate::draft::Flag;
use crate::effective::Effective;
use crate::environment::{CONFIG_VARIABLE, Environment};
use crate::fault::{Code, Fault, Faults};
use crate::origin::Origin;

/// Largest file read, bytes: what a Kubernetes ConfigMap can hold.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// The configuration that the file, `environment` and `flags` say. Without `file` the one that [`CONFIG_VARIABLE`] names is
/// read, and without both there is none.
///
/// # Errors
/// [`Faults`], also where the file cannot be read.
pub fn load(
    file: Option<&Path>,
    environment: &Environment,
    flags: &[Flag],
) -> Result<Effective, Faults> {
    let path = file
        .map(Path::to_path_buf)
        .or_else(|| environment.config_file().map(PathBuf::from));
    let name = path
        .as_deref()
        .map(|path| path.display().to_string())
        .unwrap_or_default();
    let text = match path.as_deref().map(read) {
        None => None,
        Some(Ok(text)) => Some(text),
        Some(Err(error)) => return Err(Faults::one(unreadable(name, file.is_none(), &error))),
    };
    let file = text.as_deref().map(|text| FileText { name: &name, text });
    check(&Sources {
        file,
        environment,
        flags,
    })
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    match u64::try_from(text.len()) {
        Ok(length) if length <= FILE_BYTES_MAX => Ok(text),
        _ => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {FILE_BYTES_MAX} bytes"),
        )),
    }
}

fn unreadable(name: String, from_variable: bool, error: &io::Error) -> Fault {
    let source = if from_variable {
        CONFIG_VARIABLE
    } else {
        "--config"
    };
    Fault {
        code: Code::Unreadable,
        key: String::new(),
        value: None,
        origin: Origin::File {
            name,
            position: None,
        },
        wrong: format!("the configuration file cannot be read: {error}"),
        fix: format!("correct the path in {source}, or the file"),
    }
}
