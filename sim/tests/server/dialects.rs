//! Every engine on every route: what the decoder reads is what was emitted, as far as the dialect carries it, and unknown
//! where it doesn't.

use proptest::prelude::*;
use serde_json::{Value, json};
use sim::{Ended, Finish, Kind, Personality, Profile, Record, Speculation};
use wire::encode::speaks;
use wire::{Accumulation, Endpoint, EngineKind, FinishState};

use crate::reading::{Reading, expect_totals, expected_finish, expected_mark, read};
use crate::stage::{Request, Stage};

/// What is asked, whoever is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) prompts: u32,
    pub(crate) n: u32,
    pub(crate) limit: u32,
    pub(crate) stops: bool,
    pub(crate) reasoning: u32,
    /// Totals, running counts, ids, details: all that the route can be asked for.
    pub(crate) asks: Asks,
    pub(crate) text: Accumulation,
    pub(crate) drafts: u32,
    pub(crate) split: usize,
}

impl Shape {
    /// One choice of six tokens, the last of which is silent.
    pub(crate) const SIX: Self = Self {
        prompts: 1,
        n: 1,
        limit: 6,
        stops: true,
        reasoning: 0,
        asks: Asks::Totals,
        text: Accumulation::Delta,
        drafts: 0,
        split: usize::MAX,
    };
}

/// How much is asked for beyond tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    Nothing,
    Totals,
    Everything,
}

/// An engine's route, and whether a stream is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) engine: EngineKind,
    pub(crate) endpoint: Endpoint,
    pub(crate) streamed: bool,
}

impl Route {
    /// Each that can be asked for.
    pub(crate) fn all() -> Vec<Self> {
        let mut routes = Vec::new();
        for engine in EngineKind::ALL {
            for endpoint in Endpoint::ALL {
                let (always, never) = match (engine, endpoint) {
                    (_, Endpoint::GenerateStream | Endpoint::TritonGenerateStream) => (true, false),
                    (EngineKind::Tgi, Endpoint::Generate) | (_, Endpoint::TritonGenerate) => {
                        (false, true)
                    }
                    _ => (false, false),
                };
                for streamed in [false, true] {
                    if speaks(engine, endpoint) && !(always && !streamed || never && streamed) {
                        routes.push(Self {
                            engine,
                            endpoint,
                            streamed,
                        });
                    }
                }
            }
        }
        routes
    }

    pub(crate) fn has_choices(self) -> bool {
        let many = matches!(
            self.endpoint,
            Endpoint::Completions
                | Endpoint::ChatCompletions
                | Endpoint::Generate
                | Endpoint::InferenceGenerate
        );
        many && !matches!(self.engine, EngineKind::Tgi | EngineKind::Triton)
    }

    pub(crate) fn has_prompts(self) -> bool {
        match self.endpoint {
            Endpoint::Completions | Endpoint::Completion => true,
            Endpoint::Generate => self.engine == EngineKind::Sglang,
            _ => false,
        }
    }

    /// The shape with what this route has no word for taken out.
    fn fit(self, shape: Shape) -> Shape {
        Shape {
            prompts: if self.has_prompts() { shape.prompts } else { 1 },
            n: if self.has_choices() { shape.n } else { 1 },
            ..shape
        }
    }

    fn path(self) -> String {
        self.endpoint.as_str().replace('*', "sim-8b")
    }

    fn body(self, shape: Shape) -> Value {
        let prompts: Vec<&str> = ["one two three", "four five"]
            .into_iter()
            .take(if shape.prompts == 2 { 2 } else { 1 })
            .collect();
        let prompt = match prompts.as_slice() {
            [one] => json!(one),
            _ => json!(prompts),
        };
        let messages = json!([{ "role": "user", "content": prompts[0] }]);
        let limit = shape.limit;
        let mut body = match self.endpoint {
            Endpoint::ChatCompletions => {
                json!({ "messages": messages, "max_completion_tokens": limit, "n": shape.n })
            }
            Endpoint::Completions => json!({ "prompt": prompt, "max_tokens": limit, "n": shape.n }),
            Endpoint::Messages => json!({ "messages": messages, "max_tokens": limit }),
            Endpoint::Responses => json!({ "input": prompts[0], "max_output_tokens": limit }),
            Endpoint::InferenceGenerate => {
                json!({ "token_ids": [5, 6, 7], "sampling_params": { "max_tokens": limit, "n": shape.n } })
            }
            Endpoint::Generate if self.engine == EngineKind::Sglang => {
                json!({ "text": prompt, "sampling_params": { "max_new_tokens": limit, "n": shape.n } })
            }
            Endpoint::Generate | Endpoint::GenerateStream | Endpoint::Root => {
                let details = shape.asks != Asks::Nothing;
                json!({ "inputs": prompt, "parameters": { "max_new_tokens": limit, "details": details } })
            }
            Endpoint::Completion => json!({ "prompt": prompt, "n_predict": limit }),
            Endpoint::OllamaChat => {
                json!({ "messages": messages, "options": { "num_predict": limit } })
            }
            Endpoint::OllamaGenerate => {
                json!({ "prompt": prompt, "options": { "num_predict": limit } })
            }
            _ => json!({ "text_input": prompt, "max_tokens": limit }),
        };
        self.ask_for(shape.asks, &mut body);
        body
    }

