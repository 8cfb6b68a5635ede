//! The server of the test itself: it believes `Content-Length` and `Transfer-Encoding: chunked` and nothing else, and writes
//! down each request. Alone it shows the bytes that are forwarded; behind a proxy it shows how that proxy read them.

use crate::report::{Report, latin1};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The field in which a proxy before the sink names the connection that a request came on.
pub(crate) const CONNECTION: &str = "x-test-connection";

/// No case has a longer body; some say that they had.
const BODY_BYTES: usize = 1024 * 1024;

/// A listener on a free port of the loopback. It stays as long as the test's process.
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Vec<Report>>>,
}

impl Sink {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&log);
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let log = Arc::clone(&shared);
                thread::spawn(move || serve(socket, &log));
            }
        });
        Self { address, log }
    }

    /// All that it has read so far.
    pub(crate) fn reports(&self) -> Vec<Report> {
        self.log.lock().unwrap().clone()
    }
}

/// Bytes that are no request end up as a report that equals none: a line of them is its method.
fn serve(socket: TcpStream, log: &Mutex<Vec<Report>>) {
    let peer = socket.peer_addr().map_or(0, |peer| peer.port()).to_string();
    let mut socket = BufReader::new(socket);
    while let Some(head) = read_head(&mut socket) {
        let mut report = read_fields(&head, &peer);
        let Some(body) = read_body(&mut socket, &report) else {
            return;
        };
        report.body = latin1(&body);
        take_hop_field(&mut report);
        log.lock().unwrap().push(report.clone());
        let body = if report.method == "HEAD" {
            String::new()
        } else {
            report.to_line()
        };
        let length = report.to_line().len();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
        if socket.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// A head with its empty line; `None` at the connection's end.
fn read_head(socket: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

fn read_fields(head: &[u8], peer: &str) -> Report {
    let text = latin1(head);
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let (method, target) = match words[..] {
        [method, target, "HTTP/1.1"] => (method, target),
        _ => ("no request line", text.as_str()),
    };
    let fields = lines.map(|line| {
        let (name, value) = line.split_once(':').unwrap_or((line, "no colon"));
        (name.to_owned(), value.to_owned())
    });
    Report {
        method: method.to_owned(),
        target: target.to_owned(),
        fields: fields.collect(),
        body: String::new(),
        connection: peer.to_owned(),
    }
}

fn read_body(socket: &mut BufReader<TcpStream>, report: &Report) -> Option<Vec<u8>> {
    if report.field("transfer-encoding").is_some() {
        return read_chunks(socket);
    }
    let length = report.field("content-length").unwrap_or("0");
    let length: usize = length.parse().ok().filter(|length| *length <= BODY_BYTES)?;
    let mut body = vec![0; length];
    socket.read_exact(&mut body).ok()?;
    Some(body)
}

fn read_chunks(socket: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.strip_suffix("\r\n")?, 16).ok()?;
        if size > BODY_BYTES {
            return None;
        }
        let mut data = vec![0; size + 2];
        socket.read_exact(&mut data).ok()?;
        if !data.ends_with(b"\r\n") {
            return None;
        }
        body.extend_from_slice(&data[..size]);
        if size == 0 {
            return Some(body);
        }
    }
}

/// What the proxy before the sink added for the test goes where it belongs.
fn take_hop_field(report: &mut Report) {
    if let Some(connection) = report.field(CONNECTION) {
        report.connection = connection.to_owned();
        report
            .fields
            .retain(|(name, _)| !name.eq_ignore_ascii_case(CONNECTION));
    }
}
