//! A proxy that listens, and what is asked of it through real sockets.

use config::{Checked, Environment, FileText, Sources};
use proxy::{Drained, Error, Listeners, Listening, Parts, Proxy, Signals};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The configuration that `yaml` says.
pub(crate) fn checked(yaml: &str) -> Checked {
    let environment = Environment::of::<String, String>([]);
    let file = FileText {
        name: "test.yaml",
        text: yaml,
    };
    let sources = Sources {
        file: Some(file),
        environment: &environment,
        flags: &[],
    };
    config::check(&sources)
        .unwrap_or_else(|faults| panic!("{faults}"))
        .checked
}

/// A proxy that runs, and how to stop it.
pub(crate) struct Running {
    /// Where clients of the engine's first port connect, unless that is a Unix socket.
    pub(crate) port: Option<u16>,
    stop: mpsc::Sender<()>,
    task: JoinSet<Drained>,
}

impl Running {
    pub(crate) fn start(checked: &Checked) -> Result<Self, Error> {
        let listeners = Listeners::bind(checked)?;
        let first = listeners.data.first().and_then(Listening::address);
        let port = first.map(|address| address.port());
        let proxy = Proxy::new(checked, Parts::of(checked, String::new())?)?;
        let (stop, stopped) = mpsc::channel(1);
        let mut task = JoinSet::new();
        task.spawn(proxy.run(listeners, Signals::channel(stopped)));
        Ok(Self { port, stop, task })
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stop);
        self.task.join_next().await.unwrap().unwrap();
    }
}

/// The whole answer to a request that ends its connection.
pub(crate) async fn ask(mut socket: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let request = "GET /version HTTP/1.0\r\n\r\n";
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}
