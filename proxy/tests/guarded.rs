//! How connections of HTTP/1 are held to the rules over time: deadlines, requests ahead of their answers, bodies that turn
//! out to be broken, and ends that let the last answer arrive.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use measure::{Nanos, Outcome};
use std::sync::Arc;
use std::time::Duration;
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use upstream::Clock;

/// Answers each request with three tokens, 100 ms apart, and tells when a connection ends before its answer did.
fn streaming(cut: mpsc::Sender<Nanos>) -> Arc<Engine> {
    Engine::new(move |mut socket| {
        let cut = cut.clone();
        async move {
            while read_request(&mut socket).await.is_some() {
                write(&mut socket, STREAM_HEAD).await;
                for text in ["a", "b", "c"] {
                    let clock = Clock::start();
                    let begun = clock.now();
                    tokio::select! {
                        rest = read_all(&mut socket) => {
                            assert_eq!(rest, "");
                            cut.send(clock.now().since(begun)).await.unwrap();
                            return;
                        }
                        () = pause(100) => write(&mut socket, &chunk(&event(text))).await,
                    }
                }
                write(&mut socket, &format!("{}0\r\n\r\n", chunk(DONE))).await;
            }
        }
    })
}

fn three_tokens() -> String {
    ["a", "b", "c"].map(event).concat() + DONE
}

/// A chunked body, byte by byte, so that nothing behind it is read.
async fn read_one_stream(client: &mut DuplexStream) -> String {
    let mut all = Vec::new();
    while !all.ends_with(b"\n0\r\n\r\n") {
        all.push(client.read_u8().await.unwrap());
    }
    String::from_utf8(all).unwrap()
}

/// An engine that answers everything at once.
fn prompt() -> Arc<Engine> {
    Engine::new(|mut socket| async move {
        while read_request(&mut socket).await.is_some() {
            write(
                &mut socket,
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            )
            .await;
        }
    })
}

const GET: &str = "GET /health HTTP/1.1\r\nhost: a\r\n\r\n";

/// Asks once and reads the answer.
async fn exchange(client: &mut DuplexStream) {
    write(client, GET).await;
    let head = read_head(client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    client.read_exact(&mut [0; 2]).await.unwrap();
}

/// Writes a byte of `text` every 3 s, as long as the connection takes them; returns what came back, and when its end came.
async fn drip(client: DuplexStream, text: &str) -> (String, Duration) {
    let clock = Clock::start();
    let begun = clock.instant(clock.now());
    let (mut reader, mut writer) = tokio::io::split(client);
    let write = async {
        for byte in text.bytes() {
            if writer.write_all(&[byte]).await.is_err() {
                return;
            }
            pause(3_000).await;
        }
    };
    let read = async {
        let mut all = String::new();
        reader.read_to_string(&mut all).await.unwrap();
        (all, clock.instant(clock.now()) - begun)
    };
    tokio::pin!(write, read);
    tokio::select! {
        read = &mut read => read,
        () = &mut write => panic!("the connection took all of it"),
    }
}

fn is_head_timeout(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 408 ") && answer.contains("\"code\":\"head_timeout\"")
}

