//! A wire between two programs that keeps every byte that passed, each way.

use super::message::{Kind, Message};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Listens on a free port of the loopback and connects each caller to `to`.
pub(crate) struct Tee {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Arc<Connection>>>>,
}

/// The bytes of one connection.
#[derive(Default)]
struct Connection {
    there: Mutex<Vec<u8>>,
    back: Mutex<Vec<u8>>,
}

/// One request and its answer, as they passed.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) request: Message,
    pub(crate) answer: Message,
}

impl Tee {
    /// Opens the wire. It stays as long as the test's process.
    pub(crate) fn to(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let connections = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&connections);
        thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let connection = Arc::new(Connection::default());
                kept.lock().unwrap().push(Arc::clone(&connection));
                connect(caller, to, connection);
            }
        });
        Self {
            address,
            connections,
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// All that passed, in the order of the connections, then of the requests on each.
    pub(crate) fn passed(&self) -> Vec<Passed> {
        let mut passed = Vec::new();
        for connection in self.connections.lock().unwrap().iter() {
            let requests = Message::read_all(&connection.there.lock().unwrap(), Kind::Request);
            let answers = Message::read_all(&connection.back.lock().unwrap(), Kind::Answer);
            passed.extend(
                requests
                    .into_iter()
                    .zip(answers)
                    .map(|(request, answer)| Passed { request, answer }),
            );
        }
        passed
    }

    /// The one exchange whose request this is.
    pub(crate) fn passed_once(&self, is: impl Fn(&Message) -> bool) -> Passed {
        let mut passed = self.passed();
        passed.retain(|passed| is(&passed.request));
        assert_eq!(
            passed.len(),
            1,
            "the request has passed {} times",
            passed.len()
        );
        passed.remove(0)
    }

    /// Connections that were opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections.lock().unwrap().len()
    }
}

fn connect(caller: TcpStream, to: SocketAddr, connection: Arc<Connection>) {
    let Ok(callee) = TcpStream::connect(to) else {
        return;
    };
    let other = Arc::clone(&connection);
    let (from_caller, to_caller) = (caller.try_clone().unwrap(), caller);
    let (from_callee, to_callee) = (callee.try_clone().unwrap(), callee);
    thread::spawn(move || copy(from_caller, to_callee, &connection.there));
    thread::spawn(move || copy(from_callee, to_caller, &other.back));
}

/// Keeps before it forwards, so that what a reader has seen is kept. One end's going is the other end's.
fn copy(mut from: TcpStream, mut to: TcpStream, kept: &Mutex<Vec<u8>>) {
    let _ = to.set_nodelay(true);
    let mut buffer = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        kept.lock().unwrap().extend_from_slice(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
