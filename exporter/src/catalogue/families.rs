//! The families themselves, in the order in which they are exported.

use super::{
    Added, Buckets, CONCURRENCY, ENDPOINT, Family, Form, INPUT_LEN, KIND, Kind, MODEL, OURS,
    OUTCOME, OUTCOME_CLASS, OUTPUT_LEN, QUANTITY, REASON, RESULT, ROUTE, SOURCE, Stability, Unit,
    edges,
};

const SHAPED: &[&str] = &[MODEL, INPUT_LEN, OUTPUT_LEN, CONCURRENCY];
const SHAPED_BY_OUTCOME: &[&str] = &[MODEL, INPUT_LEN, OUTPUT_LEN, CONCURRENCY, OUTCOME_CLASS];
const UNTIL_OBSERVED: &str = "until the first observation with these labels";
const NEVER: &str = "never: begins at 0";

const fn latency(edges: &'static [f64], added: Added) -> Kind {
    Kind::Histogram(Buckets {
        edges,
        added,
        form: Form::ClassicAndNative,
    })
}

const fn amount(edges: &'static [f64]) -> Kind {
    Kind::Histogram(Buckets {
        edges,
        added: Added::Nothing,
        form: Form::Classic,
    })
}

/// Every family, in the order of the exposition.
pub static ALL: &[&Family] = &[
    &TIME_TO_FIRST_TOKEN,
    &TIME_TO_FIRST_ANSWER_TOKEN,
    &TIME_TO_FIRST_EVENT,
    &TIME_PER_OUTPUT_TOKEN,
    &INTER_TOKEN_LATENCY,
    &INTER_BURST_LATENCY,
    &MAX_STALL,
    &REQUEST_DURATION,
    &REQUEST_INPUT_TOKENS,
    &REQUEST_OUTPUT_TOKENS,
    &ARRIVAL_CONCURRENCY,
    &REQUEST_UPLOAD,
    &UPSTREAM_CONNECT,
    &PROXY_DELAY,
    &ENGINE_TIME_DIFFERENCE,
    &REQUESTS,
    &REQUESTS_WITHOUT_FIRST_TOKEN,
    &INPUT_TOKENS_TOTAL,
    &OUTPUT_TOKENS_TOTAL,
    &CLIENT_LIMITED,
    &BUFFERED_UPSTREAM,
    &UNMEASURED,
    &PASSED_REQUESTS,
    &ANOMALIES,
    &REJECTED_REQUESTS,
    &LABEL_OVERFLOW,
    &PANICS,
    &ENGINE_CHANGES,
    &ENGINE_SCRAPES,
    &IN_FLIGHT_REQUESTS,
    &OLDEST_REQUEST_WITHOUT_TOKEN,
    &ENGINE_SILENT,
    &ENGINE,
    &CERTIFICATES_REFUSED,
    &SLO_TARGET,
    &BUILD,
];

/// TTFT.
pub static TIME_TO_FIRST_TOKEN: Family = Family {
    name: "time_to_first_token",
    unit: Some(Unit::Seconds),
    kind: latency(edges::TTFT, Added::TtftTargets),
    labels: SHAPED,
    stability: Stability::Stable,
    help: "From the last byte of the request handed to the engine to the read that completes the first generated token of any kind. A request that ended without one is not in here but in requests_without_first_token_total.",
    absent: UNTIL_OBSERVED,
};

/// TTFA.
pub static TIME_TO_FIRST_ANSWER_TOKEN: Family = Family {
    name: "time_to_first_answer_token",
    unit: Some(Unit::Seconds),
    kind: latency(edges::TTFT, Added::TtftTargets),
    labels: SHAPED,
    stability: Stability::Experimental,
    help: "From the last byte of the request handed to the engine to the first token of the answer, reasoning excluded. A request that showed only reasoning is not in here.",
    absent: UNTIL_OBSERVED,
};

/// First event of any kind.
pub static TIME_TO_FIRST_EVENT: Family = Family {
    name: "time_to_first_event",
    unit: Some(Unit::Seconds),
    kind: latency(edges::TTFT, Added::Nothing),
    labels: &[MODEL],
    stability: Stability::Experimental,
    help: "From the last byte of the request handed to the engine to the first server-sent event of any kind, also one without a token. Not a time to first token.",
    absent: UNTIL_OBSERVED,
};

