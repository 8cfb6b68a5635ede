//! What must hold between values, and what is allowed but likely not meant.
//!
//! A check is skipped where one of its values could not be read: that fault is already told.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::check::Reader;
use crate::checked::Checked;
use crate::kind::spell_duration;

/// How long engines that run on uvicorn keep an idle connection.
const UVICORN_KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Looks at all pairs.
pub(crate) fn check(checked: &Checked, reader: &mut Reader) {
    queues_nest(checked, reader);
    listeners_differ(checked, reader);
    engine_is_not_us(checked, reader);
    idle_connections_end_before_the_engine_ends_them(checked, reader);
    first_token_may_miss_its_target(checked, reader);
    cells_fit(checked, reader);
    some_model_has_a_name(checked, reader);
}

fn queues_nest(checked: &Checked, reader: &mut Reader) {
    let limits = &checked.limits;
    let pairs = [
        (
            ("limits.queue_bytes", limits.queue_bytes),
            ("limits.queue_bytes_max", limits.queue_bytes_max),
        ),
        (
            ("limits.queue_bytes_max", limits.queue_bytes_max),
            ("limits.queue_bytes_total", limits.queue_bytes_total),
        ),
    ];
    for ((lower, low), (upper, high)) in pairs {
        let Some([first, second]) = reader.sound([lower, upper]).filter(|_| low > high) else {
            continue;
        };
        let said = (
            format!("{first} is above {second}"),
            format!("lower {lower} or raise {upper}"),
        );
        reader.conflict(&first, &second, said);
    }
}

fn listeners_differ(checked: &Checked, reader: &mut Reader) {
    let Some([data, admin]) = reader.sound(["listen", "admin.listen"]) else {
        return;
    };
    if meets(checked.listen, checked.admin) {
        let said = (
            format!("{data} and {admin} take the same port"),
            "give one of them another port".to_owned(),
        );
        reader.conflict(&admin, &data, said);
    }
}

/// A request that came back to us would go round until every connection is taken.
fn engine_is_not_us(checked: &Checked, reader: &mut Reader) {
    for (path, listener) in [("listen", checked.listen), ("admin.listen", checked.admin)] {
        let Some([engine, ours]) = reader.sound(["upstream.url", path]) else {
            continue;
        };
        let host = checked.upstream.host.as_str();
        let address = match host.parse::<IpAddr>() {
            Ok(address) => Some(address),
            Err(_) if host.eq_ignore_ascii_case("localhost") => Some(IpAddr::from([127, 0, 0, 1])),
            Err(_) => None,
        };
        let port = checked.upstream.port;
        if address.is_some_and(|address| meets(SocketAddr::new(address, port), listener)) {
            let said = (
                format!("the engine's address is our own {ours}"),
                "give the port on which the engine listens".to_owned(),
            );
            reader.conflict(&engine, &ours, said);
        }
    }
}

/// Whether a connection to one may land on the other. Port 0 is not known yet and meets nothing.
fn meets(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    let overlap = a == b || a.is_unspecified() || b.is_unspecified();
    let both_loopback = a.is_loopback() && b.is_loopback() && a.is_ipv4() != b.is_ipv4();
    one.port() != 0 && one.port() == other.port() && (overlap || both_loopback)
}

fn idle_connections_end_before_the_engine_ends_them(checked: &Checked, reader: &mut Reader) {
    let idle = checked.upstream.idle_timeout;
    let Some([setting]) = reader
        .sound(["upstream.idle_timeout"])
        .filter(|_| idle >= UVICORN_KEEP_ALIVE)
    else {
        return;
    };
    let wrong = format!(
        "{} is not below the 5s after which engines on uvicorn close an idle connection; a request sent at that moment \
         fails with 502",
        setting.text()
    );
    reader.warn(
        &setting,
        wrong,
        "keep it below the engine's keep-alive, for example 3s",
    );
}

fn first_token_may_miss_its_target(checked: &Checked, reader: &mut Reader) {
    let (Some(cut), Some(target)) = (checked.upstream.ttft_timeout, checked.slo.ttft.last()) else {
        return;
    };
    let Some([setting, _]) = reader
        .sound(["upstream.ttft_timeout", "slo.ttft"])
        .filter(|_| cut <= *target)
    else {
        return;
    };
    let wrong = format!(
        "requests are cut after {} and so never miss the target of {} in slo.ttft by being late",
        spell_duration(cut),
        spell_duration(*target)
    );
    reader.warn(
        &setting,
        wrong,
        "raise it well above the largest target, or turn it off",
    );
}

/// Each label has a value per edge, one above the last edge, and `unknown`.
fn cells_fit(checked: &Checked, reader: &mut Reader) {
    let shape = &checked.shape;
    let paths = [
        "shape.max_cells",
        "shape.input_len",
        "shape.output_len",
        "shape.concurrency",
    ];
    let Some([setting, ..]) = reader.sound(paths) else {
        return;
    };
    let cells: usize = [&shape.input_len, &shape.output_len, &shape.concurrency]
        .iter()
        .map(|edges| edges.len() + 2)
        .product();
    if cells > shape.max_cells {
        let wrong = format!(
            "the edges make {cells} cells, of which {} are kept apart",
            shape.max_cells
        );
        reader.warn(
            &setting,
            wrong,
            "raise it or give fewer edges; the rest counts as overflow",
        );
    }
}

fn some_model_has_a_name(checked: &Checked, reader: &mut Reader) {
    let Some([setting, _]) = reader.sound(["models.learn", "models.names"]) else {
        return;
    };
    if !checked.models.learn && checked.models.names.is_empty() {
        let wrong =
            "no name is listed and none is learned, so every model counts as other".to_owned();
        reader.warn(
            &setting,
            wrong,
            "list models.names, or leave models.learn on",
        );
    }
}