    fn ask_for(self, asks: Asks, body: &mut Value) {
        let fixed = matches!(
            self.endpoint,
            Endpoint::GenerateStream | Endpoint::TritonGenerateStream | Endpoint::TritonGenerate
        );
        if !fixed {
            body["stream"] = self.streamed.into();
        }
        let openai = matches!(
            self.endpoint,
            Endpoint::Completions | Endpoint::ChatCompletions | Endpoint::InferenceGenerate
        );
        if openai && self.streamed && asks != Asks::Nothing {
            body["stream_options"] = json!({ "include_usage": true });
        }
        let triton = matches!(
            self.endpoint,
            Endpoint::TritonGenerate | Endpoint::TritonGenerateStream
        );
        if triton && asks != Asks::Nothing {
            for output in ["num_input_tokens", "num_output_tokens", "finish_reason"] {
                body[format!("return_{output}")] = true.into();
            }
        }
        if asks != Asks::Everything {
            return;
        }
        match self.engine {
            EngineKind::Vllm | EngineKind::Sglang | EngineKind::Trtllm
                if openai && self.streamed =>
            {
                body["stream_options"]["continuous_usage_stats"] = true.into();
            }
            EngineKind::LlamaCpp => body["timings_per_token"] = true.into(),
            _ => {}
        }
        if self.engine == EngineKind::Vllm && openai {
            body["return_token_ids"] = true.into();
            body["output_mode"] = "text".into();
        }
    }

