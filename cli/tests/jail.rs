//! The binary shut into namespaces of its own by bubblewrap, and under a clock that libfaketime sets: what it can do without,
//! and what it must not rely on. `make e2e` brings the programs. The numbers are those of docs/FAULTS.md.
//!
//! Limits: Linux, where whoever runs the tests may make user namespaces.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    unused_imports,
    reason = "a test fails by panicking, and the support is shared with other tests"
)]

mod support;

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;
use support::{BINARY, Open, Program, Proxy, client, eventually, terminate, tool};

const CHAT: &str = "/v1/chat/completions";
const FIX: &str = "run `make e2e`, or `scripts/setup jail` once";

/// Who the image's user is.
const USER: &str = "65532";

/// The whole file system, read-only, for this user; no capability, and no way to get one.
fn jail(user: &str) -> Command {
    let mut command = Command::new(tool("bwrap"));
    command.args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]);
    command.args(["--unshare-user", "--uid", user, "--gid", user]);
    command.args(["--unshare-ipc", "--unshare-uts", "--new-session"]);
    // The process at the other end of it must not outlive the test.
    command.args(["--die-with-parent", "--cap-drop", "ALL"]);
    command
}

/// The process that a program led to by starting others.
fn innermost(id: u32) -> u32 {
    let children = format!("/proc/{id}/task/{id}/children");
    let children = fs::read_to_string(children).unwrap();
    let child = children.split_whitespace().next();
    child.map_or(id, |child| innermost(child.parse().unwrap()))
}

/// A line of a process's status.
fn status(id: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim_start_matches(':').trim().to_owned()
}

/// An engine that answers everyone by one function, which gets the request as far as its first read.
fn engine(serve: impl Fn(TcpStream, String) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = vec![0; 1 << 16];
            let read = socket.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            serve(socket, request);
        }
    });
    address
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

#[test]
fn fault_81_it_runs_without_root_capabilities_or_a_place_to_write_to() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    let engine = engine(move |mut socket, _| {
        let _ = socket.write_all(answer.as_bytes());
        let _ = socket.shutdown(Shutdown::Write);
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
    });
    let mut command = jail(USER);
    command.arg(BINARY);
    let proxy = Proxy::by(
        command,
        &format!("http://{engine}"),
        &["--set", "drain.delay=0s"],
    );
    for path in [CHAT, "/v1/embeddings"] {
        assert_eq!(client::post(proxy.address, path, "{}").text(), "{}");
    }
    assert_eq!(client::get(proxy.admin, "/-/ready").status(), 200);
    eventually("both are counted", || {
        let counted = proxy.metric("loadproof_requests_total", &[])
            + proxy.metric("loadproof_passed_requests_total", &[]);
        (counted >= 2.0).then_some(())
    });

    let id = innermost(proxy.program().id());
    assert_eq!(status(id, "Name"), "loadproof");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status(id, set).trim_start_matches('0'), "", "{set}");
    }
    assert_eq!(status(id, "NoNewPrivs"), "1");
    let map = fs::read_to_string(format!("/proc/{id}/uid_map")).unwrap();
    assert_eq!(map.split_whitespace().next(), Some(USER), "{map}");
    holds_nothing_on_disk(id);

    terminate(id);
    assert_eq!(proxy.ended().code(), Some(0));
}

/// Nothing that is mounted from a disk can be written to, and no file there is open but for reading.
fn holds_nothing_on_disk(id: u32) {
    let mounts = fs::read_to_string(format!("/proc/{id}/mountinfo")).unwrap();
    let root = mounts
        .lines()
        .find(|line| line.split(' ').nth(4) == Some("/"));
    let options = root.and_then(|line| line.split(' ').nth(5)).unwrap();
    assert!(options.split(',').any(|option| option == "ro"), "{options}");
    let mut sockets = 0;
    for entry in fs::read_dir(format!("/proc/{id}/fd")).unwrap() {
        let entry = entry.unwrap();
        let Ok(target) = fs::read_link(entry.path()) else {
            continue;
        };
        let target = target.to_string_lossy().into_owned();
        sockets += usize::from(target.starts_with("socket:"));
        let known = ["socket:", "pipe:", "anon_inode:", "/dev/null"];
        let info = format!("/proc/{id}/fdinfo/{}", entry.file_name().display());
        // The last digit of the flags is how it was opened: 0 is for reading only.
        let reads = fs::read_to_string(info).is_ok_and(|info| {
            info.lines()
                .any(|line| line.starts_with("flags") && line.ends_with('0'))
        });
        let is_known = known.iter().any(|known| target.starts_with(known));
        assert!(is_known || reads, "{target} is open for writing");
    }
    assert!(sockets >= 2, "it listens twice");
}

/// Two engines in a network of its own, the first of which listens on its outer address as well; and a proxy before each.
/// What stands in for the engines is this program too, which only has to accept connections.
const AROUND: &str = r#"
set -eu
ip address add 10.77.0.7/32 dev lo
ip route add default dev lo
start() { "$0" proxy --log-format json --set engine.probe=false --listen "$1" --admin-listen "$2" --upstream "$3" 2>&1 & }
start 0.0.0.0:8000 127.0.0.1:9000 http://127.0.0.1:9
start 127.0.0.1:8001 127.0.0.1:9001 http://127.0.0.1:9
# Who is not there yet when it is looked for is looked for again only after a minute.
for port in 8000 8001; do
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
done
start 127.0.0.1:8100 127.0.0.1:9100 http://127.0.0.1:8000
start 127.0.0.1:8101 127.0.0.1:9101 http://127.0.0.1:8001
ask() {
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET /engine HTTP/1.0\r\n\r\n' >&3
    cat <&3
}
for port in 9100 9101; do
    until said=$(ask $port 2>/dev/null | grep -oE '"reachable_around": ?(true|false)'); do sleep 0.05; done
    echo "$port says $said"