/// TPOT.
pub static TIME_PER_OUTPUT_TOKEN: Family = Family {
    name: "time_per_output_token",
    unit: Some(Unit::Seconds),
    kind: latency(edges::TPOT, Added::TpotTargets),
    labels: SHAPED,
    stability: Stability::Stable,
    help: "One sample a request: from the first token to the last, divided by the tokens after the first burst. Requests that broke off, or whose client took its bytes too slowly, are not in here.",
    absent: UNTIL_OBSERVED,
};

/// ITL.
pub static INTER_TOKEN_LATENCY: Family = Family {
    name: "inter_token_latency",
    unit: Some(Unit::Seconds),
    kind: latency(edges::GAP, Added::Nothing),
    labels: SHAPED,
    stability: Stability::Stable,
    help: "Gaps weighted by tokens: a gap followed by a burst of n tokens counts as n samples of gap/n. Only where the engine says how many tokens each event carries.",
    absent: "until the first observation; for an engine that doesn't state tokens per event, always",
};

/// Gaps between bursts.
pub static INTER_BURST_LATENCY: Family = Family {
    name: "inter_burst_latency",
    unit: Some(Unit::Seconds),
    kind: latency(edges::GAP, Added::Nothing),
    labels: SHAPED,
    stability: Stability::Stable,
    help: "Gaps between bursts; tokens that arrive in one read are one burst, and no gap of 0 is invented between them.",
    absent: UNTIL_OBSERVED,
};

/// Largest gap of a request.
pub static MAX_STALL: Family = Family {
    name: "max_stall",
    unit: Some(Unit::Seconds),
    kind: latency(edges::GAP, Added::Nothing),
    labels: &[MODEL],
    stability: Stability::Stable,
    help: "One sample a whole request: its largest gap between bursts.",
    absent: UNTIL_OBSERVED,
};

/// e2e.
pub static REQUEST_DURATION: Family = Family {
    name: "request_duration",
    unit: Some(Unit::Seconds),
    kind: latency(edges::DURATION, Added::E2eTargets),
    labels: SHAPED_BY_OUTCOME,
    stability: Stability::Stable,
    help: "From the last byte of the request handed to the engine to the end. Only outcome_class ok is a time to completion; the others say how long it took to fail.",
    absent: UNTIL_OBSERVED,
};

/// Prompt lengths.
pub static REQUEST_INPUT_TOKENS: Family = Family {
    name: "request_input",
    unit: Some(Unit::Tokens),
    kind: amount(edges::INPUT_TOKENS),
    labels: &[MODEL],
    stability: Stability::Stable,
    help: "Prompt tokens of a request, cached ones included, where they are known.",
    absent: UNTIL_OBSERVED,
};

/// Answer lengths.
pub static REQUEST_OUTPUT_TOKENS: Family = Family {
    name: "request_output",
    unit: Some(Unit::Tokens),
    kind: amount(edges::OUTPUT_TOKENS),
    labels: &[MODEL],
    stability: Stability::Stable,
    help: "Generated tokens of a request, all choices together, where they are known.",
    absent: UNTIL_OBSERVED,
};

/// Load met by a request.
pub static ARRIVAL_CONCURRENCY: Family = Family {
    name: "arrival_concurrency",
    unit: None,
    kind: amount(edges::ARRIVALS),
    labels: &[MODEL],
    stability: Stability::Stable,
    help: "Requests in flight when a request arrived, itself excluded.",
    absent: UNTIL_OBSERVED,
};

/// Upload.
pub static REQUEST_UPLOAD: Family = Family {
    name: "request_upload",
    unit: Some(Unit::Seconds),
    kind: latency(edges::UPLOAD, Added::Nothing),
    labels: &[],
    stability: Stability::Stable,
    help: "From the request's head received to its last byte handed to the engine: connecting and uploading, which no latency above contains.",
    absent: NEVER,
};

/// Connecting.
pub static UPSTREAM_CONNECT: Family = Family {
    name: "upstream_connect",
    unit: Some(Unit::Seconds),
    kind: latency(edges::CONNECT, Added::Nothing),
    labels: &[],
    stability: Stability::Stable,
    help: "Opening a connection to the engine, where one was opened.",
    absent: NEVER,
};

/// Our own part.
pub static PROXY_DELAY: Family = Family {
    name: "proxy_delay",
    unit: Some(Unit::Seconds),
    kind: latency(edges::OWN_DELAY, Added::Nothing),
    labels: &[],
    stability: Stability::Stable,
    help: "What the proxy adds: from the read of a burst to its bytes written to the client. Includes waiting for a client that doesn't read.",
    absent: NEVER,
};