    pub(crate) fn request(self, shape: Shape) -> Request {
        let request = Request {
            line: format!("POST {} HTTP/1.1", self.path()),
            fields: String::new(),
            body: self.body(shape).to_string().into(),
        };
        let request = request
            .field("x-sim-reasoning-tokens", &shape.reasoning.to_string())
            .field("x-sim-id", "same");
        match shape.stops {
            true => request.field("x-sim-output-tokens", &shape.limit.to_string()),
            false => request,
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let asks = prop_oneof![
        Just(Asks::Nothing),
        Just(Asks::Totals),
        Just(Asks::Everything)
    ];
    let text = prop_oneof![Just(Accumulation::Delta), Just(Accumulation::Cumulative)];
    let counts = (1..3_u32, 1..3_u32, 1..12_u32, any::<bool>(), 0..4_u32);
    (counts, asks, text, 0..4_u32, 1..400_usize).prop_map(|(counts, asks, text, drafts, split)| {
        let (prompts, n, limit, stops, reasoning) = counts;
        Shape {
            prompts,
            n,
            limit,
            stops,
            reasoning,
            asks,
            text,
            drafts,
            split,
        }
    })
}

pub(crate) fn stage(route: Route, shape: Shape) -> Stage {
    let speculation = (shape.drafts > 0).then_some(Speculation {
        depth: shape.drafts,
        acceptance_ppm: 700_000,
    });
    let profile = Profile {
        speculation,
        ..Profile::fast()
    };
    Stage::with(profile, |options| {
        options.personality = Personality {
            text: shape.text,
            ..Personality::of(route.engine)
        };
    })
}

/// Runs on tokio's paused clock.
fn paused<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be built")
        .block_on(future)
}

fn check(route: Route, shape: Shape) -> Result<(), TestCaseError> {
    let shape = route.fit(shape);
    let (heard, record) = paused(async {
        let mut stage = stage(route, shape);
        stage.ask_and_tell(&route.request(shape)).await
    });
    let context = format!("{route:?} {shape:?}\n{}", heard.text());
    prop_assert_eq!(
        (heard.status(), record.ended),
        (200, Ended::Completed),
        "{}",
        context
    );
    let reading = read((route, shape), &heard, shape.split);
    let answer = &reading.answer;
    prop_assert_eq!(answer.streamed, route.streamed, "{}", context);
    prop_assert_eq!(answer.state, FinishState::Complete, "{}", context);
    let finish = record
        .finish
        .iter()
        .flatten()
        .copied()
        .collect::<Vec<Finish>>();
    prop_assert_eq!(
        finish.len(),
        usize::try_from(shape.n * shape.prompts).expect("few")
    );
    prop_assert_eq!(
        answer.terminator,
        Some(expected_mark(route, finish[0])),
        "{}",
        context
    );
    prop_assert_eq!(
        &answer.finish_reasons,
        &expected_finish((route, shape), &finish),
        "{}",
        context
    );
    let (input, output) = expect_totals((route, shape), &record);
    prop_assert_eq!(
        (answer.input_tokens, answer.output_tokens),
        (input, output),
        "{}",
        context
    );
    prop_assert_eq!(&answer.anomalies, &[], "{}", context);
    if let Some(stated) = record.usage {
        prop_assert_eq!(
            (answer.input_tokens, answer.output_tokens),
            (Some(stated.prompt), Some(stated.completion)),
            "{}",
            context
        );
    }
    if route.streamed {
        check_events((route, shape), &reading, &record).map_err(|why| {
            TestCaseError::fail(format!("{why}\n{context}\n{:?}", record.emissions))
        })?;
    }
    Ok(())
}

/// The events claim exactly what was emitted at their time, or that there was something, or nothing.
fn check_events(
    (route, shape): (Route, Shape),
    reading: &Reading,
    record: &Record,
) -> Result<(), String> {
    let exact = reading.counts_each((route, shape));
    for (at_ns, events) in reading.by_time() {
        let emitted = record.emissions.iter().filter(|one| one.at_ns == at_ns);
        let shown: u32 = emitted
            .clone()
            .filter(|one| matches!(one.kind, Kind::Answer | Kind::Reasoning))
            .map(|one| one.tokens)
            .sum();
        let all: u32 = emitted.clone().map(|one| one.tokens).sum();
        // A choice that shows something tells of its end-of-text token in the same count; one that shows nothing tells of none.
        let shows = |choice: u32| {
            let of_it = emitted.clone().filter(|one| one.choice == choice);
            of_it
                .map(|one| one.kind)
                .any(|kind| matches!(kind, Kind::Answer | Kind::Reasoning))
        };
        let told: u32 = emitted
            .clone()
            .filter(|one| shows(one.choice))
            .map(|one| one.tokens)
            .sum();
        let claimed = events.claimed;
        let fits = match exact {
            true => claimed == all || (route.hides_silent() && [shown, told].contains(&claimed)),
            // A choice's only event may have a total, which then counts it.
            false => {
                let least = claimed + events.proofs;
                claimed == all && all > 0 || least <= all && (least > 0) == (shown > 0)
            }
        };
        if !fits {
            return Err(format!(
                "{at_ns} ns: {events:?}, of {all} tokens, {shown} shown"
            ));
        }
    }
    Ok(())
}

impl Route {
    /// The end-of-text token is on an event without a count.
    fn hides_silent(self) -> bool {
        matches!(
            (self.engine, self.endpoint),
            (
                EngineKind::Sglang | EngineKind::LlamaCpp,
                Endpoint::ChatCompletions
            ) | (EngineKind::LlamaCpp, Endpoint::Completions)
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_what_was_emitted(shape in shapes()) {
        for route in Route::all() {
            check(route, shape)?;
        }
    }
}

/// Of two choices that end in one step, one shows a token before its end and the other nothing: the running count of the first
/// tells of two tokens, and nobody tells of the third.
#[test]
fn one_choice_tells_of_its_end_and_the_other_does_not() {
    let shape = Shape {
        prompts: 1,
        n: 2,
        limit: 4,
        stops: true,
        reasoning: 0,
        asks: Asks::Everything,
        text: Accumulation::Delta,
        drafts: 1,
        split: 1,
    };
    for route in Route::all() {
        check(route, shape).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn every_route_is_tried() {
    // 30 routes both ways, but those four that know one way only.
    assert_eq!(Route::all().len(), 2 * 30 - 4);
}
