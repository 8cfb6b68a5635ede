//! Framing of gRPC messages (grpc/doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message"), by bytes, without sockets: a byte that
//! says whether the message is compressed, four that are its length, the most significant first, and the message.
//!
//! Compressed messages are not decoded; nor is anything after one, since counts with a hole are none.
//!
//! Invariants: the messages depend on the bytes, never on how they were cut into pushes. What lies whole inside one push is
//! borrowed from it. A message is limited by [`crate::limits::LINE_BYTES`].

#![deny(clippy::indexing_slicing)]

use crate::{Anomaly, limits};

/// Bytes before a message.
const PREFIX_BYTES: usize = 5;

/// Cuts a body into messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// The message at hand with its prefix, as far as it has come.
    pending: Vec<u8>,
    stopped: Option<Anomaly>,
}

impl Messages {
    /// Takes the next bytes of the body and hands on each message that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        if self.stopped.is_some() {
            return;
        }
        let mut rest = bytes;
        while !self.pending.is_empty() && !rest.is_empty() {
            let Some(wanted) = self.wanted() else { return };
            let (piece, after) = rest.split_at(wanted.min(rest.len()));
            self.pending.extend_from_slice(piece);
            rest = after;
            self.hand_on_pending(&mut each);
        }
        while let Some((prefix, after)) =
            rest.split_first_chunk().filter(|_| self.stopped.is_none())
        {
            let Some(length) = self.length(*prefix) else {
                return;
            };
            let Some((message, after)) = after.split_at_checked(length) else {
                break;
            };
            each(message);
            rest = after;
        }
        if self.stopped.is_none() {
            self.pending.extend_from_slice(rest);
        }
    }

    /// Whether the body may end here: no message has begun.
    pub(crate) fn may_end(&self) -> bool {
        self.pending.is_empty()
    }

    /// Why nothing comes out any more.
    pub(crate) fn stopped(&self) -> Option<Anomaly> {
        self.stopped
    }

    /// Bytes that the pending message lacks, or its prefix does; `None` if it can't be read.
    fn wanted(&mut self) -> Option<usize> {
        let have = self.pending.len();
        let Some(prefix) = self.pending.first_chunk() else {
            return Some(PREFIX_BYTES - have);
        };
        let length = self.length(*prefix)?;
        Some(PREFIX_BYTES + length - have)
    }

    fn hand_on_pending(&mut self, each: &mut impl FnMut(&[u8])) {
        let Some((prefix, message)) = self.pending.split_first_chunk() else {
            return;
        };
        let (prefix, have) = (*prefix, message.len());
        if self.length(prefix) == Some(have) {
            each(self.pending.get(PREFIX_BYTES..).unwrap_or_default());
            self.pending.clear();
        }
    }

    /// The length that a prefix states; `None`, and no more, if its message can't be read.
    fn length(&mut self, [flag, length @ ..]: [u8; PREFIX_BYTES]) -> Option<usize> {
        let length = usize::try_from(u32::from_be_bytes(length)).ok();
        self.stopped = match flag {
            0 if length.is_some_and(|length| length <= limits::LINE_BYTES) => return length,
            0 => Some(Anomaly::OversizeEvent),
            1 => Some(Anomaly::Opaque),
            _ => Some(Anomaly::BadJson),
        };
        self.pending.clear();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &[u8]) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap();
        [&[0], &length.to_be_bytes()[..], text].concat()
    }

    fn read(bytes: &[u8], size: usize) -> (Vec<Vec<u8>>, Messages) {
        let (mut messages, mut found) = (Messages::default(), Vec::new());
        for push in bytes.chunks(size) {
            messages.push(push, |message| found.push(message.to_vec()));
        }
        (found, messages)
    }

    #[test]
    fn messages_come_out_however_they_are_cut() {
        let bytes = [
            message(b"a"),
            message(b""),
            message(&[7; 300]),
            message(b"b"),
        ]
        .concat();
        for size in 1..=bytes.len() {
            let (found, messages) = read(&bytes, size);
            assert_eq!(found, [&b"a"[..], b"", &[7; 300], b"b"], "{size}");
            assert!(messages.may_end());
        }
    }

    #[test]
    fn half_a_message_is_none() {
        let mut bytes = message(b"ab");
        bytes.pop();
        for size in 1..=bytes.len() {
            let (found, messages) = read(&bytes, size);
            assert_eq!((found.len(), messages.may_end()), (0, false), "{size}");
        }
        assert!(!read(&[0; 3], 2).1.may_end());
    }

    #[test]
    fn what_cannot_be_read_ends_it() {
        let long = u32::try_from(limits::LINE_BYTES).unwrap();
        for (prefix, stopped) in [
            ([&[1], &1_u32.to_be_bytes()[..]].concat(), Anomaly::Opaque),
            (
                [&[0x80], &1_u32.to_be_bytes()[..]].concat(),
                Anomaly::BadJson,
            ),
            (
                [&[0], &(long + 1).to_be_bytes()[..]].concat(),
                Anomaly::OversizeEvent,
            ),
        ] {
            let bytes = [message(b"a"), prefix, message(b"b")].concat();
            for size in [1, 4, 7, bytes.len()] {
                let (found, messages) = read(&bytes, size);
                assert_eq!(
                    (found.len(), messages.stopped()),
                    (1, Some(stopped)),
                    "{size}"
                );
            }
        }
        let fits = message(&vec![0; limits::LINE_BYTES]);
        assert_eq!(read(&fits, 4096).0.len(), 1);
    }
}
