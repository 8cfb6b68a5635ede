//! The verdict, what it is tried on, and the instrument: files 33 to 35 and 38.

use super::File;
use super::case::{
    Case, Computed, json_number, json_numbers, json_some, numbers, refused, unknown_kind,
};
use judge::dependence::Target;
use judge::instrument::{BucketComparison, Calibration, Viewpoints};
use judge::quantile::Level;
use judge::queueing::{Md1, Mm1, Mmc};
use judge::validity::RunFault;
use judge::verdict::{Finding, Judgement};
use judge::{Decision, Interval, holm as holms};
use serde_json::{Value, json};

pub(crate) fn queueing(case: &Case<'_>, _: &File) -> Computed {
    let arrivals = case.number("lam")?;
    match case.kind() {
        "M/M/1" => {
            let queue = Mm1::new(arrivals, case.number("mu")?).map_err(refused)?;
            Ok(json!({
                "mean_sojourn": json_number(queue.mean_sojourn()),
                "mean_in_system": json_number(queue.mean_in_system()),
                "sojourn_p50": json_number(queue.sojourn_quantile(0.5)),
                "sojourn_p95": json_number(queue.sojourn_quantile(0.95)),
                "sojourn_p99": json_number(queue.sojourn_quantile(0.99)),
                "p_wait_zero": json_number(queue.no_wait()),
            }))
        }
        "M/M/c" => {
            let servers = u32::try_from(case.count("c")?).map_err(|error| error.to_string())?;
            let queue = Mmc::new(servers, arrivals, case.number("mu")?).map_err(refused)?;
            Ok(json!({
                "erlang_c": json_number(queue.erlang_c()),
                "mean_wait": json_number(queue.mean_wait()),
                "wait_p50": json_number(queue.wait_quantile(0.5)),
                "wait_p90": json_number(queue.wait_quantile(0.9)),
                "wait_p95": json_number(queue.wait_quantile(0.95)),
                "wait_p99": json_number(queue.wait_quantile(0.99)),
            }))
        }
        "M/D/1" => {
            let queue = Md1::new(arrivals, case.number("D")?).map_err(refused)?;
            Ok(json!({
                "mean_wait": json_number(queue.mean_wait()),
                "wait_p50": json_number(queue.wait_quantile(0.5)),
                "wait_p90": json_number(queue.wait_quantile(0.9)),
                "wait_p95": json_number(queue.wait_quantile(0.95)),
                "wait_p99": json_number(queue.wait_quantile(0.99)),
                "sojourn_p95": json_number(queue.sojourn_quantile(0.95)),
            }))
        }
        _ => unknown_kind(case),
    }
}

pub(crate) fn overall(case: &Case<'_>, _: &File) -> Computed {
    let (mut faults, mut findings) = (Vec::new(), Vec::new());
    for (name, word) in case.inner("criteria")?.entries() {
        let decision = match word.as_str() {
            Some("INVALID RUN") => {
                faults.push(RunFault::NotCalibrated);
                continue;
            }
            Some("PASS") => Decision::Pass,
            Some("FAIL") => Decision::Fail,
            Some("NOT ENOUGH DATA") => Decision::NotEnoughData,
            _ => return Err(format!("{word} is no decision")),
        };
        findings.push(Finding::gating(name, decision));
    }
    Ok(json!(Judgement::of(faults, &findings).verdict.as_str()))
}

pub(crate) fn instrument(case: &Case<'_>, _: &File) -> Computed {
    match case.kind() {
        "scripted_backend" => {
            let (emitted, seen) = (case.numbers("true_emit_ms")?, case.numbers("seen_ms")?);
            let errors = Calibration::of(&emitted, &seen).map_err(refused)?;
            Ok(json!({
                "ttft_error_ms": json_number(errors.ttft_error),
                "itl_errors_ms": json_numbers(&errors.gap_errors),
                "tpot_true_ms": json_some(errors.tpot_true),
                "tpot_seen_ms": json_some(errors.tpot_seen),
                "tpot_error_ms": json_some(errors.tpot_error()),
                "max_abs_error_ms": json_number(errors.max_abs_error),
            }))
        }
        "three_viewpoints" => {
            let bounds = numbers(case.get("engine_bucket")?)?;
            let [lower, upper] = bounds[..] else {
                return Err("a bucket has two bounds".to_owned());
            };
            let views = Viewpoints {
                client: case.number("client_ttft_p95")?,
                ours: case.number("sidecar_ttft_p95")?,
                engine: case.number("engine_ttft_p95_interpolated")?,
                engine_bucket: Interval { lower, upper },
            };
            Ok(json!({
                "network_and_client": json_number(views.network_and_client()),
                "engine_bucket_contains_sidecar": views.bucket_contains_ours(),
                "undecidable": views.is_undecidable(),
            }))
        }
        "bucket_counts" => bucket_counts(case),
        "verdict_guard" => {
            let interval = Interval {
                lower: case.number("lower_ms")?,
                upper: case.number("upper_ms")?,
            };
            let limit = case.number("target_ms")?;
            let with = |error| Target {
                level: Level::P95,
                limit,
                error,
            };
            let error = case.number("error_p99_ms")?;
            Ok(json!({
                "without_error": with(0.0).decide_by(interval).as_str(),
                "verdict": with(error).decide_by(interval).as_str(),
            }))
        }
        _ => unknown_kind(case),
    }
}

fn bucket_counts(case: &Case<'_>) -> Computed {
    let (values, bounds) = (
        case.numbers("sidecar_values_s")?,
        case.numbers("engine_les")?,
    );
    let engine = case.counts("engine_cumulative")?;
    let comparison = BucketComparison::of(&values, &bounds, &engine).map_err(refused)?;
    Ok(json!({
        "sidecar_cumulative": comparison.ours,
        "max_abs_cum_diff": comparison.max_difference,
        "max_abs_share_diff": json_some(comparison.max_share),
        "consistent": comparison.is_consistent(),
    }))
}

pub(crate) fn holm(case: &Case<'_>, _: &File) -> Computed<Value> {
    Ok(json_numbers(&holms::adjusted(&case.numbers("p")?)))
}
