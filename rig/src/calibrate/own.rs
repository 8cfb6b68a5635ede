//! The times that the proxy reports, beside the backend's log: on one clock, with the proxy on a thread here.

use crate::calibrate::level;
use crate::calibrate::report::{Own, Spread};
use crate::clock::OneClock;
use crate::engine_thread::EngineThread;
use crate::proxy_thread::ProxyThread;
use crate::{Error, listen};
use measure::Record;
use std::collections::HashMap;

/// Runs one level's script through a proxy on a thread, and holds each record against the log.
pub(super) async fn measure(
    streams: u32,
    backend: &EngineThread,
    clock: &OneClock,
) -> Result<Own, Error> {
    let admin = listen::listen("proxy", listen::ANYWHERE)?;
    let proxy = ProxyThread::start(backend.address, clock, admin)?;
    let mut errors = Errors::default();
    let mut compared = 0;
    for _ in 0..level::turns(streams) {
        level::all(streams, proxy.data, &level::script(streams), *clock).await?;
    }
    let mut records = proxy.stop().await?;
    let mut by_number: HashMap<u64, Vec<Record>> = HashMap::new();
    while let Ok(record) = records.try_recv() {
        if let Some(number) = record
            .request
            .seed
            .and_then(|seed| u64::try_from(seed).ok())
        {
            by_number.entry(number).or_default().push(record);
        }
    }
    // Turns repeat the numbers; within one, records and log come in order of their ends, and a turn is over before the next.
    for truth in backend.server.truth().drain() {
        let number: Option<u64> = truth.id.parse().ok();
        let record = number
            .and_then(|number| by_number.get_mut(&number))
            .filter(|records| !records.is_empty());
        if let Some(record) = record.map(|records| records.remove(0)) {
            compared += u64::from(errors.add(&record, &truth).is_some());
        }
    }
    errors
        .spread(compared)
        .ok_or(Error::Nothing { what: "records" })
}

/// Errors without sign, in nanoseconds.
#[derive(Debug, Default)]
struct Errors {
    first_token: Vec<i64>,
    ttft: Vec<i64>,
    longest_gap: Vec<i64>,
    gaps_sum: Vec<i64>,
}

impl Errors {
    fn add(&mut self, record: &Record, truth: &sim::Record) -> Option<()> {
        let mut times: Vec<u64> = truth
            .emissions
            .iter()
            .filter(|emitted| emitted.tokens > 0)
            .map(|emitted| emitted.at_ns)
            .collect();
        times.dedup();
        let (first, last) = (*times.first()?, *times.last()?);
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max()?;
        let asked = truth.request_read_ns?;
        let error = |ours: u64, truth: u64| i64::try_from(ours.abs_diff(truth)).ok();
        self.first_token
            .push(error(record.stamps.first_token?.0, first)?);
        self.ttft
            .push(error(record.ttft().value()?.0, first - asked)?);
        self.longest_gap
            .push(error(record.max_stall().value()?.0, longest)?);
        self.gaps_sum
            .push(error(record.gaps.sum().0, last - first)?);
        Some(())
    }

    fn spread(self, requests: u64) -> Option<Own> {
        Some(Own {
            requests,
            first_token_us: Spread::of(self.first_token)?,
            ttft_us: Spread::of(self.ttft)?,
            longest_gap_us: Spread::of(self.longest_gap)?,
            gaps_sum_us: Spread::of(self.gaps_sum)?,
        })
    }
}
