//! Clients that leave and servers that stop.

use std::time::Duration;

use sim::{Ended, Load, Profile};
use tokio::io::AsyncWriteExt;

use crate::client::listen;
use crate::stage::{Request, Stage};

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_frees_the_engine() {
    let mut stage = Stage::new(Profile::small_gpu());
    // During its prefill, during its decode, and waiting for a whole answer.
    for (input_tokens, stream) in [("20000", "true"), ("10", "true"), ("10", "false")] {
        let mut connection = stage.connect();
        let request = Request::completion(&format!(r#","stream":{stream},"max_tokens":1000"#))
            .field("x-sim-input-tokens", input_tokens);
        connection
            .write_all(request.text().as_bytes())
            .await
            .expect("the server reads");
        tokio::time::sleep(Duration::from_millis(if input_tokens == "10" {
            400
        } else {
            100
        }))
        .await;
        assert_eq!(stage.server.live().open, 1);
        let left_ns = stage.clock.stamp();
        drop(connection);
        stage.settle().await;
        let record = stage.server.truth().drain().remove(0);
        assert_eq!(
            (record.ended, record.ended_ns),
            (Ended::ClientGone, left_ns),
            "it is noticed at once"
        );
        let decodes = (input_tokens, stream) == ("10", "true");
        assert_eq!(record.output_tokens() > 0, decodes);
    }
    // The engine hears of it at the end of its step.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.server.load(), Load::default());
    assert_eq!(
        (stage.server.live().open, stage.server.live().client_gone),
        (0, 3)
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_may_leave_during_its_upload() {
    let mut stage = Stage::new(Profile::fast());
    let mut connection = stage.connect();
    let head =
        "POST /v1/completions HTTP/1.1\r\nhost: sim\r\ncontent-length: 100\r\n\r\n{\"prompt\":";
    connection
        .write_all(head.as_bytes())
        .await
        .expect("the server reads");
    tokio::time::sleep(Duration::from_millis(5)).await;
    drop(connection);
    stage.settle().await;
    let record = stage.server.truth().drain().remove(0);
    assert_eq!(
        (record.ended, record.request_read_ns, record.status),
        (Ended::ClientGone, None, None)
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_last_longer_than_an_hour() {
    let mut stage = Stage::new(Profile::one_server(60_000_000_000));
    let request = Request::completion(r#","stream":true,"max_tokens":90"#);
    let (heard, record) = stage.ask_and_tell(&request).await;
    assert_eq!(
        (record.output_tokens(), record.ended_ns),
        (90, 90 * 60_000_000_000)
    );
    assert!(heard.body().whole);
}

#[tokio::test(start_paused = true)]
async fn connections_are_kept_for_more_requests() {
    let mut stage = Stage::new(Profile::fast());
    let mut connection = stage.connect();
    for id in ["a", "b"] {
        let request = Request::completion(r#","stream":true"#)
            .field("x-sim-id", id)
            .kept_open();
        connection
            .write_all(request.as_bytes())
            .await
            .expect("the server reads");
        let heard = listen(&mut connection, &stage.clock, |heard| {
            heard.ends_with(b"0\r\n\r\n")
        })
        .await;
        assert!(heard.body().whole);
    }
    drop(connection);
    stage.settle().await;
    let records = stage.server.truth().drain();
    let seen: Vec<(&str, u64, Ended)> = records
        .iter()
        .map(|record| (record.id.as_str(), record.connection, record.ended))
        .collect();
    assert_eq!(
        seen,
        [("a", 0, Ended::Completed), ("b", 0, Ended::Completed)]
    );
}
