//! What must hold between values, and what is allowed but likely not meant.
//!
//! A check is skipped where one of its values could not be read: that fault is already told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::checked::{Checked, EngineAt, Listen, Scheme, Shape};
use crate::effective::Setting;
use crate::keys;
use crate::kind::spell_duration;
use crate::reader::Reader;

/// How long engines that run on uvicorn keep an idle connection.
const UVICORN_KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Looks at all pairs.
pub(crate) fn check(checked: &Checked, reader: &mut Reader) {
    queues_nest(checked, reader);
    there_is_a_listener_for_each_engine_port(checked, reader);
    listeners_differ(checked, reader);
    engine_is_not_us(checked, reader);
    files_go_together(reader);
    tls_settings_are_of_use(checked, reader);
    idle_connections_end_before_the_engine_ends_them(checked, reader);
    late_tokens_are_measured(checked, reader);
    cells_fit(checked, reader);
    some_model_has_a_name(checked, reader);
}

// ------------------------------------------------------------------------------------------------------ conflicts

fn queues_nest(checked: &Checked, reader: &mut Reader) {
    let limits = &checked.limits;
    let own = ("limits.queue_bytes", limits.queue_bytes);
    let most = ("limits.queue_bytes_max", limits.queue_bytes_max);
    let total = ("limits.queue_bytes_total", limits.queue_bytes_total);
    for ((lower, low), (upper, high)) in [(own, most), (most, total)] {
        let (Some(first), Some(second)) = (reader.sound(lower), reader.sound(upper)) else {
            continue;
        };
        if low > high {
            let wrong = format!("{first} is above {second}");
            let fix = format!("lower {lower} or raise {upper}");
            reader.conflict((&first, &second), wrong, fix);
        }
    }
}

fn there_is_a_listener_for_each_engine_port(checked: &Checked, reader: &mut Reader) {
    let (Some(listen), Some(engine)) = (reader.sound("listen"), reader.sound("upstream.url"))
    else {
        return;
    };
    let (ours, theirs) = (checked.listen.len(), checked.upstream.at.len());
    let chosen = matches!(&*checked.listen, [only] if only.is_chosen_by_the_system());
    if ours != theirs && !chosen {
        let wrong = format!("{listen} and {engine} have {ours} and {theirs} ports");
        let fix = "give each port of the engine one to listen on: as many ports in listen as in upstream.url";
        reader.conflict((&listen, &engine), wrong, fix.to_owned());
    }
}

fn listeners_differ(checked: &Checked, reader: &mut Reader) {
    let (Some(data), Some(admin)) = (reader.sound("listen"), reader.sound("admin.listen")) else {
        return;
    };
    let mut addresses = checked.listen.iter().filter_map(Listen::address);
    if addresses.any(|listen| meets(listen, checked.admin)) {
        let wrong = format!("{data} and {admin} take the same port");
        reader.conflict(
            (&admin, &data),
            wrong,
            "give one of them another port".to_owned(),
        );
    }
}

/// A certificate is of no use without its key, and who may connect by TLS is of no use without TLS.
fn files_go_together(reader: &mut Reader) {
    for (path, needed) in [
        ("tls.certificate", "tls.key"),
        ("tls.key", "tls.certificate"),
        ("tls.client_ca", "tls.certificate"),
        ("upstream.tls.certificate", "upstream.tls.key"),
        ("upstream.tls.key", "upstream.tls.certificate"),
    ] {
        let (Some(one), Some(other)) = (reader.sound(path), reader.sound(needed)) else {
            continue;
        };
        if is_given(&one) && !is_given(&other) {
            let wrong = format!("of no use without {needed}");
            reader.conflict((&one, &other), wrong, format!("give {needed} too"));
        }
    }
}

/// Whether a file is named.
fn is_given(setting: &Setting) -> bool {
    !matches!(setting.text().as_str(), "none" | "auto")
}

/// A request that came back to us would go round until every connection is taken.
fn engine_is_not_us(checked: &Checked, reader: &mut Reader) {
    let engine_at = &checked.upstream.at;
    let admin = [Listen::Tcp(checked.admin)];
    for (path, listeners) in [
        ("listen", checked.listen.as_slice()),
        ("admin.listen", &admin),
    ] {
        let (Some(engine), Some(ours)) = (reader.sound("upstream.url"), reader.sound(path)) else {
            continue;
        };
        let comes_back = |ours| engine_at.iter().any(|engine| leads_to(engine, ours));
        if listeners.iter().any(comes_back) {
            let wrong = format!("the engine's address is our own {ours}");
            let fix = "give the place at which the engine listens".to_owned();
            reader.conflict((&engine, &ours), wrong, fix);
        }
    }
}

