//! Waiting for an instant of a [`Clock`].
//!
//! Whatever the wait's precision, the truth log holds when a write was made, not when it was meant to be made.

use std::time::Duration;

use crate::clock::Clock;

/// How to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pacing {
    /// By tokio's timer: at most a millisecond late, and right when tokio's clock is paused.
    #[default]
    Timer,
    /// By a timer of the kernel (`timerfd`), a few microseconds late, at no cost while waiting. It runs on the real clock,
    /// so it must not be used when tokio's is paused. Linux only; elsewhere it is [`Pacing::Timer`].
    Precise,
}

/// One waiter.
#[derive(Debug)]
pub(crate) struct Pace {
    clock: Clock,
    #[cfg(target_os = "linux")]
    kernel: Option<kernel::Timer>,
}

impl Pace {
    /// Where the kernel has no timer to give (too many open files), tokio's is used instead.
    pub(crate) fn new(clock: Clock, pacing: Pacing) -> Self {
        Self {
            clock,
            #[cfg(target_os = "linux")]
            kernel: match pacing {
                Pacing::Timer => None,
                Pacing::Precise => kernel::Timer::new().ok(),
            },
        }
    }

    /// Returns when the clock shows `at_ns` or later; at once if it does.
    pub(crate) async fn until(&mut self, at_ns: u64) {
        loop {
            let left_ns = at_ns.saturating_sub(self.clock.stamp());
            if left_ns == 0 {
                return;
            }
            self.sleep(Duration::from_nanos(left_ns)).await;
        }
    }

    async fn sleep(&mut self, duration: Duration) {
        #[cfg(target_os = "linux")]
        if let Some(timer) = &mut self.kernel
            && timer.sleep(duration).await.is_ok()
        {
            return;
        }
        tokio::time::sleep(duration).await;
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    //! `timerfd` as a future. One sleep at a time; a dropped sleep leaves an armed timer, which the next one sets anew.

    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(
                deprecated,
                reason = "its successor is unsafe because of types that lend out a descriptor they don't own; this one is owned"
            )]
            let timer = AsyncFd::new(timer)?;
            Ok(Self(timer))
        }

        pub(super) async fn sleep(&mut self, duration: Duration) -> io::Result<()> {
            let once = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: duration
                    .try_into()
                    .map_err(|_| io::ErrorKind::InvalidInput)?,
            };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            loop {
                let mut ready = self.0.readable().await?;
                let mut expirations = [0; 8];
                match ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut expirations)?))
                {
                    Ok(read) => return read.map(drop),
                    Err(_not_yet) => {}
                }
            }
        }
    }
}
