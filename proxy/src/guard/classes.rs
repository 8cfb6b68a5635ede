//! Which bytes may stand where in a request: one table, a bit for each place.
//!
//! Target and value hold what hyper and the `http` crate take there, so that a request they would answer with an empty 400
//! meets the guard's answer first; what neither RFC 9110 nor RFC 9112 allows is out as well.

/// Methods, field names, options: RFC 9110 5.6.2.
pub(super) const TOKEN: u8 = 1;
/// Field values and chunk extensions: no control byte but the tab.
pub(super) const VALUE: u8 = 2;
/// The target up to its `?`. Bytes above 0x7f must be UTF-8 besides.
pub(super) const PATH: u8 = 4;
/// The target from its `?` on.
pub(super) const QUERY: u8 = 8;
/// A host that is no bracketed address: RFC 3986 3.2.2, without the comma, which joins the values of two fields.
pub(super) const HOST: u8 = 16;
/// What stands between the brackets of an address.
pub(super) const ADDRESS: u8 = 32;

static CLASSES: [u8; 256] = table();

/// Whether each of `bytes` may stand in a place of `class`.
pub(super) fn all(bytes: &[u8], class: u8) -> bool {
    bytes.iter().all(|byte| is(*byte, class))
}

/// The bytes of `class` that `bytes` begin with, and the rest.
pub(super) fn split(bytes: &[u8], class: u8) -> (&[u8], &[u8]) {
    let other = bytes.iter().position(|byte| !is(*byte, class));
    bytes.split_at(other.unwrap_or(bytes.len()))
}

fn is(byte: u8, class: u8) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

const fn table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = classes(byte);
        if byte == u8::MAX {
            return table;
        }
        byte += 1;
    }
}

const fn classes(byte: u8) -> u8 {
    let mut classes = 0;
    if byte.is_ascii_alphanumeric() || is_one_of(byte, b"!#$%&'*+-.^_`|~") {
        classes |= TOKEN;
    }
    if byte == b'\t' || (byte >= b' ' && byte != 0x7f) {
        classes |= VALUE;
    }
    if byte > b' ' && byte != 0x7f && !is_one_of(byte, b"#<>`?") {
        classes |= PATH;
    }
    if byte > b' ' && byte != 0x7f && !is_one_of(byte, b"#<>\"") {
        classes |= QUERY;
    }
    if byte.is_ascii_alphanumeric() || is_one_of(byte, b"-._~%!$&'()*+;=") {
        classes |= HOST;
    }
    if byte.is_ascii_alphanumeric() || is_one_of(byte, b":.-_~") {
        classes |= ADDRESS;
    }
    classes
}

const fn is_one_of(byte: u8, set: &[u8]) -> bool {
    let mut at = 0;
    while at < set.len() {
        if set[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}