done
wait
"#;

#[test]
fn fault_85_an_engine_that_can_be_reached_around_us_is_told_and_warned_of() {
    // Whoever furnishes a network is root in it.
    let mut command = jail("0");
    command.args(["--unshare-net", "--cap-add", "CAP_NET_ADMIN"]);
    command.args(["--unshare-pid", "bash", "-c", AROUND, BINARY]);
    let folder = tool("ip");
    if let (Some(folder), Some(path)) = (folder.parent(), std::env::var_os("PATH")) {
        let folders = [folder.to_owned(), "/usr/sbin".into(), "/sbin".into()];
        let folders = folders.into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap());
    }
    let program = Program::start("bwrap", &mut command, FIX);
    let said = |port: u16| {
        program.heard("what it found", |line| {
            line.strip_prefix(&format!("{port} says "))
                .map(str::to_owned)
        })
    };
    assert!(said(9100).ends_with("true"));
    assert!(said(9101).ends_with("false"));
    let warnings: Vec<Value> = program
        .lines()
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["level"] == "WARN")
        .collect();
    let [warning] = &warnings[..] else {
        panic!("one warning: {warnings:?}");
    };
    assert_eq!(warning["fields"]["address"], "10.77.0.7:8000", "{warning}");
}

/// The library that lies to a program about the date.
fn faketime() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let places = [root.join(".tools/debian/usr/lib"), "/usr/lib".into()];
    let of_machine = |place: &PathBuf| Some(fs::read_dir(place).ok()?.flatten());
    let folders = places.iter().filter_map(of_machine).flatten();
    let mut files = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1"));
    files.find(|file| file.exists()).expect(FIX)
}

#[test]
fn fault_75_a_date_that_jumps_by_days_while_a_stream_runs_is_in_no_figure() {
    const EVENT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let (next, told) = sync_channel::<()>(1);
    let told: Receiver<()> = told;
    let engine = engine(move |mut socket, request| {
        if !request.starts_with("POST") {
            return;
        }
        for piece in [HEAD.to_owned(), chunk(EVENT), chunk(EVENT)] {
            told.recv().unwrap();
            socket.write_all(piece.as_bytes()).unwrap();
        }
        told.recv().unwrap();
        let end = chunk("data: [DONE]\n\n") + "0\r\n\r\n";
        socket.write_all(end.as_bytes()).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let date = folder.path().join("date");
    // Put in its place as a whole: it is read at any moment.
    let set = |offset: &str| {
        let new = folder.path().join("new");
        fs::write(&new, offset).unwrap();
        fs::rename(&new, &date).unwrap();
    };
    set("+0d");
    let mut command = Command::new(BINARY);
    command.env("LD_PRELOAD", faketime());
    command.env("FAKETIME_TIMESTAMP_FILE", &date);
    command.env("FAKETIME_NO_CACHE", "1");
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let proxy = Proxy::by(
        command,
        &format!("http://{engine}"),
        &["--set", "drain.delay=0s"],
    );
    let mut open = Open::post(proxy.address, CHAT, r#"{"stream":true,"messages":[]}"#);
    next.send(()).unwrap();
    open.read_until("\r\n\r\n");
    for (offset, count) in [("+3d", 1), ("-5d", 2)] {
        set(offset);
        next.send(()).unwrap();
        open.read_until(&chunk(EVENT).repeat(count));
    }
    set("+9d");
    next.send(()).unwrap();
    let answer = open.finish();
    eventually("it is counted", || {
        let ok = proxy.metric("loadproof_requests_total", &["outcome=\"ok\""]);
        (ok == 1.0).then_some(())
    });
    // The client's own watch ran from before the request to after the end.
    let whole = answer.ended.as_secs_f64();
    for name in [
        "time_to_first_token",
        "inter_burst_latency",
        "request_duration",
    ] {
        let sum = proxy.metric(&format!("loadproof_{name}_seconds_sum"), &[]);
        let count = proxy.metric(&format!("loadproof_{name}_seconds_count"), &[]);
        assert!(count >= 1.0, "{name}");
        assert!(sum > 0.0 && sum <= whole, "{name}: {sum} s of {whole} s");
    }
    // What it says of its end has the last date.
    proxy.program().terminate();
    eventually("its log shows that the date did jump", || {
        (spread_in_days(proxy.program()) >= 8).then_some(())
    });
}

/// Days between the earliest and the latest date in a log.
fn spread_in_days(program: &Program) -> u64 {
    let lines = program.lines();
    let days = lines.iter().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let date = line["timestamp"].as_str()?.split('T').next()?.to_owned();
        let mut parts = date.split('-').map(|part| part.parse::<u64>().unwrap());
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        // Near enough to tell nine days from none.
        Some(year * 366 + month * 31 + day)
    });
    let days: Vec<u64> = days.collect();
    days.iter().max().unwrap() - days.iter().min().unwrap()
}
