//! What the proxy forwards is one and the same request for everybody who reads it: nginx, HAProxy, uvicorn with either of
//! its parsers, and Node, each behind a `loadproof proxy` of its own, get the same bytes from the same clients; what they
//! read is held against the bytes that were forwarded, taken literally, and against what the rules say was sent.
//!
//! After each case a plain request follows, on the same connections where they last: it must be answered as itself.
//!
//! `LOADPROOF_PARSER_CASES` is how many generated cases are sent, always the same ones in the same order; 400 if it is
//! not set.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![allow(dead_code, reason = "the support is shared with other tests")]

#[path = "../../../proxy/tests/support/cases.rs"]
mod cases;
mod client;
#[path = "../../../proxy/tests/support/mutation.rs"]
mod mutation;
mod odd;
#[path = "../../../proxy/tests/support/reading.rs"]
mod reading;
mod report;
mod server;
mod sink;
#[path = "../support/mod.rs"]
mod support;
mod verdict;

use cases::{Case, Expect};
use client::Client;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reading::Rest;
use report::Report;
use server::{Kind, Server};
use std::net::SocketAddr;
use std::thread;
use support::Proxy;

/// What the guard adds, for readers.
const PAGE: &str = include_str!("../../../docs/STRICTNESS.md");

/// Generated cases, unless the environment says otherwise.
const GENERATED: usize = 400;

/// What one server made of one case.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Statuses that the client got, in order; without that of the request that follows.
    pub(crate) statuses: Vec<u16>,
    /// What the server read.
    pub(crate) reports: Vec<Report>,
    /// The connection on which it read the request that follows.
    pub(crate) next: String,
}

