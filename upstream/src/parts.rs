//! Several futures inside one task, a waker each.
//!
//! A task that holds a connection and its pump, or an engine's side and a client's side, must not poll all of them for
//! every wake, nor be scheduled again for a wake that one of them gives the other while the task is running. So each part
//! has a flag; a wake sets the flag, and schedules the task only from outside its own poll.

use futures_util::task::AtomicWaker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// Turns of the loop inside one poll, so that one busy stream can't starve the others of its worker.
const TURNS: usize = 16;

/// A set of parts, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartSet(u8);

impl PartSet {
    /// Whether part number `index` is in it.
    pub const fn has(self, index: usize) -> bool {
        self.0 & bit(index) != 0
    }
}

const fn bit(index: usize) -> u8 {
    1 << index
}

/// `N` (at most 8) parts of one task.
#[derive(Debug)]
pub struct Parts<const N: usize> {
    task: Arc<Task>,
    wakers: [Waker; N],
}

#[derive(Debug)]
struct Task {
    woken: AtomicU8,
    running: AtomicBool,
    waker: AtomicWaker,
}

struct Part {
    task: Arc<Task>,
    bit: u8,
}

impl Wake for Part {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.task.woken.fetch_or(self.bit, SeqCst);
        if !self.task.running.load(SeqCst) {
            self.task.waker.wake();
        }
    }
}

impl<const N: usize> Parts<N> {
    /// All parts marked, since each must be polled once to begin.
    pub fn new() -> Self {
        const { assert!(N <= 8, "the set is one byte") };
        let all = (0..N).fold(0, |set, index| set | bit(index));
        let task = Arc::new(Task {
            woken: AtomicU8::new(all),
            running: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        });
        let wakers = std::array::from_fn(|index| {
            Waker::from(Arc::new(Part {
                task: Arc::clone(&task),
                bit: bit(index),
            }))
        });
        Self { task, wakers }
    }

    /// The waker of part number `index`.
    pub fn waker(&self, index: usize) -> &Waker {
        &self.wakers[index]
    }

    /// Marks a part to be polled in the next turn.
    pub fn mark(&self, index: usize) {
        self.task.woken.fetch_or(bit(index), SeqCst);
    }

    /// Runs `turn` with the set of parts that were woken, until it is ready or no part is woken or the bound is reached
    /// (then the task is scheduled again).
    pub fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        mut turn: impl FnMut(PartSet) -> Poll<T>,
    ) -> Poll<T> {
        self.task.running.store(true, SeqCst);
        self.task.waker.register(cx.waker());
        for _ in 0..TURNS {
            let woken = self.task.woken.swap(0, SeqCst);
            if woken == 0 {
                break;
            }
            if let Poll::Ready(value) = turn(PartSet(woken)) {
                self.task.running.store(false, SeqCst);
                return Poll::Ready(value);
            }
        }
        // From here on a wake schedules the task; one that came before left its flag, so look once more.
        self.task.running.store(false, SeqCst);
        if self.task.woken.load(SeqCst) != 0 {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<const N: usize> Default for Parts<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn a_wake_from_inside_marks_and_does_not_schedule() {
        let parts = Parts::<2>::new();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut turns = Vec::new();
        let result: Poll<()> = parts.poll(&mut Context::from_waker(&waker), |woken| {
            turns.push((woken.has(0), woken.has(1)));
            if turns.len() == 1 {
                parts.waker(1).wake_by_ref();
            }
            Poll::Pending
        });
        assert!(result.is_pending());
        assert_eq!(turns, [(true, true), (false, true)]);
        assert_eq!(count.0.load(SeqCst), 0);

        parts.waker(0).wake_by_ref();
        assert_eq!(
            count.0.load(SeqCst),
            1,
            "a wake from outside schedules the task"
        );
        let mut woken_parts = None;
        let _: Poll<()> = parts.poll(&mut Context::from_waker(&waker), |woken| {
            woken_parts = Some((woken.has(0), woken.has(1)));
            Poll::Pending
        });
        assert_eq!(
            woken_parts,
            Some((true, false)),
            "only the part that was woken is polled"
        );
    }

    #[test]
    fn a_part_that_wakes_itself_for_ever_yields_and_is_scheduled_again() {
        let parts = Parts::<1>::new();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut turns = 0;
        let result: Poll<()> = parts.poll(&mut Context::from_waker(&waker), |_| {
            turns += 1;
            parts.waker(0).wake_by_ref();
            Poll::Pending
        });
        assert!(result.is_pending());
        assert_eq!((turns, count.0.load(SeqCst)), (TURNS, 1));
    }
}
