//! One answer, and many at once: files 16 to 18 and 39.

use super::File;
use super::case::{Case, Computed, json_number, json_numbers, json_some, unknown_kind};
use judge::fluidity::{Deadlines, Fluidity};
use judge::quantile::Level;
use judge::saturation::{Saturation, Trend};
use judge::stream::{self, Burst, ForeignForms};
use judge::warm_up::WarmUp;
use judge::window::{Stay, Window};
use measure::{Edges, End, Exchange, Identity, InFlight, InFlightMeans, Nanos, Record, Role};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use wire::{
    Answer, CountSource, Endpoint, EngineTimes, Event, FinishState, Reason, RequestFacts,
    Terminator, Tokens,
};

/// Milliseconds as a stamp, to the nanosecond.
fn stamp(ms: f64) -> Computed<Nanos> {
    let nanos = format!("{}", (ms * 1e6).round()).parse();
    nanos
        .map(Nanos)
        .map_err(|_| format!("{ms} ms is no time of a stream"))
}

fn millis(nanos: Nanos) -> f64 {
    nanos.as_secs_f64() * 1e3
}

fn identity() -> Identity {
    Identity {
        id: 1,
        role: Role::Replay,
        endpoint: Endpoint::ChatCompletions,
    }
}

fn event(tokens: Tokens, answer: bool) -> Event {
    Event {
        tokens,
        reason: match tokens {
            Tokens::None => Reason::Empty,
            Tokens::AtLeastOne => Reason::Text,
            Tokens::Exactly(_) => Reason::TokenIds,
        },
        visible: tokens != Tokens::None,
        answer,
        early: false,
    }
}

pub(crate) fn concurrency(case: &Case<'_>, _: &File) -> Computed {
    match case.kind() {
        "concurrency" => window(case),
        "saturation" => {
            let of = |name| {
                let means = case.numbers(name)?;
                Trend::of(&means).ok_or_else(|| format!("{name} are too few"))
            };
            let saturation = Saturation {
                in_flight: of("in_flight_batch_means")?,
                ttft: of("ttft_batch_means_ms")?,
            };
            Ok(json!({
                "in_flight": json_trend(saturation.in_flight),
                "ttft": json_trend(saturation.ttft),
                "saturated": saturation.saturated(),
            }))
        }
        "warm_up" => {
            let warm_up = WarmUp::of(&case.numbers("ttft_ms")?);
            Ok(json!({
                "cut_batches": warm_up.groups,
                "cut_observations": warm_up.values(),
                "stationary": warm_up.stationary,
            }))
        }
        _ => unknown_kind(case),
    }
}

fn json_trend(trend: Trend) -> Value {
    json!({
        "slope": json_number(trend.slope),
        "t": json_number(trend.t),
        "rise_rel": json_number(trend.rise),
        "rising": trend.rising,
    })
}

/// A request of the concurrency cases.
struct Request {
    id: Value,
    arrival: Nanos,
    first: Option<Nanos>,
    end: Nanos,
}

/// What happens to a request. At one instant ends come first, then arrivals.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A first token in the read that also ends it.
    OnlyToken,
    End,
    Arrival,
    FirstToken,
}

fn window(case: &Case<'_>) -> Computed {
    let requests: Vec<Request> = case
        .cases("requests_ms")?
        .map(|request| {
            Ok(Request {
                id: request.get("id")?.clone(),
                arrival: stamp(request.number("arrival")?)?,
                first: request.some_number("first")?.map(stamp).transpose()?,
                end: stamp(request.number("end")?)?,
            })
        })
        .collect::<Computed<_>>()?;
    let means = play(&requests);
    let stays: Vec<Stay> = requests
        .iter()
        .zip(&means)
        .map(|(request, means)| Stay {
            arrival: request.arrival,
            end: request.end,
            at_arrival: means.at_arrival,
        })
        .collect();
    let window = Window::of(&stays).ok_or("it has no requests")?;
    let each = requests.iter().zip(&means);
    let each: Vec<Value> = each
        .map(|(request, means)| json_means(request, means))
        .collect();
    let times: Map<String, Value> = window
        .time_at_level()
        .map(|(level, time)| (level.to_string(), json_number(millis(time))))
        .collect();
    Ok(json!({
        "per_request": each,
        "window": [json_number(millis(window.start())), json_number(millis(window.end()))],
        "time_at_level": times,
        "time_weighted_mean": json_some(window.mean()),
        "time_weighted_p50": window.quantile(Level::P50),
        "time_weighted_p95": window.quantile(Level::P95),
        "max": window.max(),
        "mean_at_arrival": json_number(window.mean_at_arrival()),
        "littles_law_lambda_W": json_some(window.little()),
    }))
}

