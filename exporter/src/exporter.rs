//! The exporter: records in, an exposition out.
//!
//! [`Exporter::observe`] is called between two tokens of somebody's stream. Once a record's cells exist it is a handful of
//! look-ups and one short lock per histogram: 7 µs for an answer of 256 tokens. A scrape copies what it needs from each
//! family and writes from the copies. It keeps its thread for as long as it takes, so who calls it should let others run between
//! two of them.
//!
//! Only production traffic is observed: a shadow's or a replay's records would mix another load into the user's own.

use std::sync::Arc;

use measure::{
    Beside, Blame, Flags, GapBucket, GapHistogram, Nanos, Outcome, Progress, Record, Role, Shape,
};
use prometheus_client::encoding::{prometheus_protobuf, prometheus_text, text};
use prometheus_client::registry::Registry;

use crate::catalogue;
use crate::cells::{CellKey, Cells, Found, Place};
use crate::counters::{CounterKey, Counters};
use crate::error::Error;
use crate::exposition::{Exposition, Part};
use crate::format::Format;
use crate::histogram::{Counted, Histogram};
use crate::live::Live;
use crate::models::{Learned, MODEL_NAME_BYTES, MODELS_MAX, Model};
use crate::series::{OTHER, SHAPE, Series};
use crate::settings::Settings;
use crate::unmeasured::Unmeasured;

/// Source of tokens counted while a stream runs.
const EVENTS: &str = "events";

/// Records in, an exposition out. Shared by all threads.
#[derive(Debug)]
pub struct Exporter {
    series: Arc<Series>,
}

// Exporter: the start

impl Exporter {
    /// An exporter with every series that exists from the start.
    ///
    /// # Errors
    /// If a model name or a target can't be exported, if there are too many of them, or if no cell is allowed.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.targets.check()?;
        if settings.max_cells == 0 {
            return Err(Error::NoCells);
        }
        if settings.models.len() > MODELS_MAX {
            return Err(Error::TooManyModels {
                count: settings.models.len(),
            });
        }
        let unfit = |name: &String| name.is_empty() || name.len() > MODEL_NAME_BYTES;
        if let Some(place) = settings.models.iter().position(unfit) {
            return Err(Error::ModelName {
                position: place + 1,
                bytes: settings.models.get(place).map_or(0, String::len),
            });
        }
        let models = settings.models.clone();
        let exporter = Self {
            series: Arc::new(Series::new(settings)),
        };
        exporter.learn_models(&models);
        Ok(exporter)
    }

    /// Takes the engine's own list of models. Names that are empty or too long, and those beyond the limit on their
    /// number, are refused, counted, and go on as `other`. A name once taken stays.
    pub fn learn_models<Name: AsRef<str>>(&self, names: &[Name]) {
        for name in names {
            match self.series.models.learn(name.as_ref()) {
                Learned::Known => {}
                Learned::New(model) => self.series.begin_model(model),
                Learned::Refused => self.count_overflow(catalogue::MODEL),
            }
        }
    }
}

// Exporter: records

impl Exporter {
    /// Takes a finished exchange.
    pub fn observe(&self, record: &Record) {
        if record.identity.role != Role::Production {
            return;
        }
        let model = self.series.models.of(
            record.request.model.as_deref(),
            record.answer_model.as_deref(),
        );
        self.count_record(model, record);
        self.time_record(model, record);
    }

    /// Takes tokens of an exchange that goes on.
    pub fn output_progress(&self, progress: &Progress<'_>) {
        if progress.identity.role != Role::Production {
            return;
        }
        let model = self
            .series
            .models
            .of(progress.request.model.as_deref(), progress.answer_model);
        let tokens = &self.series.counts.output_tokens;
        tokens.add(CounterKey::of_model(model, EVENTS), progress.tokens());
    }

    fn count_record(&self, model: Model, record: &Record) {
        let counts = &self.series.counts;
        let ended = (record.identity.endpoint.as_str(), record.outcome.as_str());
        let ended = CounterKey::of_request(model, ended);
        if !counts.requests.contains(ended) {
            let endpoint = record.identity.endpoint.as_str();
            self.series.begin_endpoint(model, endpoint);
        }
        counts.requests.add(ended, 1);
        if let Some(outcome) = record.without_first_token() {
            let key = CounterKey::of_model(model, outcome.as_str());
            counts.without_first_token.add(key, 1);
        }
        if let Some(tokens) = record.input_tokens {
            let key = CounterKey::of_model(model, record.input_source.as_str());
            counts.input_tokens.add(key, tokens);
        }
        let rest = record.uncounted_tokens();
        if rest > 0 {
            let source = match record.output_tokens {
                Some(_) => record.output_source.as_str(),
                None => EVENTS,
            };
            counts
                .output_tokens
                .add(CounterKey::of_model(model, source), rest);
        }
        self.count_flags(record.flags);
    }

