//! Each kind, one line a case: what it reads, what it says of what it cannot read, and that it takes back what it shows.

use std::time::Duration;

use super::{
    Address, Auto, Choice, Count, EngineUrl, FileOrNone, LEVELS, ListenText, ModelName, Scalar,
    ServerName, Size, TOGGLE, Time, TimeOrOff,
};

/// The shown form of what `text` says, or the complaint.
fn said<S: Scalar>(kind: &S, text: &str) -> String {
    match kind.parse(text) {
        Ok(value) => {
            let shown = kind.show(&value);
            let text = shown
                .as_str()
                .map_or_else(|| shown.to_string(), str::to_owned);
            let again = kind.parse(&text).map(|again| kind.show(&again));
            assert_eq!(
                again.ok(),
                Some(shown),
                "{text} is not read as it was shown"
            );
            text
        }
        Err(complaint) => format!("{}; {}", complaint.wrong, complaint.fix),
    }
}

fn check<S: Scalar>(kind: &S, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(said(kind, text), *expected, "{text:?}");
    }
}

#[test]
fn durations() {
    let no_words = "not a duration; write whole numbers with h, m, s, ms or us, largest first, for example 2s, 500ms or 1m30s";
    let outside = "outside the range 1ms to 24h; write a value from 1ms to 24h";
    let kind = Time {
        least: Duration::from_millis(1),
        most: Duration::from_secs(86_400),
    };
    check(
        &kind,
        &[
            ("2s", "2s"),
            ("2000ms", "2s"),
            ("500ms", "500ms"),
            ("1m30s", "1m30s"),
            ("90s", "1m30s"),
            ("1h0m5s", "1h5s"),
            ("1500us", "1ms500us"),
            ("24h", "24h"),
            ("2", "a duration without a unit; write 2s or 2ms"),
            ("1.5s", no_words),
            ("30s1m", no_words),
            ("1s1s", no_words),
            ("s", no_words),
            ("1m s", no_words),
            ("2 s", no_words),
            ("2S", no_words),
            ("-1s", no_words),
            ("2s3", no_words),
            ("off", no_words),
            ("0s", outside),
            ("24h1us", outside),
            ("99999999999999999999h", outside),
            ("18446744073709551615h", outside),
        ],
    );
}

#[test]
fn durations_that_can_be_off() {
    let kind = TimeOrOff(Time {
        least: Duration::from_millis(1),
        most: Duration::from_secs(60),
    });
    check(
        &kind,
        &[
            ("off", "off"),
            ("none", "off"),
            ("false", "off"),
            ("2s", "2s"),
            (
                "0s",
                "outside the range 1ms to 1m; write a value from 1ms to 1m, or off",
            ),
            (
                "true",
                "not a duration; write whole numbers with h, m, s, ms or us, largest first, for example 2s, 500ms or 1m30s, or off",
            ),
        ],
    );
}

#[test]
fn sizes() {
    let not_a_size = "not a size; write bytes as a number, or with KiB, MiB or GiB, for example 65536, 64KiB or 512MiB";
    let outside = "outside the range 1KiB to 1GiB; write a value from 1KiB to 1GiB";
    check(
        &Size {
            least: 1 << 10,
            most: 1 << 30,
        },
        &[
            ("65536", "64KiB"),
            ("64KiB", "64KiB"),
            ("64 KiB", "64KiB"),
            ("1025", "1025"),
            ("1025B", "1025"),
            ("1024MiB", "1GiB"),
            ("64KB", not_a_size),
            ("64K", not_a_size),
            ("64Ki", not_a_size),
            ("64kib", not_a_size),
            ("1.5MiB", not_a_size),
            ("-1", not_a_size),
            ("0x400", not_a_size),
            ("MiB", not_a_size),
            ("0", outside),
            ("2GiB", outside),
            ("99999999999999999999", outside),
            ("18446744073709551615GiB", outside),
        ],
    );
}

