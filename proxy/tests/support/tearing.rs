//! A wire that brings the last byte of each piece later than the others.

use super::support::pause;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// Passes bytes on, the last one of each piece 50 ms after the others.
pub(crate) async fn tear(from: DuplexStream, to: DuplexStream) {
    let (mut from_read, mut from_write) = tokio::io::split(from);
    let (mut to_read, mut to_write) = tokio::io::split(to);
    let there = async {
        let mut buf = [0; 4096];
        while let Ok(read @ 1..) = from_read.read(&mut buf).await {
            let (most, last) = buf[..read].split_at(read - 1);
            to_write.write_all(most).await.unwrap();
            pause(50).await;
            to_write.write_all(last).await.unwrap();
        }
    };
    // Its end is that of either side.
    let (_, _) = tokio::join!(there, tokio::io::copy(&mut to_read, &mut from_write));
}
