//! The load: which requests come, and when. Pure and seeded: the same seed and rate give the same requests.
//!
//! Arrivals are a Poisson process, which is what many independent clients look like: the times between them are
//! exponential, and none waits for an answer to another. Lengths are log-uniform between the bounds of a class, so that
//! each doubling is as likely as any other. All shares and bounds are invented, to fill many shapes; they claim nothing
//! about anybody's traffic.

use measure::Nanos;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::ops::RangeInclusive;
use std::time::Duration;
use wire::Endpoint;

/// Requests in a hundred that are answered in one body.
const WHOLE_PERCENT: f64 = 6.0;
/// Clients in a hundred that leave early, half of them before the first token can have come.
const LEAVING_PERCENT: f64 = 4.0;
/// What an impatient client waits, in milliseconds.
const PATIENCE_MS: RangeInclusive<u64> = 1..=40;
/// Tokens that a client takes before it has read enough.
const READ_ENOUGH: RangeInclusive<u32> = 2..=20;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A turn of a conversation.
    Chat,
    /// A question with documents.
    Rag,
    /// A text to be sorted, answered in a word.
    Classification,
    /// A text to be written.
    Generation,
}

/// How much of the load a class is, and how long its requests and answers are.
struct Traits {
    percent: f64,
    endpoint: Endpoint,
    input_tokens: RangeInclusive<u32>,
    output_tokens: RangeInclusive<u32>,
}

/// When a client leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// With its answer.
    Never,
    /// So long after its request was on its way.
    After(Duration),
    /// With the event that brings this many tokens.
    AtToken(u32),
}

/// How the answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Token by token.
    Stream,
    /// In one body.
    Whole,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Counting from 0. It is the request's seed, and by it truth and record find each other.
    pub(crate) number: u64,
    /// After the start of the load.
    pub(crate) at: Nanos,
    pub(crate) class: Class,
    pub(crate) input_tokens: u32,
    pub(crate) output_tokens: u32,
    pub(crate) form: Form,
    pub(crate) leaving: Leaving,
}

/// The requests of a load, in order of their arrival.
#[derive(Debug)]
pub(crate) struct Plan {
    random: Pcg64,
    rate: f64,
    until: Nanos,
    at: Nanos,
    next: u64,
}

impl Class {
    const ALL: [Self; 4] = [
        Self::Chat,
        Self::Rag,
        Self::Classification,
        Self::Generation,
    ];

    /// The route that its requests take.
    pub(crate) fn endpoint(self) -> Endpoint {
        self.traits().endpoint
    }

    fn traits(self) -> Traits {
        let (percent, endpoint, input_tokens, output_tokens) = match self {
            Self::Chat => (50.0, Endpoint::ChatCompletions, 50..=600, 30..=150),
            Self::Rag => (12.0, Endpoint::ChatCompletions, 1500..=3500, 50..=150),
            Self::Classification => (26.0, Endpoint::Completions, 100..=400, 1..=6),
            Self::Generation => (12.0, Endpoint::ChatCompletions, 50..=300, 200..=450),
        };
        Traits {
            percent,
            endpoint,
            input_tokens,
            output_tokens,
        }
    }

    /// The class that a number from 0 to 100 falls on.
    fn at_percent(percent: f64) -> Self {
        let mut below = 0.0;
        let found = Self::ALL.into_iter().find(|class| {
            below += class.traits().percent;
            percent < below
        });
        found.unwrap_or(Self::Generation)
    }
}

impl Plan {
    /// `rate` requests a second on average, from now until `until`.
    pub(crate) fn new(seed: u64, rate: f64, until: Nanos) -> Self {
        Self {
            random: Pcg64::seed_from_u64(seed),
            rate,
            until,
            at: Nanos::ZERO,
            next: 0,
        }
    }

    /// A number from 0 to 100, without 100.
    fn percent(&mut self) -> f64 {
        100.0 * self.random.random::<f64>()
    }

