//! Records for the tests and benchmarks of this room, made by the real state machine: a request, its tokens, its end.

#![allow(
    dead_code,
    reason = "compiled into several test binaries, none of which uses all of it"
)]
#![allow(clippy::expect_used, reason = "a test that can't begin has failed")]

use std::sync::Arc;

use exporter::{Exporter, Settings, Vocabulary};
use measure::{End, Exchange, Identity, InFlight, Nanos, Record, Role};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use wire::{
    Answer, CountSource, Endpoint, EngineTimes, Event, FinishState, Reason, RequestFacts,
    Terminator, Tokens,
};

/// Closed sets for the tests.
pub(crate) fn vocabulary() -> Vocabulary {
    Vocabulary {
        endpoints: [Endpoint::Completions, Endpoint::ChatCompletions]
            .map(Endpoint::as_str)
            .to_vec(),
        rejections: vec!["head_too_large", "ambiguous_framing"],
        passing: vec!["embeddings", "other"],
        anomalies: vec!["bad_json", "oversize_event"],
        scrapes: vec!["ok", "timeout"],
    }
}

/// One request as it is to happen.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    /// Model asked for.
    pub(crate) model: Option<String>,
    /// Model that answers.
    pub(crate) answer_model: Option<String>,
    /// Which load.
    pub(crate) role: Role,
    /// From the last byte of the request to the first token; `None`: none comes.
    pub(crate) ttft: Option<Nanos>,
    /// Gap before each later burst, and its tokens.
    pub(crate) gaps: Vec<(Nanos, Tokens)>,
    /// Prompt tokens.
    pub(crate) input: Option<u64>,
    /// In flight at arrival.
    pub(crate) at_arrival: u32,
    /// What the engine states of its own times.
    pub(crate) engine_times: EngineTimes,
    /// How it ends.
    pub(crate) end: End,
}

impl Default for Story {
    /// 100 ms to the first token, then 9 tokens at 20 ms, prompt of 1000 tokens, alone, whole.
    fn default() -> Self {
        Self {
            model: Some("m".to_owned()),
            answer_model: None,
            role: Role::Production,
            ttft: Some(Nanos::from_millis(100)),
            gaps: vec![(Nanos::from_millis(20), Tokens::Exactly(1)); 9],
            input: Some(1000),
            at_arrival: 0,
            engine_times: EngineTimes::default(),
            end: End::Clean,
        }
    }
}

impl Story {
    /// Tokens that are read.
    fn tokens(&self) -> u64 {
        let later = self.gaps.iter().map(|&(_, tokens)| match tokens {
            Tokens::None => 0,
            Tokens::AtLeastOne => 1,
            Tokens::Exactly(n) => u64::from(n),
        });
        u64::from(self.ttft.is_some()) + later.sum::<u64>()
    }

    /// The exchange, before it is asked for its record. Its progress has not been taken.
    pub(crate) fn exchange(&self) -> Exchange {
        let identity = Identity {
            id: 1,
            role: self.role,
            endpoint: Endpoint::ChatCompletions,
        };
        let mut now = Nanos::from_secs(1);
        let mut exchange = Exchange::begin(identity, now, Arc::new(InFlight::new()));
        let facts = RequestFacts {
            whole: true,
            model: self.model.clone(),
            stream: Some(true),
            ..RequestFacts::default()
        };
        exchange.on_request(facts, 4096);
        now = now + Nanos::from_millis(1);
        exchange.on_head_sent(now);
        exchange.on_body_sent(now);
        exchange.on_response_head(now + Nanos::from_millis(1), 200);
        if let Some(ttft) = self.ttft {
            now = now + ttft;
            exchange.on_read(now, 200, &[event(Tokens::Exactly(1))]);
            for &(gap, tokens) in &self.gaps {
                now = now + gap;
                exchange.on_read(now, 200, &[event(tokens)]);
            }
        }
        exchange.on_end(now + Nanos::from_millis(5), self.end);
        exchange
    }

    /// What the decoder knows at the end.
    pub(crate) fn answer(&self) -> Answer {
        let whole = self.end == End::Clean && self.ttft.is_some();
        Answer {
            streamed: true,
            events: 0,
            comments: 0,
            token_events: 0,
            visible_events: 0,
            input_tokens: self.input,
            output_tokens: whole.then(|| self.tokens()),
            output_tokens_min: self.tokens(),
            output_source: if whole {
                CountSource::Usage
            } else {
                CountSource::None
            },
            cached_tokens: None,
            reasoning_tokens: None,
            engine_times: self.engine_times,
            finish_reasons: Vec::new(),
            state: if whole {
                FinishState::Complete
            } else {
                FinishState::Cut
            },
            terminator: whole.then_some(Terminator::Done),
            error: None,
            model: self.answer_model.clone(),
            response_id: None,
            anomalies: Vec::new(),
        }
    }

    /// Its record.
    pub(crate) fn record(&self) -> Record {
        let mut record = self.exchange().finish(Some(self.answer()));
        record.in_flight.at_arrival = self.at_arrival;
        record
    }
}

/// An event that shows an answer.
pub(crate) fn event(tokens: Tokens) -> Event {
    Event {
        tokens,
        reason: Reason::TokenIds,
        visible: true,
        answer: true,
        early: false,
    }
}

/// An exporter that knows these models.
pub(crate) fn exporter(models: &[&str]) -> Exporter {
    exporter_with(models, Settings::default())
}

/// An exporter that knows these models, for the rest as told.
pub(crate) fn exporter_with(models: &[&str], settings: Settings) -> Exporter {
    Exporter::new(Settings {
        models: models.iter().map(|&name| name.to_owned()).collect(),
        vocabulary: vocabulary(),
        ..settings
    })
    .expect("settings are sound")
}

/// Observes traffic in every cell of the default shape: 40 requests in each, of 40 gaps, with the spread of real ones
/// (factors of about 20 in TTFT and of 30 in gaps), one in ten cut off.
pub(crate) fn fill(exporter: &Exporter, model: &str) {
    let mut random = Pcg64::seed_from_u64(1);
    for input in [100, 500, 2000, 10_000, 50_000] {
        for output in [20, 200, 800, 1500] {
            for at_arrival in [0, 3, 10, 50, 200] {
                for turn in 0..40 {
                    let mut record = spread(model, &mut random, turn).record();
                    record.input_tokens = Some(input);
                    record.output_tokens = Some(output);
                    record.in_flight.at_arrival = at_arrival;
                    exporter.observe(&record);
                }
            }
        }
    }
}

fn spread(model: &str, random: &mut Pcg64, turn: u32) -> Story {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive span far below 2^64 ns"
    )]
    let mut around = |median: f64, spread: f64| {
        let exponent: f64 = (0..4).map(|_| random.random_range(-1.0..1.0)).sum();
        Nanos((median * 1e9 * (spread * exponent).exp()) as u64)
    };
    Story {
        model: Some(model.to_owned()),
        ttft: Some(around(0.4, 0.75)),
        gaps: (0..40)
            .map(|_| (around(0.02, 0.85), Tokens::Exactly(1)))
            .collect(),
        end: if turn.is_multiple_of(10) {
            End::Truncated
        } else {
            End::Clean
        },
        ..Story::default()
    }
}
