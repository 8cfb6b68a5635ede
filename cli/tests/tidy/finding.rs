//! What a rule reports.

use std::fmt;

/// A place that breaks a rule, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Relative to the root of the checkout.
    pub(crate) path: String,
    /// Counting from 1; 0 means the file as a whole.
    pub(crate) line: usize,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Fails the test with all findings, one a line.
pub(crate) fn expect_none(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(
        findings.is_empty(),
        "{} finding(s):\n{}\n",
        findings.len(),
        lines.join("\n")
    );
}
