//! Accuracy and agreement: files 21 to 24.

use super::File;
use super::case::{
    Case, Computed, json_interval, json_number, json_some, numbers, refused, text, unknown_kind,
};
use super::replays::token_ids;
use judge::accuracy::agreement::{Agreement, NoiseFloor};
use judge::accuracy::{
    Choice, ClusteredAccuracy, JsonFields, JsonSchema, NormalForm, PairedAccuracy, Pattern, Scorer,
    Take, TextOptions, Tolerance,
};
use judge::share::Share;
use serde_json::{Map, json};

pub(crate) fn paired(case: &Case<'_>, _: &File) -> Computed {
    let (b, c) = (
        case.count("a_right_b_wrong")?,
        case.count("a_wrong_b_right")?,
    );
    let slice = PairedAccuracy::new(case.count("n")?, b, c).map_err(refused)?;
    let (chi2, one_sided) = (slice.chi_squared(), slice.one_sided95());
    let mut by_margin = Map::new();
    // Which margins are asked for stands beside what is expected of them.
    for (name, _) in case
        .inner("expected")?
        .inner("verdict_by_margin")?
        .entries()
    {
        let margin = name.parse().map_err(|_| format!("{name:?} is no margin"))?;
        by_margin.insert(name.to_owned(), json!(slice.decide(margin).as_str()));
    }
    Ok(json!({
        "delta_b_minus_a": json_number(slice.delta()),
        "flips_rate": json_number(slice.flips()),
        "exact_p": json_number(slice.exact_p()),
        "mid_p": json_number(slice.mid_p()),
        "chi2": json_number(chi2.statistic),
        "chi2_p": json_number(chi2.p),
        "chi2_cc": json_number(chi2.corrected),
        "wald95": json_interval(slice.wald(0.95)),
        "bonett_price95": json_interval(slice.bonett_price(0.95)),
        "tango95": json_interval(slice.tango(0.95)),
        "one_sided_lower95": json_number(one_sided.lower),
        "one_sided_upper95": json_number(one_sided.upper),
        "verdict_by_margin": by_margin,
    }))
}

pub(crate) fn clustered(case: &Case<'_>, _: &File) -> Computed {
    let clusters: Vec<Vec<f64>> = case
        .list("clusters_of_item_differences")?
        .iter()
        .map(numbers)
        .collect::<Computed<_>>()?;
    let accuracy = ClusteredAccuracy::of(&clusters).ok_or("there is one cluster only")?;
    let one_sided = accuracy.one_sided95();
    Ok(json!({
        "mean_delta": json_number(accuracy.delta),
        "clustered_se": json_number(accuracy.se),
        "independent_se": json_some(accuracy.independent_se),
        "deff": json_some(accuracy.design_effect()),
        "df": accuracy.freedom,
        "ci95": json_interval(accuracy.interval(0.95)),
        "one_sided_lower95": json_number(one_sided.lower),
        "one_sided_upper95": json_number(one_sided.upper),
        "verdict": accuracy.decide(case.number("margin")?).as_str(),
    }))
}

pub(crate) fn scorers(case: &Case<'_>, _: &File) -> Computed {
    let scorer = scorer(case.kind(), &case.inner("config")?)?;
    let output = case.some_text("output")?;
    let gold = case.some_text("gold")?.unwrap_or("");
    let score = scorer.score(output, gold).map_err(refused)?;
    Ok(json!({"score": u8::from(score.correct), "malformed": score.malformed}))
}

fn scorer(kind: &str, config: &Case<'_>) -> Computed<Scorer> {
    let options = text_options(config)?;
    let tolerance = Tolerance {
        absolute: config.some_number("abs_tol")?.unwrap_or(0.0),
        relative: config.some_number("rel_tol")?.unwrap_or(0.0),
    };
    Ok(match kind {
        "exact" => Scorer::Exact(options),
        "contains" => Scorer::Contains(options),
        "regex" => Scorer::Regex(pattern(config, 0)?, options),
        "choice" => Scorer::Choice(Choice {
            pattern: pattern(config, 1)?,
            choices: texts(config, "choices")?,
        }),
        "numeric" => Scorer::Numeric(tolerance),
        "json_schema" => {
            let schema = JsonSchema::new(config.get("schema")?).map_err(refused)?;
            Scorer::JsonSchema(if config.flag("strip_fences") {
                schema.strip_fences()
            } else {
                schema
            })
        }
        "json_fields" => Scorer::JsonFields(JsonFields {
            compare: texts(config, "compare")?,
            tolerance,
            strip_fences: config.flag("strip_fences"),
        }),
        other => return Err(format!("{other:?} is no scorer that this file has")),
    })
}

fn text_options(config: &Case<'_>) -> Computed<TextOptions> {
    let unicode = match config.some_text("unicode")? {
        None => None,
        Some("NFC") => Some(NormalForm::Nfc),
        Some("NFD") => Some(NormalForm::Nfd),
        Some("NFKC") => Some(NormalForm::Nfkc),
        Some("NFKD") => Some(NormalForm::Nfkd),
        Some(other) => return Err(format!("{other:?} is no normal form")),
    };
    Ok(TextOptions {
        unicode,
        strip: config.flag("strip"),
        casefold: config.flag("casefold"),
        ignore_punctuation: config.flag("ignore_punctuation"),
    })
}

fn pattern(config: &Case<'_>, default_group: u64) -> Computed<Pattern> {
    let group = config.some("group").map(super::case::count).transpose()?;
    let group =
        usize::try_from(group.unwrap_or(default_group)).map_err(|error| error.to_string())?;
    let take = match config.some_text("take")? {
        None | Some("first") => Take::First,
        Some("last") => Take::Last,
        Some(other) => return Err(format!("{other:?} is neither first nor last")),
    };
    Pattern::new(config.text("pattern")?, group, take).map_err(refused)
}

fn texts(config: &Case<'_>, name: &str) -> Computed<Vec<String>> {
    let texts = config.list(name)?.iter();
    texts.map(|one| text(one).map(str::to_owned)).collect()
}

pub(crate) fn agreement(case: &Case<'_>, _: &File) -> Computed {
    match case.kind() {
        "pair" => {
            let (a, b) = (token_ids(case.get("a")?)?, token_ids(case.get("b")?)?);
            let agreement = Agreement::of(&a, &b);
            Ok(json!({
                "exact": agreement.is_exact(),
                "first_divergence": agreement.first_divergence,
                "lcp_fraction": json_number(agreement.common_prefix),
                "edit_distance": agreement.edit_distance,
                "edit_similarity": json_number(agreement.edit_similarity),
            }))
        }
        "noise_floor" => {
            let share =
                |agree, n| Share::new(case.number(agree)?, case.number(n)?).map_err(refused);
            let floor = NoiseFloor {
                with_itself: share("aa_agree", "aa_n")?,
                with_candidate: share("ab_agree", "ab_n")?,
            };
            Ok(json!({
                "aa": json_number(floor.with_itself.value()),
                "ab": json_number(floor.with_candidate.value()),
                "aa_wilson95": json_interval(floor.with_itself.wilson(0.95)),
                "ab_wilson95": json_interval(floor.with_candidate.wilson(0.95)),
                "excess_disagreement": json_number(floor.excess()),
                "newcombe95": json_interval(floor.interval95()),
                "differs_beyond_noise": floor.differs_beyond_noise(),
            }))
        }
        _ => unknown_kind(case),
    }
}