#[test]
fn counts_words_and_toggles() {
    let digits = "not a whole number; write digits only, 1 to 64";
    let outside = "outside the range 1 to 64; write a value from 1 to 64";
    check(
        &Count { least: 1, most: 64 },
        &[
            ("1", "1"),
            ("064", "64"),
            ("65", outside),
            ("0", outside),
            ("184467440737095516160", outside),
            ("+1", digits),
            ("1_0", digits),
            ("1e1", digits),
        ],
    );
    let levels =
        "not one of error, warn, info, debug, trace; write one of error, warn, info, debug, trace";
    check(
        &LEVELS,
        &[("debug", "debug"), ("DEBUG", levels), ("warning", levels)],
    );
    let toggle = "not one of true, false; write one of true, false";
    check(
        &TOGGLE,
        &[
            ("true", "true"),
            ("false", "false"),
            ("yes", toggle),
            ("1", toggle),
        ],
    );
    let _: &Choice<bool> = &TOGGLE;
}

#[test]
fn addresses() {
    let not = |example: &str| {
        format!("not an address with a port; write ADDRESS:PORT, for example {example}")
    };
    for (text, expected) in [
        ("127.0.0.1:8080", "127.0.0.1:8080".to_owned()),
        ("0.0.0.0:0", "0.0.0.0:0".to_owned()),
        ("[::1]:8080", "[::1]:8080".to_owned()),
        ("8080", not("127.0.0.1:8080")),
        ("9000", not("127.0.0.1:9000")),
        (":9000", not("0.0.0.0:9000")),
        ("*:9000", not("0.0.0.0:9000")),
        ("localhost:9000", not("127.0.0.1:9000")),
        ("127.0.0.1", not("127.0.0.1:8080")),
        ("127.0.0.1:99999", not("127.0.0.1:8080")),
        ("::1:8080", not("127.0.0.1:8080")),
    ] {
        assert_eq!(said(&Address, text), expected, "{text:?}");
        assert_eq!(said(&ListenText, text), expected, "{text:?}");
    }
}

#[test]
fn ranges_of_ports() {
    let ascending =
        "a range of ports that does not ascend; write the lower port first, or one port alone";
    let range =
        "not a range of ports; write FIRST-LAST, for example 8000-8003, of ports from 1 to 65535";
    let long = "a range of 17 ports; give at most 16 ports, or run several proxies";
    for (ports, expected) in [
        ("8000-8003", None),
        ("8000-8015", None),
        ("65534-65535", None),
        ("8000-8016", Some(long)),
        ("8000-8000", Some(ascending)),
        ("8003-8000", Some(ascending)),
        ("0-3", Some(range)),
        ("8000-", Some(range)),
        ("8000-+8003", Some(range)),
        ("8000-8003-8006", Some(range)),
        ("65535-65536", Some(range)),
    ] {
        for host in ["127.0.0.1", "[::1]"] {
            let listen = format!("{host}:{ports}");
            let engine = format!("http://{listen}");
            assert_eq!(said(&ListenText, &listen), expected.unwrap_or(&listen));
            assert_eq!(said(&EngineUrl, &engine), expected.unwrap_or(&engine));
        }
    }
    let each = ListenText.parse("0.0.0.0:8000-8002").unwrap();
    let each: Vec<String> = each.iter().map(ToString::to_string).collect();
    assert_eq!(each, ["0.0.0.0:8000", "0.0.0.0:8001", "0.0.0.0:8002"]);
    let each = EngineUrl.parse("https://engine-0:8200-8201").unwrap();
    let each: Vec<String> = each.iter().map(ToString::to_string).collect();
    assert_eq!(each, ["https://engine-0:8200", "https://engine-0:8201"]);
}

#[test]
fn files_and_names_of_tls() {
    check(
        &FileOrNone,
        &[
            ("/etc/tls/tls.crt", "/etc/tls/tls.crt"),
            ("tls.key", "tls.key"),
            ("none", "none"),
            (
                "-----BEGIN PRIVATE KEY-----",
                "what belongs into a file; write it into a file and give the file's path",
            ),
        ],
    );
    check(
        &Auto(ServerName),
        &[
            ("engine.svc", "engine.svc"),
            ("10.0.0.1", "10.0.0.1"),
            ("::1", "::1"),
            ("auto", "auto"),
            (
                "*.svc",
                "not a name that a certificate can have; write a DNS name or an address, or auto",
            ),
        ],
    );
}

