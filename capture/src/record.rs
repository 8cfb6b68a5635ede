//! From a record to its row and back.
//!
//! A row has no room for what no later question needs (the seed's value, what the engine said of its cache before the
//! arrival); everything that a definition of `measure` reads is there, so that what is computed from a restored record is
//! what was computed from the record. Names are those of the metrics' labels.

use crate::{Count, Gap, Row};
use measure::{
    EngineLoad, Flags, GapBucket, GapHistogram, Identity, InFlightMeans, Nanos, Outcome, Record,
    Role, Stamps,
};
use wire::{Anomaly, CountSource, Endpoint, EngineTimes, RequestFacts};

/// A row that no record has: which column says something that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{column} is {value:?}, which this version does not know")]
pub struct Unknown {
    /// The column.
    pub column: &'static str,
    /// What it says.
    pub value: String,
}

const ROLES: [(Role, &str); 3] = [
    (Role::Production, "production"),
    (Role::Shadow, "shadow"),
    (Role::Replay, "replay"),
];

impl Row {
    /// The row of a record. `wall_us` is the wall clock, in µs after 1970, when the clock of its stamps was at zero. Sessions,
    /// blocks and pairs are the caller's to add.
    pub fn of(record: &Record, wall_us: i64) -> Self {
        let arrival = record.stamps.arrival;
        let role = ROLES.iter().find(|(role, _)| *role == record.identity.role);
        let flags = record.flags.names().map(str::to_owned).collect();
        let mut row = Self {
            exchange: record.identity.id,
            role: role.map_or_else(String::new, |(_, name)| (*name).to_owned()),
            wall_us: wall_us.saturating_add_unsigned(arrival.0 / 1_000),
            arrival_ns: arrival.0,
            endpoint: record.identity.endpoint.as_str().to_owned(),
            request_bytes: record.request_bytes,
            input_tokens: record.input_tokens,
            input_source: record.input_source.as_str().to_owned(),
            output_tokens: record.output_tokens,
            output_source: record.output_source.as_str().to_owned(),
            output_tokens_min: record.output_tokens_min,
            counts_exact: record.counts_exact,
            cached_tokens: record.cached_tokens,
            reasoning_tokens: record.reasoning_tokens,
            first_burst_tokens: record.first_burst_tokens,
            events: record.events,
            bursts: record.bursts,
            response_bytes: record.response_bytes,
            outcome: record.outcome.as_str().to_owned(),
            status: record.status,
            answer_model: record.answer_model.clone(),
            streamed: record.streamed,
            flags,
            ..Self::default()
        };
        row.take_request(&record.request);
        row.take_stamps(&record.stamps);
        row.take_gaps(record);
        row.take_surroundings(record);
        row
    }

    fn take_request(&mut self, request: &RequestFacts) {
        self.model.clone_from(&request.model);
        self.stream = request.stream;
        self.n = request.n;
        self.prompts = request.prompts;
        self.messages = request.messages;
        self.tools = request.tools;
        self.max_tokens = request.max_tokens;
        self.temperature = request.temperature;
        self.top_p = request.top_p;
        self.seeded = request.whole.then_some(request.seed.is_some());
        self.prompt_bytes = request.prompt_bytes;
        let details = &request.details;
        self.system = details.system;
        self.tool_bytes = details.tool_bytes;
        self.response_format = details.answer_form.map(|form| form.as_str().to_owned());
        self.images = details.images;
        self.sounds = details.sounds;
        self.stops = details.stops;
        self.top_k = details.top_k.map(i64::from);
        self.min_p = details.min_p;
        self.presence_penalty = details.presence_penalty;
        self.frequency_penalty = details.frequency_penalty;
        self.priority = details.priority;
    }

    fn take_stamps(&mut self, stamps: &Stamps) {
        let after = |at: Option<Nanos>| at.map(|at| at.since(stamps.arrival).0);
        self.head_sent_ns = after(stamps.head_sent);
        self.body_sent_ns = after(stamps.body_sent);
        self.response_head_ns = after(stamps.response_head);
        self.first_event_ns = after(stamps.first_event);
        self.first_token_ns = after(stamps.first_token);
        self.first_answer_ns = after(stamps.first_answer);
        self.last_token_ns = after(stamps.last_token);
        self.end_ns = stamps.end.since(stamps.arrival).0;
    }

    fn take_gaps(&mut self, record: &Record) {
        self.gaps = record.gaps.iter().map(Gap::from).collect();
        self.gap_sum_ns = record.gaps.sum().0;
        self.token_gap_sum_ns = record.gaps.token_sum().0;
        self.gap_max_ns = record.gaps.max().map(|max| max.0);
        let counts = record.anomalies.iter().map(|(kind, count)| Count {
            kind: kind.as_str().to_owned(),
            count: *count,
        });
        self.anomalies = counts.collect();
    }

    fn take_surroundings(&mut self, record: &Record) {
        let around = record.in_flight;
        self.in_flight = around.at_arrival;
        self.in_flight_life = around.life;
        self.in_flight_prefill = around.prefill;
        self.in_flight_decode = around.decode;
        self.decoders = around.decoders;
        if let Some(load) = record.engine_load {
            self.engine_running = load.running;
            self.engine_waiting = load.waiting;
            self.engine_kv_usage = load.kv_usage;
            self.engine_age_ns = Some(load.age.0);
        }
        self.engine_queue_ns = record.engine_times.queue;
        self.engine_ttft_ns = record.engine_times.ttft;
        self.engine_e2e_ns = record.engine_times.e2e;
    }

