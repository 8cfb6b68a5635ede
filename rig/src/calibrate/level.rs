//! One number of streams: the same script through the proxy and around it, in turns.

use crate::Error;
use crate::calibrate::child::Child;
use crate::calibrate::client::{self, Delays, Script};
use crate::calibrate::report::{Added, Level, Spread};
use crate::clock::OneClock;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;

/// Gaps of the script for few streams, in microseconds: none to 50 ms.
const GAPS_US: [u64; 6] = [0, 200, 1_000, 5_000, 20_000, 50_000];

/// Bursts of a stream.
const BURSTS: u32 = 36;

/// Bytes of an event, as vLLM's chat chunks have.
const EVENT_BYTES: u32 = 260;

/// Events a second that the gaps are stretched to stay below.
const EVENTS_PER_SECOND: u64 = 5_000;

/// Streams that are read on each side, at least, over all turns.
const STREAMS: u32 = 12;

/// The script for so many streams at once.
pub(super) fn script(streams: u32) -> Script {
    let mean_us = GAPS_US.iter().sum::<u64>() / 6;
    let stretch = (u64::from(streams) * 1_000_000)
        .div_ceil(EVENTS_PER_SECOND * mean_us)
        .max(1);
    Script {
        first_us: 20_000,
        gaps_us: GAPS_US.iter().map(|gap| gap * stretch).collect(),
        bursts: BURSTS,
        events: 1,
        bytes: EVENT_BYTES,
    }
}

/// Measures it. `at` is where the backend and the proxy are.
pub(super) async fn measure(
    streams: u32,
    (backend, proxy): (SocketAddr, SocketAddr),
    clock: &OneClock,
    child: Option<&Child>,
) -> Result<Level, Error> {
    let script = script(streams);
    let turns = STREAMS.div_ceil(streams).max(2);
    let (mut through, mut direct) = (Vec::new(), Vec::new());
    let mut cpu_ns = 0;
    // What is loaded, allocated and connected for the first time belongs to neither side.
    all(streams.min(4), proxy, &script, *clock).await?;
    for turn in 0..turns {
        for side in if turn % 2 == 0 {
            [true, false]
        } else {
            [false, true]
        } {
            if side {
                let before = child.and_then(|child| child.process.scheduled());
                through.append(&mut all(streams, proxy, &script, *clock).await?);
                let after = child.and_then(|child| child.process.scheduled());
                if let (Some(before), Some(after)) = (before, after) {
                    cpu_ns += after.since(before).running_ns;
                }
            } else {
                direct.append(&mut all(streams, backend, &script, *clock).await?);
            }
        }
    }
    let events = script.len() * u64::from(streams) * u64::from(turns);
    let compare = |later| compare(&through, &direct, later);
    let wanted = || Error::Nothing { what: "events" };
    Ok(Level {
        streams,
        events_per_second: per_second(&script, streams),
        script: script.header(),
        events,
        first: compare(false).ok_or_else(wanted)?,
        later: compare(true).ok_or_else(wanted)?,
        cpu_per_event_us: (cpu_ns > 0).then(|| micros(cpu_ns) / count(events)),
        own: None,
        memory: None,
    })
}

/// Reads so many streams, which overlap; the delays of each, in the streams' order.
pub(super) async fn all(
    streams: u32,
    address: SocketAddr,
    script: &Script,
    clock: OneClock,
) -> Result<Vec<Delays>, Error> {
    // Spread over one round of the gaps, so that what is measured is no stampede of our own making.
    let spread_us = script.gaps_us.iter().sum::<u64>() / u64::from(streams);
    let mut reading = JoinSet::new();
    for number in 0..u64::from(streams) {
        let script = script.clone();
        let begin = Duration::from_micros(number * spread_us);
        reading.spawn(async move {
            tokio::time::sleep(begin).await;
            (number, client::read(address, &script, number, clock).await)
        });
    }
    let mut read = reading.join_all().await;
    read.sort_unstable_by_key(|(number, _)| *number);
    read.into_iter().map(|(_, delays)| delays).collect()
}

fn compare(through: &[Delays], direct: &[Delays], later: bool) -> Option<Added> {
    let chosen = |delays: &Delays| {
        if later {
            delays.get(1..).map(<[u64]>::to_vec)
        } else {
            delays.get(..1).map(<[u64]>::to_vec)
        }
    };
    let flat = |streams: &[Delays]| -> Vec<i64> {
        streams
            .iter()
            .filter_map(chosen)
            .flatten()
            .filter_map(|ns| i64::try_from(ns).ok())
            .collect()
    };
    let (through, direct) = (flat(through), flat(direct));
    let added = through
        .iter()
        .zip(&direct)
        .map(|(through, direct)| through - direct)
        .collect();
    Some(Added {
        direct_us: Spread::of(direct)?,
        through_us: Spread::of(through)?,
        added_us: Spread::of(added)?,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of one run are far below 2⁵³"
)]
fn count(events: u64) -> f64 {
    events as f64
}

fn micros(ns: u64) -> f64 {
    count(ns) / 1e3
}

fn per_second(script: &Script, streams: u32) -> f64 {
    let gaps = script
        .gaps_us
        .iter()
        .cycle()
        .take(usize::try_from(script.bursts - 1).unwrap_or(0))
        .sum::<u64>();
    count(script.len() * u64::from(streams)) * 1e6 / count(script.first_us + gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_streams_have_longer_gaps_so_that_the_machine_can_follow() {
        assert_eq!(script(1).gaps_us, GAPS_US);
        assert_eq!(script(64).gaps_us, GAPS_US.map(|gap| gap * 2));
        for streams in [1, 64, 512, 2048] {
            let rate = per_second(&script(streams), streams);
            assert!(rate <= 5_500.0, "{streams} streams: {rate}");
        }
    }

    #[test]
    fn events_are_paired_by_stream_and_number() {
        let through = vec![vec![50_000, 30_000, 31_000], vec![60_000, 40_000, 41_000]];
        let direct = vec![vec![10_000, 20_000, 20_000], vec![10_000, 20_000, 20_000]];
        let first = compare(&through, &direct, false).expect("there are some");
        assert_eq!((first.added_us.p50, first.added_us.max), (40.0, 50.0));
        let later = compare(&through, &direct, true).expect("there are some");
        assert_eq!(
            (later.added_us.p50, later.added_us.p99, later.added_us.max),
            (11.0, 21.0, 21.0)
        );
    }
}
