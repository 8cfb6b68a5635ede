//! One task for a client's side and the engine's sides that belong to it.
//!
//! The client's side is a hyper connection (HTTP/1.1) or one stream of one (HTTP/2). The requests that arrive on it begin
//! exchanges; their engine's sides are adopted by the same task, so that a token takes no hop between tasks, and everything
//! ends together when the client goes. Each side has a waker of its own; the engine turns first, until it has no more, so
//! that what it brought leaves in one write. An engine's side has its first turn after the one in which its client's side
//! began it: a request whose client takes it back in the same read reaches no engine.

use crate::tasks::Tasks;
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio_util::sync::CancellationToken;
use upstream::{Engine, Parts};

const ENGINES: usize = 0;
const CLIENT: usize = 1;
const SIGNAL: usize = 2;

/// Becomes ready when the task is to end.
type Watch = Pin<Box<dyn Future<Output = ()> + Send>>;

type Adopted = Arc<Mutex<Family>>;

/// What a client's side has begun in its turn.
#[derive(Default)]
struct Family {
    engines: Vec<Engine>,
    watch: Option<Watch>,
}

tokio::task_local! {
    static ADOPTED: Adopted;
}

/// Gives an exchange's engine side to the task that is running. Returns it if no [`Driven`] is running.
pub(crate) fn adopt(engine: Engine) -> Result<(), Engine> {
    match ADOPTED.try_with(Arc::clone) {
        Ok(adopted) => {
            adopted.lock().engines.push(engine);
            Ok(())
        }
        Err(_) => Err(engine),
    }
}

/// Ends the task that is running, and all that is in it, when `watch` is ready.
pub(crate) fn end_with(watch: impl Future<Output = ()> + Send + 'static) {
    // Without such a task there is nothing to end.
    let _ = ADOPTED.try_with(|adopted| adopted.lock().watch = Some(Box::pin(watch)));
}

/// The client's side of a task.
pub(crate) trait Side: Future<Output = ()> + Send {
    /// Finish what is open, begin nothing new.
    fn close(self: Pin<&mut Self>);
}

/// A client's side with the engine's sides that it adopted. Ends when the client's side ends, or at the hard stop.
pub(crate) struct Driven {
    client: Pin<Box<dyn Side>>,
    engines: Vec<Engine>,
    watch: Option<Watch>,
    adopted: Adopted,
    signal: Signal,
    parts: Parts<3>,
}

/// What the process says to its tasks. A part of its own, so that the token path never touches a lock that all tasks share.
struct Signal {
    waiting: Pin<Box<dyn Future<Output = ()> + Send>>,
    hard_stop: CancellationToken,
    closing: bool,
}

impl Driven {
    pub(crate) fn new(client: impl Side + 'static, tasks: &Tasks) -> Self {
        let signal = Signal {
            waiting: Box::pin(tasks.closing().clone().cancelled_owned()),
            hard_stop: tasks.hard_stop().clone(),
            closing: false,
        };
        Self {
            client: Box::pin(client),
            engines: Vec::new(),
            watch: None,
            adopted: Adopted::default(),
            signal,
            parts: Parts::new(),
        }
    }
}

impl Signal {
    /// Ready at the hard stop; tells `client` when to close.
    fn poll(&mut self, cx: &mut Context<'_>, client: Pin<&mut dyn Side>) -> Poll<()> {
        if self.waiting.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if self.closing {
            return Poll::Ready(());
        }
        self.closing = true;
        client.close();
        self.waiting = Box::pin(self.hard_stop.clone().cancelled_owned());
        self.waiting.as_mut().poll(cx)
    }
}

impl Future for Driven {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self {
            client,
            engines,
            watch,
            adopted,
            signal,
            parts,
        } = self.get_mut();
        parts.poll(cx, |woken| {
            if woken.has(SIGNAL) {
                let cx = &mut Context::from_waker(parts.waker(SIGNAL));
                let was_closing = signal.closing;
                if signal.poll(cx, client.as_mut()).is_ready() {
                    return Poll::Ready(());
                }
                if signal.closing != was_closing {
                    parts.mark(CLIENT);
                }
            }
            if woken.has(ENGINES) {
                let cx = &mut Context::from_waker(parts.waker(ENGINES));
                engines.retain_mut(|engine| engine.as_mut().poll(cx).is_pending());
                if watch
                    .as_mut()
                    .is_some_and(|watch| watch.as_mut().poll(cx).is_ready())
                {
                    return Poll::Ready(());
                }
            }
            if woken.has(CLIENT) {
                let cx = &mut Context::from_waker(parts.waker(CLIENT));
                if ADOPTED
                    .sync_scope(Arc::clone(adopted), || client.as_mut().poll(cx))
                    .is_ready()
                {
                    return Poll::Ready(());
                }
                let mut new = adopted.lock();
                if !new.engines.is_empty() || new.watch.is_some() {
                    engines.append(&mut new.engines);
                    if let Some(new) = new.watch.take() {
                        *watch = Some(new);
                    }
                    parts.mark(ENGINES);
                }
            }
            Poll::Pending
        })
    }
}
