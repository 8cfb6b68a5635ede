//! Dependent values, pairs, blocks, strata, replays and censored values: files 08, 09, 12, 27, 36, 37.

use super::File;
use super::case::{
    Case, Computed, json_interval, json_number, json_some, number, numbers, refused,
};
use judge::bootstrap::{Bootstrap, draw, pooled_quantile};
use judge::censoring::CensoredQuantile;
use judge::dependence::{QuantileInterval, Target, as_if_independent};
use judge::mix::{Mix, Stratum};
use judge::paired::{PairedResult, PairedTest, Reading, WeightedT};
use judge::prng::SplitMix64;
use judge::quantile::{Level, nearest_rank};
use judge::replicates::Replicates;
use judge::{Ending, Observation};
use serde_json::{Map, Value, json};

fn level_named(name: &str) -> Computed<Level> {
    let p = name.parse::<f64>();
    let p = p.map_err(|_| format!("{name:?} is no level"))?;
    Level::new(p).map_err(refused)
}

pub(crate) fn dependent_interval(case: &Case<'_>, _: &File) -> Computed {
    let values = case.observations("values_us", "censored")?;
    let confidence = case.number("conf")?;
    // Which levels and targets are asked for stands beside what is expected of them.
    let asked = case.inner("expected")?;
    let mut by_p = Map::new();
    for (name, _) in asked.inner("by_p")?.entries() {
        let level = level_named(name)?;
        let interval = QuantileInterval::of(&values, Ending::Infinite, level, confidence);
        let interval = interval
            .map_err(refused)?
            .ok_or("there are too few values")?;
        by_p.insert(name.to_owned(), json_quantile(&interval));
    }
    let mut absolute = Vec::new();
    for target in asked.cases("absolute")? {
        let (p, limit) = (target.get("p")?, target.get("target_us")?);
        let error = target.get("error_us")?;
        let rule = Target {
            level: target.level("p")?,
            limit: number(limit)?,
            error: number(error)?,
        };
        let decision = rule.decide(&values, confidence).map_err(refused)?;
        absolute.push(json!({
            "p": p, "target_us": limit, "error_us": error, "verdict": decision.as_str(),
        }));
    }
    let independent = as_if_independent(&values, Ending::Infinite, Level::P95, confidence);
    let independent = independent.map_err(refused)?;
    Ok(json!({
        "by_p": by_p,
        "independent_p95": {
            "lower": json_number(independent.lower),
            "upper": json_number(independent.upper),
        },
        "absolute": absolute,
    }))
}

fn json_quantile(interval: &QuantileInterval) -> Value {
    json!({
        "n": interval.n,
        "quantile": json_number(interval.quantile),
        "lag1_raw": json_number(interval.design_effect.lag1),
        "deff_lag1": json_number(interval.design_effect.by_lag1),
        "deff_batch": json_number(interval.design_effect.by_batches),
        "deff": json_number(interval.design_effect.value()),
        "n_eff": json_number(interval.effective_n()),
        "effective_exceedances": json_number(interval.effective_exceedances()),
        "t_crit": json_number(interval.t_critical),
        "half_width_rank": json_number(interval.half_width),
        "lower_rank": interval.lower_rank,
        "upper_rank": interval.upper_rank,
        "ci_lower": json_number(interval.bounds.lower),
        "ci_upper": json_number(interval.bounds.upper),
        "enough_data": interval.enough_data(),
    })
}

pub(crate) fn paired(case: &Case<'_>, _: &File) -> Computed {
    let a = case.observations("a_us", "censored_a")?;
    let b = case.observations("b_us", "censored_b")?;
    let test = PairedTest {
        level: case.level("p")?,
        margin: case.number("margin_ratio")?,
        alpha: case.number("alpha")?,
    };
    let result = test.compare(&a, &b).map_err(refused)?;
    Ok(json_pairs(&result.ok_or("there are too few pairs")?))
}

fn json_pairs(result: &PairedResult) -> Value {
    let mut found = json_reading(&result.reading);
    let of_differences = result.difference.map(|quantiles| {
        json!({
            "p05": json_number(quantiles.p05),
            "p50": json_number(quantiles.p50),
            "p95": json_number(quantiles.p95),
        })
    });
    let rest = json!({
        "ratio": json_number(result.ratio()),
        "quantile_difference": json_number(result.quantile_difference()),
        "t_crit": json_number(result.t_critical),
        "effective_exceedances_a": json_number(result.effective_exceedances),
        "t": json_number(result.reading.weighted.t),
        "t_inferiority": json_some(result.t_inferiority),
        "verdict": result.standing.as_str(),
        "paired_diff_quantiles": of_differences,
    });
    if let (Value::Object(found), Value::Object(rest)) = (&mut found, rest) {
        found.extend(rest);
    }
    found
}

