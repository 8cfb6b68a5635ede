//! Which code belongs to which file.

use super::case::{Case, Computed};
use super::{
    File, accuracy, dashboards, money, replays, sequences, streams, tests_of_arms, verdicts,
};

/// Computes what one case expects.
pub(crate) type Compute = fn(&Case<'_>, &File) -> Computed;

/// Checks what a file holds besides its cases.
pub(crate) type Extra = fn(&File) -> Result<(), String>;

/// The code of one file.
pub(crate) struct Topic {
    pub(crate) case: Compute,
    pub(crate) extra: Option<Extra>,
}

const TOPICS: &[(&str, Compute)] = &[
    ("01_worked_example", money::worked_example),
    ("02_quantile_definitions", sequences::quantile_definitions),
    ("03_quantile_ci_ranks", sequences::quantile_ci_ranks),
    ("04_one_sided_and_min_n", sequences::one_sided_and_min_n),
    ("05_mlperf_early_stopping", sequences::early_stopping),
    ("06_slo_attainment_binomial", sequences::attainment),
    ("07_sample_size", sequences::sample_size),
    (
        "08_dependence_adjusted_quantile_ci",
        tests_of_arms::dependent_interval,
    ),
    ("09_paired_quantile_noninferiority", tests_of_arms::paired),
    ("10_sequential_eprocess", sequences::eprocess),
    (
        "11_confidence_sequence_quantile",
        sequences::confidence_sequence,
    ),
    ("12_cluster_bootstrap", tests_of_arms::bootstrap),
    ("13_prometheus_classic_quantile", dashboards::classic),
    ("14_prometheus_native_quantile", dashboards::native),
    ("15_ddsketch", dashboards::sketch),
    ("16_concurrency", streams::concurrency),
    ("17_stream_metrics", streams::stream_metrics),
    ("18_fluidity_index", streams::fluidity),
    ("19_block_hash_ids", replays::block_hash_ids),
    ("20_prefix_reuse", replays::prefix_reuse),
    ("21_mcnemar_accuracy_delta", accuracy::paired),
    ("22_clustered_accuracy_se", accuracy::clustered),
    ("23_scorers", accuracy::scorers),
    ("24_output_agreement", accuracy::agreement),
    ("25_cost", money::cost),
    ("26_goodput", money::goodput),
    ("27_censoring", tests_of_arms::censoring),
    ("28_coordinated_omission", replays::coordinated_omission),
    ("29_replay_fidelity", replays::fidelity),
    ("30_rate_scaling", replays::rate_scaling),
    ("31_max_sustainable_rate", replays::rate_search),
    ("32_claim_vs_measured", money::claim),
    ("33_queueing_ground_truth", verdicts::queueing),
    ("34_overall_verdict", verdicts::overall),
    ("35_measurement_error", verdicts::instrument),
    ("36_mix_standardisation", tests_of_arms::mix),
    ("37_replicate_level_verdict", tests_of_arms::replicates),
    ("38_holm", verdicts::holm),
    ("39_length_buckets", streams::length_buckets),
];

/// The code of the file of this name, without its ending.
pub(crate) fn topic(name: &str) -> Option<Topic> {
    let (_, case) = TOPICS.iter().find(|(topic, _)| *topic == name)?;
    Some(Topic {
        case: *case,
        extra: (name == "13_prometheus_classic_quantile").then_some(dashboards::worst_cases),
    })
}