    fn gap(&mut self) -> Nanos {
        let unit: f64 = self.random.random();
        nanos(-(1.0 - unit).ln() / self.rate)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between the bounds, which are u32"
    )]
    fn length(&mut self, bounds: &RangeInclusive<u32>) -> u32 {
        let (least, most) = (f64::from(*bounds.start()), f64::from(*bounds.end()));
        let unit: f64 = self.random.random();
        let length = least * ((most + 1.0) / least).powf(unit);
        (length as u32).clamp(*bounds.start(), *bounds.end())
    }

    fn form(&mut self) -> Form {
        if self.percent() < WHOLE_PERCENT {
            Form::Whole
        } else {
            Form::Stream
        }
    }

    fn leaving(&mut self) -> Leaving {
        let percent = self.percent();
        if percent < LEAVING_PERCENT / 2.0 {
            Leaving::After(Duration::from_millis(self.random.random_range(PATIENCE_MS)))
        } else if percent < LEAVING_PERCENT {
            Leaving::AtToken(self.random.random_range(READ_ENOUGH))
        } else {
            Leaving::Never
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time between two arrivals is positive, and one beyond 584 years is cut to them"
)]
fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}

impl Iterator for Plan {
    type Item = Planned;

    fn next(&mut self) -> Option<Planned> {
        self.at = self.at + self.gap();
        if self.at >= self.until {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let percent = self.percent();
        let class = Class::at_percent(percent);
        let traits = class.traits();
        Some(Planned {
            number,
            at: self.at,
            class,
            input_tokens: self.length(&traits.input_tokens),
            output_tokens: self.length(&traits.output_tokens),
            form: self.form(),
            leaving: self.leaving(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(seed: u64) -> Vec<Planned> {
        Plan::new(seed, 10.0, Nanos::from_secs(3600)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_load() {
        assert_eq!(hour(7), hour(7));
        assert_ne!(hour(7)[..10], hour(8)[..10]);
    }

    #[test]
    fn arrivals_are_poisson_of_the_rate_asked_for() {
        let plan = hour(1);
        // 36 000 are expected with a standard deviation of 190.
        assert!((35_000..=37_000).contains(&plan.len()), "{}", plan.len());
        assert!(plan.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert!(
            plan.iter()
                .map(|planned| planned.number)
                .eq(0..plan.len() as u64)
        );
        // Of exponential gaps, a share of 1 − 1/e = 0.632 is shorter than their mean of 100 ms.
        let short = plan
            .windows(2)
            .filter(|pair| pair[1].at.since(pair[0].at) < Nanos::from_millis(100))
            .count();
        let share = short as f64 / plan.len() as f64;
        assert!((0.61..0.65).contains(&share), "{share}");
    }

    #[test]
    fn every_kind_of_request_comes_in_its_share() {
        let plan = hour(2);
        let share = |is: &dyn Fn(&Planned) -> bool| {
            100.0 * plan.iter().filter(|planned| is(planned)).count() as f64 / plan.len() as f64
        };
        for class in Class::ALL {
            let found = share(&|planned| planned.class == class);
            let wanted = class.traits().percent;
            assert!((found - wanted).abs() < 1.5, "{class:?}: {found} %");
        }
        let whole = share(&|planned| planned.form == Form::Whole);
        assert!((whole - WHOLE_PERCENT).abs() < 0.7, "{whole} %");
        let leaving = share(&|planned| planned.leaving != Leaving::Never);
        assert!((leaving - LEAVING_PERCENT).abs() < 0.6, "{leaving} %");
        assert_eq!(
            Class::ALL
                .map(|class| class.traits().percent)
                .iter()
                .sum::<f64>(),
            100.0
        );
    }

    #[test]
    fn lengths_lie_within_their_bounds_and_reach_them() {
        let plan = hour(3);
        for class in Class::ALL {
            let traits = class.traits();
            let of_class = || plan.iter().filter(|planned| planned.class == class);
            let (least, most) = traits.output_tokens.into_inner();
            assert_eq!(
                of_class().map(|planned| planned.output_tokens).min(),
                Some(least)
            );
            assert_eq!(
                of_class().map(|planned| planned.output_tokens).max(),
                Some(most)
            );
            assert!(of_class().all(|planned| traits.input_tokens.contains(&planned.input_tokens)));
        }
    }
}
