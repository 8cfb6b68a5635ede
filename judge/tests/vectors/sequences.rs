//! Quantiles, shares and sizes of independent values, and tests that may be repeated: files 02 to 07, 10, 11.

use super::File;
use super::case::{Case, Computed, json_interval, json_number, json_some, refused, unknown_kind};
use judge::Decision;
use judge::quantile::{Level, Sorted};
use judge::sample_size::{Gap, ShareQuestion, TimeToAnswer};
use judge::sequential::SequentialTest;
use judge::share::Share;
use judge::{confidence_sequence, early_stopping, rank_interval, sample_size, share};
use serde_json::{Value, json};

pub(crate) fn quantile_definitions(case: &Case<'_>, _: &File) -> Computed {
    let sorted = Sorted::new(case.numbers("x")?);
    let p = case.level("p")?;
    Ok(json!({
        "nearest_rank": json_some(sorted.quantile(p)),
        "linear_type7": json_some(sorted.quantile_linear(p)),
        "loadgen_floor_np": json_some(sorted.quantile_floor(p)),
    }))
}

pub(crate) fn quantile_ci_ranks(case: &Case<'_>, _: &File) -> Computed {
    let n = case.count("n")?;
    let ranks = rank_interval::two_sided(n, case.level("p")?, case.number("conf")?);
    let ranks = ranks.map_err(refused)?;
    Ok(json!({
        "lower_rank": ranks.lower.unwrap_or(0),
        "upper_rank": ranks.upper.unwrap_or(n + 1),
        "lower_unbounded": ranks.lower.is_none(),
        "upper_unbounded": ranks.upper.is_none(),
        "actual_coverage": json_some(ranks.coverage),
    }))
}

pub(crate) fn one_sided_and_min_n(case: &Case<'_>, _: &File) -> Computed {
    let (p, confidence) = (case.level("p")?, case.number("conf")?);
    match case.kind() {
        "min_n" => Ok(json!({
            "min_n_one_sided_upper":
                rank_interval::least_for_upper_bound(p, confidence).map_err(refused)?,
            "min_n_two_sided": rank_interval::least_for_two_sided(p, confidence).map_err(refused)?,
        })),
        "bound_ranks" => {
            let n = case.count("n")?;
            let upper = rank_interval::upper_bound(n, p, confidence).map_err(refused)?;
            let lower = rank_interval::lower_bound(n, p, confidence).map_err(refused)?;
            Ok(json!({
                "upper_bound_rank": upper.unwrap_or(n + 1),
                "upper_unbounded": upper.is_none(),
                "lower_bound_rank": lower.unwrap_or(0),
            }))
        }
        _ => unknown_kind(case),
    }
}

pub(crate) fn early_stopping(case: &Case<'_>, _: &File) -> Computed {
    let p = case.level("p")?;
    match case.kind() {
        "h_min" => {
            let t = case.count("t")?;
            let within = early_stopping::least_within(t, p, case.number("c")?).map_err(refused)?;
            Ok(json!({"h_min": within, "n_required": within + t}))
        }
        "floor" => {
            let least = early_stopping::least_queries(p, case.number("c")?).map_err(refused)?;
            Ok(json!({"min_samples": least}))
        }
        "estimate" => {
            let (n, c) = (case.count("n")?, case.number("c")?);
            let estimate = early_stopping::estimate(n, p, c).map_err(refused)?;
            Ok(json!({
                "enough": estimate.is_some(),
                "t": estimate.map(|estimate| estimate.over),
                "estimate_rank": estimate.map(|estimate| estimate.rank),
                "discarded": estimate.map(|estimate| estimate.discarded),
                "wilks_rank": early_stopping::wilks_rank(n, p, c).map_err(refused)?,
            }))
        }
        "fixed_n" => {
            let (confidence, margin) = (case.number("conf")?, case.number("margin")?);
            let size = early_stopping::fixed_size(p, confidence, margin).map_err(refused)?;
            Ok(json!({"n_exact": json_number(size.exact), "n_mlperf": size.queries}))
        }
        _ => unknown_kind(case),
    }
}

pub(crate) fn attainment(case: &Case<'_>, _: &File) -> Computed {
    match case.kind() {
        "attainment" => {
            let share = Share::new(case.number("exceed")?, case.number("n")?).map_err(refused)?;
            let p0 = case.number("p0")?;
            Ok(json!({
                "cp95": json_interval(share.clopper_pearson(0.95)),
                "wilson95": json_interval(share.wilson(0.95)),
                "one_sided_upper95": json_number(share.upper(0.95)),
                "one_sided_lower95": json_number(share.lower(0.95)),
                "p_value_share_ge_p0": json_number(share.p_value_at_least(p0)),
                "p_value_share_le_p0": json_number(share.p_value_at_most(p0)),
                "verdict": share.decide(p0).as_str(),
            }))
        }
        "max_exceedances" => {
            let (p0, alpha) = (case.number("p0")?, case.number("alpha")?);
            let most = share::most_exceedances(case.count("n")?, p0, alpha).map_err(refused)?;
            Ok(json!({"max_exceedances": most.map_or(json!(-1), |most| json!(most))}))
        }
        "rate_difference" => {
            let arm = |bad, n| Share::new(case.number(bad)?, case.number(n)?).map_err(refused);
            let (a, b) = (arm("bad_a", "n_a")?, arm("bad_b", "n_b")?);
            let difference = share::rate_difference(a, b, case.number("margin")?);
            Ok(json!({
                "difference_b_minus_a": json_number(difference.difference),
                "lower95": json_number(difference.bounds.lower),
                "upper95": json_number(difference.bounds.upper),
                "verdict": difference.decision.as_str(),
            }))
        }
        _ => unknown_kind(case),
    }
}