    fn count_flags(&self, flags: Flags) {
        let counts = &self.series.counts;
        let alone = CounterKey::default();
        if flags.client_limited {
            counts.client_limited.add(alone, 1);
        }
        if flags.buffered_upstream {
            counts.buffered_upstream.add(alone, 1);
        }
        for (set, reason) in [
            (flags.opaque, Unmeasured::Opaque),
            (flags.oversize_event, Unmeasured::OversizeEvent),
            (flags.unobserved, Unmeasured::Unobserved),
        ] {
            if set {
                self.count_unmeasured(reason);
            }
        }
    }

    fn time_record(&self, model: Model, record: &Record) {
        let times = &self.series.times;
        let shaped = CellKey {
            model: Some(model),
            shape: Some(Place::Cell(Shape::of(record, &self.series.edges))),
            values: [None; 2],
        };
        let by_model = CellKey {
            shape: None,
            ..shaped
        };
        let seconds = Nanos::as_secs_f64;
        if record.first_token_is_engines() {
            self.take(&times.ttft, shaped, record.ttft().value().map(seconds));
            self.take(&times.ttfa, shaped, record.ttfa().value().map(seconds));
        }
        self.take(
            &times.first_event,
            by_model,
            record.time_to_first_event().value().map(seconds),
        );
        self.take(&times.tpot, shaped, record.tpot().value());
        self.take(
            &times.max_stall,
            by_model,
            record.max_stall().value().map(seconds),
        );
        if let Some(gaps) = record.engine_gaps() {
            self.take_gaps(shaped, gaps);
        }
        let by_class = CellKey {
            values: [Some(class(record.outcome)), None],
            ..shaped
        };
        self.take(
            &times.duration,
            by_class,
            record.e2e().observed().map(seconds),
        );
        if let Some(upload) = record.upload().value() {
            self.series.own.upload.histogram.observe(seconds(upload));
        }
        self.take_amounts(by_model, record);
        self.take_differences(record);
    }

    #[expect(clippy::cast_precision_loss, reason = "2^53 tokens are out of reach")]
    fn take_amounts(&self, by_model: CellKey, record: &Record) {
        let amounts = &self.series.amounts;
        let tokens = |count: u64| count as f64;
        self.take(&amounts.input, by_model, record.input_tokens.map(tokens));
        self.take(&amounts.output, by_model, record.output_tokens.map(tokens));
        let arrivals = f64::from(record.in_flight.at_arrival);
        self.take(&amounts.arrivals, by_model, Some(arrivals));
    }

    /// A difference below 0 stands in a series of its own: a sum that can fall is no sum to Prometheus.
    fn take_differences(&self, record: &Record) {
        for quantity in Beside::ALL {
            let Some(difference) = record.engine_difference(quantity) else {
                continue;
            };
            let ours = if difference < 0.0 {
                "shorter"
            } else {
                "longer"
            };
            let key = CellKey {
                values: [Some(quantity.as_str()), Some(ours)],
                ..CellKey::default()
            };
            self.take(&self.series.difference, key, Some(difference.abs()));
        }
    }

    fn take_gaps(&self, key: CellKey, gaps: &GapHistogram) {
        let counted = |number: fn(&GapBucket) -> u64| {
            gaps.iter().map(move |bucket| Counted {
                index: bucket.index,
                middle: bucket.middle_secs(),
                n: number(&bucket),
            })
        };
        if gaps.bursts() > 0 {
            let histogram = self.cell(&self.series.times.burst_gaps, key);
            histogram.observe_counted(counted(|bucket| bucket.bursts), gaps.sum().as_secs_f64());
        }
        if gaps.tokens() > 0 {
            let histogram = self.cell(&self.series.times.token_gaps, key);
            let sum = gaps.token_sum().as_secs_f64();
            histogram.observe_counted(counted(|bucket| bucket.tokens), sum);
        }
    }

    fn take(&self, family: &Cells, key: CellKey, value: Option<f64>) {
        if let Some(value) = value {
            self.cell(family, key).observe(value);
        }
    }

    fn cell(&self, family: &Cells, key: CellKey) -> Arc<Histogram> {
        let (histogram, found) = family.get(key);
        if found == Found::Overflow {
            self.count_overflow(SHAPE);
        }
        histogram
    }
}

// Exporter: what happens beside records

