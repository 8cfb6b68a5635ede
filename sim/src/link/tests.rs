//! Counting written bytes against marks, however they are cut into writes.

use std::sync::Arc;

use wire::Endpoint;

use super::*;
use crate::clock::Clock;
use crate::exchange::{Book, Opening};
use crate::truth::{Ended, Record};

const HEAD: &str = "HTTP/1.1 200 OK\r\nserver: uvicorn\r\n\r\n";
const TOKEN: Note = Note {
    choice: 0,
    kind: Kind::Answer,
    tokens: 1,
};

/// Writes `pieces` at 1, 2, 3 … ns against a head, a frame of 10 bytes, one of 5, and an end of `end` bytes.
fn record_of(pieces: &[&[u8]], end: usize) -> Record {
    let book = Arc::new(Book::new(Clock::new(|| 99), 1));
    let opening = Opening {
        id: None,
        endpoint: Endpoint::Completions,
        connection: 0,
        faults: String::new(),
        head_read_ns: 0,
    };
    let exchange = Exchange::open(&book, opening);
    let link = Link::new(0);
    link.mark(Mark::Head, Some(&exchange));
    link.mark(Mark::Frame(10, vec![TOKEN, TOKEN]), Some(&exchange));
    link.mark(Mark::Frame(5, vec![TOKEN]), Some(&exchange));
    link.mark(Mark::End(end), Some(&exchange));
    drop(exchange);
    for (at_ns, piece) in (1..).zip(pieces) {
        link.wrote(piece, at_ns);
    }
    drop(link);
    book.truth.drain().remove(0)
}

fn times(record: &Record) -> Vec<u64> {
    record
        .emissions
        .iter()
        .map(|emitted| emitted.at_ns)
        .collect()
}

#[test]
fn one_write_carries_all() {
    let all = format!("{HEAD}{}", "x".repeat(20));
    let record = record_of(&[all.as_bytes()], 5);
    assert_eq!(record.head_written_ns, Some(1));
    assert_eq!(times(&record), [1, 1, 1]);
    assert_eq!((record.ended, record.ended_ns), (Ended::Completed, 1));
}

#[test]
fn a_mark_is_written_with_its_last_byte() {
    let record = record_of(
        &[HEAD.as_bytes(), b"123456789", b"0", b"1234", b"5end", b"ed"],
        5,
    );
    assert_eq!(record.head_written_ns, Some(1));
    assert_eq!(times(&record), [3, 3, 5]);
    assert_eq!((record.ended, record.ended_ns), (Ended::Completed, 6));
}

#[test]
fn an_end_without_bytes_comes_with_the_last_frame() {
    let record = record_of(&[HEAD.as_bytes(), &[b'x'; 15]], 0);
    assert_eq!((record.ended, record.ended_ns), (Ended::Completed, 2));
}

#[test]
fn a_head_may_come_byte_by_byte_after_an_interim_one() {
    let heads = format!(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\na: \r\r\n\r\n{}",
        "x".repeat(20)
    );
    let bytes: Vec<&[u8]> = heads.as_bytes().chunks(1).collect();
    let record = record_of(&bytes, 5);
    let head = heads.len() as u64 - 20;
    assert_eq!(record.head_written_ns, Some(head));
    assert_eq!(times(&record), [head + 10, head + 10, head + 15]);
}

#[test]
fn what_is_not_written_is_not_true() {
    let record = record_of(&[HEAD.as_bytes(), &[b'x'; 12]], 5);
    assert_eq!(times(&record), [2, 2]);
    assert_eq!((record.ended, record.ended_ns), (Ended::ClientGone, 99));
}
