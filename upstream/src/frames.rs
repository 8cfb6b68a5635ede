//! What is written to a connection of HTTP/2, followed frame by frame (RFC 9113 4.1): which writes carry a request.
//!
//! Settings, window updates and pings go out at times of their own, and none of them dates a request.

/// `PRI * HTTP/2.0` and the rest of it, which comes before the first frame.
const PREFACE_BYTES: u32 = 24;

/// Length (3 bytes), type, flags, stream (4 bytes).
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// The place in the bytes written so far.
#[derive(Debug)]
pub(crate) struct Frames {
    head: [u8; HEAD_BYTES],
    /// Bytes of the head that have gone out.
    have: usize,
    /// Bytes of the payload at hand, or of the preface, that have not.
    left: u32,
}

/// What some bytes carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Any part of a request.
    pub(crate) request: bool,
    /// Bytes of a request's body.
    pub(crate) body: u64,
}

impl Frames {
    /// Of a connection that begins.
    pub(crate) fn new() -> Self {
        Self {
            // As if the preface were the payload of something that is no request.
            head: [u8::MAX; HEAD_BYTES],
            have: HEAD_BYTES,
            left: PREFACE_BYTES,
        }
    }

    /// Follows the next bytes.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> Carried {
        let mut carried = Carried::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.have == HEAD_BYTES && self.left == 0 {
                self.have = 0;
            }
            if self.have < HEAD_BYTES {
                let (piece, after) = rest.split_at((HEAD_BYTES - self.have).min(rest.len()));
                self.head[self.have..][..piece.len()].copy_from_slice(piece);
                self.have += piece.len();
                let [a, b, c, ..] = self.head;
                self.left = u32::from_be_bytes([0, a, b, c]);
                rest = after;
                // A frame without a payload is carried with its head's last byte.
                carried.request |= self.have == HEAD_BYTES && self.is_request();
                continue;
            }
            let most = usize::try_from(self.left).unwrap_or(usize::MAX);
            let (piece, after) = rest.split_at(most.min(rest.len()));
            carried.request |= self.is_request();
            if self.kind() == DATA {
                carried.body += piece.len() as u64;
            }
            self.left = self
                .left
                .saturating_sub(u32::try_from(piece.len()).unwrap_or(u32::MAX));
            rest = after;
        }
        carried
    }

    fn kind(&self) -> u8 {
        self.head[3]
    }

    fn is_request(&self) -> bool {
        matches!(self.kind(), DATA | HEADERS | CONTINUATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, 0, 0, 0, 0, 1][..], payload].concat()
    }

    #[test]
    fn only_frames_of_a_request_count_however_they_are_cut() {
        let written = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            frame(4, &[0; 18]),
            frame(HEADERS, b"head"),
            frame(8, &[0; 4]),
            frame(DATA, b"hello"),
            frame(6, &[0; 8]),
            frame(DATA, b""),
            frame(8, &[0; 4]),
        ];
        let carried = |size: usize| {
            let mut frames = Frames::new();
            let bytes = written.concat();
            let mut sum = Carried::default();
            for piece in bytes.chunks(size) {
                let one = frames.follow(piece);
                sum.body += one.body;
                sum.request |= one.request;
            }
            sum
        };
        for size in 1..200 {
            assert_eq!(
                carried(size),
                Carried {
                    request: true,
                    body: 5
                },
                "{size}"
            );
        }
        let mut frames = Frames::new();
        let by_frame: Vec<_> = written
            .iter()
            .map(|frame| frames.follow(frame).request)
            .collect();
        assert_eq!(
            by_frame,
            [false, false, true, false, true, false, true, false]
        );
    }
}