impl Exporter {
    /// What the proxy added to one burst: from its read to its bytes written to the client.
    pub fn observe_proxy_delay(&self, delay: Nanos) {
        self.series.own.delay.histogram.observe(delay.as_secs_f64());
    }

    /// A connection to the engine was opened.
    pub fn observe_upstream_connect(&self, took: Nanos) {
        self.series
            .own
            .connect
            .histogram
            .observe(took.as_secs_f64());
    }

    /// The proxy refused a request. A reason outside the vocabulary counts as `other`.
    pub fn count_rejected(&self, reason: &'static str) {
        self.count_closed(&self.series.counts.rejected, catalogue::REASON, reason, 1);
    }

    /// A request was forwarded without being measured. A route outside the vocabulary counts as `other`.
    pub fn count_passed(&self, route: &'static str) {
        self.count_closed(&self.series.counts.passed, catalogue::ROUTE, route, 1);
    }

    /// Something in an answer could not be read, `n` times. A kind outside the vocabulary counts as `other`.
    pub fn count_anomaly(&self, kind: &'static str, n: u64) {
        self.count_closed(&self.series.counts.anomalies, catalogue::KIND, kind, n);
    }

    /// A record says that its exchange was not, or not wholly, measured.
    fn count_unmeasured(&self, reason: Unmeasured) {
        self.series
            .counts
            .unmeasured
            .add(CounterKey::of(reason.as_str()), 1);
    }

    /// A request passed without being made to ask for usage, since it was too long for that.
    pub fn count_usage_not_asked(&self) {
        self.count_unmeasured(Unmeasured::OversizeRequest);
    }

    /// A changed certificate could not be served with.
    pub fn count_certificate_refused(&self) {
        let counter = &self.series.counts.certificates_refused;
        counter.add(CounterKey::default(), 1);
    }

    /// A panic was caught.
    pub fn count_panic(&self) {
        self.series.counts.panics.add(CounterKey::default(), 1);
    }

    /// Who the engine is: values of the labels of [`catalogue::ENGINE`], in their order. The series of the engine before it
    /// goes away, and that is counted.
    pub fn set_engine(&self, values: [String; 5]) {
        let mut engine = self.series.engine.lock();
        let changed = engine.as_ref().is_some_and(|before| *before != values);
        *engine = Some(values);
        if changed {
            let changes = &self.series.counts.engine_changes;
            changes.add(CounterKey::default(), 1);
        }
    }

    /// The engine's own metrics were read, or not. A result outside the vocabulary counts as `other`.
    pub fn count_engine_scrape(&self, result: &'static str) {
        let scrapes = &self.series.counts.engine_scrapes;
        self.count_closed(scrapes, catalogue::RESULT, result, 1);
    }

    fn count_overflow(&self, label: &'static str) {
        self.series.counts.overflow.add(CounterKey::of(label), 1);
    }

    fn count_closed(&self, family: &Counters, label: &'static str, value: &'static str, n: u64) {
        let key = CounterKey::of(value);
        if family.contains(key) {
            return family.add(key, n);
        }
        self.count_overflow(label);
        family.add(CounterKey::of(OTHER), n);
    }
}

// Exporter: the exposition

impl Exporter {
    /// The exposition of this moment.
    ///
    /// # Errors
    /// If the encoder fails; nothing of the kind is known to happen.
    pub fn encode(&self, format: Format, live: &Live) -> Result<Vec<u8>, Error> {
        let alone = Part {
            series: self.series(),
            live: *live,
            port: None,
        };
        write(format, Exposition(vec![alone]))
    }

    pub(crate) fn series(&self) -> Arc<Series> {
        Arc::clone(&self.series)
    }
}

/// Writes what `exposition` holds.
pub(crate) fn write(format: Format, exposition: Exposition) -> Result<Vec<u8>, Error> {
    let mut registry = Registry::with_prefix(catalogue::PREFIX);
    registry.register_collector(Box::new(exposition));
    match format {
        Format::Protobuf => Ok(prometheus_protobuf::encode_to_vec(&registry)?),
        Format::OpenMetrics1 | Format::OpenMetrics0 => written(|out| text::encode(out, &registry)),
        Format::Text => written(|out| prometheus_text::encode(out, &registry)),
    }
}

fn written(write: impl FnOnce(&mut String) -> std::fmt::Result) -> Result<Vec<u8>, Error> {
    let mut out = String::new();
    write(&mut out)?;
    Ok(out.into_bytes())
}

/// Value of `outcome_class`.
fn class(outcome: Outcome) -> &'static str {
    match outcome.blame() {
        Blame::Nobody => "ok",
        Blame::Client => "client",
        Blame::Engine => "engine",
        Blame::Us => "us",
    }
}
