//! The result: what was seen, what was held against it, and whether all of it holds.

use crate::soak::ledger::{Group, Ledger};
use crate::soak::looked::Looked;
use crate::soak::scene::{Conduct, HASTY, SCENES};
use crate::soak::session::{CLIENTS, Tally};
use crate::soak::trend::Trend;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Bounds of runs from such a length on, an hour: memory in MB, descriptors, tasks. In 20 minutes the standard error of
/// memory's slope is 1.3 MB an hour, so that 1 MB can be told only in a longer run.
const BOUNDS: [(Duration, [f64; 3]); 2] = [
    (Duration::from_secs(3600), [1.0, 30.0, 30.0]),
    (Duration::from_secs(600), [5.0, 30.0, 30.0]),
];

/// Growth that a short run may show, over its measured part: memory in MB, and two descriptors and a task a client.
const SHORT_GROWTH: [f64; 3] = [24.0, 2.0 * CLIENTS as f64, CLIENTS as f64];

/// The warm-up is this share of the run.
const WARM_UP: f64 = 0.25;

const MB: f64 = 1e6;

/// The result of a run. Memory in MB (10⁶ bytes).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The version that was looked at.
    pub version: &'static str,
    /// How long clients played, in seconds.
    pub seconds: f64,
    /// How many.
    pub clients: u64,
    /// Scenes that they played.
    pub played: u64,
    /// The same by scene.
    pub scenes: Vec<SceneCount>,
    /// Examples of what was not due.
    pub examples: Vec<String>,
    /// How requests ended, by the engine's log and by ours.
    pub outcomes: Vec<Row>,
    /// Resident memory over time, in MB.
    pub resident_mb: Option<Trend>,
    /// Open descriptors over time.
    pub open_files: Option<Trend>,
    /// Tasks over time, by the proxy's own count.
    pub tasks: Option<Trend>,
    /// Before the first scene.
    pub start: Looked,
    /// After the last one.
    pub end: Looked,
    /// What was held against what.
    pub checks: Vec<Check>,
    /// Whether all holds; `None` if that cannot be told.
    pub holds: Option<bool>,
}

/// How often a scene was played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SceneCount {
    /// Which.
    pub scene: &'static str,
    /// How often.
    pub played: u64,
    /// How often its client did not get what was due.
    pub wrong: u64,
}

/// Requests of a route that ended in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The route.
    pub route: String,
    /// How they ended.
    pub group: Group,
    /// By the engine's log.
    pub engine: u64,
    /// By the proxy's records.
    pub ours: u64,
}

/// Something held against something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What must be so.
    pub claim: &'static str,
    /// What is.
    pub found: String,
    /// Whether it is so; `None` if that cannot be told.
    pub holds: Option<bool>,
}

/// All that a report is made of.
pub(super) struct Finished {
    pub(super) duration: Duration,
    pub(super) tally: Tally,
    pub(super) truth: Ledger,
    pub(super) ours: Ledger,
    pub(super) refused: u64,
    pub(super) looks: Vec<(Duration, Looked)>,
    pub(super) start: Looked,
    pub(super) end: Looked,
}

impl Report {
    pub(super) fn new(run: Finished) -> Self {
        let trends = run.trends();
        let bounds = run.bounds();
        let claims = [
            "resident memory is level (MB an hour)",
            "descriptors are level (an hour)",
            "tasks are level (an hour)",
        ];
        let level = claims.into_iter().zip(trends).zip(bounds);
        let mut checks: Vec<Check> = level
            .map(|((claim, trend), bound)| Check::level(claim, trend, bound))
            .collect();
        checks.extend([
            run.lost_nothing(),
            run.refused_all(),
            run.got_what_was_due(),
            run.left_nothing(),
        ]);
        let [resident_mb, open_files, tasks] = trends;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            seconds: run.duration.as_secs_f64(),
            clients: CLIENTS,
            played: run.tally.scenes.values().map(|(played, _)| played).sum(),
            scenes: run.scenes(),
            outcomes: run.outcomes(),
            examples: run.tally.examples,
            resident_mb,
            open_files,
            tasks,
            start: run.start,
            end: run.end,
            holds: verdict(&checks),
            checks,
        }
    }
}

/// No, if anything does not hold; else unknown, if anything is.
fn verdict(checks: &[Check]) -> Option<bool> {
    if checks.iter().any(|check| check.holds == Some(false)) {
        return Some(false);
    }
    checks
        .iter()
        .all(|check| check.holds.is_some())
        .then_some(true)
}

impl Check {
    fn of(claim: &'static str, holds: bool, found: String) -> Self {
        Self {
            claim,
            found,
            holds: Some(holds),
        }
    }

    /// Whether a slope's upper limit lies below its bound.
    fn level(claim: &'static str, trend: Option<Trend>, bound: f64) -> Self {
        let Some(trend) = trend else {
            return Self {
                claim,
                found: "the system does not tell, or the run was too short".to_owned(),
                holds: None,
            };
        };
        let found = format!(
            "{:+.2} ± {:.2}, at most {:.2} of {bound:.2}; mean {:.1}",
            trend.slope_per_hour, trend.standard_error, trend.upper_per_hour, trend.mean
        );
        Self::of(claim, trend.upper_per_hour < bound, found)
    }
}

