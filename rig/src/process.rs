//! What a process takes of the machine, as Linux's `/proc` tells it. `None` where there is none.
//!
//! CPU time is the sum over the threads that live, in nanoseconds, by the scheduler's own account: the clock ticks of
//! `/proc/PID/stat` are a hundredth of a second each, too coarse for some hundred events.

use serde::Serialize;
use std::fs;
use std::iter::Sum;
use std::path::PathBuf;

/// What a process holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// Resident memory, in bytes.
    pub resident_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_files: Option<u64>,
}

/// What the scheduler has given to a process' threads and kept from them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scheduled {
    /// On a CPU, in nanoseconds.
    pub(crate) running_ns: u64,
    /// Ready to run but waiting for a CPU, in nanoseconds: others had it. Latency that no program can help.
    pub(crate) waiting_ns: u64,
}

/// A process to look at.
#[derive(Debug, Clone)]
pub(crate) struct Process(PathBuf);

impl Process {
    /// This one.
    pub(crate) fn this() -> Self {
        Self("/proc/self".into())
    }

    /// Another one.
    pub(crate) fn of(id: u32) -> Self {
        Self(format!("/proc/{id}").into())
    }

    /// What it holds.
    pub(crate) fn holding(&self) -> Holding {
        Holding {
            resident_bytes: self.resident_bytes(),
            open_files: self.entries("fd"),
        }
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        resident_bytes(&fs::read_to_string(self.0.join("status")).ok()?)
    }

    /// What its threads have had so far.
    pub(crate) fn scheduled(&self) -> Option<Scheduled> {
        let threads = fs::read_dir(self.0.join("task")).ok()?;
        let each = threads.map(|thread| {
            let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            Scheduled::parse(&text)
        });
        each.sum()
    }

    fn entries(&self, folder: &str) -> Option<u64> {
        let entries = fs::read_dir(self.0.join(folder)).ok()?;
        u64::try_from(entries.count()).ok()
    }
}

/// `VmRSS` of `/proc/PID/status`, which is in units of 1024 bytes.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

impl Scheduled {
    /// Reads `/proc/PID/task/TID/schedstat`.
    fn parse(schedstat: &str) -> Option<Self> {
        let mut numbers = schedstat.split_whitespace();
        let mut number = || numbers.next()?.parse().ok();
        Some(Self {
            running_ns: number()?,
            waiting_ns: number()?,
        })
    }

    /// What came since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            running_ns: self.running_ns.saturating_sub(earlier.running_ns),
            waiting_ns: self.waiting_ns.saturating_sub(earlier.waiting_ns),
        }
    }
}

impl Sum for Scheduled {
    fn sum<I: Iterator<Item = Self>>(threads: I) -> Self {
        threads.fold(Self::default(), |sum, thread| Self {
            running_ns: sum.running_ns.saturating_add(thread.running_ns),
            waiting_ns: sum.waiting_ns.saturating_add(thread.waiting_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_writes_is_read() {
        let status = "Name:\tloadproof\nVmHWM:\t    9000 kB\nVmRSS:\t    8124 kB\nThreads:\t3\n";
        assert_eq!(resident_bytes(status), Some(8124 * 1024));
        assert_eq!(resident_bytes("Name:\tloadproof\n"), None);
        let scheduled = Scheduled {
            running_ns: 123_456_789,
            waiting_ns: 42,
        };
        assert_eq!(Scheduled::parse("123456789 42 7\n"), Some(scheduled));
        assert_eq!(Scheduled::parse("1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_there() {
        let this = Process::this();
        let held = this.holding();
        assert!(held.resident_bytes > Some(100_000), "{held:?}");
        assert!(held.open_files >= Some(3), "{held:?}");
        assert!(
            this.scheduled()
                .is_some_and(|scheduled| scheduled.running_ns > 0)
        );
    }
}
