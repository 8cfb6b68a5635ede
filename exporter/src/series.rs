//! The series of every family, and the order in which they are written.
//!
//! One field a family. Everything here is shared between the threads that observe and the one that scrapes; what a scrape
//! needs from a family it copies first and writes afterwards.

use std::fmt;
use std::sync::Arc;

use measure::{Outcome, ShapeEdges};
use parking_lot::Mutex;
use prometheus_client::encoding::DescriptorEncoder;

use crate::catalogue::{self, Family};
use crate::cells::{CellKey, Cells, Labels};
use crate::counters::{CounterKey, Counters};
use crate::descriptor::{RowEncoder, Rows, with_descriptor};
use crate::histogram::Histogram;
use crate::models::{Model, Models};
use crate::settings::{Build, Settings, Targets, Vocabulary};
use crate::unmeasured::Unmeasured;

/// The series of every family.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) models: Models,
    pub(crate) edges: ShapeEdges,
    targets: Targets,
    endpoints: Vec<&'static str>,
    build: Build,
    /// Who the engine is: values of the labels of `engine_info`.
    pub(crate) engine: Mutex<Option<[String; 5]>>,
    pub(crate) times: Times,
    pub(crate) amounts: Amounts,
    pub(crate) own: Own,
    /// Ours beside the engine's own.
    pub(crate) difference: Cells,
    pub(crate) counts: Counts,
}

/// Latencies of exchanges.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) ttft: Cells,
    pub(crate) ttfa: Cells,
    pub(crate) first_event: Cells,
    pub(crate) tpot: Cells,
    pub(crate) token_gaps: Cells,
    pub(crate) burst_gaps: Cells,
    pub(crate) max_stall: Cells,
    pub(crate) duration: Cells,
}

/// Sizes of exchanges.
#[derive(Debug)]
pub(crate) struct Amounts {
    pub(crate) input: Cells,
    pub(crate) output: Cells,
    pub(crate) arrivals: Cells,
}

/// The proxy's own part.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) upload: Single,
    pub(crate) connect: Single,
    pub(crate) delay: Single,
}

/// A family with one series.
#[derive(Debug)]
pub(crate) struct Single {
    pub(crate) cells: Cells,
    pub(crate) histogram: Arc<Histogram>,
}

/// Counters.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) requests: Counters,
    pub(crate) without_first_token: Counters,
    pub(crate) input_tokens: Counters,
    pub(crate) output_tokens: Counters,
    pub(crate) client_limited: Counters,
    pub(crate) buffered_upstream: Counters,
    pub(crate) unmeasured: Counters,
    pub(crate) passed: Counters,
    pub(crate) anomalies: Counters,
    pub(crate) rejected: Counters,
    pub(crate) overflow: Counters,
    pub(crate) panics: Counters,
    pub(crate) certificates_refused: Counters,
    pub(crate) engine_changes: Counters,
    pub(crate) engine_scrapes: Counters,
}

/// Values of the label `label` of `label_overflow_total`.
const OVERFLOWING: [&str; 6] = [
    catalogue::MODEL,
    SHAPE,
    catalogue::ROUTE,
    catalogue::REASON,
    catalogue::KIND,
    catalogue::RESULT,
];

/// The three shape labels together.
pub(crate) const SHAPE: &str = "shape";

/// Value of a label whose own value isn't in its closed set.
pub(crate) const OTHER: &str = "other";

impl Series {
    /// Every family, with the series that exist from the start. The settings are checked.
    pub(crate) fn new(settings: Settings) -> Self {
        let cells = |family: &'static Family| {
            let edges = family
                .buckets()
                .map_or_else(|| Arc::from([]), |buckets| settings.targets.among(buckets));
            Cells::new(family, edges, settings.max_cells)
        };
        let series = Self {
            models: Models::new(),
            times: Times::new(&cells),
            amounts: Amounts {
                input: cells(&catalogue::REQUEST_INPUT_TOKENS),
                output: cells(&catalogue::REQUEST_OUTPUT_TOKENS),
                arrivals: cells(&catalogue::ARRIVAL_CONCURRENCY),
            },
            own: Own {
                upload: Single::new(cells(&catalogue::REQUEST_UPLOAD)),
                connect: Single::new(cells(&catalogue::UPSTREAM_CONNECT)),
                delay: Single::new(cells(&catalogue::PROXY_DELAY)),
            },
            difference: cells(&catalogue::ENGINE_TIME_DIFFERENCE),
            counts: Counts::new(),
            edges: settings.shape,
            targets: settings.targets,
            endpoints: settings.vocabulary.endpoints.clone(),
            build: settings.build,
            engine: Mutex::default(),
        };
        series.counts.begin(&settings.vocabulary);
        series.begin_model(Model::OTHER);
        series
    }

    /// Lets the series of a model exist from now on, at 0, so that the first failure is a rise and not a beginning.
    pub(crate) fn begin_model(&self, model: Model) {
        for outcome in Outcome::ALL.map(Outcome::as_str) {
            let counts = &self.counts;
            counts
                .without_first_token
                .get(CounterKey::of_model(model, outcome));
        }
        for endpoint in &self.endpoints {
            self.begin_endpoint(model, endpoint);
        }
    }

    /// Every outcome of a route, once it is used: series for all routes of all models would be thousands that stay at 0.
    pub(crate) fn begin_endpoint(&self, model: Model, endpoint: &'static str) {
        for outcome in Outcome::ALL.map(Outcome::as_str) {
            let key = CounterKey::of_request(model, (endpoint, outcome));
            self.counts.requests.get(key);
        }
    }

    /// What belongs to no engine port but to the process.
    pub(crate) fn encode_process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let names = self.models.names();
        let labels = Labels {
            names: &names,
            edges: &self.edges,
        };
        let certificates = &self.counts.certificates_refused;
        with_descriptor(encoder, certificates.family(), |mut encoder| {
            certificates.write(&mut RowEncoder {
                encoder: &mut encoder,
                labels: &labels,
                port: None,
            })
        })?;
        self.encode_targets(encoder)?;
        with_descriptor(encoder, &catalogue::BUILD, |mut encoder| {
            encoder.encode_info(&[
                ("version", self.build.version.as_str()),
                ("revision", self.build.revision.as_str()),
            ])
        })
    }

    fn encode_targets(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        with_descriptor(encoder, &catalogue::SLO_TARGET, |mut encoder| {
            for (metric, targets) in self.targets.by_metric() {
                for (place, target) in targets.iter().enumerate() {
                    let level = (place + 1).to_string();
                    let labels = [("metric", metric), ("level", level.as_str())];
                    encoder.encode_family(&labels)?.encode_gauge(target)?;
                }
            }
            Ok(())
        })
    }
}

