//! The scripted backend: events when they are due, each with its stamp.

use sim::{Ended, Profile, Stamp};

use crate::client::talk;
use crate::stage::{Request, Stage};

const STREAM: &str = r#","stream":true,"stream_options":{"include_usage":true}"#;

fn scripted(script: &str) -> Request {
    Request::chat(STREAM).field("x-sim-script", script)
}

#[tokio::test(start_paused = true)]
async fn events_come_when_they_are_due() {
    let mut stage = Stage::new(Profile::fast());
    let script = "first_us=5000;gap_us=0,1000,50000;bursts=4;events=3";
    let (heard, record) = stage.ask_and_tell(&scripted(script)).await;
    let body = heard.body();
    let events = body.events();
    let stamps: Vec<Stamp> = events
        .iter()
        .filter_map(|(_, event)| Stamp::find(event.as_bytes()))
        .collect();
    assert_eq!(
        stamps.iter().map(|stamp| stamp.seq).collect::<Vec<_>>(),
        (0..12).collect::<Vec<_>>()
    );
    let times: Vec<u64> = stamps.iter().map(|stamp| stamp.at_ns / 1_000).collect();
    let due = [5_000, 5_000, 6_000, 56_000];
    assert_eq!(
        times,
        due.iter().flat_map(|at| [*at; 3]).collect::<Vec<u64>>()
    );

    // Stamp, write and read are at the same time here.
    let heard_ns: Vec<u64> = events[..12].iter().map(|(at_ns, _)| *at_ns).collect();
    assert_eq!(
        heard_ns,
        stamps.iter().map(|stamp| stamp.at_ns).collect::<Vec<_>>()
    );
    let written: Vec<u64> = record
        .emissions
        .iter()
        .filter(|emitted| emitted.tokens > 0)
        .map(|emitted| emitted.at_ns)
        .collect();
    assert_eq!(written, heard_ns);
    assert_eq!(
        (record.ended, record.usage.map(|usage| usage.completion)),
        (Ended::Completed, Some(12))
    );
    assert_eq!(events.len(), 14, "usage and the end mark follow");
    assert_eq!(body.chunks.len(), 14);
}

#[tokio::test(start_paused = true)]
async fn events_have_the_length_asked_for() {
    let mut stage = Stage::new(Profile::fast());
    let (heard, _) = stage.ask_and_tell(&scripted("bursts=3;bytes=4096")).await;
    let body = heard.body();
    let sizes: Vec<usize> = body.chunks[..3].iter().map(Vec::len).collect();
    assert_eq!(sizes, [4096; 3]);
    for (_, event) in &body.events()[..3] {
        let json: serde_json::Value = serde_json::from_str(&event[6..]).expect("JSON");
        assert!(json["sim"]["seq"].is_u64() && json["choices"][0]["delta"]["content"].is_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_events_just_ends() {
    let mut stage = Stage::new(Profile::fast());
    let (heard, record) = stage.ask_and_tell(&scripted("bursts=0")).await;
    assert_eq!((heard.body().events().len(), heard.body().whole), (2, true));
    assert_eq!(
        (record.output_tokens(), record.ended),
        (0, Ended::Completed)
    );
}

#[tokio::test(start_paused = true)]
async fn faults_shape_scripted_streams_too() {
    let mut stage = Stage::new(Profile::fast());
    let request = scripted("gap_us=1000;bursts=6").fault("coalesce=2,no-done,comments");
    let (heard, record) = stage.ask_and_tell(&request).await;
    assert!(!heard.body().text().contains("DONE"));
    assert!(heard.body().text().contains(": keep-alive"));
    assert_eq!(record.output_tokens(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_one_write() {
    let mut stage = Stage::new(Profile::fast());
    let (mut connection, writes) = stage.connect_counting();
    let request = scripted("first_us=1000;gap_us=0,0,7000;bursts=5;events=8;bytes=1000").text();
    talk(&mut connection, &stage.clock, request.as_bytes()).await;
    let writes = writes.lock().expect("no test panics with it").clone();
    // A chunk of 1000 bytes has 3 digits of size and two line ends around it.
    let burst = 8 * 1_007;
    assert_eq!(writes[1..6], [burst; 5], "{writes:?}");
    assert_eq!(writes.len(), 7, "the head before them, the end after them");
}