fn leads_to(engine: &EngineAt, listener: &Listen) -> bool {
    match (engine, listener) {
        (EngineAt::Tcp { host, port, .. }, Listen::Tcp(ours)) => addresses_of(host)
            .iter()
            .any(|address| meets(SocketAddr::new(*address, *port), *ours)),
        (EngineAt::Unix(theirs), Listen::Unix(ours)) => theirs == ours,
        _ => false,
    }
}

/// What is known of `host` without asking a resolver.
fn addresses_of(host: &str) -> Vec<IpAddr> {
    if host.eq_ignore_ascii_case("localhost") {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    host.parse().into_iter().collect()
}

/// Whether a connection to one may land on the other. Port 0 is not known yet and meets nothing.
fn meets(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    one.port() != 0 && one.port() == other.port() && (a == b || covers(a, b) || covers(b, a))
}

/// Whether `all` stands for every address of `one`'s family: `::` does for both, `0.0.0.0` for its own.
fn covers(all: IpAddr, one: IpAddr) -> bool {
    all.is_unspecified() && (all.is_ipv6() || one.is_ipv4())
}

// ------------------------------------------------------------------------------------------------------- warnings

fn idle_connections_end_before_the_engine_ends_them(checked: &Checked, reader: &mut Reader) {
    let Some(setting) = reader.sound("upstream.idle_timeout") else {
        return;
    };
    if checked.upstream.idle_timeout >= UVICORN_KEEP_ALIVE {
        let wrong = format!(
            "{} is not below the 5s after which engines on uvicorn close an idle connection; a request sent at that \
             moment fails with 502",
            setting.text()
        );
        reader.warn(
            &setting,
            wrong,
            "keep it below the engine's keep-alive, for example 3s",
        );
    }
}

fn tls_settings_are_of_use(checked: &Checked, reader: &mut Reader) {
    let by_tls = matches!(
        &*checked.upstream.at,
        [
            EngineAt::Tcp {
                scheme: Scheme::Https,
                ..
            },
            ..
        ]
    );
    if by_tls || reader.sound("upstream.url").is_none() {
        return;
    }
    for path in [
        "upstream.tls.ca",
        "upstream.tls.server_name",
        "upstream.tls.certificate",
    ] {
        if let Some(setting) = reader.sound(path).filter(is_given) {
            let wrong = "upstream.url is not https://, so nothing is made of it".to_owned();
            reader.warn(
                &setting,
                wrong,
                "write https:// in upstream.url, or remove it",
            );
        }
    }
}

/// A request that is cut before its target has passed can never be seen to miss it.
fn late_tokens_are_measured(checked: &Checked, reader: &mut Reader) {
    let (Some(cut), Some(target)) = (checked.upstream.ttft_timeout, checked.slo.ttft.last()) else {
        return;
    };
    let (Some(setting), Some(_)) = (
        reader.sound("upstream.ttft_timeout"),
        reader.sound("slo.ttft"),
    ) else {
        return;
    };
    if cut <= *target {
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
}

/// Each label has a value per edge, one above the last edge, and `unknown`. The defaults are meant to overflow: traffic that
/// fills every cell is rare, and room for all of them would triple the scrape.
fn cells_fit(checked: &Checked, reader: &mut Reader) {
    let shape = &checked.shape;
    let Some(setting) = reader.sound("shape.max_cells") else {
        return;
    };
    let labels = [&shape.input_len, &shape.output_len, &shape.concurrency];
    let cells: usize = labels.iter().map(|edges| edges.len() + 2).product();
    if cells > shape.max_cells && !is_default(shape) {
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

fn is_default(shape: &Shape) -> bool {
    *shape
        == Shape {
            input_len: (keys::SHAPE_INPUT_LEN.default)(),
            output_len: (keys::SHAPE_OUTPUT_LEN.default)(),
            concurrency: (keys::SHAPE_CONCURRENCY.default)(),
            max_cells: usize::try_from((keys::SHAPE_MAX_CELLS.default)()).unwrap_or(usize::MAX),
        }
}

fn some_model_has_a_name(checked: &Checked, reader: &mut Reader) {
    let (Some(setting), Some(_)) = (reader.sound("models.learn"), reader.sound("models.names"))
    else {
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
