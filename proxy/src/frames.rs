//! The frames of a client's HTTP/2 connection, by the nine bytes that each begins with (RFC 9113 4.1), as they pass.
//!
//! The server's library bounds what a connection may hold; it has no bound on frames that cost work and carry nothing. So
//! they are counted here: everything but a body's data and the end of a stream, and of window updates those that no data of
//! ours called for. It is a state machine without sockets and clocks, and keeps no byte but those of one frame's head.

use crate::guard::Fault;
use crate::rate::Rate;
use measure::Nanos;

/// `PRI * HTTP/2.0` and the rest of it, which comes before a client's first frame.
const PREFACE_BYTES: u32 = 24;

/// Length (3 bytes), type, flags, stream (4 bytes).
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

/// On DATA: the stream's last frame.
const END_STREAM: u8 = 1;

/// `ENHANCE_YOUR_CALM` (RFC 9113 7).
const CALM: u32 = 11;

/// Window updates that one frame of data calls for: the stream's, and the connection's.
const UPDATES: u32 = 2;

/// Most window updates that data of ours can leave owed. A client may send them late, not hoard them.
const MOST_OWED: u32 = 64 * 1024;

/// Counts the frames of one connection.
#[derive(Debug)]
pub(crate) struct FrameBudget {
    from_client: FrameHeads,
    to_client: FrameHeads,
    control: Rate,
    /// Window updates that our data called for and that have not come.
    owed: u32,
    /// `limits.http2_control_frames`
    most: u32,
}

/// Follows frames through bytes that are split anywhere.
#[derive(Debug)]
struct FrameHeads {
    head: [u8; HEAD_BYTES],
    /// Bytes of the head that have passed.
    have: usize,
    /// Bytes of the payload at hand, or of the preface, that have not.
    left: u32,
}

/// What a frame's head says.
#[derive(Debug, Clone, Copy)]
struct FrameHead {
    kind: u8,
    flags: u8,
    length: u32,
}

impl FrameBudget {
    /// Of a connection whose preface has not passed yet; `most` frames a second, and as many at once.
    pub(crate) fn new(most: u32) -> Self {
        Self {
            from_client: FrameHeads::new(PREFACE_BYTES),
            to_client: FrameHeads::new(0),
            control: Rate::per_second(most),
            owed: 0,
            most,
        }
    }

    /// The client sent these bytes, and they were read at `now`.
    ///
    /// # Errors
    /// If they hold one frame too many.
    pub(crate) fn on_read(&mut self, bytes: &[u8], now: Nanos) -> Result<(), Fault> {
        let Self {
            from_client,
            control,
            owed,
            most,
            ..
        } = self;
        from_client.follow(bytes, |frame| {
            if frame.kind == WINDOW_UPDATE && *owed > 0 {
                *owed -= 1;
                return Ok(());
            }
            if frame.carries() || control.admit(now) {
                return Ok(());
            }
            Err(Fault::ControlFrames(*most))
        })
    }

    /// The client's socket took these bytes.
    pub(crate) fn on_written(&mut self, bytes: &[u8]) {
        let Self {
            to_client, owed, ..
        } = self;
        let Ok(()) = to_client.follow(bytes, |frame| {
            if frame.kind == DATA {
                *owed = owed.saturating_add(UPDATES).min(MOST_OWED);
            }
            Ok::<(), std::convert::Infallible>(())
        });
    }

    /// The frame that says why the connection ends; nothing while another is half written.
    pub(crate) fn farewell(&self) -> Vec<u8> {
        if !self.to_client.is_between() {
            return Vec::new();
        }
        let mut frame = vec![0, 0, 8, GO_AWAY, 0, 0, 0, 0, 0];
        // Any stream may have been begun.
        frame.extend((u32::MAX >> 1).to_be_bytes());
        frame.extend(CALM.to_be_bytes());
        frame
    }
}

impl FrameHeads {
    fn new(before: u32) -> Self {
        Self {
            head: [0; HEAD_BYTES],
            have: if before == 0 { 0 } else { HEAD_BYTES },
            left: before,
        }
    }