pub(crate) fn sample_size(case: &Case<'_>, _: &File) -> Computed {
    match case.kind() {
        "prove_share" => {
            let question = ShareQuestion {
                limit: case.number("p0")?,
                truth: case.number("true_share")?,
                alpha: case.number("alpha")?,
                power: case.number("power")?,
            };
            let size = question.size().map_err(refused)?;
            Ok(json!({
                "n": size.requests,
                "power_at_n": json_number(size.power),
                "max_exceed": size.most_exceedances,
            }))
        }
        "rank_half_width" => {
            let (half_width, confidence) = (case.number("half_width")?, case.number("conf")?);
            let n = sample_size::for_half_width(case.level("p")?, half_width, confidence);
            Ok(json!({"n": n.map_err(refused)?}))
        }
        "ten_effective_exceedances" => {
            let design_effect = case.number("deff")?;
            Ok(json!({
                "n_p95": sample_size::for_exceedances(Level::P95, design_effect),
                "n_p99": sample_size::for_exceedances(Level::P99, design_effect),
            }))
        }
        "paired_accuracy" => {
            let (discordance, margin) = (case.number("discordance")?, case.number("margin")?);
            let (alpha, power) = (case.number("alpha")?, case.number("power")?);
            let n = sample_size::for_paired_accuracy(discordance, margin, alpha, power);
            Ok(json!({"n": n.map_err(refused)?}))
        }
        "time_to_answer" => time_to_answer(case),
        _ => unknown_kind(case),
    }
}

fn time_to_answer(case: &Case<'_>) -> Computed {
    let gap = match case.text("because")? {
        "guard" => Gap::Guard {
            design_effect: case.number("deff")?,
            level: case.level("p")?,
        },
        "interval" => Gap::Interval {
            half_width: case.number("half_width_rank")?,
            rank_gap: case.number("rank_gap")?,
        },
        "t" => Gap::Statistic {
            t: case.number("t")?,
            critical: case.number("t_crit")?,
        },
        other => return Err(format!("{other:?} is no reason that this file has")),
    };
    let answer = gap.time_to_answer(case.count("n")?, case.number("rate_per_s")?);
    Ok(match answer {
        TimeToAnswer::Hopeless => {
            json!({"more_requests": Value::Null, "hours": Value::Null, "hopeless": true})
        }
        TimeToAnswer::More { requests, hours } => json!({
            "more_requests": requests,
            "hours": json_some(hours),
            "hopeless": false,
        }),
    })
}

pub(crate) fn eprocess(case: &Case<'_>, _: &File) -> Computed {
    let evidence = SequentialTest::new(case.number("p0")?, case.number("alpha")?)
        .map_err(refused)?
        .with_mixture(case.number("a")?, case.number("b")?)
        .map_err(refused)?
        .look(case.number("exceed")?, case.number("n")?)
        .map_err(refused)?;
    let verdict = match evidence.decision {
        Decision::NotEnoughData => "CONTINUE",
        decided => decided.as_str(),
    };
    Ok(json!({
        "log_e_pass": json_number(evidence.log_e_pass),
        "log_e_fail": json_number(evidence.log_e_fail),
        "verdict": verdict,
    }))
}

pub(crate) fn confidence_sequence(case: &Case<'_>, _: &File) -> Computed {
    let alpha = case.number("alpha")?;
    match case.kind() {
        "fixed_quantile" => {
            let (p, t) = (case.level("p")?, case.count("t")?);
            let best = case.number("t_opt")?;
            let ranks = confidence_sequence::one_quantile(p, t, best, alpha).map_err(refused)?;
            let fixed = rank_interval::two_sided(t, p, 0.95).map_err(refused)?;
            Ok(json!({
                "lower_radius": json_number(ranks.lower_radius),
                "upper_radius": json_number(ranks.upper_radius),
                "lower_capped": ranks.lower_capped,
                "upper_capped": ranks.upper_capped,
                "lower_rank": ranks.lower_rank.unwrap_or(0),
                "upper_rank": ranks.upper_rank.unwrap_or(t + 1),
                "fixed_n_ranks": [fixed.lower.unwrap_or(0), fixed.upper.unwrap_or(t + 1)],
            }))
        }
        "all_quantiles" => {
            let (t, t_min) = (case.number("t")?, case.number("t_min")?);
            let radius = confidence_sequence::all_quantiles(t, t_min, alpha).map_err(refused)?;
            let constant = confidence_sequence::constant(alpha).map_err(refused)?;
            Ok(json!({
                "C": json_number(constant),
                "radius": json_number(radius),
                "dkw_fixed_n": json_number(confidence_sequence::one_look(t, alpha)),
            }))
        }
        _ => unknown_kind(case),
    }
}
