//! One number of streams: the same script through the proxy and around it, in turns.

use crate::Error;
use crate::calibrate::client::{self, Delays, Script};
use crate::calibrate::report::{Added, Level, Spread};
use crate::child::Child;
use crate::clock::OneClock;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;

/// Gaps of the script for few streams, in microseconds: none to 50 ms.
const GAPS_US: [u64; 6] = [0, 200, 1_000, 5_000, 20_000, 50_000];

/// Bursts of a stream: four rounds of the gaps, and as many as make 500 later events of the fewest streams.
const BURSTS: u32 = 26;

/// Gap before each burst of several events, for few streams, in microseconds.
const BURST_GAP_US: u64 = 20_000;

/// Events of such a burst, and bursts of such a stream.
const BURST_EVENTS: u32 = 4;
const SHORT_BURSTS: u32 = 4;

/// Bytes of an event, as vLLM's chat chunks have.
const EVENT_BYTES: u32 = 260;

/// From the request to the first event, in microseconds.
const FIRST_US: u64 = 20_000;

/// Events a second that the gaps are stretched to stay below.
const EVENTS_PER_SECOND: u64 = 5_000;

/// Streams that are read on each side, at least, over all turns: as many as a median needs.
const STREAMS: u32 = 20;

/// The script for so many streams at once: single events.
pub(super) fn script(streams: u32) -> Script {
    let mean_us = GAPS_US.iter().sum::<u64>() / 6;
    let stretch = stretch(streams, mean_us);
    Script {
        first_us: FIRST_US,
        gaps_us: GAPS_US.iter().map(|gap| gap * stretch).collect(),
        bursts: BURSTS,
        events: 1,
        bytes: EVENT_BYTES,
    }
}

/// The script for so many streams at once: several events in one write.
fn burst_script(streams: u32) -> Script {
    let stretch = stretch(streams, BURST_GAP_US / u64::from(BURST_EVENTS));
    Script {
        gaps_us: vec![BURST_GAP_US * stretch],
        bursts: SHORT_BURSTS,
        events: BURST_EVENTS,
        ..script(1)
    }
}

/// How much longer gaps of `mean_us` an event must be, so that the machine can follow.
fn stretch(streams: u32, mean_us: u64) -> u64 {
    (u64::from(streams) * 1_000_000)
        .div_ceil(EVENTS_PER_SECOND * mean_us)
        .max(1)
}

/// Turns that it takes to read [`STREAMS`] streams.
pub(super) fn turns(streams: u32) -> u32 {
    STREAMS.div_ceil(streams)
}

/// Measures it. `at` is where the backend and the proxy are.
pub(super) async fn measure(
    streams: u32,
    (backend, proxy): (SocketAddr, SocketAddr),
    clock: &OneClock,
    child: Option<&Child>,
) -> Result<Level, Error> {
    let singles = script(streams);
    let several = burst_script(streams);
    // What is loaded, allocated and connected for the first time belongs to neither side.
    all(streams.min(4), proxy, &singles, *clock).await?;
    let sides = (backend, proxy);
    let read = both(&singles, streams, sides, (clock, child)).await?;
    let bursts = both(&several, streams, sides, (clock, child)).await?;
    let wanted = || Error::Nothing { what: "events" };
    let cpu_ns = read.cpu_ns + bursts.cpu_ns;
    Ok(Level {
        streams,
        events_per_second: per_second(&singles, streams),
        script: singles.header(),
        burst_script: several.header(),
        events: read.events + bursts.events,
        first: read.compare(Which::First).ok_or_else(wanted)?,
        later: read.compare(Which::Later).ok_or_else(wanted)?,
        bursts: bursts.compare(Which::Later).ok_or_else(wanted)?,
        cpu_per_event_us: (cpu_ns > 0).then(|| micros(cpu_ns) / count(read.events + bursts.events)),
        own: None,
        memory: None,
    })
}

/// What was read of one script on both sides.
#[derive(Debug, Default)]
struct Read {
    through: Vec<Delays>,
    direct: Vec<Delays>,
    /// Events on either side.
    events: u64,
    /// CPU time of the proxy's process, in nanoseconds; 0 if it is not known.
    cpu_ns: u64,
}

/// Which events of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    First,
    Later,
}

/// Reads a script on both sides in turns, in either order.
async fn both(
    script: &Script,
    streams: u32,
    (backend, proxy): (SocketAddr, SocketAddr),
    (clock, child): (&OneClock, Option<&Child>),
) -> Result<Read, Error> {
    let mut read = Read::default();
    // At least one turn in each order of the sides.
    for turn in 0..turns(streams).max(2) {
        if turn % 2 == 1 {
            read.direct
                .append(&mut all(streams, backend, script, *clock).await?);
        }
        let before = child.and_then(|child| child.process.scheduled());
        read.through
            .append(&mut all(streams, proxy, script, *clock).await?);
        let after = child.and_then(|child| child.process.scheduled());
        if let (Some(before), Some(after)) = (before, after) {
            read.cpu_ns += after.since(before).running_ns;
        }
        if turn % 2 == 0 {
            read.direct
                .append(&mut all(streams, backend, script, *clock).await?);
        }
        read.events += script.len() * u64::from(streams);
    }
    Ok(read)
}

/// Reads so many streams, which overlap; the delays of each, in the streams' order.
pub(crate) async fn all(
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

impl Read {
    /// Pairs the events with the same number of the same stream.
    fn compare(&self, which: Which) -> Option<Added> {
        let (through, direct) = (which.of(&self.through), which.of(&self.direct));
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
}

impl Which {
    /// The delays of these events of all streams.
    fn of(self, streams: &[Delays]) -> Vec<i64> {
        let events = streams.iter().flat_map(|delays| match self {
            Self::First => delays.get(..1).unwrap_or_default(),
            Self::Later => delays.get(1..).unwrap_or_default(),
        });
        events.filter_map(|ns| i64::try_from(*ns).ok()).collect()
    }
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
            for script in [script(streams), burst_script(streams)] {
                let rate = per_second(&script, streams);
                assert!(rate <= 6_700.0, "{streams} streams: {rate}");
            }
        }
    }

    #[test]
    fn events_are_paired_by_stream_and_number() {
        let read = Read {
            through: vec![vec![50_000, 30_000, 31_000]; 20],
            direct: vec![vec![10_000, 20_000, 20_000]; 20],
            ..Read::default()
        };
        let first = read.compare(Which::First).expect("there are some").added_us;
        assert_eq!((first.n, first.p50, first.max), (20, Some(40.0), 40.0));
        let later = read.compare(Which::Later).expect("there are some").added_us;
        assert_eq!((later.n, later.p50, later.max), (40, Some(10.0), 11.0));
    }
}
