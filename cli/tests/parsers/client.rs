//! A client that sends bytes as they are and counts the answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A server that says nothing for so long fails the test.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    socket: BufReader<TcpStream>,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// How an answer's body ends.
#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    Chunked,
    UntilEnd,
}

impl Client {
    /// Sends these bytes on a connection of its own. That the other side ends it meanwhile is no error.
    pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Self {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = socket.write_all(bytes);
        Self {
            socket: BufReader::new(socket),
        }
    }

    /// Sends more on the same connection.
    pub(crate) fn send_more(&mut self, bytes: &[u8]) {
        let _ = self.socket.get_mut().write_all(bytes);
    }

    /// The next final answer; `None` at the connection's end.
    pub(crate) fn answer(&mut self, method: &str) -> Option<Answer> {
        loop {
            let (status, framing) = self.head()?;
            if (100..200).contains(&status) {
                continue;
            }
            let has_body = method != "HEAD" && status != 204 && status != 304;
            let body = if has_body {
                self.body(framing)?
            } else {
                Vec::new()
            };
            let body = String::from_utf8_lossy(&body).into_owned();
            return Some(Answer { status, body });
        }
    }

    fn body(&mut self, framing: Framing) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        match framing {
            Framing::Length(length) => {
                body = vec![0; length];
                self.socket.read_exact(&mut body).ok()?;
            }
            Framing::UntilEnd => self.ended_after(&mut body),
            Framing::Chunked => loop {
                let mut line = String::new();
                self.socket.read_line(&mut line).ok()?;
                let size = usize::from_str_radix(line.trim_end(), 16).ok()?;
                let mut data = vec![0; size + 2];
                self.socket.read_exact(&mut data).ok()?;
                body.extend_from_slice(&data[..size]);
                if size == 0 {
                    break;
                }
            },
        }
        Some(body)
    }

    /// Says that nothing follows, and waits for the other side's end.
    pub(crate) fn finish(mut self) {
        let _ = self.socket.get_mut().shutdown(Shutdown::Write);
        self.ended_after(&mut Vec::new());
    }

    /// Reads until the end, a reset being one too; a silence is none.
    fn ended_after(&mut self, bytes: &mut Vec<u8>) {
        if let Err(error) = self.socket.read_to_end(bytes) {
            assert_ne!(
                error.kind(),
                std::io::ErrorKind::WouldBlock,
                "no end within {PATIENCE:?}"
            );
        }
    }

    fn head(&mut self) -> Option<(u16, Framing)> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match self.socket.read_until(b'\n', &mut head) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => {
                    assert_ne!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock,
                        "no answer within {PATIENCE:?}"
                    );
                    return None;
                }
            }
        }
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let status = head.split(' ').nth(1)?.parse().expect("a status");
        let field = |name: &str| {
            head.lines()
                .find_map(|line| Some(line.strip_prefix(name)?.trim()))
        };
        let framing = match (field("transfer-encoding:"), field("content-length:")) {
            (Some(_), _) => Framing::Chunked,
            (None, Some(length)) => Framing::Length(length.parse().expect("a length")),
            (None, None) => Framing::UntilEnd,
        };
        Some((status, framing))
    }
}
