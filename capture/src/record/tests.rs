//! Rows give back the records that they were made of.

use super::*;

fn request() -> RequestFacts {
    RequestFacts {
        whole: true,
        model: Some("m".to_owned()),
        stream: Some(true),
        n: Some(2),
        prompts: Some(1),
        messages: Some(5),
        tools: Some(1),
        prompt_bytes: Some(900),
        max_tokens: Some(64),
        temperature: Some(0.5),
        top_p: Some(0.9),
        ..RequestFacts::default()
    }
}

fn stamps() -> Stamps {
    let ms = Nanos::from_millis;
    Stamps {
        arrival: ms(5_000),
        head_sent: Some(ms(5_001)),
        body_sent: Some(ms(5_002)),
        response_head: Some(ms(5_010)),
        first_event: Some(ms(5_020)),
        first_token: Some(ms(5_030)),
        first_answer: Some(ms(5_040)),
        last_token: Some(ms(5_958)),
        end: ms(5_960),
    }
}

/// A record that has everything that a row keeps.
fn full() -> Record {
    let ms = Nanos::from_millis;
    let mut gaps = GapHistogram::default();
    gaps.record(ms(7), Some(1));
    gaps.record(ms(21), Some(3));
    gaps.record(ms(900), None);
    Record {
        identity: Identity {
            id: 42,
            role: Role::Shadow,
            endpoint: Endpoint::ChatCompletions,
        },
        request: request(),
        answer_model: Some("m-1".to_owned()),
        status: Some(200),
        streamed: true,
        stamps: stamps(),
        in_flight: InFlightMeans {
            at_arrival: 3,
            life: Some(3.5),
            prefill: Some(4.0),
            decode: Some(3.25),
            decoders: Some(2.0),
        },
        engine_load: Some(EngineLoad {
            running: Some(4),
            waiting: Some(1),
            kv_usage: Some(0.25),
            age: ms(400),
            ..EngineLoad::default()
        }),
        outcome: Outcome::ClientAbortDecode,
        input_tokens: Some(210),
        input_source: CountSource::Usage,
        output_tokens: Some(9),
        output_tokens_min: 5,
        output_source: CountSource::Continuous,
        counts_exact: false,
        counted_tokens: 9,
        cached_tokens: Some(160),
        reasoning_tokens: Some(2),
        engine_times: EngineTimes {
            queue: Some(1),
            ttft: Some(2),
            e2e: Some(3),
            ..EngineTimes::default()
        },
        first_burst_tokens: 2,
        events: 8,
        bursts: 4,
        response_bytes: 1_234,
        request_bytes: 1_000,
        gaps,
        anomalies: vec![(Anomaly::BadJson, 2)],
        flags: Flags {
            client_limited: true,
            undelivered: true,
            ..Flags::default()
        },
    }
}

#[test]
fn a_record_comes_back_from_its_row() {
    let record = full();
    let row = Row::of(&record, 1_796_000_000_000_000);
    assert_eq!(row.wall_us, 1_796_000_005_000_000);
    assert_eq!(row.flags, ["client_limited", "undelivered"]);
    assert_eq!(row.record(), Ok(record));
}

#[test]
fn what_is_absent_stays_absent() {
    let mut record = full();
    record.stamps.first_token = None;
    record.stamps.last_token = None;
    record.gaps = GapHistogram::default();
    record.engine_load = None;
    record.input_tokens = None;
    record.input_source = CountSource::None;
    record.request = RequestFacts::default();
    record.in_flight.decode = None;
    record.flags = Flags::default();
    assert_eq!(Row::of(&record, 0).record(), Ok(record));
}

#[test]
fn every_word_of_a_closed_set_is_known_again() {
    let mut record = full();
    for endpoint in Endpoint::ALL.into_iter().chain(Endpoint::GRPC) {
        record.identity.endpoint = endpoint;
        assert_eq!(Row::of(&record, 0).record(), Ok(record.clone()));
    }
    for outcome in Outcome::ALL {
        record.outcome = outcome;
        assert_eq!(Row::of(&record, 0).record(), Ok(record.clone()));
    }
    for source in CountSource::ALL {
        record.output_source = source;
        assert_eq!(Row::of(&record, 0).record(), Ok(record.clone()));
    }
}

#[test]
fn a_word_from_elsewhere_is_named() {
    let row = Row::of(&full(), 0);
    let said = |row: Row| row.record().unwrap_err().to_string();
    let other = |change: fn(&mut Row)| {
        let mut row = row.clone();
        change(&mut row);
        said(row)
    };
    assert_eq!(
        other(|row| row.outcome = "great".to_owned()),
        "outcome is \"great\", which this version does not know"
    );
    assert!(other(|row| row.role = "x".to_owned()).starts_with("role is \"x\""));
    assert!(other(|row| row.flags.push("new".to_owned())).starts_with("flags is "));
    assert!(other(|row| row.endpoint = "/v9".to_owned()).starts_with("endpoint is "));
    let far = Gap {
        bucket: 9_999,
        bursts: 1,
        tokens: 1,
    };
    let mut row = row.clone();
    row.gaps.push(far);
    assert!(said(row).starts_with("gaps is "));
}
