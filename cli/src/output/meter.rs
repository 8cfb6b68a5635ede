//! Shows how far a long run is, on standard error: a bar where somebody watches, a line now and then where nobody does.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often a line is written where nobody watches.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The display of one run.
#[derive(Debug)]
pub(crate) enum Meter {
    /// On a terminal.
    Bar(ProgressBar),
    /// Elsewhere; with the time of the next line, and from one to the next.
    Lines { next: Duration, every: Duration },
}

impl Meter {
    /// A display of a run that takes about so long.
    pub(crate) fn new(length: Duration) -> Self {
        Self::with_lines(length, LINE_EVERY)
    }

    /// The same with a line this often where nobody watches.
    pub(crate) fn with_lines(length: Duration, every: Duration) -> Self {
        if !io::stderr().is_terminal() {
            return Self::Lines { next: every, every };
        }
        let bar = ProgressBar::new(millis(length));
        // The template is a constant that any run shows; a bar in another style is no reason to stop.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}") {
            bar.set_style(style);
        }
        Self::Bar(bar)
    }

    /// Writes a line that stays.
    pub(crate) fn say(&self, line: &str) {
        match self {
            Self::Bar(bar) => bar.println(line),
            Self::Lines { .. } => super::aside(&format!("{line}\n")),
        }
    }

    /// Shows that `elapsed` of the length is over, and how things are.
    pub(crate) fn show(&mut self, elapsed: Duration, how: impl FnOnce() -> String) {
        match self {
            Self::Bar(bar) => {
                bar.set_position(millis(elapsed));
                bar.set_message(how());
            }
            Self::Lines { next, every } if elapsed >= *next => {
                *next = elapsed + *every;
                super::aside(&format!("{}\n", how()));
            }
            Self::Lines { .. } => {}
        }
    }
}

impl Drop for Meter {
    /// A bar leaves nothing behind.
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_now_and_then() {
        let mut meter = Meter::Lines {
            next: LINE_EVERY,
            every: LINE_EVERY,
        };
        let mut lines = 0;
        for second in 0..=12 {
            meter.show(Duration::from_secs(second), || {
                lines += 1;
                String::new()
            });
        }
        assert_eq!(lines, 2);
    }
}