#[tokio::test(start_paused = true)]
async fn fault_30_a_slow_head_has_ten_seconds_from_its_first_byte() {
    let house = House::new(&prompt(), "");
    // On a new connection, that was silent before; and on one that has served a request.
    let client = house.client();
    pause(20_000).await;
    let (answer, took) = drip(client, GET).await;
    assert!(is_head_timeout(&answer), "{answer}");
    assert_eq!(took, Duration::from_secs(10));

    let mut client = house.client();
    exchange(&mut client).await;
    pause(20_000).await;
    let (answer, took) = drip(client, GET).await;
    assert!(is_head_timeout(&answer), "{answer}");
    assert_eq!(took, Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn fault_30_what_may_still_become_http_2_has_no_longer() {
    let house = House::new(&prompt(), "");
    let (answer, took) = drip(house.client(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(is_head_timeout(&answer), "{answer}");
    assert_eq!(took, Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_let_go_without_a_word() {
    let house = House::new(&prompt(), "");
    let clock = Clock::start();
    let mut client = house.client();
    assert_eq!(read_all(&mut client).await, "");
    assert_eq!(
        clock.now().since(Clock::start().now()),
        Nanos::from_millis(65_000)
    );

    let mut client = house.client();
    pause(60_000).await;
    exchange(&mut client).await;
    let clock = Clock::start();
    // The line end that some clients send after a body begins nothing.
    write(&mut client, "\r\n").await;
    assert_eq!(read_all(&mut client).await, "");
    assert_eq!(
        clock.now().since(Clock::start().now()),
        Nanos::from_millis(65_000)
    );
}

#[tokio::test(start_paused = true)]
async fn a_head_that_begins_late_still_has_its_time() {
    let house = House::new(&prompt(), "");
    let mut client = house.client();
    exchange(&mut client).await;
    pause(64_000).await;
    write(&mut client, &GET[..10]).await;
    pause(9_000).await;
    write(&mut client, &GET[10..]).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
}

#[tokio::test(start_paused = true)]
async fn fault_06_a_request_ahead_of_its_turn_neither_cuts_the_stream_nor_is_lost() {
    let (cut, _) = mpsc::channel(1);
    let mut house = House::new(&streaming(cut), "");
    let mut client = house.client();
    let clock = Clock::start();
    write(&mut client, &(chat_request() + "\r\n")).await;
    pause(150).await;
    let next = chat_request();
    write(&mut client, &next[..40]).await;
    pause(50).await;
    write(&mut client, &next[40..]).await;
    for _ in 0..2 {
        let head = read_head(&mut client).await.unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let (body, whole) = dechunk(&read_one_stream(&mut client).await);
        assert_eq!((body, whole), (three_tokens(), true));
        assert_eq!(house.record().await.outcome, Outcome::Ok);
    }
    let took = clock.now().since(Clock::start().now());
    assert_eq!(took, Nanos::from_millis(600), "one right after the other");
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_ahead_of_its_turn_waits_for_no_more_than_the_answer_before_it() {
    let body = "x".repeat(10_000);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n{body}");
    let engine = Engine::new(move |mut socket| {
        let answer = answer.clone();
        async move {
            while read_request(&mut socket).await.is_some() {
                write(&mut socket, &answer).await;
            }
        }
    });
    let house = House::new(&engine, "");
    // The answers leave long after the engine gave them, so that nothing of the engine's wakes anybody any more.
    let mut client = house.client_with(64);
    write(&mut client, &GET.repeat(3)).await;
    let clock = Clock::start();
    for _ in 0..3 {
        read_head(&mut client).await.unwrap();
        pause(10).await;
        client.read_exact(&mut [0; 10_000]).await.unwrap();
    }
    assert_eq!(
        clock.now().since(Clock::start().now()),
        Nanos::from_millis(30)
    );
}

#[tokio::test(start_paused = true)]
async fn fault_07_a_client_that_sent_more_and_leaves_frees_the_engine_at_once() {
    for more in ["\r\n", GET] {
        let (cut, mut heard) = mpsc::channel(1);
        let mut house = House::new(&streaming(cut), "");
        let mut client = house.client();
        write(&mut client, &(chat_request() + more)).await;
        pause(50).await;
        drop(client);
        let after = heard.recv().await.unwrap();
        assert_eq!(after, Nanos::from_millis(50), "{more:?}");
        assert_eq!(house.record().await.outcome, Outcome::ClientAbortPrefill);
        house.is_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_request_behind_a_sound_one_is_refused_in_its_turn() {
    let (cut, _) = mpsc::channel(1);
    let mut house = House::new(&streaming(cut), "");
    let mut client = house.client();
    write(
        &mut client,
        &(chat_request() + "GET / HTTP/1.1\nhost: a\r\n\r\n" + GET),
    )
    .await;
    read_head(&mut client).await.unwrap();
    let (stream, refusal) = {
        let all = read_all(&mut client).await;
        let (stream, refusal) = all.split_once("0\r\n\r\n").unwrap();
        (format!("{stream}0\r\n\r\n"), refusal.to_owned())
    };
    assert_eq!(dechunk(&stream), (three_tokens(), true));
    assert!(
        refusal.starts_with("HTTP/1.1 400 ") && refusal.contains("bad_line_end"),
        "{refusal}"
    );
    assert_eq!(
        refusal.matches("HTTP/1.1 ").count(),
        1,
        "nothing after it is a request"
    );
    assert_eq!(house.record().await.outcome, Outcome::Ok);
    house.is_quiet().await;
}

const CHUNKED_CHAT: &str =
    "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";

/// How often requests were refused for `reason`.
fn refused(house: &House, reason: &str) -> u64 {
    let metrics = house
        .proxy
        .exporter()
        .encode(exporter::Format::Text, &exporter::Live::default())
        .unwrap();
    let line = format!("loadproof_rejected_requests_total{{reason=\"{reason}\"}} ");
    String::from_utf8(metrics)
        .unwrap()
        .lines()
        .find_map(|text| text.strip_prefix(&line))
        .expect("there from the start")
        .parse()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_turns_out_broken_is_refused_and_never_whole_at_the_engine() {
    let (seen, mut got) = mpsc::channel(1);
    let engine = Engine::new(move |mut socket| {
        let seen = seen.clone();
        async move { seen.send(read_all(&mut socket).await).await.unwrap() }
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(
        &mut client,
        &format!("{CHUNKED_CHAT}{}", chunk("{\"stream\":")),
    )
    .await;
    pause(100).await;
    write(&mut client, "5\r\ntrue}X\r\n0\r\n\r\n").await;
    let answer = read_all(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(
        answer.contains("connection: close") && answer.contains("\"bad_chunk\""),
        "{answer}"
    );
    let upload = got.recv().await.unwrap();
    assert!(
        upload.contains("{\"stream\":") && !upload.contains("0\r\n\r\n"),
        "{upload}"
    );
    assert_eq!(house.record().await.outcome, Outcome::RejectedMalformed);
    assert_eq!(refused(&house, "bad_chunk"), 1);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_under_an_open_answer_ends_the_connection() {
    let engine = Engine::new(|mut socket| async move {
        read_head(&mut socket).await.unwrap();
        write(&mut socket, STREAM_HEAD).await;
        write(&mut socket, &chunk(&event("a"))).await;
        read_all(&mut socket).await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &format!("{CHUNKED_CHAT}{}", chunk("{}"))).await;
    read_head(&mut client).await.unwrap();
    pause(100).await;
    write(&mut client, "0\r\nContent-Length: 3\r\n\r\n").await;
    let all = read_all(&mut client).await;
    assert_eq!(
        dechunk(&all),
        (event("a"), false),
        "what came, and no end that nobody gave"
    );
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::RejectedMalformed);
    assert_eq!(refused(&house, "bad_trailer"), 1);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_by_its_head_leaves_a_count_and_no_record() {
    let engine = prompt();
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(
        &mut client,
        &chat_request().replace("host: front.test\r\n", ""),
    )
    .await;
    let answer = read_all(&mut client).await;
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("\"bad_host\""),
        "{answer}"
    );
    assert_eq!((refused(&house, "bad_host"), engine.connections()), (1, 0));
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_33_the_limits_on_heads_are_the_configurations() {
    let largest = GET.replace(
        "\r\n\r\n",
        &format!("\r\nx: {}\r\n\r\n", "y".repeat(32_768 - GET.len() - 5)),
    );
    let mut client = House::new(&prompt(), "").client();
    write(&mut client, &largest).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");

    let house = House::new(&prompt(), "limits:\n  head_bytes: 1KiB\n  head_fields: 8\n");
    let fields = |fields: &str| GET.replace("\r\n\r\n", &format!("\r\n{fields}\r\n"));
    let long = format!("x: {}\r\n", "y".repeat(1024));
    for (request, status) in [
        (fields(&"x: y\r\n".repeat(7)), "200"),
        (fields(&"x: y\r\n".repeat(8)), "431"),
        (fields(&long), "431"),
    ] {
        let mut client = house.client();
        write(&mut client, &request).await;
        let head = read_head(&mut client).await.unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_client_that_sends_on_is_read_for_a_while_and_no_longer() {
    let house = House::new(&prompt(), "");
    let mut client = house.client();
    write(&mut client, "GET / HTTP/3.0\r\n\r\n").await;
    let clock = Clock::start();
    // Far more than fits between the two.
    let mut taken = 0;
    while client.write_all(&[b'x'; 64 * 1024]).await.is_ok() {
        taken += 1;
        pause(100).await;
    }
    assert!(taken > 40, "{taken}");
    assert_eq!(
        clock
            .now()
            .since(Clock::start().now())
            .as_secs_f64()
            .round(),
        5.0
    );
    let answer = read_all(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 505 "), "{answer}");
    let drained = house.close(Duration::from_secs(1)).await;
    assert_eq!(drained.cut, 0);
}

#[tokio::test(start_paused = true)]
async fn a_chunked_body_goes_on_whole_and_bare_whatever_the_method() {
    let engine = Engine::new(|mut socket| async move {
        let upload = read_request(&mut socket).await.unwrap();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{upload}",
            upload.len()
        );
        write(&mut socket, &answer).await;
    });
    let house = House::new(&engine, "");
    for method in ["POST", "GET", "DELETE"] {
        // As many extensions, and trailers as long, as are let through.
        let extended = format!("3;{}\r\nabc\r\n", "e".repeat(1019)).repeat(15);
        let upload = format!(
            "{method} /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nte: trailers\r\ntrailer: x-t\r\n\r\n\
             {extended}0\r\nx-t: {}\r\n\r\n",
            "t".repeat(8 * 1024 - 9)
        );
        let mut client = house.client();
        write(&mut client, &upload).await;
        let head = read_head(&mut client).await.unwrap();
        let mut got = vec![0; header(&head, "content-length").unwrap().parse().unwrap()];
        client.read_exact(&mut got).await.unwrap();
        let got = String::from_utf8(got).unwrap();
        let (head, body) = got.split_once("\r\n\r\n").unwrap();
        assert_eq!(
            head,
            format!("{method} /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked")
        );
        assert_eq!(dechunk(body), ("abc".repeat(15), true));
        assert!(!body.contains(['e', 't']), "{body}");
    }
}

const EXPECTING: &str =
    "POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n";

/// Reads a head, with the time that it took to come.
async fn timed_head(client: &mut DuplexStream) -> (String, Nanos) {
    let clock = Clock::start();
    let begun = clock.now();
    let head = read_head(client).await.unwrap();
    (head, clock.now().since(begun))
}

#[tokio::test(start_paused = true)]
async fn fault_49_the_engines_word_on_a_body_is_waited_for_and_passed_on() {
    for (engine_says, word_after) in [(true, 300), (false, 1_000)] {
        let engine = Engine::new(move |mut socket| async move {
            let head = read_head(&mut socket).await.unwrap();
            assert_eq!(header(&head, "expect"), Some("100-continue"));
            pause(300).await;
            if engine_says {
                write(&mut socket, "HTTP/1.1 100 Continue\r\n\r\n").await;
            }
            let mut body = [0; 3];
            socket.read_exact(&mut body).await.unwrap();
            assert_eq!(&body, b"abc");
            write(&mut socket, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        });
        let house = House::new(&engine, "");
        let mut client = house.client();
        write(&mut client, EXPECTING).await;
        let (word, took) = timed_head(&mut client).await;
        assert!(word.starts_with("HTTP/1.1 100 "), "{word}");
        assert_eq!(took, Nanos::from_millis(word_after));
        write(&mut client, "abc").await;
        let (answer, took) = timed_head(&mut client).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(took, Nanos::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn fault_49_an_engine_that_refuses_by_the_head_spares_the_client_its_upload() {
    let engine = Engine::new(|mut socket| async move {
        read_head(&mut socket).await.unwrap();
        let answer = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        write(&mut socket, answer).await;
    });
    let house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, EXPECTING).await;
    let answer = read_all(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
}

/// hyper's server can't say them and its client drops them, so that a page's hints and a queue's place would be lost here.
#[tokio::test(start_paused = true)]
async fn fault_49_what_the_engine_says_before_its_answer_is_passed_on_at_once() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nConnection: x-hop\r\nx-hop: 1\r\n\r\n";
    for (request, hears) in [
        ("GET /x HTTP/1.1\r\nhost: a\r\n\r\n", true),
        (
            "POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\nx",
            true,
        ),
        (
            "GET /x HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n",
            false,
        ),
    ] {
        let engine = Engine::new(move |mut socket| async move {
            while read_request(&mut socket).await.is_some() {
                write(&mut socket, "HTTP/1.1 102 Processing\r\n\r\n").await;
                pause(300).await;
                // The answer comes in the same read as the hints before it.
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\ny";
                write(&mut socket, &format!("{hints}{hints}{answer}")).await;
            }
        });
        let house = House::new(&engine, "");
        let mut client = house.client();
        for _ in 0..2 {
            write(&mut client, request).await;
            let mut waited = Nanos::ZERO;
            if hears {
                let (processing, at_once) = timed_head(&mut client).await;
                assert_eq!(processing, "HTTP/1.1 102 Processing\r\n\r\n");
                assert_eq!(at_once, Nanos::ZERO);
                for _ in 0..2 {
                    let (hint, took) = timed_head(&mut client).await;
                    let expected =
                        "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n";
                    assert_eq!(hint, expected);
                    waited = Nanos(waited.0 + took.0);
                }
            }
            let (answer, took) = timed_head(&mut client).await;
            assert!(answer.starts_with("HTTP/1."), "{answer}");
            assert!(answer.contains(" 200 OK\r\n"), "{answer}");
            assert_eq!(waited.0 + took.0, Nanos::from_millis(300).0);
            let mut body = [0];
            client.read_exact(&mut body).await.unwrap();
            assert_eq!(&body, b"y");
        }
    }
}

/// A client that takes nothing is not made to hold what no limit bounds, nor is a hint ever put into the midst of an answer.
#[tokio::test(start_paused = true)]
async fn fault_49_hints_without_end_are_bounded_and_the_answer_stays_whole() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await.unwrap();
        let hint = format!(
            "HTTP/1.1 103 Early Hints\r\nlink: <{}>\r\n\r\n",
            "h".repeat(1_000)
        );
        for _ in 0..1_000 {
            write(&mut socket, &hint).await;
        }
        write(
            &mut socket,
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc",
        )
        .await;
    });
    let house = House::new(&engine, "");
    let mut client = house.client_with(64);
    write(
        &mut client,
        "GET /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    )
    .await;
    pause(1_000).await;
    let all = read_all(&mut client).await;
    let (hints, answer) = all.split_at(all.find("HTTP/1.1 200 OK").unwrap());
    assert!(hints.len() < 20_000, "{} bytes were kept", hints.len());
    for hint in hints.split_inclusive("\r\n\r\n") {
        assert!(
            hint.starts_with("HTTP/1.1 103 Early Hints\r\nlink: <hhh"),
            "{hint}"
        );
        assert!(hint.ends_with("h>\r\n\r\n"), "{hint}");
    }
    assert!(answer.ends_with("\r\n\r\nabc"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
}

/// hyper ends a connection whose client asked for an upgrade without flushing it, if it ends with the upload.
#[tokio::test(start_paused = true)]
async fn fault_36_an_upgrade_that_is_not_to_be_costs_no_byte_of_the_answer() {
    let body = "x".repeat(10_000);
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let engine = Engine::new(move |mut socket| {
        let answer = answer.clone();
        async move {
            let head = read_head(&mut socket).await.unwrap();
            assert!(!head.to_ascii_lowercase().contains("upgrade"), "{head}");
            write(&mut socket, &answer).await;
        }
    });
    let house = House::new(&engine, "");
    // Nearly nothing fits between proxy and client, so that the last bytes leave long after the engine has ended.
    let mut client = house.client_with(64);
    let head = "POST /x HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\nconnection: upgrade\r\ncontent-length: 1000\r\n\r\n";
    write(&mut client, head).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    pause(1_000).await;
    assert_eq!(read_all(&mut client).await.len(), body.len());
}

/// The engine refuses an upload by its head and closes; the client, who sends all of it first and looks for an answer then,
/// must find it. Over TCP, since only there an end with unread bytes is a reset that takes the answer away.
#[tokio::test]
async fn fault_48_an_early_answer_to_an_upload_survives_the_end_of_the_connection() {
    const BODY: usize = 8 * 1024 * 1024;
    let engine = Engine::new(|mut socket| async move {
        read_head(&mut socket).await.unwrap();
        write(
            &mut socket,
            "HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig",
        )
        .await;
    });
    let house = House::new(&engine, "");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for _ in 0..10 {
        let (client, accepted) = tokio::join!(
            TcpStream::connect(listener.local_addr().unwrap()),
            listener.accept()
        );
        let (mut client, (socket, _)) = (client.unwrap(), accepted.unwrap());
        house.proxy.serve(Box::new(socket));
        let head = format!("POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: {BODY}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(&vec![b'x'; BODY]).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("big"),
            "{answer}"
        );
    }
}

/// The engine answers by the head and keeps its connection, and the client sends on at its leisure: the engine's side was held
/// until one of the client's limits ran out, for an exchange that was over.
#[tokio::test(start_paused = true)]
async fn fault_48_an_upload_whose_answer_is_out_does_not_hold_the_engine() {
    let (ended, mut at_end) = mpsc::channel(1);
    let engine = Engine::new(move |mut socket| {
        let ended = ended.clone();
        async move {
            let clock = Clock::start();
            read_head(&mut socket).await.unwrap();
            let answered = clock.now();
            write(
                &mut socket,
                "HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig",
            )
            .await;
            let mut rest = Vec::new();
            let _ = socket.read_to_end(&mut rest).await;
            let _ = ended.send((rest.len(), clock.now().since(answered))).await;
        }
    });
    let house = House::new(&engine, "");
    let mut client = house.client();
    let head = "POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n";
    write(&mut client, head).await;
    let answer = read_head(&mut client).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let mut body = [0; 3];
    client.read_exact(&mut body).await.unwrap();
    let mut sent = 0;
    let (rest, took) = loop {
        // Above limits.body_rate, so that nothing but the answer's end can end it.
        if client.write_all(&[b'x'; 2_000]).await.is_ok() {
            sent += 2_000;
        }
        pause(500).await;
        if let Ok(end) = at_end.try_recv() {
            break end;
        }
    };
    assert!(
        rest > 0 && rest <= sent,
        "the rest of the body went on for a while"
    );
    assert!(sent < 20_000, "and not to its end");
    assert_eq!(took, Nanos::from_millis(3_000), "upstream.idle_timeout");
    assert_eq!(read_all(&mut client).await, "", "nor is the client kept");
}

/// A client that ends its side in the middle of its answer; returns what came after that, and how the exchange ended.
async fn half_closed(yaml: &str) -> (String, Outcome) {
    let (cut, _heard) = mpsc::channel(1);
    let mut house = House::new(&streaming(cut), yaml);
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    pause(50).await;
    client.shutdown().await.unwrap();
    let all = read_all(&mut client).await;
    let outcome = house.record().await.outcome;
    house.is_quiet().await;
    (all, outcome)
}

#[tokio::test(start_paused = true)]
async fn fault_08_a_client_that_ends_its_side_has_gone_unless_it_is_to_be_served() {
    let (all, outcome) = half_closed("").await;
    assert!(!all.contains(DONE), "{all}");
    assert_eq!(outcome, Outcome::ClientAbortPrefill);
    let (all, outcome) = half_closed("half_close: serve\n").await;
    let (_, body) = all.split_once("\r\n\r\n").unwrap();
    assert_eq!(dechunk(body), (three_tokens(), true));
    assert_eq!(outcome, Outcome::Ok);
}

/// Over TCP, since a pipe knows no reset.
#[tokio::test]
async fn fault_08_a_reset_is_no_end_of_ones_side() {
    let (told, mut heard) = mpsc::channel(1);
    let engine = Engine::new(move |mut socket| {
        let told = told.clone();
        async move {
            read_request(&mut socket).await;
            told.send(()).await.unwrap();
            read_all(&mut socket).await;
        }
    });
    let mut house = House::new(&engine, "half_close: serve\n");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (client, accepted) = tokio::join!(
        TcpStream::connect(listener.local_addr().unwrap()),
        listener.accept()
    );
    let (mut client, (socket, _)) = (client.unwrap(), accepted.unwrap());
    house.proxy.serve(Box::new(socket));
    client.write_all(chat_request().as_bytes()).await.unwrap();
    heard.recv().await.unwrap();
    client.set_zero_linger().unwrap();
    drop(client);
    assert_eq!(house.record().await.outcome, Outcome::ClientAbortPrefill);
}
