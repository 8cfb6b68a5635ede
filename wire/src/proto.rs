//! A protobuf message in one slice, read in place by the numbers of its fields (protobuf.dev, "Encoding").
//!
//! Fields of fixed width are passed over: nothing here is measured by one. Groups are not read.

#![deny(clippy::indexing_slicing)]

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Number(u64),
    /// A text, a message, or a list of numbers.
    Bytes(&'a [u8]),
}

/// Calls `each` with the number and value of each field, in their order; `None` if the message is malformed.
pub(crate) fn fields<'a>(
    message: &'a [u8],
    mut each: impl FnMut(u64, Value<'a>) -> Option<()>,
) -> Option<()> {
    let mut rest = message;
    while !rest.is_empty() {
        let (key, after) = varint(rest)?;
        let number = Some(key >> 3).filter(|number| *number > 0)?;
        rest = match key & 7 {
            0 => {
                let (value, after) = varint(after)?;
                each(number, Value::Number(value))?;
                after
            }
            1 => after.get(8..)?,
            2 => {
                let (length, after) = varint(after)?;
                let (bytes, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
                each(number, Value::Bytes(bytes))?;
                after
            }
            5 => after.get(4..)?,
            _ => return None,
        };
    }
    Some(())
}

/// How many numbers a field of a repeated number holds, which is a list or one of them; `None` if it is malformed.
pub(crate) fn numbers(value: Value<'_>) -> Option<u64> {
    let Value::Bytes(list) = value else {
        return Some(1);
    };
    let is_last = |byte: &&u8| **byte < 0x80;
    let ends = list.last().is_none_or(|last| is_last(&last));
    ends.then(|| list.iter().filter(is_last).count() as u64)
}

/// Calls `each` with the numbers of a list, in their order; `None` if it is malformed.
pub(crate) fn each_number(list: &[u8], mut each: impl FnMut(u64)) -> Option<()> {
    let mut rest = list;
    while !rest.is_empty() {
        let (number, after) = varint(rest)?;
        each(number);
        rest = after;
    }
    Some(())
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            return Some((value, bytes.get(place + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &[u8]) -> Option<Vec<(u64, Value<'_>)>> {
        let mut found = Vec::new();
        fields(message, |number, value| {
            found.push((number, value));
            Some(())
        })?;
        Some(found)
    }

    #[test]
    fn fields_are_known_by_their_numbers() {
        let message = b"\x08\x96\x01\x12\x02ab\x19xxxxxxxx\x25xxxx\x0a\x00\xa0\x1f\x07";
        assert_eq!(
            read(message),
            Some(vec![
                (1, Value::Number(150)),
                (2, Value::Bytes(b"ab")),
                (1, Value::Bytes(b"")),
                (500, Value::Number(7)),
            ])
        );
        assert_eq!(read(b""), Some(vec![]));
        let most = [&[0x08][..], &[0xff; 9], &[0x01]].concat();
        assert_eq!(read(&most), Some(vec![(1, Value::Number(u64::MAX))]));
    }

    #[test]
    fn what_is_malformed() {
        for message in [
            &b"\x08"[..],
            b"\x08\x80",
            b"\x00\x01",
            b"\x12\x03ab",
            b"\x19xxx",
            b"\x25xx",
            b"\x0b",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(read(message), None, "{}", message.escape_ascii());
        }
    }

    #[test]
    fn numbers_are_packed_or_not() {
        assert_eq!(numbers(Value::Number(7)), Some(1));
        assert_eq!(numbers(Value::Bytes(b"")), Some(0));
        assert_eq!(numbers(Value::Bytes(b"\x01\x96\x01\x02")), Some(3));
        assert_eq!(numbers(Value::Bytes(b"\x01\x96")), None);
    }
}
