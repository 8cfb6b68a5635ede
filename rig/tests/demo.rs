//! A short run of the demo, as its callers see it.

use rig::demo::{self, Options, Progress, Started, Watch};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Keeps what it is told.
#[derive(Default)]
struct Seen {
    started: Option<Started>,
    progress: Vec<Progress>,
}

impl Watch for Seen {
    fn started(&mut self, started: &Started) {
        self.started = Some(*started);
    }

    fn progress(&mut self, progress: &Progress) {
        self.progress.push(*progress);
    }
}

fn options() -> Options {
    Options {
        duration: Duration::from_secs(2),
        rate: 12.0,
        seed: 6,
        admin_listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
    }
}

#[test]
fn every_request_is_accounted_for_on_both_sides() {
    let mut seen = Seen::default();
    let report = demo::run(&options(), &mut seen).expect("it runs");
    let requests = report.requests;
    assert!(
        requests.answered > 0 && requests.left_early > 0,
        "{requests:?}"
    );
    assert_eq!(requests.answered + requests.left_early, requests.sent);
    assert_eq!(
        (requests.failed, requests.held_back, requests.in_flight_left),
        (0, 0, 0)
    );
    assert_eq!(
        (requests.records, requests.truths),
        (requests.sent, requests.sent)
    );
    assert_eq!((requests.paired, requests.unpaired), (requests.sent, 0));
    assert_eq!(report.outcomes.values().sum::<u64>(), requests.records);
    // A client that had read enough may have left with the last token.
    let ok = report.outcomes.get("ok").copied().unwrap_or(0);
    assert!(
        (requests.answered..=requests.sent).contains(&ok),
        "{:?}",
        report.outcomes
    );
    let in_cells: usize = report.cells.iter().map(|cell| cell.requests).sum();
    assert_eq!(in_cells as u64, requests.paired);
    assert_eq!(report.total.requests as u64, requests.paired);
    // Tokens of clients that left were written and not received; nobody received or reported one that was not written.
    assert!(requests.tokens_received <= requests.tokens_true);
    assert!(requests.tokens_reported <= requests.tokens_true);
    assert!(report.agreement.agrees.is_some());

    let started = seen.started.expect("it was told where things are");
    assert_ne!(started.proxy.port(), started.admin.port());
    let last = seen.progress.last().expect("it was told how far it is");
    assert_eq!(
        (last.done, last.in_flight, last.failed),
        (requests.sent, 0, 0)
    );
    assert!(last.ttft_p95.is_some());
    assert!(
        seen.progress
            .iter()
            .any(|progress| progress.tokens_per_second > 0.0)
    );
    assert!(
        seen.progress
            .windows(2)
            .all(|pair| pair[0].done <= pair[1].done)
    );
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for wrong in [
        Options {
            duration: Duration::ZERO,
            ..options()
        },
        Options {
            duration: Options::DURATION_MOST + Duration::from_secs(1),
            ..options()
        },
        Options {
            rate: 0.0,
            ..options()
        },
        Options {
            rate: f64::NAN,
            ..options()
        },
        Options {
            rate: -1.0,
            ..options()
        },
        Options {
            rate: Options::RATE_MOST + 1.0,
            ..options()
        },
    ] {
        let error = demo::run(&wrong, &mut Seen::default()).expect_err("it is refused");
        assert!(matches!(error, rig::Error::Option { .. }), "{error}");
    }
}
