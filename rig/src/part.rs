//! A part of the rig with threads and a runtime of its own.
//!
//! Engine, proxy and load share one process, so that they share one clock. They must not share a scheduler: on one runtime
//! the proxy would read a token only after the engine's tasks had had their turns, which no deployment does. Threads are
//! the kernel's to schedule, as processes are.

use crate::Error;
use std::future::Future;
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// A running part. Dropping it asks it to stop and does not wait.
#[derive(Debug)]
pub(crate) struct Part<T> {
    name: &'static str,
    stop: mpsc::Sender<()>,
    result: oneshot::Receiver<T>,
    thread: thread::JoinHandle<()>,
}

impl<T: Send + 'static> Part<T> {
    /// Starts a thread that runs `body` on a runtime that has as many workers as the machine has CPUs, as a server has. Whatever comes through the receiver that `body` gets,
    /// its end included, asks it to end.
    pub(crate) fn start<F>(
        name: &'static str,
        body: impl FnOnce(mpsc::Receiver<()>) -> F + Send + 'static,
    ) -> Result<Self, Error>
    where
        F: Future<Output = T>,
    {
        let runtime = server_runtime(name)?;
        let (stop, stopped) = mpsc::channel(1);
        let (done, result) = oneshot::channel();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                // Nobody waits any more if the run was abandoned.
                let _ = done.send(runtime.block_on(body(stopped)));
            })
            .map_err(|source| Error::Thread { name, source })?;
        Ok(Self {
            name,
            stop,
            result,
            thread,
        })
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// If it had panicked.
    pub(crate) async fn stop(self) -> Result<T, Error> {
        let Self {
            name,
            stop,
            result,
            thread,
        } = self;
        drop(stop);
        let result = result.await;
        // What is left of the thread after its result is the end of its runtime.
        let joined = thread.join();
        match (result, joined) {
            (Ok(result), Ok(())) => Ok(result),
            _ => Err(Error::Panicked { name }),
        }
    }
}

fn server_runtime(name: &'static str) -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name(name)
        .build()
        .map_err(|source| Error::Runtime { name, source })
}

/// A runtime of one thread.
pub(crate) fn runtime(name: &'static str) -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Runtime { name, source })
}