/// Lets all requests happen, in order of time, and asks each what was around it.
fn play(requests: &[Request]) -> Vec<InFlightMeans> {
    let mut steps = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        steps.push((request.arrival, Step::Arrival, index));
        if request.end > request.arrival {
            steps.push((request.end, Step::End, index));
        }
        if let Some(first) = request.first {
            let only = first == request.end;
            let step = if only {
                Step::OnlyToken
            } else {
                Step::FirstToken
            };
            steps.push((first, step, index));
        }
    }
    steps.sort();
    let in_flight = Arc::new(InFlight::new());
    let mut exchanges: Vec<Option<Exchange>> = requests.iter().map(|_| None).collect();
    for (at, step, index) in steps {
        match (step, &mut exchanges[index]) {
            (Step::Arrival, slot) => {
                let mut exchange = Exchange::begin(identity(), at, Arc::clone(&in_flight));
                if requests[index].end == at {
                    // It was over at once: nobody found it in flight.
                    exchange.on_end(at, End::Clean);
                }
                *slot = Some(exchange);
            }
            (Step::End, Some(exchange)) => exchange.on_end(at, End::Clean),
            (_, Some(exchange)) => exchange.on_read(at, 1, &[event(Tokens::Exactly(1), true)]),
            (_, None) => {}
        }
    }
    let finished = exchanges.into_iter().flatten();
    finished
        .map(|exchange| exchange.finish(None).in_flight)
        .collect()
}

fn json_means(request: &Request, means: &InFlightMeans) -> Value {
    json!({
        "id": request.id,
        "at_arrival": means.at_arrival,
        "mean_over_life": json_some(means.life),
        "mean_over_prefill": json_some(means.prefill),
        "mean_over_decode": json_some(means.decode),
        "mean_decoders_during_decode": json_some(means.decoders),
    })
}

pub(crate) fn stream_metrics(case: &Case<'_>, _: &File) -> Computed {
    let bursts = stream::bursts(events(case)?.into_iter().map(|(event, _)| event));
    Ok(json_stream(&record(case)?, &stream::gaps(&bursts)))
}

/// The record of a case of file 17.
pub(crate) fn record(case: &Case<'_>) -> Computed<Record> {
    answer(case, &events(case)?)
}

/// The events of a case, and whether each shows an answer.
fn events(case: &Case<'_>) -> Computed<Vec<(Burst, bool)>> {
    let events = case.cases("events")?.map(|event| {
        let tokens = u32::try_from(event.count("tokens")?).map_err(|error| error.to_string())?;
        let answers = matches!(event.text("kind")?, "content" | "tool_call");
        let at = stamp(event.number("t")?)?;
        Ok((Burst { at, tokens }, answers && tokens > 0))
    });
    events.collect()
}

/// The record of a case's answer.
fn answer(case: &Case<'_>, events: &[(Burst, bool)]) -> Computed<Record> {
    let sent = stamp(case.number("body_sent")?)?;
    let mut exchange = Exchange::begin(identity(), sent, Arc::new(InFlight::new()));
    let facts = RequestFacts {
        whole: true,
        stream: Some(true),
        ..RequestFacts::default()
    };
    exchange.on_request(facts, 0);
    exchange.on_body_sent(sent);
    exchange.on_response_head(sent, 200);
    for (burst, answers) in events {
        exchange.on_read(burst.at, 1, &[event(tokens_of(*burst), *answers)]);
    }
    let (end, state) = match case.text("outcome")? {
        "complete" => (End::Clean, FinishState::Complete),
        "client_abort" => (End::ClientGone, FinishState::Cut),
        "timeout" => (End::TimeoutIdle, FinishState::Cut),
        "upstream_error" => (End::Reset, FinishState::Cut),
        other => return Err(format!("{other:?} is no outcome that this file has")),
    };
    exchange.on_end(stamp(case.number("end")?)?, end);
    let usage = case.some("usage_output_tokens").map(super::case::count);
    let output_tokens = usage.transpose()?;
    Ok(exchange.finish(Some(Answer {
        output_tokens,
        output_source: output_tokens.map_or(CountSource::None, |_| CountSource::Usage),
        ..stream_that_ended(state)
    })))
}

