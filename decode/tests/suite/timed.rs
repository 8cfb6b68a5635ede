//! Timed recordings: what came in one read is one burst, and its time is that of the read that made it whole.

use decode::{Options, Summary};

fn summary(lines: &str) -> Summary {
    let mut report = decode::decode(lines.as_bytes(), &Options::default()).unwrap();
    report.answers.remove(0).summary
}

const HEAD: &str = r#"{"at_ms":5,"head":{"path":"/v1/chat/completions","status":200,"content-type":"text/event-stream"}}"#;

fn event(text: &str) -> String {
    format!(r#"data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}"#)
}

#[test]
fn an_event_is_dated_by_the_read_that_made_it_whole() {
    let (a, b, c) = (event("a"), event("b"), event("c"));
    let lines = [
        HEAD.to_owned(),
        format!(r#"{{"at_ms":10,"data":"{a}"}}"#),
        format!(r#"{{"at_ms":50.5,"data":"\n\n{b}\n\n{c}\n\n"}}"#),
        r#"{"at_ms":60,"data":"data: [DONE]\n\n"}"#.to_owned(),
        r#"{"at_ms":61,"end":"clean"}"#.to_owned(),
    ];
    let report = decode::decode(lines.join("\n").as_bytes(), &Options::default()).unwrap();
    let at: Vec<Option<f64>> = report.answers[0]
        .events
        .iter()
        .map(|event| event.at_ms)
        .collect();
    assert_eq!(at, [Some(10.0), Some(50.5), Some(50.5), Some(60.0)]);
    let times = report.answers[0].summary.times.as_ref().unwrap();
    assert_eq!((times.ttft_ms, times.bursts), (Some(10.0), 2));
    assert_eq!((times.gap_mean_ms, times.e2e_ms), (Some(40.5), Some(61.0)));
}

#[test]
fn without_an_end_it_broke_off() {
    let lines = format!(
        "{HEAD}\n{{\"at_ms\":10,\"data\":\"{}\\n\\n\"}}\n",
        event("a")
    );
    let cut = summary(&lines);
    assert_eq!(
        (cut.outcome, cut.transport),
        ("upstream_truncated", "truncated")
    );
    assert_eq!(cut.times.unwrap().ttft_ms, Some(10.0));
    let reset = summary(&format!("{lines}{{\"at_ms\":11,\"end\":\"reset\"}}"));
    assert_eq!(
        (reset.outcome, reset.transport),
        ("upstream_reset", "reset")
    );
}
