//! Histograms and sketches: files 13 to 15.

use super::File;
use super::case::{Case, Computed, json_number, json_some, list, numbers, refused, unknown_kind};
use super::compare;
use judge::classic_histogram::{CumulativeBucket, histogram_quantile, worst_overestimate};
use judge::native_histogram::{NativeHistogram, Schema};
use judge::quantile::{Sorted, nearest_rank};
use judge::sketch::{Mapping, Sketch};
use serde_json::json;

pub(crate) fn classic(case: &Case<'_>, _: &File) -> Computed {
    let mut bounds = case.numbers("les")?;
    bounds.push(f64::INFINITY);
    let buckets: Vec<CumulativeBucket> = bounds
        .into_iter()
        .zip(case.numbers("cumulative")?)
        .map(|(bound, count)| CumulativeBucket { bound, count })
        .collect();
    let quantile = histogram_quantile(&buckets, case.number("p")?);
    // The raw values are not in the file: their quantile is an input.
    let truth = case.inner("expected")?.some_number("true_nearest_rank")?;
    Ok(json!({
        "histogram_quantile": json_number(quantile),
        "true_nearest_rank": json_some(truth),
        "rel_error": json_some(truth.map(|truth| quantile / truth - 1.0)),
    }))
}

/// What file 13 says of whole buckets, beside its cases.
pub(crate) fn worst_cases(file: &File) -> Result<(), String> {
    let Some(buckets) = file.whole.get("worst_case_per_bucket") else {
        return Ok(());
    };
    for bucket in list(buckets)? {
        let bounds = numbers(Case::of(bucket).get("bucket")?)?;
        let [lower, upper] = bounds[..] else {
            return Err("a bucket has two bounds".to_owned());
        };
        let got = json!({
            "bucket": [json_number(lower), json_number(upper)],
            "worst_rel_overestimate": json_number(worst_overestimate(lower, upper)),
        });
        if let Some(found) = compare::difference(&got, bucket, file.tolerance()?) {
            return Err(format!("worst_case_per_bucket: {found}"));
        }
    }
    Ok(())
}

pub(crate) fn native(case: &Case<'_>, file: &File) -> Computed {
    let schema = case.number("schema")?;
    let schema = Schema(format!("{schema}").parse().map_err(|_| "it is no schema")?);
    match case.kind() {
        "schema" => Ok(json!({
            "base": json_number(schema.base()),
            "bucket_width_rel": json_number(schema.width()),
            "max_rel_err_exponential_interp": json_number(schema.width()),
            "max_rel_err_harmonic_mid": json_number(schema.error_of_middle()),
        })),
        "index" => {
            let index = schema.index(case.number("value")?);
            let bounds = schema.bounds(index);
            Ok(json!({
                "index": index,
                "lower_exclusive": json_number(bounds.lower),
                "upper_inclusive": json_number(bounds.upper),
            }))
        }
        "quantile" => {
            let histogram = native_of(case, schema)?;
            let quantile = histogram.quantile(case.number("p")?);
            let quantile = quantile.ok_or("nothing was counted")?;
            let truth = match reference_values(file)? {
                Some(values) => nearest_rank(&values, case.level("p")?),
                None => case.inner("expected")?.some_number("true_nearest_rank")?,
            };
            Ok(json!({
                "native_quantile": json_number(quantile),
                "true_nearest_rank": json_some(truth),
                "rel_error": json_some(truth.map(|truth| quantile / truth - 1.0)),
            }))
        }
        _ => unknown_kind(case),
    }
}

fn native_of(case: &Case<'_>, schema: Schema) -> Computed<NativeHistogram> {
    let mut histogram = NativeHistogram::new(schema);
    for (index, count) in case.inner("counts")?.entries() {
        let index = index
            .parse()
            .map_err(|_| format!("{index:?} is no index"))?;
        histogram.add(index, super::case::count(count)?);
    }
    Ok(histogram)
}

/// The values that fill the buckets of file 14: they stand in file 15. Without it they are not known.
fn reference_values(file: &File) -> Computed<Option<Vec<f64>>> {
    let Some(sibling) = file.sibling("15_ddsketch") else {
        return Ok(None);
    };
    Case::of(&sibling?.whole)
        .numbers("reference_values")
        .map(Some)
}

pub(crate) fn sketch(case: &Case<'_>, file: &File) -> Computed {
    let mapping = Mapping::new(case.number("alpha")?).map_err(refused)?;
    match case.kind() {
        "mapping" => {
            let value = case.number("value")?;
            let key = mapping.key(value);
            let representative = mapping.representative(key);
            Ok(json!({
                "key": key,
                "representative": json_number(representative),
                "rel_error": json_number(representative / value - 1.0),
            }))
        }
        "quantile" => {
            let values = Case::of(&file.whole).numbers("reference_values")?;
            let p = case.number("p")?;
            let quantile = halves(&values, mapping)?.quantile(p);
            let quantile = quantile.ok_or("nothing was counted")?;
            let truth = value_below(&values, p);
            Ok(json!({
                "gamma": json_number(mapping.gamma()),
                "estimate": json_number(quantile.estimate),
                "key": quantile.key,
                "true_lower": json_some(truth),
                "rel_error": json_some(truth.map(|truth| quantile.estimate / truth - 1.0)),
            }))
        }
        _ => unknown_kind(case),
    }
}

/// One sketch of two, each of which saw every other value.
fn halves(values: &[f64], mapping: Mapping) -> Computed<Sketch> {
    let mut sketches = [Sketch::new(mapping), Sketch::new(mapping)];
    for (at, value) in values.iter().enumerate() {
        sketches[at % 2].record(*value);
    }
    let [mut one, other] = sketches;
    one.merge(&other)
        .map_err(|_| "sketches of one mapping merge")?;
    Ok(one)
}

/// The value at ⌊p(n − 1)⌋, counted from 0.
fn value_below(values: &[f64], p: f64) -> Option<f64> {
    let sorted = Sorted::new(values.iter().copied());
    let below = (p * (values.len() as f64 - 1.0) + 1e-9).floor();
    let index: usize = format!("{below}").parse().ok()?;
    sorted.as_slice().get(index).copied()
}