// Times, Amounts

impl Times {
    fn new(cells: &impl Fn(&'static Family) -> Cells) -> Self {
        Self {
            ttft: cells(&catalogue::TIME_TO_FIRST_TOKEN),
            ttfa: cells(&catalogue::TIME_TO_FIRST_ANSWER_TOKEN),
            first_event: cells(&catalogue::TIME_TO_FIRST_EVENT),
            tpot: cells(&catalogue::TIME_PER_OUTPUT_TOKEN),
            token_gaps: cells(&catalogue::INTER_TOKEN_LATENCY),
            burst_gaps: cells(&catalogue::INTER_BURST_LATENCY),
            max_stall: cells(&catalogue::MAX_STALL),
            duration: cells(&catalogue::REQUEST_DURATION),
        }
    }

    pub(crate) fn in_order(&self) -> [&Cells; 8] {
        [
            &self.ttft,
            &self.ttfa,
            &self.first_event,
            &self.tpot,
            &self.token_gaps,
            &self.burst_gaps,
            &self.max_stall,
            &self.duration,
        ]
    }
}

impl Amounts {
    pub(crate) fn in_order(&self) -> [&Cells; 3] {
        [&self.input, &self.output, &self.arrivals]
    }
}

// Single

impl Single {
    fn new(cells: Cells) -> Self {
        let (histogram, _) = cells.get(CellKey::default());
        Self { cells, histogram }
    }
}

// Counts

impl Counts {
    fn new() -> Self {
        Self {
            requests: Counters::new(&catalogue::REQUESTS),
            without_first_token: Counters::new(&catalogue::REQUESTS_WITHOUT_FIRST_TOKEN),
            input_tokens: Counters::new(&catalogue::INPUT_TOKENS_TOTAL),
            output_tokens: Counters::new(&catalogue::OUTPUT_TOKENS_TOTAL),
            client_limited: Counters::new(&catalogue::CLIENT_LIMITED),
            buffered_upstream: Counters::new(&catalogue::BUFFERED_UPSTREAM),
            unmeasured: Counters::new(&catalogue::UNMEASURED),
            passed: Counters::new(&catalogue::PASSED_REQUESTS),
            anomalies: Counters::new(&catalogue::ANOMALIES),
            rejected: Counters::new(&catalogue::REJECTED_REQUESTS),
            overflow: Counters::new(&catalogue::LABEL_OVERFLOW),
            panics: Counters::new(&catalogue::PANICS),
            certificates_refused: Counters::new(&catalogue::CERTIFICATES_REFUSED),
            engine_changes: Counters::new(&catalogue::ENGINE_CHANGES),
            engine_scrapes: Counters::new(&catalogue::ENGINE_SCRAPES),
        }
    }

    /// Lets the series without a model exist, at 0.
    fn begin(&self, vocabulary: &Vocabulary) {
        for family in [
            &self.client_limited,
            &self.buffered_upstream,
            &self.panics,
            &self.certificates_refused,
            &self.engine_changes,
        ] {
            family.get(CounterKey::default());
        }
        for (family, values) in [
            (
                &self.unmeasured,
                &Unmeasured::ALL.map(Unmeasured::as_str)[..],
            ),
            (&self.passed, &vocabulary.passing),
            (&self.anomalies, &vocabulary.anomalies),
            (&self.rejected, &vocabulary.rejections),
            (&self.overflow, &OVERFLOWING),
            (&self.engine_scrapes, &vocabulary.scrapes),
        ] {
            for value in values {
                family.get(CounterKey::of(value));
            }
        }
    }

    /// All but what is the process's.
    pub(crate) fn in_order(&self) -> [&Counters; 14] {
        [
            &self.requests,
            &self.without_first_token,
            &self.input_tokens,
            &self.output_tokens,
            &self.client_limited,
            &self.buffered_upstream,
            &self.unmeasured,
            &self.passed,
            &self.anomalies,
            &self.rejected,
            &self.overflow,
            &self.panics,
            &self.engine_changes,
            &self.engine_scrapes,
        ]
    }
}