impl Finished {
    /// Memory in MB, descriptors and tasks after the warm-up.
    fn trends(&self) -> [Option<Trend>; 3] {
        let of = |value: fn(&Looked) -> Option<f64>| {
            let warm = self.duration.mul_f64(WARM_UP);
            let measured = self.looks.iter().filter(|(at, _)| *at >= warm);
            let seen: Option<Vec<_>> = measured
                .map(|(at, looked)| Some((at.as_secs_f64() / 3600.0, value(looked)?)))
                .collect();
            Trend::of(&seen?)
        };
        [
            of(|looked| Some(looked.holding.resident_bytes? as f64 / MB)),
            of(|looked| Some(looked.holding.open_files? as f64)),
            of(|looked| Some((looked.traffic_tasks + looked.service_tasks) as f64)),
        ]
    }

    /// What the slopes' upper limits must lie below.
    fn bounds(&self) -> [f64; 3] {
        let long = BOUNDS.iter().find(|(from, _)| self.duration >= *from);
        if let Some((_, bounds)) = long {
            return *bounds;
        }
        let hours = self.duration.as_secs_f64() * (1.0 - WARM_UP) / 3600.0;
        SHORT_GROWTH.map(|growth| growth / hours)
    }

    fn outcomes(&self) -> Vec<Row> {
        let rows = self.truth.rows(&self.ours);
        let row = |row: &(String, Group)| Row {
            route: row.0.clone(),
            group: row.1,
            engine: self.truth.of_row(row),
            ours: self.ours.of_row(row),
        };
        rows.into_iter().map(row).collect()
    }

    /// The engine's log and our records have the same counts. Of clients that left at once, the engine need not have heard.
    fn lost_nothing(&self) -> Check {
        let hasty = self.played(|scene| scene.conduct == Conduct::LeavesAtOnce);
        let rows = self.outcomes();
        let differs = |row: &&Row| {
            let equal = row.engine == row.ours && row.group != Group::Other;
            let of_hasty = row.route == HASTY.as_str()
                && row.group == Group::Answered
                && row.engine <= row.ours
                && row.ours <= hasty;
            !equal && !of_hasty
        };
        let wrong: Vec<String> = rows
            .iter()
            .filter(differs)
            .map(|row| {
                format!(
                    "{} {:?}: {} / {}",
                    row.route, row.group, row.engine, row.ours
                )
            })
            .collect();
        let (engine, ours) = (self.truth.total(), self.ours.total());
        let totals = format!("{engine} / {ours} {}", wrong.join(", "));
        Check::of(
            "the engine's log and our records have the same counts by route and outcome",
            wrong.is_empty() && engine > 0,
            totals.trim().to_owned(),
        )
    }

    fn refused_all(&self) -> Check {
        let sent = self.played(|scene| scene.is_refused());
        Check::of(
            "every answer of the proxy's own was counted as such, and no other",
            sent == self.refused,
            format!("{sent} were due, {} counted", self.refused),
        )
    }

    fn got_what_was_due(&self) -> Check {
        let wrong: u64 = self.tally.scenes.values().map(|(_, wrong)| wrong).sum();
        Check::of(
            "every client got what was due to it",
            wrong == 0,
            format!("{wrong} did not"),
        )
    }

    fn left_nothing(&self) -> Check {
        let (start, end) = (&self.start, &self.end);
        let clean = end.in_flight == 0
            && end.traffic_tasks == 0
            && end.service_tasks <= start.service_tasks
            && end.holding.open_files <= start.holding.open_files;
        Check {
            claim: "nothing is in flight, descriptors and tasks are those of the start",
            found: format!(
                "{} in flight, {} and {} tasks of {} and {}, {} descriptors of {}",
                end.in_flight,
                end.traffic_tasks,
                end.service_tasks,
                start.traffic_tasks,
                start.service_tasks,
                number(end.holding.open_files),
                number(start.holding.open_files),
            ),
            holds: start.holding.open_files.is_some().then_some(clean),
        }
    }

    fn played(&self, which: impl Fn(&crate::soak::scene::Scene) -> bool) -> u64 {
        let names = SCENES
            .iter()
            .filter(|scene| which(scene))
            .map(|scene| scene.name);
        let counts = names.filter_map(|name| self.tally.scenes.get(name));
        counts.map(|(played, _)| played).sum()
    }

    fn scenes(&self) -> Vec<SceneCount> {
        let count = |(scene, (played, wrong)): (&&'static str, &(u64, u64))| SceneCount {
            scene,
            played: *played,
            wrong: *wrong,
        };
        self.tally.scenes.iter().map(count).collect()
    }
}

fn number(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            played,
            seconds,
            clients,
            ..
        } = self;
        writeln!(
            f,
            "{played} requests of {clients} clients in {seconds:.0} s\n"
        )?;
        for row in &self.outcomes {
            let Row {
                route,
                group,
                engine,
                ours,
            } = row;
            let group = format!("{group:?}");
            writeln!(
                f,
                "  {route:<22} {group:<12} engine {engine:>8}  ours {ours:>8}"
            )?;
        }
        writeln!(f)?;
        for check in &self.checks {
            let mark = match check.holds {
                Some(true) => "holds  ",
                Some(false) => "BROKEN ",
                None => "unknown",
            };
            writeln!(f, "  {mark} {}: {}", check.claim, check.found)?;
        }
        for example in &self.examples {
            writeln!(f, "  not due: {example}")?;
        }
        Ok(())
    }
}
