//! Statistics and decisions over records: may a candidate replace an incumbent?
//!
//! Pure: no IO, no clock, no threads, no wire. What is random takes its generator as an argument ([`prng::SplitMix64`]).
//! What a quantity *means* (TTFT, TPOT, shape, concurrency around an exchange) is `measure`'s; this room reads records and
//! lists of [`Observation`]s, and answers with intervals, decisions and a verdict.
//!
//! Three rules hold everywhere. Answers have three values: [`Decision::NotEnoughData`] is one, and non-significance is never
//! a pass. A request that was cut off before its value was determined is censored, never dropped. Nothing takes a mean as
//! evidence for a tail.
//!
//! | topic | modules |
//! | --- | --- |
//! | quantiles and their intervals | [`quantile`], [`rank_interval`] (independent values), [`dependence`] (live latency), [`censoring`], [`confidence_sequence`], [`early_stopping`] |
//! | comparing two arms | [`paired`], [`unpaired`], [`replicates`], [`mix`] |
//! | shares and rates | [`share`], [`sequential`], [`sample_size`] |
//! | accuracy and agreement | [`accuracy`] |
//! | the verdict | [`comparison`], [`criterion`], [`validity`], [`verdict`], [`holm`] |
//! | a window or a run | [`window`], [`saturation`], [`warm_up`], [`goodput`], [`cost`], [`bootstrap`], [`rate_search`] |
//! | replays | [`fidelity`], [`rate_scaling`], [`prefix`], [`omission`] |
//! | one answer | [`stream`], [`fluidity`] |
//! | public numbers | [`claim`], [`planning`] |
//! | dashboards | [`classic_histogram`], [`native_histogram`], [`sketch`] |
//! | the instrument, and truths to try it on | [`instrument`], [`queueing`] |
//!
//! Values have the unit that they come in, the same throughout a call; a name that ends in a unit says so.

pub mod accuracy;
pub mod bootstrap;
pub mod censoring;
pub mod claim;
pub mod classic_histogram;
pub mod comparison;
pub mod confidence_sequence;
pub mod cost;
pub mod criterion;
mod decision;
pub mod dependence;
pub mod early_stopping;
mod error;
pub mod fidelity;
pub mod fluidity;
pub mod goodput;
pub mod holm;
pub mod instrument;
mod interval;
pub mod mix;
pub mod native_histogram;
mod numeric;
mod observation;
pub mod omission;
pub mod paired;
pub mod planning;
pub mod prefix;
pub mod prng;
pub mod quantile;
pub mod queueing;
pub mod rank_interval;
pub mod rate_scaling;
pub mod rate_search;
pub mod replicates;
pub mod sample_size;
pub mod saturation;
pub mod sequential;
pub mod share;
pub mod sketch;
pub mod stream;
pub mod unpaired;
pub mod validity;
pub mod verdict;
pub mod warm_up;
pub mod window;

pub use decision::{Decision, Standing};
pub use error::JudgeError;
pub use interval::Interval;
pub use observation::{Ending, Observation, Quantity};
