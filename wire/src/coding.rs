//! Content codings (RFC 9110, section 8.4): a compressed copy is unpacked as it comes, so that each event is there in the read
//! that completes it.
//!
//! gzip (RFC 1952) and deflate (zlib, RFC 1950, and the bare RFC 1951 that some servers send under its name) are undone. Any
//! other coding, and two on top of each other, are not.
//!
//! Invariants: the plain bytes depend on the packed ones, never on how these were cut into pushes. Memory is the window of
//! deflate and one piece of [`limits::UNPACKED_PIECE_BYTES`], however much comes out; what unpacks to more than
//! [`limits::UNPACKED_RATIO`] times its size is given up.

#![deny(clippy::indexing_slicing)]

mod gzip;

use crate::limits;
use flate2::{Decompress, FlushDecompress, Status};
use gzip::{Head, Trailer};

/// Packed bytes that are unpacked at once at most; steps end at multiples of it, wherever pushes end.
///
/// What a step unpacks to, with what the decompressor still holds of the step before, fits into one piece: a match of 258 bytes
/// takes two bits. So all that comes before a fault is handed on, and the ratio is judged at the same places in every cut.
const STEP_BYTES: u64 = 16;

/// What a `content-encoding` asks of who reads the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Nothing.
    Identity,
    Gzip,
    Deflate,
    /// One that is not undone.
    Unknown,
}

/// Why no more comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The bytes are not of this coding, or are damaged.
    Corrupt,
    /// Too much came out of too little.
    TooDense,
}

/// Undoes a coding.
#[derive(Debug)]
pub(crate) struct Unpacker {
    stage: Stage,
    inflate: Decompress,
    piece: Vec<u8>,
    /// Bytes taken and handed on.
    packed: u64,
    plain: u64,
}

/// What the next byte belongs to.
#[derive(Debug)]
enum Stage {
    /// The head of a gzip member.
    Head(Head),
    /// The first two bytes of deflate, which tell whether it has zlib's frame.
    Begin(Option<u8>),
    /// Deflated data, with the sum that gzip will be held against.
    Data(Option<Trailer>),
    /// What follows the data of a gzip member.
    Trailer(Trailer),
    /// Nothing: it has ended, and what still comes is passed over.
    Ended,
}

// ---- Coding

impl Coding {
    /// The coding that a `content-encoding` names.
    pub(crate) fn of(names: &str) -> Self {
        let is = |name: &str, known: &str| name.eq_ignore_ascii_case(known);
        let mut codings = names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty() && !is(name, "identity"));
        match (codings.next(), codings.next()) {
            (None, _) => Self::Identity,
            (Some(name), None) if is(name, "gzip") || is(name, "x-gzip") => Self::Gzip,
            (Some(name), None) if is(name, "deflate") => Self::Deflate,
            _ => Self::Unknown,
        }
    }

    /// What undoes it; `None` where nothing is to be undone, or can be.
    pub(crate) fn unpacker(self) -> Option<Box<Unpacker>> {
        let stage = match self {
            Self::Gzip => Stage::Head(Head::default()),
            Self::Deflate => Stage::Begin(None),
            Self::Identity | Self::Unknown => return None,
        };
        Some(Box::new(Unpacker {
            stage,
            inflate: Decompress::new(false),
            piece: vec![0; limits::UNPACKED_PIECE_BYTES],
            packed: 0,
            plain: 0,
        }))
    }
}

// ---- Unpacker

