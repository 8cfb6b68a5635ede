//! Captures and replays: files 19, 20, 28 to 31.

use super::File;
use super::case::{
    Case, Computed, json_number, json_numbers, json_some, list, number, refused, text, unknown_kind,
};
use judge::Decision;
use judge::fidelity::{Arrivals, Lengths, ScheduleLag, spearman};
use judge::omission::{hdr_corrected, one_sender};
use judge::prefix::{BlockIds, Hashing, Key, Mac, PrefixCache, Row};
use judge::prng::SplitMix64;
use judge::quantile::{Level, nearest_rank};
use judge::rate_scaling::{Thinning, spread_grid, superpose, upsample, warp};
use judge::rate_search::{RateRange, RateSearch, SearchStep};
use serde_json::{Map, Value, json};

pub(crate) fn block_hash_ids(case: &Case<'_>, _: &File) -> Computed {
    let hashing = Hashing {
        mac: match case.text("mode")? {
            "hmac-sha256" => Mac::HmacSha256,
            "blake3-keyed" => Mac::Blake3Keyed,
            other => return Err(format!("{other:?} is no mode that this file has")),
        },
        key: Key::new(key_bytes(case.text("key_hex")?)?),
        block_tokens: case
            .count("block_size")?
            .try_into()
            .map_err(|_| "too large")?,
        include_partial: case.flag("include_partial"),
    };
    let mut ids = BlockIds::default();
    let (mut hash_ids, mut hash64_hex) = (Vec::new(), Vec::new());
    for sequence in case.list("token_sequences")? {
        let hashes = hashing.hashes(&token_ids(sequence)?);
        hash_ids.push(ids.of(&hashes));
        hash64_hex.push(
            hashes
                .iter()
                .map(|hash| hash.short_hex())
                .collect::<Vec<_>>(),
        );
    }
    Ok(json!({"hash_ids": hash_ids, "hash64_hex": hash64_hex}))
}

fn key_bytes(hex: &str) -> Computed<[u8; 32]> {
    let byte = |at: usize| {
        let digits = hex.get(at..at + 2).ok_or("a key has 64 digits")?;
        u8::from_str_radix(digits, 16).map_err(|error| error.to_string())
    };
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(byte)
        .collect::<Computed<_>>()?;
    bytes
        .try_into()
        .map_err(|_| "a key has 32 bytes".to_owned())
}

/// Token ids of a list.
pub(crate) fn token_ids(value: &Value) -> Computed<Vec<u32>> {
    let id = |value: &Value| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| format!("{value} is no token id"))
    };
    list(value)?.iter().map(id).collect()
}

pub(crate) fn prefix_reuse(case: &Case<'_>, _: &File) -> Computed {
    let blocks: Vec<Vec<u64>> = case
        .list("hash_ids")?
        .iter()
        .map(|row| list(row)?.iter().map(super::case::count).collect())
        .collect::<Computed<_>>()?;
    let lengths = case.counts("input_lengths")?;
    let rows = blocks
        .iter()
        .zip(lengths)
        .map(|(blocks, input_tokens)| Row {
            blocks,
            input_tokens,
        });
    let capacity = case
        .some("lru_capacity_blocks")
        .map(super::case::count)
        .transpose()?;
    let capacity = capacity.and_then(|capacity| usize::try_from(capacity).ok());
    let reuse = PrefixCache::new(case.count("block_size")?, capacity).serve(rows);
    Ok(json!({
        "cached_tokens": reuse.cached_tokens,
        "token_hit_rate": json_some(reuse.token_hit_rate()),
    }))
}

pub(crate) fn coordinated_omission(case: &Case<'_>, _: &File) -> Computed {
    let (service, interval) = (case.numbers("service_ms")?, case.number("interval_ms")?);
    let sent = one_sender(&service, interval);
    let response: Vec<f64> = sent.iter().map(|one| one.response).collect();
    let lags: Vec<f64> = sent.iter().map(|one| one.lag).collect();
    let corrected = hdr_corrected(&service, interval);
    let at = |values: &[f64], level| json_some(nearest_rank(values, level));
    Ok(json!({
        "p50_service": at(&service, Level::P50),
        "p95_service": at(&service, Level::P95),
        "p99_service": at(&service, Level::P99),
        "p50_from_intended": at(&response, Level::P50),
        "p95_from_intended": at(&response, Level::P95),
        "p99_from_intended": at(&response, Level::P99),
        "max_lag": at(&lags, Level::P100),
        "hdr_corrected_count": corrected.len(),
        "hdr_corrected_p95": at(&corrected, Level::P95),
    }))
}

