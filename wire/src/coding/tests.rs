//! Codings undone, in any cut, and not where they can't be.

use super::*;
use flate2::Compression;
use flate2::GzBuilder;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use std::io::Write;

const TEXT: &[u8] = b"data: {\"a\":1}\n\ndata: {\"a\":2}\n\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bare(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// What comes out in pushes of this size, whether the body may end there, and what stopped it.
fn unpack(coding: Coding, packed: &[u8], size: usize) -> (Vec<u8>, bool, Result<(), Fault>) {
    let mut unpacker = coding.unpacker().unwrap();
    let mut plain = Vec::new();
    for push in packed.chunks(size) {
        let pushed = unpacker.push(push, |piece| plain.extend_from_slice(piece));
        if pushed.is_err() {
            return (plain, unpacker.may_end(), pushed);
        }
    }
    (plain, unpacker.may_end(), Ok(()))
}

#[test]
fn names_are_told_apart() {
    for (names, coding) in [
        ("", Coding::Identity),
        ("Identity", Coding::Identity),
        ("gzip", Coding::Gzip),
        ("X-GZIP", Coding::Gzip),
        ("identity, gzip", Coding::Gzip),
        ("deflate", Coding::Deflate),
        ("br", Coding::Unknown),
        ("zstd", Coding::Unknown),
        ("gzip, gzip", Coding::Unknown),
        ("deflate,gzip", Coding::Unknown),
    ] {
        assert_eq!(Coding::of(names), coding, "{names}");
        let undone = matches!(coding, Coding::Gzip | Coding::Deflate);
        assert_eq!(coding.unpacker().is_some(), undone, "{names}");
    }
}

#[test]
fn what_was_packed_comes_out_however_it_is_cut() {
    let long: Vec<u8> = (0..40_000_u32).flat_map(u32::to_be_bytes).collect();
    let named = GzBuilder::new().filename("a").comment("b").extra([1, 2, 3]);
    let mut encoder = named.write(Vec::new(), Compression::fast());
    encoder.write_all(TEXT).unwrap();
    let named = encoder.finish().unwrap();
    let cases = [
        (Coding::Gzip, gzip(TEXT), TEXT),
        (Coding::Gzip, gzip(&long), &long),
        (Coding::Gzip, named, TEXT),
        (Coding::Gzip, gzip(b""), b""),
        (Coding::Deflate, zlib(TEXT), TEXT),
        (Coding::Deflate, zlib(&long), &long),
        (Coding::Deflate, bare(TEXT), TEXT),
        (Coding::Deflate, bare(&long), &long),
    ];
    for (coding, packed, text) in cases {
        for size in [1, 2, 3, 7, 1000, packed.len()] {
            let (plain, may_end, pushed) = unpack(coding, &packed, size);
            assert!(plain == text, "{coding:?} in pushes of {size}");
            assert_eq!((may_end, pushed), (true, Ok(())));
        }
        for end in [packed.len() - 1, packed.len() / 2, 1] {
            let (plain, may_end, _) = unpack(coding, packed.get(..end).unwrap(), 3);
            assert!(
                text.starts_with(&plain) && !may_end,
                "{coding:?} up to {end}"
            );
        }
    }
    assert!(Coding::Gzip.unpacker().unwrap().may_end(), "no body at all");
}

#[test]
fn members_follow_each_other_and_padding_is_passed_over() {
    let two = [gzip(b"one "), gzip(b"two"), vec![0; 9]].concat();
    for size in [1, 5, two.len()] {
        assert_eq!(
            unpack(Coding::Gzip, &two, size),
            (b"one two".to_vec(), true, Ok(()))
        );
    }
}

#[test]
fn flushed_data_comes_out_at_once() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut unpacker = Coding::Gzip.unpacker().unwrap();
    for number in 0..100 {
        let event = format!("data: {{\"number\":{number}}}\n\n");
        encoder.write_all(event.as_bytes()).unwrap();
        encoder.flush().unwrap();
        let packed = std::mem::take(encoder.get_mut());
        let mut plain = Vec::new();
        let pushed = unpacker.push(&packed, |piece| plain.extend_from_slice(piece));
        assert_eq!((pushed, plain.as_slice()), (Ok(()), event.as_bytes()));
    }
}

#[test]
fn damage_is_found() {
    // What comes before it is handed on, however the bytes are cut.
    let long: Vec<u8> = (0..9000_u32).flat_map(u32::to_be_bytes).collect();
    let mut broken = bare(&long);
    let middle = broken.len() / 2;
    broken.truncate(middle);
    broken.extend_from_slice(&[0xff; 300]);
    let whole = unpack(Coding::Deflate, &broken, broken.len());
    for size in [1, 5, 100] {
        assert!(unpack(Coding::Deflate, &broken, size) == whole, "{size}");
    }

    let damaged = |mut packed: Vec<u8>, place: usize, bits: u8| {
        *packed.get_mut(place).unwrap() ^= bits;
        packed
    };
    let packed = gzip(TEXT);
    let end = packed.len();
    for (place, bits) in [
        (0, 1),
        (1, 1),
        (2, 1),
        (3, 0x80),
        (end - 8, 1),
        (end - 1, 1),
    ] {
        let damaged = damaged(packed.clone(), place, bits);
        let (_, _, pushed) = unpack(Coding::Gzip, &damaged, 4);
        assert_eq!(pushed, Err(Fault::Corrupt), "{place}");
    }
    let packed = zlib(TEXT);
    let end = packed.len();
    for packed in [damaged(packed, end - 1, 1), b"data: {}\n\n".to_vec()] {
        let (_, _, pushed) = unpack(Coding::Deflate, &packed, 4);
        assert_eq!(pushed, Err(Fault::Corrupt));
    }
}

#[test]
fn a_bomb_is_given_up() {
    let bomb = gzip(&vec![0; 16 * 1024 * 1024]);
    let (seen, _, _) = unpack(Coding::Gzip, &bomb, 1);
    assert!(seen.len() < 2 * 1024 * 1024, "{} of 16 MiB", seen.len());
    for size in [1, 100, bomb.len()] {
        let (plain, _, pushed) = unpack(Coding::Gzip, &bomb, size);
        assert_eq!((plain.len(), pushed), (seen.len(), Err(Fault::TooDense)));
    }
    // Below the size from which the ratio counts, any is fine.
    let small = vec![b' '; 60 * 1024];
    assert_eq!(unpack(Coding::Gzip, &gzip(&small), 10).2, Ok(()));
}
