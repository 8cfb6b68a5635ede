//! Over real sockets and on the real clock. No time is asserted but the order of cause and effect.

use std::io::ErrorKind;

use sim::{Clock, Ended, Options, Pacing, Profile, Server, Stamp};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::client::{Heard, listen, talk};
use crate::stage::Request;

/// Serves on a port of its own while `client` runs, then stops.
async fn with_server<T>(client: impl AsyncFnOnce(&Server, std::net::SocketAddr, &Clock) -> T) -> T {
    let clock = Clock::machine();
    let options = Options {
        pacing: Pacing::Precise,
        ..Options::new(Profile::fast(), clock.clone())
    };
    let server = Server::start(options);
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (stop, stopped) = oneshot::channel::<()>();
    let serve = server.serve(listener, async {
        // The sender dropped is as good as sent.
        let _ = stopped.await;
    });
    let talk = async {
        let result = client(&server, address, &clock).await;
        drop(stop);
        result
    };
    let (served, result) = tokio::join!(serve, talk);
    served.expect("it accepts");
    result
}

async fn ask(address: std::net::SocketAddr, clock: &Clock, request: &Request) -> Heard {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    talk(&mut stream, clock, request.text().as_bytes()).await
}

#[tokio::test]
async fn no_event_is_heard_before_it_was_written() {
    with_server(async |server, address, clock| {
        let request = Request::chat(r#","stream":true"#)
            .field("x-sim-script", "gap_us=300,2000;bursts=20;events=2");
        let heard = ask(address, clock, &request).await;
        server.truth().finished(1).await;
        let record = server.truth().drain().remove(0);
        assert_eq!(record.ended, Ended::Completed);
        let body = heard.body();
        let events = body.events();
        let written: Vec<u64> = record
            .emissions
            .iter()
            .map(|emitted| emitted.at_ns)
            .collect();
        assert_eq!(written.len(), events.len());
        let started_ns = record.request_read_ns.expect("it was read");
        let mut due_ns = started_ns;
        for (at, ((heard_ns, event), written_ns)) in events.iter().zip(&written).enumerate() {
            assert!(heard_ns >= written_ns, "event {at}");
            let Some(stamp) = Stamp::find(event.as_bytes()) else {
                continue;
            };
            assert!(
                stamp.at_ns <= *written_ns && stamp.at_ns >= due_ns,
                "event {at}"
            );
            if at % 2 == 1 {
                due_ns += if at % 4 == 1 { 300_000 } else { 2_000_000 };
            }
        }
        assert!(record.head_written_ns.expect("a head") <= heard.head_ns());
    })
    .await;
}

#[tokio::test]
async fn the_engine_runs_on_the_real_clock() {
    with_server(async |server, address, clock| {
        let request = Request::completion(r#","stream":true,"max_tokens":20"#);
        let heard = ask(address, clock, &request).await;
        server.truth().finished(1).await;
        let record = server.truth().drain().remove(0);
        assert_eq!((record.output_tokens(), heard.body().whole), (20, true));
        let took_ns =
            record.last_token_ns().expect("tokens") - record.request_read_ns.expect("it was read");
        // 1.04 ms, and 19 steps of 1.05 ms: never faster.
        assert!(took_ns >= 20_990_000, "{took_ns} ns");
    })
    .await;
}

#[tokio::test]
async fn a_reset_is_a_reset_and_a_close_is_none() {
    with_server(async |server, address, clock| {
        let stream = r#","stream":true"#;
        let reset = ask(
            address,
            clock,
            &Request::completion(stream).fault("reset=2"),
        )
        .await;
        assert_eq!(reset.error, Some(ErrorKind::ConnectionReset));
        let reset = ask(
            address,
            clock,
            &Request::completion(stream).fault("reset-before-head"),
        )
        .await;
        assert_eq!(
            (reset.error, reset.is_empty()),
            (Some(ErrorKind::ConnectionReset), true)
        );
        let died = ask(address, clock, &Request::completion(stream).fault("die=2")).await;
        assert_eq!((died.error, died.body().whole), (None, false));
        // On a busy machine the two tokens may share an event.
        let events = died.body().events().len();
        assert!((1..=2).contains(&events), "{events} events");
        let died = ask(
            address,
            clock,
            &Request::completion(stream).fault("die-in-event=2"),
        )
        .await;
        assert_eq!((died.error, died.body().whole), (None, false));
        server.truth().finished(4).await;
        let ended: Vec<Ended> = server
            .truth()
            .drain()
            .iter()
            .map(|record| record.ended)
            .collect();
        assert_eq!(
            ended,
            [Ended::Reset, Ended::Reset, Ended::Died, Ended::Died]
        );
    })
    .await;
}

#[tokio::test]
async fn stopping_cuts_what_is_open() {
    let (server, mut stream, clock) = with_server(async |server, address, clock| {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let request = Request::completion(r#","stream":true,"max_tokens":4000"#).text();
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it reads");
        listen(&mut stream, clock, |heard| {
            heard.windows(6).any(|window| window == b"data: ")
        })
        .await;
        (server.clone(), stream, clock.clone())
    })
    .await;
    let rest = listen(&mut stream, &clock, |_| false).await;
    assert!(!rest.text().ends_with("0\r\n\r\n"));
    let record = server.truth().drain().remove(0);
    assert_eq!((record.ended, server.live().open), (Ended::Stopped, 0));
}
