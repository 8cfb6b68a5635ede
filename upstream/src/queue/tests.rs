//! Who holds how many bytes, and when the pump must stop.

use super::*;
use std::task::Context;

fn limits(own: usize, most: usize) -> QueueLimits {
    QueueLimits { own, most }
}

fn piece(bytes: usize) -> Bytes {
    Bytes::from(vec![b'x'; bytes])
}

fn read(reader: &mut QueueReader) -> Option<usize> {
    match reader.poll_piece(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Ok(piece))) => piece.data_ref().map(Bytes::len),
        _ => None,
    }
}

#[test]
fn beyond_its_own_share_a_queue_borrows_and_gives_back() {
    let budget = Budget::new(1_000);
    let (writer, mut reader) = queue(limits(100, 10_000), &budget, Arc::new(()));
    writer.push(piece(80), Nanos(1));
    assert_eq!(budget.left(), 1_000, "the first bytes are its own");
    writer.push(piece(80), Nanos(2));
    assert_eq!(budget.left(), 940);
    assert!(!writer.is_full());
    assert_eq!(
        read(&mut reader),
        Some(160),
        "what waits leaves in one piece"
    );
    assert_eq!(budget.left(), 1_000);
}

#[test]
fn an_exhausted_budget_stops_the_pump_and_the_bytes_are_kept() {
    let budget = Budget::new(50);
    let (writer, mut reader) = queue(limits(100, 10_000), &budget, Arc::new(()));
    writer.push(piece(100), Nanos(1));
    writer.push(piece(60), Nanos(2));
    assert!(writer.is_full());
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(writer.poll_room(cx).is_pending());
    assert_eq!(read(&mut reader), Some(160));
    assert!(writer.poll_room(cx).is_ready());
    assert_eq!(budget.left(), 50);
}

#[test]
fn one_exchange_cannot_take_more_than_its_limit_of_the_budget() {
    let budget = Budget::new(1_000_000);
    let (writer, _reader) = queue(limits(100, 300), &budget, Arc::new(()));
    writer.push(piece(300), Nanos(1));
    assert!(!writer.is_full());
    writer.push(piece(1), Nanos(2));
    assert!(writer.is_full());
}

#[test]
fn a_dropped_exchange_gives_back_what_it_borrowed() {
    let budget = Budget::new(1_000);
    let (writer, reader) = queue(limits(100, 10_000), &budget, Arc::new(()));
    writer.push(piece(700), Nanos(1));
    assert_eq!(budget.left(), 400);
    drop(reader);
    assert!(writer.has_pieces(), "they were lost with the reader");
    drop(writer);
    assert_eq!(budget.left(), 1_000);
}

#[test]
fn a_writer_that_is_dropped_breaks_the_body() {
    let (writer, mut reader) = queue(limits(100, 100), &Budget::new(0), Arc::new(()));
    writer.push(piece(10), Nanos(1));
    drop(writer);
    assert_eq!(read(&mut reader), Some(10), "what was read is still given");
    let end = reader.poll_piece(&mut Context::from_waker(Waker::noop()));
    assert!(
        matches!(end, Poll::Ready(Some(Err(Failure::Abandoned)))),
        "{end:?}"
    );
}

#[test]
fn large_pieces_leave_as_they_came() {
    let (writer, mut reader) = queue(limits(1 << 20, 1 << 20), &Budget::new(0), Arc::new(()));
    let large = piece(60 * 1024);
    writer.push(large.clone(), Nanos(1));
    writer.push(piece(8 * 1024), Nanos(1));
    let Poll::Ready(Some(Ok(first))) = reader.poll_piece(&mut Context::from_waker(Waker::noop()))
    else {
        unreachable!("a piece waits");
    };
    assert_eq!(
        first.data_ref().map(|data| data.as_ptr()),
        Some(large.as_ptr()),
        "not copied"
    );
    assert_eq!(read(&mut reader), Some(8 * 1024));
}
