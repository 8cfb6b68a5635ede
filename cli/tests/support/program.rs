//! A program that runs beside the test, and what it said.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// How long a program may take to say that it is ready.
const READY: Duration = Duration::from_secs(120);

/// A child process. Dropping it kills it, by its own process id.
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    output: Arc<Output>,
}

/// Lines of standard output and standard error, in the order they were read.
#[derive(Default)]
struct Output {
    said: Mutex<Said>,
    more: Condvar,
}

#[derive(Default)]
struct Said {
    lines: Vec<String>,
    ended_streams: usize,
}

impl Program {
    /// Starts `command`; `name` is what messages call it, `fix` what they advise if it can't be started.
    pub(crate) fn start(name: &'static str, command: &mut Command, fix: &str) -> Self {
        Self::spawn(name, command.stdin(Stdio::null()), fix)
    }

    /// The same, with a socket that listens already as its standard input: so there is no moment in which it doesn't.
    pub(crate) fn start_on(
        listener: TcpListener,
        name: &'static str,
        command: &mut Command,
        fix: &str,
    ) -> Self {
        Self::spawn(name, command.stdin(OwnedFd::from(listener)), fix)
    }

    fn spawn(name: &'static str, command: &mut Command, fix: &str) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {:?}: {error}: {fix}", command.get_program()));
        let output = Arc::new(Output::default());
        listen(
            child.stdout.take().expect("stdout is piped"),
            Arc::clone(&output),
        );
        listen(
            child.stderr.take().expect("stderr is piped"),
            Arc::clone(&output),
        );
        Self {
            name,
            child,
            output,
        }
    }

    /// The first thing that `find` makes of a line, said before or yet to be said.
    pub(crate) fn heard<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        self.heard_lines(what, |lines| lines.iter().find_map(|line| find(line)))
    }

    /// The first thing that `find` makes of all lines so far.
    pub(crate) fn heard_lines<T>(&self, what: &str, find: impl Fn(&[String]) -> Option<T>) -> T {
        let mut said = self.output.said.lock().unwrap();
        loop {
            if let Some(found) = find(&said.lines) {
                return found;
            }
            if said.ended_streams == 2 {
                panic!(
                    "{} ended without saying {what}:\n{}",
                    self.name,
                    said.lines.join("\n")
                );
            }
            let (next, wait) = self.output.more.wait_timeout(said, READY).unwrap();
            said = next;
            if wait.timed_out() {
                panic!(
                    "{} did not say {what} within {READY:?}:\n{}",
                    self.name,
                    said.lines.join("\n")
                );
            }
        }
    }

    /// All it has said so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.output.said.lock().unwrap().lines.clone()
    }

    #[expect(
        clippy::print_stderr,
        clippy::disallowed_macros,
        reason = "beside the message of the test that fails"
    )]
    fn show_last_lines(&self) {
        let lines = self.lines();
        let last = &lines[lines.len().saturating_sub(40)..];
        eprintln!("--- what {} said last\n{}\n---", self.name, last.join("\n"));
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, as a service manager does.
    pub(crate) fn terminate(&self) {
        terminate(self.id());
    }

    /// Asks it to look at its files again.
    pub(crate) fn hang_up(&self) {
        signal(self.id(), rustix::process::Signal::HUP);
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().expect("it is our child")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            self.show_last_lines();
        }
    }
}

/// Asks a process to stop.
pub(crate) fn terminate(id: u32) {
    signal(id, rustix::process::Signal::TERM);
}

fn signal(id: u32, signal: rustix::process::Signal) {
    let id = i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .expect("a process id");
    rustix::process::kill_process(id, signal).expect("the program still runs");
}

/// The program that `make e2e` sets up, else the one on PATH.
pub(crate) fn tool(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the room lies in the checkout");
    let unpacked = root.join(".tools/bin").join(name);
    if unpacked.exists() {
        unpacked
    } else {
        PathBuf::from(name)
    }
}

fn listen(stream: impl Read + Send + 'static, output: Arc<Output>) {
    thread::spawn(move || {
        let mut lines = BufReader::new(stream).split(b'\n');
        while let Some(Ok(line)) = lines.next() {
            output
                .said
                .lock()
                .unwrap()
                .lines
                .push(String::from_utf8_lossy(&line).into_owned());
            output.more.notify_all();
        }
        output.said.lock().unwrap().ended_streams += 1;
        output.more.notify_all();
    });
}
