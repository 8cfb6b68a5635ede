//! What stands around the deflated data of a gzip member (RFC 1952): a head of ten bytes and optional fields, and a trailer
//! with checksum and length. Nothing of the head is kept.

use super::Fault;
use flate2::Crc;

/// What every member begins with.
pub(super) const FIRST_BYTE: u8 = 0x1f;

const HAS_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// The head of a member, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Head {
    part: Part,
    /// Optional fields that are still to come.
    flags: u8,
}

/// The part of the head that the next byte belongs to.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// The byte of this number of the ten.
    Fixed(u8),
    /// The length of the extra field, the least significant byte first.
    ExtraLength(Option<u8>),
    Extra(u16),
    /// A text that a zero ends.
    Text,
    Checksum(u8),
}

/// The trailer of a member, and what it will be held against.
#[derive(Debug, Default)]
pub(super) struct Trailer {
    crc: Crc,
    bytes: u64,
    at: u8,
}

// ---- Head

impl Default for Part {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

impl Head {
    /// Takes its next byte; whether it was the last.
    pub(super) fn take(&mut self, byte: u8) -> Result<bool, Fault> {
        let next = match self.part {
            Part::Fixed(at) => {
                let fits = match at {
                    0 => byte == FIRST_BYTE,
                    1 => byte == 0x8b,
                    2 => byte == 8,
                    3 => byte & RESERVED == 0,
                    _ => true,
                };
                if !fits {
                    return Err(Fault::Corrupt);
                }
                if at == 3 {
                    self.flags = byte;
                }
                (at < 9).then_some(Part::Fixed(at + 1))
            }
            Part::ExtraLength(None) => Some(Part::ExtraLength(Some(byte))),
            Part::ExtraLength(Some(low)) => match u16::from_le_bytes([low, byte]) {
                0 => None,
                length => Some(Part::Extra(length)),
            },
            Part::Extra(left) => (left > 1).then(|| Part::Extra(left - 1)),
            Part::Text => (byte != 0).then_some(Part::Text),
            Part::Checksum(left) => (left > 1).then(|| Part::Checksum(left - 1)),
        };
        let Some(part) = next.or_else(|| self.optional()) else {
            return Ok(true);
        };
        self.part = part;
        Ok(false)
    }

    /// The next optional field, in the order in which they come.
    fn optional(&mut self) -> Option<Part> {
        let fields = [
            (HAS_EXTRA, Part::ExtraLength(None)),
            (HAS_NAME, Part::Text),
            (HAS_COMMENT, Part::Text),
            (HAS_CHECKSUM, Part::Checksum(2)),
        ];
        let (flag, part) = fields
            .into_iter()
            .find(|(flag, _)| self.flags & flag != 0)?;
        self.flags &= !flag;
        Some(part)
    }
}

// ---- Trailer

impl Trailer {
    /// Counts data in.
    pub(super) fn sum(&mut self, plain: &[u8]) {
        self.crc.update(plain);
        self.bytes = self.bytes.wrapping_add(plain.len() as u64);
    }

    /// Takes its next byte; whether it was the last. Checksum and length come with the least significant byte first.
    pub(super) fn take(&mut self, byte: u8) -> Result<bool, Fault> {
        let [a, b, c, d] = self.crc.sum().to_le_bytes();
        let [e, f, g, h, ..] = self.bytes.to_le_bytes();
        let expected = [a, b, c, d, e, f, g, h];
        if expected.get(usize::from(self.at)) != Some(&byte) {
            return Err(Fault::Corrupt);
        }
        self.at += 1;
        Ok(usize::from(self.at) == expected.len())
    }
}