/// Sends each case to each server through a proxy; what they saw, in the order of `servers`, one for each case.
fn through_proxies(servers: &[Server], cases: &[Vec<u8>]) -> Vec<Vec<Seen>> {
    thread::scope(|scope| {
        let runs: Vec<_> = servers
            .iter()
            .map(|server| {
                scope.spawn(move || {
                    let proxy = Proxy::start(server.address, &[]);
                    let statuses = cases
                        .iter()
                        .enumerate()
                        .map(|(number, bytes)| send(proxy.address, bytes, number))
                        .collect();
                    slices(server, statuses)
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

fn marker(number: usize) -> String {
    format!("/marker/{number}/")
}

/// Sends a case and the request that follows; the statuses of the answers to the case.
fn send(address: SocketAddr, bytes: &[u8], number: usize) -> Vec<u16> {
    let (requests, rest) = reading::read_all(bytes);
    let mut client = Client::send(address, bytes);
    let mut statuses = Vec::new();
    for request in &requests {
        let Some(answer) = client.answer(&request.method) else {
            break;
        };
        statuses.push(answer.status);
    }
    let end = requests.last().map_or(0, |request| request.end);
    let goes_on = statuses.len() == requests.len() && rest == Rest::Open && end == bytes.len();
    if rest == Rest::Refused {
        while let Some(answer) = client.answer("GET") {
            statuses.push(answer.status);
        }
    }
    let target = marker(number);
    let plain = format!("GET {target} HTTP/1.1\r\nHost: marker.test\r\n\r\n");
    let on_the_same = goes_on
        .then(|| {
            client.send_more(plain.as_bytes());
            client.answer("GET")
        })
        .flatten();
    let answer = on_the_same
        .or_else(|| Client::send(address, plain.as_bytes()).answer("GET"))
        .expect("a plain request is answered");
    let read = Report::of_line(&answer.body);
    assert_eq!(
        read.map(|read| read.target),
        Some(target),
        "after {}: {answer:?}",
        bytes.escape_ascii()
    );
    statuses
}

/// What the server read, cut where the requests lie that followed the cases.
fn slices(server: &Server, statuses: Vec<Vec<u16>>) -> Vec<Seen> {
    let reports = server.reports_up_to(&marker(statuses.len() - 1));
    let mut reports = reports
        .into_iter()
        .filter(|report| !verdict::is_of_the_proxy(report));
    let cases = statuses.into_iter().enumerate().map(|(number, statuses)| {
        let target = marker(number);
        let mut seen = Seen {
            statuses,
            reports: Vec::new(),
            next: String::new(),
        };
        for report in reports.by_ref() {
            if report.target == target {
                seen.next = report.connection;
                break;
            }
            seen.reports.push(report);
        }
        assert!(
            !seen.next.is_empty(),
            "{:?} did not read {target}",
            server.kind
        );
        seen
    });
    cases.collect()
}

fn servers() -> Vec<Server> {
    let kinds = [Kind::Sink].into_iter().chain(Kind::PARSERS);
    kinds.map(Server::start).collect()
}

/// What the others read is what the sink read; returns how many requests each of them read of it.
fn all_agree(servers: &[Server], cases: &[Vec<u8>], seen: &[Vec<Seen>]) -> Vec<usize> {
    let (literal, others) = seen.split_first().unwrap();
    let mut faults = Vec::new();
    let mut read = Vec::new();
    for (server, seen) in servers[1..].iter().zip(others) {
        let mut count = 0;
        for ((bytes, literal), seen) in cases.iter().zip(literal).zip(seen) {
            match verdict::same(server, &servers[0], literal, seen) {
                Ok(()) => count += seen.reports.len(),
                Err(fault) => faults.push(format!(
                    "{}: {}\n  {fault}",
                    server.version,
                    bytes.escape_ascii()
                )),
            }
        }
        read.push(count);
    }
    assert!(
        faults.is_empty(),
        "{} disagree:\n{}",
        faults.len(),
        faults.join("\n")
    );
    read
}

#[test]
fn fault_34_refused_cases_reach_no_parser_and_delivered_ones_reach_each_once() {
    let servers = servers();
    let all = cases::all();
    let bytes: Vec<Vec<u8>> = all.iter().map(Case::bytes).collect();
    let seen = through_proxies(&servers, &bytes);
    for (server, seen) in servers.iter().zip(&seen) {
        for (case, seen) in all.iter().zip(seen) {
            verdict::as_stated(case, server, seen);
        }
    }
    all_agree(&servers, &bytes, &seen);
}

/// How many of the cases that must be refused a server reads as a request when nothing stands before it.
fn taken(server: &Server, refused: &[Vec<u8>]) -> usize {
    for (number, bytes) in refused.iter().enumerate() {
        Client::send(server.address, bytes).finish();
        let plain = format!(
            "GET {} HTTP/1.1\r\nHost: marker.test\r\n\r\n",
            marker(number)
        );
        let answer = Client::send(server.address, plain.as_bytes()).answer("GET");
        assert_eq!(answer.expect("a plain request is answered").status, 200);
    }
    let seen = slices(server, vec![Vec::new(); refused.len()]);
    seen.iter().filter(|seen| !seen.reports.is_empty()).count()
}

#[test]
fn fault_34_what_each_parser_takes_without_the_guard_is_what_the_page_says() {
    let all = cases::all();
    let refused = all
        .iter()
        .filter(|case| matches!(case.expect, Expect::Refuse { .. }));
    let refused: Vec<Vec<u8>> = refused.map(Case::bytes).collect();
    assert_eq!(refused.len(), 65);
    for kind in Kind::PARSERS {
        let server = Server::start(kind);
        let taken = taken(&server, &refused);
        assert!(
            taken > 0,
            "{} alone refuses all that we refuse",
            server.version
        );
        // The page names the versions that were measured; another one may have other habits.
        let rows = PAGE
            .lines()
            .filter_map(|line| line.strip_prefix(&format!("| {} | ", server.version)));
        for row in rows {
            let row = row.split(' ').next();
            assert_eq!(
                row,
                Some(taken.to_string().as_str()),
                "{}: docs/STRICTNESS.md",
                server.version
            );
        }
    }
}

fn family(prefixes: &[&str], count: usize) {
    let of_it = |case: &Case| prefixes.iter().any(|prefix| case.id.starts_with(prefix));
    let of_it: Vec<Case> = cases::all().into_iter().filter(of_it).collect();
    assert_eq!(of_it.len(), count);
    let servers = servers();
    let bytes: Vec<Vec<u8>> = of_it.iter().map(Case::bytes).collect();
    for (server, seen) in servers.iter().zip(through_proxies(&servers, &bytes)) {
        for (case, seen) in of_it.iter().zip(&seen) {
            verdict::as_stated(case, server, seen);
            let upgrade = seen
                .reports
                .iter()
                .find(|report| report.field("upgrade").is_some());
            assert!(upgrade.is_none(), "{upgrade:?}");
        }
    }
}

#[test]
fn fault_36_no_parser_sees_an_upgrade_or_what_hides_behind_one() {
    family(&["upgrade-"], 2);
}

#[test]
fn fault_37_no_option_of_connection_takes_a_field_from_a_parser() {
    family(&["nominate-"], 3);
}

#[test]
fn fault_38_no_parser_sees_connect_trace_or_another_authority() {
    family(&["method-", "absolute-form-", "version-2-0"], 5);
}

/// The same ones each time.
fn generated(count: usize) -> Vec<Vec<u8>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[35; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut draw = |strategy: &dyn Fn(&mut TestRunner) -> Vec<u8>| strategy(&mut runner);
    let mutated = |runner: &mut TestRunner| mutation::mutated().new_tree(runner).unwrap().current();
    let odd = |runner: &mut TestRunner| odd::requests().new_tree(runner).unwrap().current();
    (0..count)
        .map(|number| {
            if number % 3 == 0 {
                draw(&mutated)
            } else {
                draw(&odd)
            }
        })
        .collect()
}

#[test]
fn fault_35_what_is_forwarded_is_one_and_the_same_request_for_every_parser() {
    let count = std::env::var_os("LOADPROOF_PARSER_CASES").map_or(GENERATED, |count| {
        let count = count.to_str().and_then(|count| count.parse().ok());
        count.expect("LOADPROOF_PARSER_CASES is a number")
    });
    let cases = generated(count);
    let servers = servers();
    let seen = through_proxies(&servers, &cases);
    for (bytes, seen) in cases.iter().zip(&seen[0]) {
        verdict::as_meant(bytes, seen);
    }
    let forwarded: usize = seen[0].iter().map(|seen| seen.reports.len()).sum();
    assert!(
        forwarded > count / 2,
        "{forwarded} of {count} cases show something"
    );
    let read = all_agree(&servers, &cases, &seen);
    for ((server, read), seen) in servers[1..].iter().zip(read).zip(&seen[1..]) {
        assert!(
            read > forwarded / 2,
            "{} read {read} of {forwarded}",
            server.version
        );
        let kept = seen.iter().filter(|seen| {
            seen.reports
                .last()
                .is_some_and(|last| last.connection == seen.next)
        });
        let kept = kept.count();
        assert!(
            kept > count / 4,
            "{}: {kept} connections went on",
            server.version
        );
    }
}
