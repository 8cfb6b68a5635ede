//! Written values to [`Checked`], or every fault.
//!
//! There is no third way out: what stands in for a value that could not be read never leaves this room.

use crate::checked::{
    Checked, Drain, Engine, EngineTls, Identity, Limits, Log, Models, Shape, Slo, Tls, Upstream,
};
use crate::cross;
use crate::draft::{Draft, Flag, Found};
use crate::effective::Effective;
use crate::environment::Environment;
use crate::fault::Faults;
use crate::keys;
use crate::reader::Reader;

/// Everything that may say something about the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The file, already read.
    pub file: Option<FileText<'a>>,
    /// The environment.
    pub environment: &'a Environment,
    /// Flags, in the order given.
    pub flags: &'a [Flag],
}

/// A file's name and content.
#[derive(Debug, Clone, Copy)]
pub struct FileText<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// Content.
    pub text: &'a str,
}

/// The configuration that `sources` say, or everything that is wrong with it.
///
/// # Errors
/// [`Faults`], all of them at once.
pub fn check(sources: &Sources<'_>) -> Result<Effective, Faults> {
    let mut notes = Found::default();
    let draft = Draft::gather(sources, &mut notes);
    let mut reader = Reader::new(draft, notes);
    let mut checked = checked(&mut reader);
    cross::check(&checked, &mut reader);
    choose_a_port_for_each(&mut checked);
    match Faults::sorted(reader.notes.faults) {
        Some(faults) => Err(faults),
        None => Ok(Effective {
            checked,
            settings: reader.settings,
            warnings: reader.notes.warnings,
        }),
    }
}

/// Port 0 is a port of the system's choice for each of the engine's.
fn choose_a_port_for_each(checked: &mut Checked) {
    if let [only] = checked.listen.as_slice()
        && only.is_chosen_by_the_system()
    {
        checked.listen = vec![only.clone(); checked.upstream.at.len()];
    }
}

// ---------------------------------------------------------------------------------------- one line for every field

fn checked(reader: &mut Reader) -> Checked {
    Checked {
        listen: reader.take(&keys::LISTEN),
        half_close: reader.take(&keys::HALF_CLOSE),
        allow_upgrade: reader.take(&keys::ALLOW_UPGRADE),
        routes: reader.take(&keys::ROUTES),
        admin: reader.take(&keys::ADMIN_LISTEN),
        tls: tls(reader),
        upstream: upstream(reader),
        engine: engine(reader),
        models: Models {
            names: reader.take(&keys::MODELS_NAMES),
            learn: reader.take(&keys::MODELS_LEARN),
        },
        shape: Shape {
            input_len: reader.take(&keys::SHAPE_INPUT_LEN),
            output_len: reader.take(&keys::SHAPE_OUTPUT_LEN),
            concurrency: reader.take(&keys::SHAPE_CONCURRENCY),
            max_cells: reader.take_usize(&keys::SHAPE_MAX_CELLS),
        },
        slo: Slo {
            ttft: reader.take(&keys::SLO_TTFT),
            tpot: reader.take(&keys::SLO_TPOT),
            e2e: reader.take(&keys::SLO_E2E),
        },
        limits: limits(reader),
        drain: Drain {
            delay: reader.take(&keys::DRAIN_DELAY),
            timeout: reader.take(&keys::DRAIN_TIMEOUT),
        },
        log: Log {
            level: reader.take(&keys::LOG_LEVEL),
            format: reader.take(&keys::LOG_FORMAT),
        },
    }
}

fn upstream(reader: &mut Reader) -> Upstream {
    Upstream {
        at: reader.take(&keys::UPSTREAM_URL),
        protocol: reader.take(&keys::UPSTREAM_PROTOCOL),
        connect_timeout: reader.take(&keys::UPSTREAM_CONNECT_TIMEOUT),
        idle_timeout: reader.take(&keys::UPSTREAM_IDLE_TIMEOUT),
        max_idle: reader.take_usize(&keys::UPSTREAM_MAX_IDLE),
        ttft_timeout: reader.take(&keys::UPSTREAM_TTFT_TIMEOUT),
        silence_timeout: reader.take(&keys::UPSTREAM_SILENCE_TIMEOUT),
        tls: engine_tls(reader),
    }
}

fn tls(reader: &mut Reader) -> Option<Tls> {
    let certificate = reader.take(&keys::TLS_CERTIFICATE);
    let key = reader.take(&keys::TLS_KEY);
    let client_ca = reader.take(&keys::TLS_CLIENT_CA);
    // One without the other is a conflict, see `cross`.
    let (certificate, key) = certificate.zip(key)?;
    Some(Tls {
        certificate,
        key,
        client_ca,
    })
}

fn engine_tls(reader: &mut Reader) -> EngineTls {
    let ca = reader.take(&keys::UPSTREAM_TLS_CA);
    let server_name = reader.take(&keys::UPSTREAM_TLS_SERVER_NAME);
    let certificate = reader.take(&keys::UPSTREAM_TLS_CERTIFICATE);
    let key = reader.take(&keys::UPSTREAM_TLS_KEY);
    let identity = certificate
        .zip(key)
        .map(|(certificate, key)| Identity { certificate, key });
    EngineTls {
        ca,
        server_name,
        identity,
    }
}

fn engine(reader: &mut Reader) -> Engine {
    Engine {
        probe: reader.take(&keys::ENGINE_PROBE),
        scrape_interval: reader.take(&keys::ENGINE_SCRAPE_INTERVAL),
        kind: reader.take(&keys::ENGINE_KIND),
        version: reader.take(&keys::ENGINE_VERSION),
        model: reader.take(&keys::ENGINE_MODEL),
        precision: reader.take(&keys::ENGINE_PRECISION),
        max_model_len: reader.take(&keys::ENGINE_MAX_MODEL_LEN),
        usage: reader.take(&keys::ENGINE_USAGE),
        text: reader.take(&keys::ENGINE_TEXT),
        num_output_tokens: reader.take(&keys::ENGINE_NUM_OUTPUT_TOKENS),
    }
}

fn limits(reader: &mut Reader) -> Limits {
    Limits {
        connections: reader.take_usize(&keys::LIMITS_CONNECTIONS),
        tls_handshake: reader.take(&keys::LIMITS_TLS_HANDSHAKE),
        head_bytes: reader.take_usize(&keys::LIMITS_HEAD_BYTES),
        head_fields: reader.take_usize(&keys::LIMITS_HEAD_FIELDS),
        head_timeout: reader.take(&keys::LIMITS_HEAD_TIMEOUT),
        body_bytes: reader.take(&keys::LIMITS_BODY_BYTES),
        body_pause: reader.take(&keys::LIMITS_BODY_PAUSE),
        body_rate: reader.take(&keys::LIMITS_BODY_RATE),
        client_idle: reader.take(&keys::LIMITS_CLIENT_IDLE),
        client_write: reader.take(&keys::LIMITS_CLIENT_WRITE),
        client_rate: reader.take(&keys::LIMITS_CLIENT_RATE),
        http2_control_frames: reader.take_u32(&keys::LIMITS_HTTP2_CONTROL_FRAMES),
        http2_new_streams: reader.take_u32(&keys::LIMITS_HTTP2_NEW_STREAMS),
        queue_bytes: reader.take_usize(&keys::LIMITS_QUEUE_BYTES),
        queue_bytes_max: reader.take_usize(&keys::LIMITS_QUEUE_BYTES_MAX),
        queue_bytes_total: reader.take_usize(&keys::LIMITS_QUEUE_BYTES_TOTAL),
    }
}