#[test]
fn unix_sockets_on_either_side() {
    let not_absolute = "not the absolute path of a socket; write unix:/PATH, for example unix:/run/loadproof/loadproof.sock";
    let longest = format!("unix:/{}", "s".repeat(106));
    let too_long = format!("{longest}s");
    for (text, expected) in [
        ("unix:/run/a.sock", "unix:/run/a.sock"),
        ("unix:/run/a b/é.sock", "unix:/run/a b/é.sock"),
        ("unix:run/a.sock", not_absolute),
        ("unix:", not_absolute),
        ("unix:/run/", not_absolute),
        (
            "unix:/run/a\u{7}",
            "a path with control characters; write a path of printable characters",
        ),
        (&longest, &longest),
        (
            &too_long,
            "a path of 108 bytes; give a path of at most 107 bytes, which is what the system takes for a socket",
        ),
    ] {
        assert_eq!(said(&ListenText, text), expected, "{text:?}");
        assert_eq!(said(&EngineUrl, text), expected, "{text:?}");
    }
}

#[test]
fn urls_of_an_engine() {
    let credentials = "credentials in the URL; remove what stands before the @; credentials that the client sends reach the engine as they are";
    let host = "not a host name or address; write http://HOST:PORT; a version 6 address stands in brackets, http://[::1]:8000";
    let port = "not a port that can be connected to; write a port from 1 to 65535";
    check(
        &EngineUrl,
        &[
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("http://engine.svc:8000/", "http://engine.svc:8000"),
            ("http://[::1]:8000", "http://[::1]:8000"),
            ("http://[0:0::1]:8000", "http://[::1]:8000"),
            (
                "127.0.0.1:8000",
                "a URL without http://; write http://127.0.0.1:8000",
            ),
            ("https://engine:8443/", "https://engine:8443"),
            ("https://[::1]:8443", "https://[::1]:8443"),
            (
                "https://engine:8443/v1",
                "a URL with a path; write https://engine:8443 only; paths are the client's",
            ),
            (
                "grpc://engine:8000",
                "not an http URL; write http://HOST:PORT or https://HOST:PORT",
            ),
            ("http://user:pass@engine:8000", credentials),
            (
                "http://engine:8000/v1",
                "a URL with a path; write http://engine:8000 only; paths are the client's",
            ),
            (
                "http://engine:8000?x=1",
                "a URL with a path; write http://engine:8000 only; paths are the client's",
            ),
            (
                "http://engine",
                "a URL without a port; write http://engine:8000",
            ),
            (
                "http://[::1]",
                "a URL without a port; write http://[::1]:8000",
            ),
            ("http://engine:0", port),
            ("http://engine:+80", port),
            ("http://engine:", port),
            ("http://:8000", host),
            ("http://::1:8000", host),
            ("http://en gine:8000", host),
            (
                "http://0.0.0.0:8000",
                "an address that stands for all of a host, to which nothing can connect; write http://127.0.0.1:PORT for an engine on the same host or pod",
            ),
        ],
    );
}

#[test]
fn names_of_models() {
    let taken = "the label value for models that are not listed; remove it, and give the model another name in the engine";
    let long = "m".repeat(129);
    check(
        &ModelName,
        &[
            ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
            ("a b, c", "a b, c"),
            ("other", taken),
            ("overflow", taken),
            (
                "a\nb",
                "a name with control characters; write the name as clients send it in \"model\"",
            ),
            (
                &long,
                "a name of 129 bytes; give the model a name of at most 128 bytes in the engine",
            ),
        ],
    );
}

#[test]
fn a_route_is_a_path_and_the_name_of_a_known_route() {
    use super::{RouteText, Scalar};
    for (text, shown) in [
        ("/team/chat=/v1/chat/completions", true),
        ("/*/chat=/", true),
        ("/a=b=/generate", true),
        ("/v2/x=/v2/models/*/generate", true),
        ("/team/chat", false),
        ("team=/generate", false),
        ("/team chat=/generate", false),
        ("/team?x=1=/generate", false),
        ("/team=/v1/embeddings", false),
        ("=/generate", false),
    ] {
        let read = RouteText.parse(text);
        let again = read.map(|route| RouteText.show(&route).to_string());
        assert_eq!(again.is_ok(), shown, "{text}");
        if let Ok(again) = again {
            assert_eq!(again, format!("{text:?}"));
        }
    }
}