/// Ours beside the engine's own.
pub static ENGINE_TIME_DIFFERENCE: Family = Family {
    name: "engine_time_difference",
    unit: Some(Unit::Seconds),
    kind: latency(edges::DIFFERENCE, Added::Nothing),
    labels: &[QUANTITY, OURS],
    stability: Stability::Experimental,
    help: "How far our figure and the one that the engine states of the same request lie apart. ours longer: network, front-end and proxy; ours shorter: one of the clocks is wrong. Quantity ttft: the engine's begins with the request taken in, its queue included; prefill: our time to first token beside the engine's prefill, where it does not state its queue; tpot: the engine's decode / (tokens - 1); e2e.",
    absent: "until an engine states its times: vLLM with --enable-per-request-metrics, llama.cpp, SGLang's /generate, TGI's bodies, TensorRT-LLM on Triton with return_perf_metrics",
};

/// Requests by outcome.
pub static REQUESTS: Family = Family {
    name: "requests",
    unit: None,
    kind: Kind::Counter,
    labels: &[MODEL, ENDPOINT, OUTCOME],
    stability: Stability::Stable,
    help: "Requests to generating routes that have ended, by how they ended.",
    absent: "never for a known model: every outcome begins at 0",
};

/// Censored TTFT.
pub static REQUESTS_WITHOUT_FIRST_TOKEN: Family = Family {
    name: "requests_without_first_token",
    unit: None,
    kind: Kind::Counter,
    labels: &[MODEL, REASON],
    stability: Stability::Stable,
    help: "Streaming requests that ended before a first token, by outcome. They count as over any target for the time to first token.",
    absent: "never for a known model: every reason begins at 0",
};

/// Prompt tokens.
pub static INPUT_TOKENS_TOTAL: Family = Family {
    name: "input",
    unit: Some(Unit::Tokens),
    kind: Kind::Counter,
    labels: &[MODEL, SOURCE],
    stability: Stability::Stable,
    help: "Prompt tokens, cached ones included, added when a request ends. Requests whose count is not known add nothing.",
    absent: UNTIL_OBSERVED,
};

/// Generated tokens.
pub static OUTPUT_TOKENS_TOTAL: Family = Family {
    name: "output",
    unit: Some(Unit::Tokens),
    kind: Kind::Counter,
    labels: &[MODEL, SOURCE],
    stability: Stability::Stable,
    help: "Generated tokens. Source events: proven by the events while the stream ran; any other source: what the final count had beyond that, added at the end. The sum over source is the total.",
    absent: UNTIL_OBSERVED,
};

/// Requests at the client's pace.
pub static CLIENT_LIMITED: Family = Family {
    name: "client_limited",
    unit: None,
    kind: Kind::Counter,
    labels: &[],
    stability: Stability::Stable,
    help: "Requests whose client took its bytes so slowly that the queue to it was full once. Their gaps, stalls and TPOT are not in the histograms.",
    absent: NEVER,
};

/// Buffering above the engine.
pub static BUFFERED_UPSTREAM: Family = Family {
    name: "buffered_upstream",
    unit: None,
    kind: Kind::Counter,
    labels: &[],
    stability: Stability::Experimental,
    help: "Requests whose tokens came in clumps that no decode step explains: something between the engine's \
           decoding and the proxy holds them back. Their TTFT, gaps, stalls and TPOT are not in the histograms.",
    absent: NEVER,
};

/// Traffic that could not be read.
pub static UNMEASURED: Family = Family {
    name: "unmeasured",
    unit: None,
    kind: Kind::Counter,
    labels: &[REASON],
    stability: Stability::Stable,
    help: "Exchanges that were forwarded but not, or not wholly, understood: compressed body, event over the limit, failed observer.",
    absent: NEVER,
};

/// Traffic that there is nothing to read in.
pub static PASSED_REQUESTS: Family = Family {
    name: "passed_requests",
    unit: None,
    kind: Kind::Counter,
    labels: &[ROUTE],
    stability: Stability::Experimental,
    help: "Requests forwarded without being measured, since no tokens answer them, by what the route serves.",
    absent: NEVER,
};

/// Odd bytes.
pub static ANOMALIES: Family = Family {
    name: "anomalies",
    unit: None,
    kind: Kind::Counter,
    labels: &[KIND],
    stability: Stability::Experimental,
    help: "Things in answers that could not be read as they were meant. The bytes went on unchanged.",
    absent: NEVER,
};