    /// No frame has begun that has not passed whole.
    fn is_between(&self) -> bool {
        self.left == 0 && (self.have == 0 || self.have == HEAD_BYTES)
    }

    fn follow<E>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(FrameHead) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.is_between() {
                self.have = 0;
            }
            if self.have < HEAD_BYTES {
                let (piece, after) = rest.split_at((HEAD_BYTES - self.have).min(rest.len()));
                self.head[self.have..][..piece.len()].copy_from_slice(piece);
                self.have += piece.len();
                rest = after;
                if self.have == HEAD_BYTES {
                    let [a, b, c, kind, flags, ..] = self.head;
                    self.left = u32::from_be_bytes([0, a, b, c]);
                    let length = self.left;
                    each(FrameHead {
                        kind,
                        flags,
                        length,
                    })?;
                }
                continue;
            }
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            let (piece, after) = rest.split_at(most.min(rest.len()));
            let passed = u32::try_from(piece.len()).unwrap_or(u32::MAX);
            self.left = self.left.saturating_sub(passed);
            rest = after;
        }
        Ok(())
    }
}

impl FrameHead {
    /// Whether it is part of a body, or its end.
    fn carries(self) -> bool {
        self.kind == DATA && (self.length > 0 || self.flags & END_STREAM != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags, 0, 0, 0, 1];
        frame.extend_from_slice(payload);
        frame
    }

    /// How many of `frame` a budget of 100 takes at one instant, when they come in pieces of `split` bytes.
    fn taken(frame: &[u8], split: usize) -> usize {
        let mut budget = FrameBudget::new(100);
        let bytes = [PREFACE, &frame.repeat(1_000)].concat();
        let now = Nanos::from_millis(1);
        let mut read = 0;
        for piece in bytes.chunks(split) {
            if budget.on_read(piece, now).is_err() {
                return (read + piece.len() - PREFACE.len()) / frame.len();
            }
            read += piece.len();
        }
        1_000
    }

    #[test]
    fn frames_that_carry_nothing_are_counted_however_they_are_split() {
        let counted = [
            frame(DATA, 0, b""),
            frame(1, 4, b"\x82"),
            frame(2, 0, &[0; 5]),
            frame(3, 0, &[0; 4]),
            frame(4, 0, b""),
            frame(6, 0, &[0; 8]),
            frame(WINDOW_UPDATE, 0, &[0, 0, 0, 1]),
            frame(9, 0, b""),
            frame(200, 0, b"of a kind to come"),
        ];
        for frame in counted {
            for split in [1, 7, frame.len()] {
                let taken = taken(&frame, split);
                assert!(
                    (100..=101).contains(&taken),
                    "{frame:?} by {split}: {taken}"
                );
            }
        }
        for carrying in [frame(DATA, 0, b"x"), frame(DATA, END_STREAM, b"")] {
            assert_eq!(taken(&carrying, 5), 1_000);
        }
    }

    #[test]
    fn a_window_update_that_our_data_called_for_costs_nothing() {
        let mut budget = FrameBudget::new(100);
        let now = Nanos::from_millis(1);
        budget.on_written(&frame(DATA, 0, b"token").repeat(500));
        let update = frame(WINDOW_UPDATE, 0, &[0, 0, 0, 5]);
        budget
            .on_read(&[PREFACE, &update.repeat(1_100)].concat(), now)
            .unwrap();
        assert_eq!(budget.on_read(&update, now), Err(Fault::ControlFrames(100)));
    }

    #[test]
    fn the_last_word_is_said_between_frames_only() {
        let mut budget = FrameBudget::new(100);
        let said = [
            0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 11,
        ];
        assert_eq!(budget.farewell(), said);
        let data = frame(DATA, 0, b"token");
        for cut in 1..data.len() {
            let mut budget = FrameBudget::new(100);
            budget.on_written(&data[..cut]);
            assert_eq!(budget.farewell(), [0; 0]);
        }
        budget.on_written(&data);
        assert_eq!(budget.farewell(), said);
    }
}
