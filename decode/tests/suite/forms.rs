//! One answer says the same in whatever form it was recorded, and that is what the corpus expects.

use crate::corpus::{Case, cases};
use decode::{AnswerReport, EndpointFrom, Form, Options, Report};
use serde_json::{Value, json};

fn options<'a>(case: &Case, request: &'a [u8]) -> Options<'a> {
    Options {
        endpoint: Some(decode::endpoint(&case.endpoint).unwrap()),
        request: Some(request),
        ..Options::default()
    }
}

/// What all forms have to agree on.
fn essence(answer: &AnswerReport) -> Value {
    let summary = serde_json::to_value(&answer.summary).unwrap();
    let events = answer.events.iter().map(|event| {
        json!([
            event.tokens,
            event.reason,
            event.shows,
            event
                .first
                .iter()
                .map(|first| json!(first))
                .collect::<Vec<_>>()
        ])
    });
    json!({"events": events.collect::<Vec<_>>(), "summary": summary})
}

fn only(report: &Report) -> &AnswerReport {
    assert_eq!(report.answers.len(), 1);
    &report.answers[0]
}

#[test]
fn a_body_is_read_as_the_corpus_expects() {
    for case in cases().iter().filter(|case| case.is_plain()) {
        let request = case.request_body();
        let read = decode::decode(&case.http(1000), &options(case, &request)).unwrap();
        let answer = only(&read);
        let (summary, expected) = (&answer.summary, &case.expected);
        let tokens: Vec<Option<u32>> = answer
            .events
            .iter()
            .filter(|event| event.tokens != Some(0))
            .map(|event| event.tokens)
            .collect();
        let found = json!({
            "events": answer.events.len(),
            "comments": summary.comments,
            "token_events": summary.token_events,
            "visible_events": summary.visible_events,
            "tokens_per_event": tokens,
            "input_tokens": expected["input_tokens"],
            "output_tokens": summary.output_tokens.count,
            "finish_reasons": summary.finish_reasons,
            "finish_state": summary.state,
            "terminator": summary.end_mark,
            "error": summary.error,
        });
        for (field, value) in found.as_object().unwrap() {
            assert_eq!(value, &expected[field], "{}: {field}", case.id);
        }
    }
}