pub(crate) fn fidelity(case: &Case<'_>, _: &File) -> Computed {
    match case.kind() {
        "lengths" => {
            let lengths = Lengths::compare(&case.numbers("a")?, &case.numbers("b")?);
            let lengths = lengths.map_err(refused)?;
            Ok(json!({
                "ks": json_number(lengths.ks),
                "wasserstein1": json_number(lengths.wasserstein),
                "energy": json_number(lengths.energy),
                "rel_wasserstein": json_some(lengths.relative_wasserstein),
                "ks_critical_5pct": json_number(lengths.ks_critical),
            }))
        }
        "arrivals" => arrivals(case),
        "schedule_lag" => {
            let (planned, actual) = (case.numbers("planned_s")?, case.numbers("actual_s")?);
            let lag = ScheduleLag::of(&planned, &actual, case.number("ttft_target_s")?);
            let lag = lag.map_err(refused)?;
            Ok(json!({
                "p50": json_number(lag.p50),
                "p99": json_number(lag.p99),
                "max": json_number(lag.max),
                "share_over_10ms": json_number(lag.late_share),
                "limit_s": json_number(lag.limit),
                "achieved_over_planned_rate": json_number(lag.rate_ratio),
                "verdict": if lag.is_valid() { "VALID" } else { "INVALID RUN" },
            }))
        }
        "joint" => {
            let correlation = spearman(&case.numbers("input")?, &case.numbers("output")?);
            Ok(json!({"spearman": json_some(correlation.map_err(refused)?)}))
        }
        _ => unknown_kind(case),
    }
}

fn arrivals(case: &Case<'_>) -> Computed {
    let times = case.numbers("t_s")?;
    let arrivals = Arrivals::new(&times, case.number("window_end_s")?);
    let mut found = Map::new();
    found.insert(
        "iat".to_owned(),
        json!({"mean": json_some(arrivals.gap_mean()), "cv": json_some(arrivals.gap_cv())}),
    );
    found.insert(
        "distinct_timestamps_ratio".to_owned(),
        json_some(arrivals.distinct_ratio()),
    );
    // The widths that are asked for stand in the names of what is expected.
    for (name, _) in case.inner("expected")?.entries() {
        let width = name
            .strip_prefix("idc_")
            .and_then(|rest| rest.strip_suffix('s'));
        let Some(width) = width else { continue };
        let width = width
            .parse()
            .map_err(|_| format!("{name:?} names no width"))?;
        let counts = arrivals.counts(width);
        let of_width = json!({
            "counts": counts.counts,
            "mean": json_some(counts.mean),
            "idc": json_some(counts.dispersion),
            "cv2": json_some(counts.cv2),
        });
        found.insert(name.to_owned(), of_width);
    }
    Ok(Value::Object(found))
}

pub(crate) fn rate_scaling(case: &Case<'_>, _: &File) -> Computed {
    let times = || case.numbers("t");
    match case.text("op")? {
        "time_warp" => {
            let warped = warp(&times()?, case.number("factor")?).map_err(refused)?;
            Ok(json_numbers(&warped))
        }
        "superpose" => {
            let (shift, period) = (case.number("shift")?, case.number("period")?);
            let both = superpose(&times()?, shift, period).map_err(refused)?;
            Ok(json_numbers(&both))
        }
        "local_upsample" => {
            let k = u32::try_from(case.count("k")?).map_err(|error| error.to_string())?;
            let mut generator = SplitMix64::new(case.count("prng_seed")?);
            let more = upsample(&times()?, k, case.number("end")?, &mut generator);
            Ok(json_numbers(&more))
        }
        "spread_grid" => Ok(json_numbers(&spread_grid(&times()?))),
        "thin_by_conversation" => thinned(case),
        other => Err(format!("{other:?} is no operation that this file has")),
    }
}

fn thinned(case: &Case<'_>) -> Computed {
    let thinning = Thinning {
        key: case.text("key")?.as_bytes(),
        keep: case.number("keep")?,
    };
    let mut kept = Vec::new();
    for row in case.list("rows")? {
        let conversation = list(row)?.first().ok_or("a row has a conversation")?;
        if thinning.keeps(text(conversation)?.as_bytes()) {
            kept.push(row.clone());
        }
    }
    Ok(Value::Array(kept))
}

pub(crate) fn rate_search(case: &Case<'_>, _: &File) -> Computed {
    let oracle = case.inner("oracle")?;
    let passes = number(oracle.get("pass_if_le")?)?;
    let fails = number(oracle.get("fail_if_gt")?)?;
    let max_steps = case.count("max_steps")?;
    let mut search = RateSearch::new(RateRange {
        lo: case.number("lo")?,
        hi: case.number("hi")?,
        relative_tolerance: case.number("rel_tol")?,
        max_steps: usize::try_from(max_steps).map_err(|error| error.to_string())?,
    })
    .map_err(refused)?;
    let found = loop {
        match search.next_step() {
            SearchStep::Done(found) => break found,
            SearchStep::Run(rate) if rate <= passes => search.record(Decision::Pass),
            SearchStep::Run(rate) if rate > fails => search.record(Decision::Fail),
            SearchStep::Run(_) => search.record(Decision::NotEnoughData),
        }
    };
    let steps = search.steps().iter();
    let steps: Vec<Value> = steps
        .map(|(rate, decision)| json!([json_number(*rate), decision.as_str()]))
        .collect();
    Ok(json!({
        "result": json_some(found.rate),
        "bracket": found.bracket.map(|(lo, hi)| json!([json_number(lo), json_number(hi)])),
        "reason": found.reason.as_str(),
        "steps": steps,
    }))
}
