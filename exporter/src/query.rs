//! PromQL over the families of the catalogue, for servers with and without native histograms.
//!
//! Every query has two halves joined by `or`: the first reads the native form of a histogram, the second the classic one.
//! A server stores one of the two, so that one half is always empty.

use std::fmt::{self, Display, Formatter};

use crate::catalogue::{Family, Form};

/// Fewest observations in the range below which a median is left out.
pub const P50_LEAST: u32 = 20;
/// The same for the 95th percentile.
pub const P95_LEAST: u32 = 100;
/// The same for the 99th.
pub const P99_LEAST: u32 = 500;

/// A quantile of a histogram family.
#[derive(Debug, Clone, Copy)]
pub struct Quantile<'a> {
    /// Of which distribution.
    pub family: &'a Family,
    /// Between 0 and 1, as PromQL writes it.
    pub level: &'a str,
    /// Labels that stay apart.
    pub by: &'a [&'a str],
    /// Label matchers, without braces; may be empty.
    pub matchers: &'a str,
    /// Range, such as `5m`.
    pub range: &'a str,
}

/// The number of observations of a histogram family in a range.
#[derive(Debug, Clone, Copy)]
pub struct Observations<'a> {
    /// Of which distribution.
    pub family: &'a Family,
    /// Labels that stay apart.
    pub by: &'a [&'a str],
    /// Label matchers, without braces; may be empty.
    pub matchers: &'a str,
    /// Range, such as `5m`.
    pub range: &'a str,
}

/// Label matchers in braces, or nothing.
struct Selector<'a>(&'a str);

impl Quantile<'_> {
    /// How many observations it rests on.
    pub fn observations(&self) -> Observations<'_> {
        Observations {
            family: self.family,
            by: self.by,
            matchers: self.matchers,
            range: self.range,
        }
    }

    /// The quantile where it rests on at least `n` observations, else nothing.
    pub fn from_at_least(&self, n: u32) -> String {
        let by = self.by.join(", ");
        format!("({self}) and on ({by}) ({} >= {n})", self.observations())
    }
}

impl Display for Quantile<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.family.full_name();
        let selector = Selector(self.matchers);
        let (level, range) = (self.level, self.range);
        let by = self.by.join(", ");
        if has_native(self.family) {
            write!(
                f,
                "histogram_quantile({level}, sum by ({by}) (rate({name}{selector}[{range}]))) or "
            )?;
        }
        let by = [self.by, &["le"]].concat().join(", ");
        write!(
            f,
            "histogram_quantile({level}, sum by ({by}) (rate({name}_bucket{selector}[{range}])))"
        )
    }
}

impl Display for Observations<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = self.family.full_name();
        let selector = Selector(self.matchers);
        let range = self.range;
        let by = self.by.join(", ");
        let classic = format!("sum by ({by}) (increase({name}_count{selector}[{range}]))");
        if has_native(self.family) {
            let native =
                format!("histogram_count(sum by ({by}) (increase({name}{selector}[{range}])))");
            write!(f, "({native} or {classic})")
        } else {
            write!(f, "{classic}")
        }
    }
}

impl Display for Selector<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            matchers => write!(f, "{{{matchers}}}"),
        }
    }
}

fn has_native(family: &Family) -> bool {
    family
        .buckets()
        .is_some_and(|buckets| buckets.form == Form::ClassicAndNative)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{ARRIVAL_CONCURRENCY, TIME_TO_FIRST_TOKEN};

    #[test]
    fn one_query_reads_both_forms() {
        let quantile = Quantile {
            family: &TIME_TO_FIRST_TOKEN,
            level: "0.95",
            by: &["model"],
            matchers: "",
            range: "5m",
        };
        assert_eq!(
            quantile.to_string(),
            "histogram_quantile(0.95, sum by (model) (rate(loadproof_time_to_first_token_seconds[5m]))) or \
             histogram_quantile(0.95, sum by (model, le) (rate(loadproof_time_to_first_token_seconds_bucket[5m])))"
        );
        assert!(quantile.from_at_least(100).ends_with(
            " and on (model) ((histogram_count(sum by (model) (increase(loadproof_time_to_first_token_seconds[5m]))) or \
             sum by (model) (increase(loadproof_time_to_first_token_seconds_count[5m]))) >= 100)"
        ));
    }

    #[test]
    fn a_family_without_a_native_form_is_asked_for_the_classic_one_alone() {
        let quantile = Quantile {
            family: &ARRIVAL_CONCURRENCY,
            level: "0.5",
            by: &[],
            matchers: "job=\"x\"",
            range: "1h",
        };
        assert_eq!(
            quantile.to_string(),
            "histogram_quantile(0.5, sum by (le) (rate(loadproof_arrival_concurrency_bucket{job=\"x\"}[1h])))"
        );
        assert_eq!(
            quantile.observations().to_string(),
            "sum by () (increase(loadproof_arrival_concurrency_count{job=\"x\"}[1h]))"
        );
    }
}