#[test]
fn every_form_says_the_same() {
    let mut compared = 0;
    for case in cases()
        .iter()
        .filter(|case| !case.is_cut && !case.body.is_empty())
    {
        let request = case.request_body();
        let options = options(case, &request);
        let raw = decode::decode(&case.http(1 << 20), &options).unwrap();
        let expected = essence(only(&raw));
        let mut forms = vec![
            (Form::Http, case.http(7)),
            (Form::Http, case.curl()),
            (Form::Http, case.gzip()),
        ];
        if case.content_type != "application/grpc" {
            forms.push((Form::Har, case.har(true)));
        }
        if case.content_type != "application/grpc" && std::str::from_utf8(&case.body).is_ok() {
            forms.push((Form::Har, case.har(false)));
        }
        if case.expected["http_status"] == 200 {
            forms.push((Form::Body, case.body.clone()));
        }
        for (place, (form, bytes)) in forms.iter().enumerate() {
            let read = decode::decode(bytes, &options);
            let read = read.unwrap_or_else(|error| unreadable(case, place, &error));
            assert_eq!(read.form, *form, "{}", case.id);
            assert_eq!(
                essence(only(&read)),
                expected,
                "{} in form {place}",
                case.id
            );
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared}");
}

#[expect(clippy::panic, reason = "it fails the test")]
fn unreadable(case: &Case, form: usize, error: &decode::Error) -> Report {
    panic!("{} in form {form}: {error}", case.id)
}

#[test]
fn a_body_tells_its_route_or_the_error_names_them() {
    let (mut learned, mut untold) = (0, Vec::new());
    let with_body = |case: &&Case| case.expected["http_status"] == 200 && !case.body.is_empty();
    for case in cases().iter().filter(with_body) {
        match decode::decode(&case.body, &Options::default()) {
            Ok(report) => {
                let answer = only(&report);
                assert_eq!(answer.endpoint_from, EndpointFrom::Body);
                let alike = [answer.endpoint, &case.endpoint].map(|path| {
                    let path = path.replace("/v2/models/*/", "/v2/models/m/");
                    path.replace("/v2/models/ensemble/", "/v2/models/m/")
                });
                let same_dialect = alike[0] == alike[1]
                    || (alike[0].contains("/v2/models/") && alike[1].contains("/v2/models/"))
                    || alike.iter().all(|path| path.starts_with("/generate"));
                assert!(same_dialect, "{}: {alike:?}", case.id);
                learned += 1;
            }
            Err(error) => {
                assert!(error.is_usage(), "{}: {error}", case.id);
                assert!(
                    error.to_string().contains("/v1/chat/completions"),
                    "{error}"
                );
                untold.push(case.id.clone());
            }
        }
    }
    assert!(learned > 90, "{learned}; not told: {untold:?}");
}

#[test]
fn an_engine_tells_routes_apart() {
    let body = b"data: {\"choices\":[{\"index\":0,\"token_ids\":[1]}]}\n\ndata: [DONE]\n\n";
    let told = |engine| {
        let options = Options {
            engine: Some(engine),
            ..Options::default()
        };
        decode::decode(body, &options).map(|report| report.answers[0].endpoint)
    };
    assert!(told(wire::EngineKind::Vllm).is_err());
    assert_eq!(told(wire::EngineKind::Sglang).unwrap(), "/v1/completions");
}

#[test]
fn har_entries_that_are_no_answers_are_passed_over() {
    let case = &cases()[0];
    let har = case.har(false);
    let report = decode::decode(&har, &Options::default()).unwrap();
    assert_eq!(
        (only(&report).entry, only(&report).endpoint_from),
        (Some(1), EndpointFrom::Path)
    );
    assert_eq!(report.notes.len(), 1);
    assert!(
        report.answers[0]
            .notes
            .iter()
            .any(|note| note.contains("unpacked"))
    );
    let entry = |entry| Options {
        entry: Some(entry),
        ..Options::default()
    };
    assert_eq!(decode::decode(&har, &entry(1)).unwrap().answers.len(), 1);
    let error = decode::decode(&har, &entry(3)).unwrap_err();
    assert!(error.to_string().contains("the file has 3"), "{error}");
}

#[test]
fn heads_before_the_last_are_passed_over() {
    let case = cases()
        .into_iter()
        .find(|case| case.content_type == "text/event-stream")
        .unwrap();
    let redirect = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /b\r\ncontent-length: 0\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n";
    let bytes = [redirect.as_slice(), &case.http(50)].concat();
    let report = decode::decode(&bytes, &Options::default()).unwrap();
    assert_eq!(report.answers[0].status, 200);
    assert!(report.answers[0].notes[0].starts_with("2 earlier head(s)"));
}

#[test]
fn the_end_is_the_transports_where_the_recording_has_it() {
    let case = cases()
        .into_iter()
        .find(|case| case.id == "vllm-chat-plain-usage-cached")
        .unwrap();
    let whole = case.http(100);
    let outcome = |bytes: &[u8]| {
        let report = decode::decode(bytes, &Options::default()).unwrap();
        report.answers[0].summary.outcome
    };
    assert_eq!(outcome(&whole), "ok");
    assert_eq!(outcome(&whole[..whole.len() - 3]), "upstream_truncated");
    assert_eq!(outcome(&whole[..whole.len() / 2]), "upstream_truncated");
    let text = String::from_utf8(case.curl()).unwrap();
    let short = text.replace("transfer-encoding: chunked", "content-length: 100000");
    assert_eq!(outcome(short.as_bytes()), "upstream_truncated");
}