impl Unpacker {
    /// Takes the next bytes and hands on what they unpack to, piece by piece.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), Fault> {
        loop {
            // Data may still come out although none goes in.
            bytes = match (&self.stage, bytes.split_first()) {
                (Stage::Data(_), _) => self.inflate(bytes, &mut each)?,
                (Stage::Begin(first), Some((byte, rest))) => {
                    self.begin(*first, *byte, &mut each)?;
                    rest
                }
                (_, Some((byte, rest))) => {
                    self.packed += 1;
                    self.frame(*byte)?;
                    rest
                }
                (_, None) => return Ok(()),
            };
            if bytes.is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether the body may end here.
    pub(crate) fn may_end(&self) -> bool {
        matches!(self.stage, Stage::Ended) || self.packed == 0
    }

    /// Takes a byte that is no deflated data.
    fn frame(&mut self, byte: u8) -> Result<(), Fault> {
        match &mut self.stage {
            Stage::Head(head) => {
                if head.take(byte)? {
                    self.inflate.reset(false);
                    self.stage = Stage::Data(Some(Trailer::default()));
                }
            }
            Stage::Trailer(trailer) => {
                if trailer.take(byte)? {
                    self.stage = Stage::Ended;
                }
            }
            // Another member may follow one; anything else is padding.
            Stage::Ended if byte == gzip::FIRST_BYTE => {
                let mut head = Head::default();
                head.take(byte)?;
                self.stage = Stage::Head(head);
            }
            Stage::Begin(_) | Stage::Data(_) | Stage::Ended => {}
        }
        Ok(())
    }

    /// Takes a byte of the first two of deflate.
    fn begin(
        &mut self,
        first: Option<u8>,
        byte: u8,
        each: &mut impl FnMut(&[u8]),
    ) -> Result<(), Fault> {
        let Some(first) = first else {
            self.stage = Stage::Begin(Some(byte));
            self.packed += 1;
            return Ok(());
        };
        let is_zlib = first & 0x0f == 8 && u16::from_be_bytes([first, byte]).is_multiple_of(31);
        self.inflate.reset(is_zlib);
        self.stage = Stage::Data(None);
        // Should it end within them already, what is left is padding.
        self.inflate(&[first, byte], each).map(drop)
    }

    /// Takes deflated data until there is none left, or it ends; what follows it is left.
    fn inflate<'b>(
        &mut self,
        mut bytes: &'b [u8],
        each: &mut impl FnMut(&[u8]),
    ) -> Result<&'b [u8], Fault> {
        loop {
            let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
            let left = STEP_BYTES - self.packed % STEP_BYTES;
            let step = usize::try_from(left).unwrap_or(bytes.len());
            let status = self.inflate.decompress(
                bytes.get(..step).unwrap_or(bytes),
                &mut self.piece,
                FlushDecompress::None,
            );
            let taken = usize::try_from(self.inflate.total_in() - taken).unwrap_or(usize::MAX);
            let given = usize::try_from(self.inflate.total_out() - given).unwrap_or(usize::MAX);
            bytes = bytes.get(taken..).unwrap_or_default();
            let plain = self.piece.get(..given).unwrap_or_default();
            self.packed += taken as u64;
            self.plain += given as u64;
            if let Stage::Data(Some(trailer)) = &mut self.stage {
                trailer.sum(plain);
            }
            if !plain.is_empty() {
                each(plain);
            }
            let status = status.map_err(|_| Fault::Corrupt)?;
            if self.packed.is_multiple_of(STEP_BYTES) && is_too_dense(self.packed, self.plain) {
                return Err(Fault::TooDense);
            }
            if status == Status::StreamEnd {
                self.stage = match std::mem::replace(&mut self.stage, Stage::Ended) {
                    Stage::Data(Some(trailer)) => Stage::Trailer(trailer),
                    _ => Stage::Ended,
                };
                return Ok(bytes);
            }
            if taken == 0 && given == 0 {
                // It waits for more; or, with bytes left, for what can't come.
                return if bytes.is_empty() {
                    Ok(bytes)
                } else {
                    Err(Fault::Corrupt)
                };
            }
        }
    }
}

fn is_too_dense(packed: u64, plain: u64) -> bool {
    plain > limits::UNPACKED_RATIO_FROM && plain > packed.saturating_mul(limits::UNPACKED_RATIO)
}

#[cfg(test)]
mod tests;