/// Requests refused by us.
pub static REJECTED_REQUESTS: Family = Family {
    name: "rejected_requests",
    unit: None,
    kind: Kind::Counter,
    labels: &[REASON],
    stability: Stability::Stable,
    help: "Requests that the proxy itself refused, on any route.",
    absent: NEVER,
};

/// Values that became `other` or `overflow`.
pub static LABEL_OVERFLOW: Family = Family {
    name: "label_overflow",
    unit: None,
    kind: Kind::Counter,
    labels: &["label"],
    stability: Stability::Stable,
    help: "Times a label value was refused by a limit. model: a name of the engine's list was not taken; shape: an observation went to the overflow cell; route, reason, kind, result: a value outside the closed set became other.",
    absent: NEVER,
};

/// Panics caught.
pub static PANICS: Family = Family {
    name: "panics",
    unit: None,
    kind: Kind::Counter,
    labels: &[],
    stability: Stability::Stable,
    help: "Panics caught. Always a defect; traffic went on.",
    absent: NEVER,
};

/// Engines that took another's place.
pub static ENGINE_CHANGES: Family = Family {
    name: "engine_changes",
    unit: None,
    kind: Kind::Counter,
    labels: &[],
    stability: Stability::Experimental,
    help: "Times that the engine turned out to be another than before: version, model, precision or length. From there on, figures belong to another engine_info.",
    absent: NEVER,
};

/// Looks at the engine's own metrics.
pub static ENGINE_SCRAPES: Family = Family {
    name: "engine_scrapes",
    unit: None,
    kind: Kind::Counter,
    labels: &[RESULT],
    stability: Stability::Experimental,
    help: "Reads of the engine's own metrics, for the load that a request met there. Without result ok, records say nothing of it.",
    absent: NEVER,
};

/// Certificates that could not be served with.
pub static CERTIFICATES_REFUSED: Family = Family {
    name: "certificates_refused",
    unit: None,
    kind: Kind::Counter,
    labels: &[],
    stability: Stability::Experimental,
    help: "Times that changed files of tls could not be served with: unreadable, expired, or a key of another certificate. The old certificate was kept; the log says why.",
    absent: NEVER,
};

/// In flight now.
pub static IN_FLIGHT_REQUESTS: Family = Family {
    name: "in_flight_requests",
    unit: None,
    kind: Kind::Gauge,
    labels: &["phase"],
    stability: Stability::Stable,
    help: "Requests in flight: prefill (no token yet), decode.",
    absent: "never",
};

/// The most patient user.
pub static OLDEST_REQUEST_WITHOUT_TOKEN: Family = Family {
    name: "oldest_request_without_token",
    unit: Some(Unit::Seconds),
    kind: Kind::Gauge,
    labels: &[],
    stability: Stability::Stable,
    help: "How long the request that has waited longest for its first token has waited so far.",
    absent: "while no request waits for its first token",
};

/// Silence of the engine.
pub static ENGINE_SILENT: Family = Family {
    name: "engine_silent",
    unit: Some(Unit::Seconds),
    kind: Kind::Gauge,
    labels: &[],
    stability: Stability::Stable,
    help: "Time since the engine's last byte while a request is open, 0 when idle. Finds an engine that hangs behind a green health check.",
    absent: "never",
};

/// What the figures belong to.
pub static ENGINE: Family = Family {
    name: "engine",
    unit: None,
    kind: Kind::Info,
    labels: &["engine", "version", "model", "precision", "max_model_len"],
    stability: Stability::Experimental,
    help: "Constant 1; the labels say which engine the figures belong to, by the configuration (engine.*) or by the engine's own word, in its spelling. Precision lists what is told: weights=bfloat16,quant=fp8,kv=fp8_e4m3; it is never guessed from a name. unstated: nobody said it.",
    absent: "until the engine was asked once",
};

/// Targets.
pub static SLO_TARGET: Family = Family {
    name: "slo_target",
    unit: Some(Unit::Seconds),
    kind: Kind::Gauge,
    labels: &["metric", "level"],
    stability: Stability::Experimental,
    help: "The configured targets: metric ttft, tpot or e2e; level 1 is the strictest. Each is a bucket edge of its histogram.",
    absent: "when no target is configured",
};

/// Which build this is.
pub static BUILD: Family = Family {
    name: "build",
    unit: None,
    kind: Kind::Info,
    labels: &["version", "revision"],
    stability: Stability::Stable,
    help: "Constant 1; the labels say which build runs. Revision unknown: built outside a checkout.",
    absent: "never",
};