    /// The record of a row.
    ///
    /// # Errors
    /// If a column says something that this version does not know.
    pub fn record(&self) -> Result<Record, Unknown> {
        let flags = Flags::named(self.flags.iter().map(String::as_str));
        let gaps = GapHistogram::restored(
            self.gaps.iter().map(GapBucket::from),
            (
                Nanos(self.gap_sum_ns),
                Nanos(self.token_gap_sum_ns),
                self.gap_max_ns.map(Nanos),
            ),
        );
        Ok(Record {
            identity: self.identity()?,
            request: self.request(),
            answer_model: self.answer_model.clone(),
            status: self.status,
            streamed: self.streamed,
            stamps: self.stamps(),
            in_flight: InFlightMeans {
                at_arrival: self.in_flight,
                life: self.in_flight_life,
                prefill: self.in_flight_prefill,
                decode: self.in_flight_decode,
                decoders: self.decoders,
            },
            engine_load: self.engine_load(),
            outcome: known("outcome", &self.outcome, Outcome::ALL, Outcome::as_str)?,
            input_tokens: self.input_tokens,
            input_source: source("input_source", &self.input_source)?,
            output_tokens: self.output_tokens,
            output_tokens_min: self.output_tokens_min,
            output_source: source("output_source", &self.output_source)?,
            counts_exact: self.counts_exact,
            counted_tokens: self.output_tokens.unwrap_or(self.output_tokens_min),
            cached_tokens: self.cached_tokens,
            reasoning_tokens: self.reasoning_tokens,
            engine_times: EngineTimes {
                queue: self.engine_queue_ns,
                ttft: self.engine_ttft_ns,
                e2e: self.engine_e2e_ns,
                ..EngineTimes::default()
            },
            first_burst_tokens: self.first_burst_tokens,
            events: self.events,
            bursts: self.bursts,
            response_bytes: self.response_bytes,
            request_bytes: self.request_bytes,
            gaps: gaps.ok_or_else(|| unknown("gaps", "a bucket out of range"))?,
            anomalies: self.anomalies()?,
            flags: flags.ok_or_else(|| unknown("flags", &self.flags.join(" ")))?,
        })
    }

    fn identity(&self) -> Result<Identity, Unknown> {
        let endpoints = Endpoint::ALL.into_iter().chain(Endpoint::GRPC);
        Ok(Identity {
            id: self.exchange,
            role: ROLES
                .into_iter()
                .find(|(_, name)| *name == self.role)
                .map(|(role, _)| role)
                .ok_or_else(|| unknown("role", &self.role))?,
            endpoint: known("endpoint", &self.endpoint, endpoints, Endpoint::as_str)?,
        })
    }

    fn request(&self) -> RequestFacts {
        RequestFacts {
            whole: self.seeded.is_some(),
            model: self.model.clone(),
            stream: self.stream,
            n: self.n,
            prompts: self.prompts,
            messages: self.messages,
            tools: self.tools,
            prompt_bytes: self.prompt_bytes,
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            ..RequestFacts::default()
        }
    }

    fn stamps(&self) -> Stamps {
        let arrival = Nanos(self.arrival_ns);
        let at = |after: Option<u64>| after.map(|after| arrival + Nanos(after));
        Stamps {
            arrival,
            head_sent: at(self.head_sent_ns),
            body_sent: at(self.body_sent_ns),
            response_head: at(self.response_head_ns),
            first_event: at(self.first_event_ns),
            first_token: at(self.first_token_ns),
            first_answer: at(self.first_answer_ns),
            last_token: at(self.last_token_ns),
            end: arrival + Nanos(self.end_ns),
        }
    }

    fn engine_load(&self) -> Option<EngineLoad> {
        Some(EngineLoad {
            running: self.engine_running,
            waiting: self.engine_waiting,
            kv_usage: self.engine_kv_usage,
            age: Nanos(self.engine_age_ns?),
            ..EngineLoad::default()
        })
    }

    fn anomalies(&self) -> Result<Vec<(Anomaly, u64)>, Unknown> {
        let anomalies = self.anomalies.iter().map(|one| {
            let kind = known("anomalies", &one.kind, Anomaly::ALL, Anomaly::as_str)?;
            Ok((kind, one.count))
        });
        anomalies.collect()
    }
}

impl From<GapBucket> for Gap {
    fn from(bucket: GapBucket) -> Self {
        Self {
            bucket: bucket.index,
            bursts: bucket.bursts,
            tokens: bucket.tokens,
        }
    }
}

impl From<&Gap> for GapBucket {
    fn from(gap: &Gap) -> Self {
        Self {
            index: gap.bucket,
            bursts: gap.bursts,
            tokens: gap.tokens,
        }
    }
}

fn source(column: &'static str, name: &str) -> Result<CountSource, Unknown> {
    // What a capture counted itself is no count of the answer's.
    if name == "tokenizer" {
        return Ok(CountSource::None);
    }
    known(column, name, CountSource::ALL, CountSource::as_str)
}

fn known<T: Copy>(
    column: &'static str,
    name: &str,
    all: impl IntoIterator<Item = T>,
    as_str: fn(T) -> &'static str,
) -> Result<T, Unknown> {
    all.into_iter()
        .find(|one| as_str(*one) == name)
        .ok_or_else(|| unknown(column, name))
}

fn unknown(column: &'static str, value: &str) -> Unknown {
    Unknown {
        column,
        value: value.to_owned(),
    }
}

#[cfg(test)]
mod tests;
