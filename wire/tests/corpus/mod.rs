//! A corpus of answers as engines send them: a folder with `expected.json` and the byte streams that it names.
//!
//! What each field means is written in `tests/fixtures/corpus/README.md`. The tests run the corpus that lies there; the
//! example `corpus` runs any folder of the same form.

#![allow(
    dead_code,
    reason = "each of those who include this module uses a part of it"
)]

mod compare;
mod http1;
mod replay;

pub(crate) use compare::Difference;
pub(crate) use replay::{Observed, Reads};

use serde::Deserialize;
use serde_json::{Map, Value};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use wire::{Accumulation, AnswerContext, Endpoint, TransportEnd};

/// The cases of a folder, in the order of its `expected.json`.
pub(crate) struct Corpus {
    folder: PathBuf,
    pub(crate) cases: Vec<Case>,
}

/// One answer and what can be known from it.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) engine: String,
    pub(crate) endpoint: String,
    file: PathBuf,
    bytes: usize,
    framing: Framing,
    request: Request,
    transport_eof: Eof,
    splits: Option<Vec<usize>>,
    expected: Map<String, Value>,
}

/// What the file of a case holds.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
enum Framing {
    /// The body of an event stream.
    #[serde(rename = "sse")]
    Sse,
    /// The same, compressed by gzip.
    #[serde(rename = "sse+gzip")]
    SseGzip,
    /// One JSON body.
    #[serde(rename = "json")]
    Json,
    /// A JSON object a line.
    #[serde(rename = "ndjson")]
    Lines,
    /// A raw HTTP/1.1 response.
    #[serde(rename = "http1")]
    Http1,
    /// gRPC messages.
    #[serde(rename = "grpc")]
    Grpc,
    /// One that is not decoded.
    #[serde(other)]
    Other,
}

/// What a reader knows of the request.
#[derive(Deserialize)]
struct Request {
    stream: Option<bool>,
    n: Option<u32>,
    prompts: Option<u32>,
    echo: Option<bool>,
    incremental: Option<bool>,
    text_mode: Option<Mode>,
    num_output_tokens: Option<Mode>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Delta,
    Cumulative,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Eof {
    Clean,
    Cut,
}

/// How a case ended.
pub(crate) enum Verdict {
    /// Every field is as expected, however the bytes were cut.
    Pass,
    /// These are not.
    Fail(Vec<Difference>),
    /// The endpoint or the framing is not decoded by this build.
    Skipped,
}

#[derive(Deserialize)]
struct Listing {
    cases: Vec<Case>,
}

impl Request {
    fn text_mode(&self) -> Option<Accumulation> {
        let incremental = self.incremental.map(|incremental| match incremental {
            true => Accumulation::Delta,
            false => Accumulation::Cumulative,
        });
        self.text_mode.map(Accumulation::from).or(incremental)
    }

    fn num_output_tokens(&self) -> Option<Accumulation> {
        self.num_output_tokens.map(Accumulation::from)
    }
}

impl From<Mode> for Accumulation {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Delta => Self::Delta,
            Mode::Cumulative => Self::Cumulative,
        }
    }
}

impl Corpus {
    /// Reads the listing of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let path = folder.join("expected.json");
        let text =
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let listing: Listing = serde_json::from_slice(&text)
            .map_err(|error| format!("cannot understand {}: {error}", path.display()))?;
        Ok(Self {
            folder: folder.to_owned(),
            cases: listing.cases,
        })
    }

    /// The bytes of a case.
    pub(crate) fn bytes(&self, case: &Case) -> Result<Vec<u8>, Box<dyn Error>> {
        let path = self.folder.join(&case.file);
        let bytes =
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if bytes.len() != case.bytes {
            return Err(format!(
                "{} has {} bytes, {} are listed",
                path.display(),
                bytes.len(),
                case.bytes
            )
            .into());
        }
        Ok(bytes)
    }

    /// Runs a case by its own reads, and in reads of 1 and of 7 bytes.
    pub(crate) fn check(&self, case: &Case) -> Result<Verdict, Box<dyn Error>> {
        let Some(endpoint) = case.decoded_endpoint() else {
            return Ok(Verdict::Skipped);
        };
        let bytes = self.bytes(case)?;
        let mut differences = Vec::new();
        for reads in case.all_reads() {
            let observed = replay::run(case, endpoint, (&bytes, reads))?;
            differences.extend(compare::differences(&case.expected, &observed, reads));
        }
        Ok(if differences.is_empty() {
            Verdict::Pass
        } else {
            Verdict::Fail(differences)
        })
    }

    /// Plays a case by its own reads.
    pub(crate) fn play(&self, case: &Case) -> Result<Observed, Box<dyn Error>> {
        let endpoint = case
            .decoded_endpoint()
            .ok_or("the endpoint is not decoded")?;
        let [reads, ..] = case.all_reads();
        replay::run(case, endpoint, (&self.bytes(case)?, reads))
    }
}

impl Case {
    /// What the engine really did, where the bytes don't show it.
    pub(crate) fn truth(&self, field: &str) -> Option<u64> {
        self.expected.get("truth")?.get(field)?.as_u64()
    }

    /// The case's endpoint, if this build decodes it in the case's framing.
    pub(crate) fn decoded_endpoint(&self) -> Option<Endpoint> {
        let method =
            |endpoint: &Endpoint| endpoint.as_str().trim_start_matches('/') == self.endpoint;
        match self.framing {
            Framing::Other => None,
            Framing::Grpc => Endpoint::GRPC.into_iter().find(method),
            _ => Endpoint::of("POST", &self.endpoint),
        }
    }

    /// Whether its bytes are the body of an event stream.
    pub(crate) fn is_event_stream(&self) -> bool {
        self.framing == Framing::Sse
    }

    /// What is known of its answer without a head.
    pub(crate) fn context(&self, endpoint: Endpoint, status: u16) -> AnswerContext<'static> {
        let request = &self.request;
        AnswerContext {
            stream_requested: request.stream,
            n: request.n,
            prompts: request.prompts,
            echo: request.echo,
            text_mode: request.text_mode(),
            num_output_tokens: request.num_output_tokens(),
            ..AnswerContext::new(endpoint, status)
        }
    }

    fn all_reads(&self) -> [Reads<'_>; 3] {
        [
            self.splits.as_deref().map_or(Reads::Whole, Reads::EndAt),
            Reads::Of(1),
            Reads::Of(7),
        ]
    }

    fn transport_end(&self) -> TransportEnd {
        match self.transport_eof {
            Eof::Clean => TransportEnd::Clean,
            Eof::Cut => TransportEnd::Cut,
        }
    }
}
