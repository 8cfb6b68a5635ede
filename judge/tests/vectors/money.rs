//! Planning, cost, goodput and claims: files 01, 25, 26, 32.

use super::File;
use super::case::{Case, Computed, json_number, json_some, numbers, refused, unknown_kind};
use judge::Interval;
use judge::claim::{Claim, Condition, Conditions, Status, moved_by};
use judge::cost::{Cheaper, Cost, Rate, Replica, Work};
use judge::goodput::{Goodput, Objectives, Served};
use judge::planning::{self, Answer, OperatingPoint};
use serde_json::{Map, Value, json};

pub(crate) fn worked_example(case: &Case<'_>, _: &File) -> Computed {
    let input = case.inner("input")?;
    match case.kind() {
        "plan_e2e" => {
            let answer = answer(&input)?;
            let e2e = answer.planned_e2e_ms();
            Ok(json!({
                "e2e_ms": json_number(e2e),
                "decode_ms": json_number(answer.decode_ms()),
                "decode_share": json_number(answer.decode_ms() / e2e),
                "rounded_s": json_number(planning::rounded_seconds(e2e)),
            }))
        }
        "exact_e2e" => {
            let answer = answer(&input)?;
            let (exact, planned) = (answer.e2e_ms(), answer.planned_e2e_ms());
            Ok(json!({
                "e2e_ms": json_number(exact),
                "plan_overstates_by_ms": json_number(planned - exact),
                "plan_overstates_rel": json_number(planned / exact - 1.0),
            }))
        }
        "completions" => {
            let (throughput, tokens) = throughput(&input)?;
            let exact = planning::completions_per_s(throughput, tokens);
            let whole = planning::whole_completions_per_s(throughput, tokens);
            Ok(json!({
                "exact": json_number(exact),
                "rounded_down": whole,
                "per_hour_exact": json_number(exact * 3600.0),
                "per_hour_rounded_down": whole * 3600,
            }))
        }
        "cost_per_completion" => cost_per_completion(&input),
        "one_operating_point" => one_operating_point(&input),
        "remedy" => {
            let remedy = answer(&input)?.remedy(input.number("target_ms")?);
            Ok(json!({
                "e2e_ms": json_number(remedy.e2e_ms),
                "misses_target": remedy.misses_target,
                "ttft_alone_misses": remedy.ttft_alone_misses,
                "required_tpot_ms": json_some(remedy.required_tpot_ms),
                "max_output_tokens": remedy.most_output_tokens,
            }))
        }
        _ => unknown_kind(case),
    }
}

fn answer(input: &Case<'_>) -> Computed<Answer> {
    Ok(Answer {
        ttft_ms: input.number("ttft_ms")?,
        tpot_ms: input.number("tpot_ms")?,
        output_tokens: input.number("output_tokens")?,
    })
}

fn throughput(input: &Case<'_>) -> Computed<(f64, f64)> {
    Ok((
        input.number("throughput_tok_s")?,
        input.number("output_tokens")?,
    ))
}

fn cost_per_completion(input: &Case<'_>) -> Computed {
    let gpu_hour = input.number("gpu_hour")?;
    let (throughput, tokens) = throughput(input)?;
    let exact = planning::completions_per_s(throughput, tokens);
    let whole = planning::whole_completions_per_s(throughput, tokens) as f64;
    let per_token = planning::cost_per_unit(gpu_hour, throughput);
    Ok(json!({
        "cost_rounded_down": json_number(planning::cost_per_unit(gpu_hour, whole)),
        "cost_exact": json_number(planning::cost_per_unit(gpu_hour, exact)),
        "cost_per_1k_output_tokens": json_number(per_token * 1e3),
        "cost_per_1M_output_tokens": json_number(per_token * 1e6),
        "rounding_overstates_rel": json_number(exact / whole - 1.0),
    }))
}

fn one_operating_point(input: &Case<'_>) -> Computed {
    let (throughput_tok_s, output_tokens) = throughput(input)?;
    let point = OperatingPoint {
        throughput_tok_s,
        output_tokens,
        e2e_s: input.number("e2e_s")?,
        stated_concurrency: input.number("stated_concurrency")?,
    };
    Ok(json!({
        "required_concurrency": json_number(point.required_concurrency()),
        "max_req_s_at_stated_concurrency": json_number(point.most_req_s()),
        "max_tok_s_at_stated_concurrency": json_number(point.most_tok_s()),
        "consistent": point.is_consistent(),
        "per_stream_tok_s_at_stated_concurrency": json_number(point.tok_s_per_stream()),
        "implied_tpot_ms_at_stated_concurrency": json_number(point.implied_tpot_ms()),
        "per_stream_tok_s_at_stated_tpot": json_number(1000.0 / input.number("tpot_ms")?),
    }))
}

pub(crate) fn cost(case: &Case<'_>, _: &File) -> Computed {
    let input = case.inner("input")?;
    match case.kind() {
        "cost" => {
            let rate = Rate {
                gpu_hour: input.number("gpu_hour")?,
                gpus: input.number("gpus")?,
                fraction: input.number("fraction")?,
                other_hourly: input.number("other_hourly")?,
            };
            let work = Work {
                completed: input.count("completed")?,
                useful: input.count("useful")?,
                input_tokens: input.count("input_tokens")?,
                output_tokens: input.count("output_tokens")?,
            };
            let cost = Cost::of(&rate, input.number("billed_hours")?, &work);
            Ok(json!({
                "total_cost": json_number(cost.total),
                "per_request": json_some(cost.per_request),
                "per_useful_decision": json_some(cost.per_useful_decision),
                "per_1k_output_tokens": json_some(cost.per_1k_output_tokens),
                "per_1k_total_tokens": json_some(cost.per_1k_total_tokens),
                "waste_ratio": json_some(cost.waste),
            }))
        }
        "compare" => compare(&input),
        "gpus_for_volume" => {
            let replica = Replica {
                sustainable_tok_s: input.number("sustainable_tok_s_per_replica")?,
                target_utilisation: input.number("target_utilisation")?,
                gpus: input.count("gpus_per_replica")?,
            };
            let fleet = replica
                .fleet_for(input.number("volume_tok_s")?)
                .map_err(refused)?;
            Ok(json!({"replicas": fleet.replicas, "gpus": fleet.gpus}))
        }
        _ => unknown_kind(case),
    }
}