fn json_reading(reading: &Reading) -> Value {
    json!({
        "q_a": json_number(reading.q_a),
        "q_b": json_number(reading.q_b),
        "threshold": json_number(reading.threshold),
        "n10_a_only": reading.counts.a_only,
        "n01_b_only": reading.counts.b_only,
        "n11": reading.counts.both,
        "n00": reading.counts.neither,
        "spacing_a": json_number(reading.spacing_a),
        "spacing_b": json_number(reading.spacing_b),
        "statistic": json_number(reading.statistic),
        "weighted": json_t(&reading.weighted),
        "unweighted": json_t(&reading.unweighted),
    })
}

fn json_t(with: &WeightedT) -> Value {
    json!({
        "weight": json_number(with.weight),
        "var_batch": json_number(with.var_batch),
        "var_naive": json_number(with.var_naive),
        "lag1": json_number(with.lag1),
        "se": json_number(with.se),
        "t": json_number(with.t),
    })
}

pub(crate) fn bootstrap(case: &Case<'_>, _: &File) -> Computed {
    let blocks: Vec<Vec<f64>> = case
        .list("blocks_ms")?
        .iter()
        .map(numbers)
        .collect::<Computed<_>>()?;
    let (level, start) = (case.level("p")?, case.count("prng_seed")?);
    let replicates = u32::try_from(case.count("R")?).map_err(|error| error.to_string())?;
    let mut generator = SplitMix64::new(start);
    let drawn = [
        draw(blocks.len(), &mut generator),
        draw(blocks.len(), &mut generator),
    ];
    let statistic = |blocks: &[&Vec<f64>]| pooled_quantile(blocks, level);
    let mut generator = SplitMix64::new(start);
    let resampled = Bootstrap::of_blocks(&blocks, replicates, &mut generator, statistic);
    let resampled = resampled.map_err(refused)?;
    let range = resampled.range();
    Ok(json!({
        "first_u64": SplitMix64::new(start).next_u64().to_string(),
        "point": json_some(nearest_rank(&blocks.concat(), level)),
        "first_two_index_draws": drawn,
        "ci95": json_interval(resampled.interval95()),
        "min": json_number(range.lower),
        "max": json_number(range.upper),
    }))
}

pub(crate) fn censoring(case: &Case<'_>, _: &File) -> Computed {
    let seen = case.counts("event_observed")?;
    let observations: Vec<Observation> = case
        .numbers("times_s")?
        .into_iter()
        .zip(seen)
        .map(|(observed, seen)| Observation {
            observed,
            censored: seen == 0,
        })
        .collect();
    let mut by_p = Map::new();
    for (name, _) in case.inner("expected")?.entries() {
        let quantile = CensoredQuantile::of(&observations, level_named(name)?);
        let quantile = quantile.ok_or("there are no values")?;
        let found = json!({
            "km": json_some(quantile.kaplan_meier),
            "completed_only": json_some(quantile.completed_only),
            "worst_case_censored_infinite": json_number(quantile.worst_case),
            "best_case_censored_at_value": json_number(quantile.best_case),
        });
        by_p.insert(name.to_owned(), found);
    }
    Ok(Value::Object(by_p))
}

pub(crate) fn mix(case: &Case<'_>, _: &File) -> Computed {
    let strata: Vec<Stratum> = case
        .cases("strata")?
        .map(|stratum| {
            Ok(Stratum {
                n_a: stratum.count("n_a")?,
                exceed_a: stratum.count("exceed_a")?,
                n_b: stratum.count("n_b")?,
                exceed_b: stratum.count("exceed_b")?,
            })
        })
        .collect::<Computed<_>>()?;
    let mix = Mix::of(&strata).map_err(refused)?;
    Ok(json!({
        "crude_a": json_number(mix.crude_a),
        "crude_b": json_number(mix.crude_b),
        "standardised_b_to_a_mix": json_some(mix.standardised_b),
        "mix_distance": json_number(mix.distance),
        "mix_differs": mix.differs(),
    }))
}

pub(crate) fn replicates(case: &Case<'_>, _: &File) -> Computed {
    let (a, b) = (case.numbers("p95_a_s")?, case.numbers("p95_b_s")?);
    let (margin, alpha) = (case.number("margin_ratio")?, case.number("alpha")?);
    let replicates = Replicates::new(&a, &b, margin, alpha).map_err(refused)?;
    let bounds = replicates.bounds();
    Ok(json!({
        "K": replicates.count(),
        "log_ratio_mean": json_number(replicates.log_mean()),
        "ratio": json_number(replicates.ratio()),
        "sd": json_some(replicates.sd()),
        "sign_test_p": json_number(replicates.sign_test_p()),
        "sign_flip_p": json_some(replicates.sign_flip_p()),
        "t_crit": json_some(replicates.t_critical()),
        "upper95_ratio": json_some(bounds.map(|bounds| bounds.upper)),
        "lower95_ratio": json_some(bounds.map(|bounds| bounds.lower)),
        "min_one_sided_sign_p": json_number(replicates.least_sign_p()),
        "verdict": replicates.standing().as_str(),
    }))
}