fn tokens_of(burst: Burst) -> Tokens {
    match burst.tokens {
        0 => Tokens::None,
        count => Tokens::Exactly(count),
    }
}

/// What a decoder knows of a stream whose tokens nobody stated.
fn stream_that_ended(state: FinishState) -> Answer {
    Answer {
        streamed: true,
        events: 0,
        comments: 0,
        token_events: 0,
        visible_events: 0,
        input_tokens: None,
        output_tokens: None,
        output_tokens_min: 0,
        output_source: CountSource::None,
        cached_tokens: None,
        reasoning_tokens: None,
        engine_times: EngineTimes::default(),
        finish_reasons: Vec::new(),
        state,
        terminator: (state == FinishState::Complete).then_some(Terminator::Done),
        error: None,
        model: None,
        response_id: None,
        anomalies: Vec::new(),
    }
}

fn json_stream(record: &Record, gaps: &[stream::BurstGap]) -> Value {
    let since_sent = |at: Nanos| record.stamps.body_sent.map(|sent| millis(at.since(sent)));
    let some_millis = |time: Option<Nanos>| json_some(time.map(millis));
    let in_millis = |seconds: Option<f64>| json_some(seconds.map(|seconds| seconds * 1e3));
    let list_in_millis = |seconds: Vec<f64>| {
        json_numbers(
            &seconds
                .iter()
                .map(|seconds| seconds * 1e3)
                .collect::<Vec<_>>(),
        )
    };
    let foreign = ForeignForms::of(record);
    let any = record
        .output_tokens
        .or((record.output_tokens_min > 0).then_some(record.output_tokens_min));
    let gaps_json: Vec<Value> = gaps
        .iter()
        .map(|gap| json!({"gap": json_number(millis(gap.gap)), "tokens": gap.tokens}))
        .collect();
    // A censored quantity is what was seen of it; where nothing was, there is none.
    json!({
        "ttft": some_millis(record.ttft().value()),
        "ttfa": some_millis(record.ttfa().value()),
        "tpot": in_millis(record.tpot().observed().filter(|tpot| *tpot > 0.0)),
        "tpot_n_minus_1": in_millis(foreign.tpot_n_minus_1),
        "tpot_n_minus_1_unguarded": in_millis(foreign.tpot_n_minus_1_unguarded),
        "tpot_incl_first": in_millis(foreign.tpot_including_first),
        "e2e_per_token": in_millis(foreign.e2e_per_token),
        "e2e": some_millis(record.e2e().value()),
        "last_token": json_some(record.stamps.last_token.and_then(since_sent)),
        "n_tokens": any,
        "n_tokens_seen": record.output_tokens_min,
        "usage_mismatch": record.flags.usage_mismatch,
        "gaps": gaps_json,
        "max_stall": some_millis(record.max_stall().observed().filter(|stall| *stall > Nanos::ZERO)),
        "itl_spread": list_in_millis(stream::itl_spread(gaps)),
        "itl_burst": list_in_millis(stream::itl_burst(gaps)),
        "tokens_per_burst": json_some(record.tokens_per_burst().value()),
        "post_last_token_tail": some_millis(record.tail().value()),
        "observed": some_millis(record.e2e().observed()),
    })
}

pub(crate) fn fluidity(case: &Case<'_>, _: &File) -> Computed {
    let deadlines = Deadlines {
        first: case.number("ttft_deadline")?,
        between: case.number("tbt_deadline")?,
    };
    let fluidity = Fluidity::of(&case.numbers("inter_token_ms")?, deadlines);
    Ok(json!({
        "miss_rate": json_some(fluidity.miss_rate()),
        "missed": fluidity.missed,
        "deadlines": fluidity.deadlines,
        "fluidity_index": json_some(fluidity.index()),
    }))
}

pub(crate) fn length_buckets(case: &Case<'_>, file: &File) -> Computed {
    let sets = Case::of(&file.whole).inner("edge_sets")?;
    let edges = Edges::new(sets.counts(case.text("edge_set")?)?);
    let edges = edges.map_err(|error| error.to_string())?;
    let value = case.some("value").map(super::case::count).transpose()?;
    Ok(json!(edges.label(edges.bucket(value))))
}
