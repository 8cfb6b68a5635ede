//! The path of a file, or `none`. Whether the file is there is seen when it is read.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

const NONE: &str = "none";

/// A path. A relative one begins in the directory that the program was started in.
pub(crate) struct FileOrNone;

impl Scalar for FileOrNone {
    type Value = Option<PathBuf>;

    fn parse(&self, text: &str) -> Result<Option<PathBuf>, Complaint> {
        if text == NONE {
            return Ok(None);
        }
        if text.starts_with("-----BEGIN") {
            return Err(Complaint::value(
                "what belongs into a file",
                "write it into a file and give the file's path",
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(Complaint::value(
                "a path with control characters",
                "write a path of printable characters",
            ));
        }
        Ok(Some(PathBuf::from(text)))
    }

    fn show(&self, value: &Option<PathBuf>) -> Value {
        let path = value.as_ref().map(|path| path.display().to_string());
        Value::from(path.unwrap_or_else(|| NONE.to_owned()))
    }

    fn name(&self) -> &'static str {
        "file"
    }

    fn range(&self) -> String {
        "a path, or `none`".to_owned()
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "minLength": 1})
    }
}