fn compare(input: &Case<'_>) -> Computed {
    let hours = input.number("billed_hours")?;
    let option = |name| {
        let option = input.inner(name)?;
        let rate = Rate {
            gpu_hour: option.number("gpu_hour")?,
            gpus: option.number("gpus")?,
            fraction: 1.0,
            other_hourly: 0.0,
        };
        let completed = option.count("completed")?;
        let tokens = completed * option.count("output_tokens_per_request")?;
        let work = Work {
            completed,
            useful: option.count("useful")?,
            input_tokens: 0,
            output_tokens: tokens,
        };
        let tok_s = tokens as f64 / (hours * 3600.0);
        Computed::Ok((tok_s, Cost::of(&rate, hours, &work).per_useful_decision))
    };
    let ((a_tok_s, a), (b_tok_s, b)) = (option("A")?, option("B")?);
    Ok(json!({
        "a_tok_s": json_number(a_tok_s),
        "b_tok_s": json_number(b_tok_s),
        "a_per_useful": json_some(a),
        "b_per_useful": json_some(b),
        "cheaper": Cheaper::of(a, b).as_str(),
    }))
}

pub(crate) fn goodput(case: &Case<'_>, _: &File) -> Computed {
    let requests: Vec<Served> = case
        .cases("requests")?
        .map(|request| {
            Ok(Served {
                completed: matches!(request.text("outcome")?, "ok" | "complete"),
                ttft: request.some_number("ttft")?,
                tpot: request.some_number("tpot")?,
            })
        })
        .collect::<Computed<_>>()?;
    let objectives = Objectives {
        ttft: case.number("ttft_slo")?,
        tpot: case.number("tpot_slo")?,
    };
    let goodput = Goodput::of(&requests, &objectives);
    Ok(json!({
        "good": goodput.good,
        "goodput_req_s": json_number(goodput.per_s(case.number("duration_s")?)),
        "attainment_all_offered": json_some(goodput.attainment()),
        "attainment_completed_only": json_some(goodput.attainment_of_completed()),
        "marginal_ttft_ok": json_some(goodput.ttft_attainment()),
        "marginal_tpot_ok": json_some(goodput.tpot_attainment()),
    }))
}

pub(crate) fn claim(case: &Case<'_>, _: &File) -> Computed {
    match case.kind() {
        "claim" => {
            let stated = case.inner("claim")?;
            let measured = case.inner("measured")?;
            let claim = Claim {
                conditions: conditions(&stated)?,
                statistic: stated.some_text("statistic")?.map(str::to_owned),
                tok_s: stated.some_number("tok_s")?,
                req_s: stated.some_number("req_s")?,
                ttft_ms: stated.some_number("ttft_ms")?,
                tpot_ms: stated.some_number("tpot_ms")?,
                e2e_ms: stated.some_number("e2e_ms")?,
            };
            let moved = claim.tok_s.zip(measured.some_number("tok_s")?);
            let moved = moved.map(|(claimed, measured)| moved_by(claimed, measured));
            Ok(json_claim(&claim, &conditions(&measured)?, moved))
        }
        "status" => {
            let claimed = case.number("claimed")?;
            let measured = case.some_number("measured")?;
            let interval = case.some("interval").map(numbers).transpose()?;
            let interval = match interval.as_deref() {
                Some(&[lower, upper]) => Some(Interval { lower, upper }),
                _ => None,
            };
            Ok(json!({
                "status": Status::after_run(claimed, interval).as_str(),
                "moved_rel": json_some(measured.map(|measured| moved_by(claimed, measured))),
            }))
        }
        _ => unknown_kind(case),
    }
}

fn conditions(of: &Case<'_>) -> Computed<Conditions> {
    Ok(Conditions {
        input_len: of.some_number("input_len")?,
        output_len: of.some_number("output_len")?,
        batch_size: of.some_number("batch_size")?,
        precision: of.some_text("precision")?.map(str::to_owned),
        concurrency: of.some_number("concurrency")?,
    })
}

fn json_claim(claim: &Claim, measured: &Conditions, moved: Option<f64>) -> Value {
    let names = |conditions: Vec<Condition>| {
        conditions
            .into_iter()
            .map(Condition::as_str)
            .collect::<Vec<_>>()
    };
    let resemblance: Map<String, Value> = Condition::ALL
        .into_iter()
        .map(|condition| {
            let near = claim.conditions.resemblance(measured, condition);
            (condition.as_str().to_owned(), json_some(near))
        })
        .collect();
    let consistency = claim.consistency();
    json!({
        "label": claim.conditions.label(measured).to_string(),
        "missing": names(claim.conditions.unstated()),
        "divergent": names(claim.conditions.divergent(measured)),
        "resemblance": resemblance,
        "statistic_warning": claim.warns_of_statistic(),
        "moved_rel": json_some(moved),
        "littles_law_cap_tok_s": json_some(consistency.tok_s_cap),
        "tok_s_consistent": consistency.tok_s,
        "e2e_consistent": consistency.e2e,
        "req_s_consistent": consistency.req_s,
    })
}
