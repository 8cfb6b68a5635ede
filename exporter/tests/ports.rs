//! Several engine ports in one exposition: each family once, each series told apart, what is the process's once.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use exporter::{Exporter, Format, Live, Ports, catalogue};
use std::collections::BTreeSet;
use std::sync::Arc;
use support::{Story, exporter};

fn ports(ports: &[(&str, &Arc<Exporter>)]) -> Ports {
    let ports = ports.iter();
    Ports::new(ports.map(|(port, exporter)| ((*port).to_owned(), Arc::clone(exporter))))
}

fn text(ports: &Ports, live: &[Live]) -> String {
    let bytes = ports.encode(Format::Text, live.iter().copied());
    String::from_utf8(bytes.expect("encodes")).expect("UTF-8")
}

fn filled(requests: usize) -> Arc<Exporter> {
    let exporter = exporter(&["m"]);
    for _ in 0..requests {
        exporter.observe(&Story::default().record());
    }
    exporter.count_certificate_refused();
    exporter.set_engine(["vllm", "0.1", "m", "unstated", "4096"].map(str::to_owned));
    Arc::new(exporter)
}

#[test]
fn one_port_alone_is_written_as_an_exporter_by_itself() {
    let exporter = filled(3);
    let live = Live {
        prefill: 2,
        ..Live::default()
    };
    let alone = exporter.encode(Format::Text, &live).expect("encodes");
    let alone = String::from_utf8(alone).expect("UTF-8");
    assert!(!alone.contains(catalogue::ENGINE_PORT));
    assert_eq!(text(&ports(&[("8200", &exporter)]), &[live]), alone);
}

#[test]
fn several_are_told_apart_in_every_series_of_theirs() {
    let (one, other) = (filled(2), filled(5));
    let both = ports(&[("8200", &one), ("8201", &other)]);
    let live = [
        Live::default(),
        Live {
            decode: 7,
            oldest_without_token: Some(1.5),
            ..Live::default()
        },
    ];
    let text = text(&both, &live);

    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("# TYPE"))
        .collect();
    let once: BTreeSet<&str> = heads.iter().copied().collect();
    assert_eq!(once.len(), heads.len(), "a family is begun once");
    assert_eq!(heads.len(), catalogue::ALL.len());

    let series = text.lines().filter(|line| !line.starts_with('#'));
    for line in series.clone().filter(|line| !line.contains("engine_port=")) {
        let of_the_process = ["certificates_refused", "slo_target", "build_info"];
        assert!(
            of_the_process.iter().any(|name| line.contains(name)),
            "{line}"
        );
    }
    for expected in [
        "loadproof_in_flight_requests{phase=\"decode\",engine_port=\"8200\"} 0",
        "loadproof_in_flight_requests{phase=\"decode\",engine_port=\"8201\"} 7",
        "loadproof_oldest_request_without_token_seconds{engine_port=\"8201\"} 1.5",
        "loadproof_certificates_refused_total 1",
    ] {
        assert!(series.clone().any(|line| line == expected), "{expected}");
    }
    for (port, count) in [("8200", 2), ("8201", 5)] {
        let end = format!("engine_port=\"{port}\"}} {count}");
        let counted = |line: &&str| {
            line.starts_with("loadproof_time_to_first_token_seconds_count{") && line.ends_with(&end)
        };
        assert_eq!(series.clone().filter(counted).count(), 1, "{port}");
        let info = format!("max_model_len=\"4096\",engine_port=\"{port}\"}} 1");
        assert!(series.clone().any(|line| line.ends_with(&info)), "{port}");
    }
}
