//! What is true of a request, from what the engine wrote down as it wrote to its socket.
//!
//! The definitions are spelled out again here, on purpose: what is held against the measuring side shares no code with it.

use sim::Record;

/// The figures of one request, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Truth {
    /// The number that the request carried.
    pub(crate) number: i64,
    /// First write with a token − the read that completed the request.
    pub(crate) ttft: Option<u64>,
    /// (Last write with a token − the first one) / tokens after the first write, rounded.
    pub(crate) tpot: Option<u64>,
    /// Between writes with tokens, in order.
    pub(crate) gaps: Vec<u64>,
    /// Tokens written.
    pub(crate) tokens: u64,
}

impl Truth {
    /// `None` if the request carried no number of ours.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let number = record.id.parse().ok()?;
        let mut writes: Vec<(u64, u64)> = Vec::new();
        for emitted in record.emissions.iter().filter(|emitted| emitted.tokens > 0) {
            match writes.last_mut() {
                Some((at, tokens)) if *at == emitted.at_ns => *tokens += u64::from(emitted.tokens),
                _ => writes.push((emitted.at_ns, u64::from(emitted.tokens))),
            }
        }
        let tokens: u64 = writes.iter().map(|(_, tokens)| tokens).sum();
        let (first, last) = (writes.first().copied(), writes.last().copied());
        let ttft = first
            .zip(record.request_read_ns)
            .map(|((at, _), read)| at.saturating_sub(read));
        let tpot = first.zip(last).and_then(|((from, in_first), (to, _))| {
            let divisor = tokens - in_first;
            (divisor > 0).then(|| (to - from + divisor / 2) / divisor)
        });
        let gaps = writes
            .windows(2)
            .map(|pair| pair[1].0 - pair[0].0)
            .collect();
        Some(Self {
            number,
            ttft,
            tpot,
            gaps,
            tokens,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{Emitted, Ended, Kind};
    use wire::Endpoint;

    fn record(id: &str, emissions: &[(u64, Kind, u32)]) -> Record {
        let emissions = emissions
            .iter()
            .map(|&(at_ns, kind, tokens)| Emitted {
                at_ns,
                choice: 0,
                kind,
                tokens,
            })
            .collect();
        Record {
            id: id.to_owned(),
            endpoint: Endpoint::ChatCompletions,
            connection: 0,
            faults: String::new(),
            head_read_ns: 90,
            request_read_ns: Some(100),
            prompt_tokens: Some(3),
            cached_tokens: Some(0),
            status: Some(200),
            head_written_ns: Some(110),
            emissions,
            emissions_dropped: 0,
            usage: None,
            finish: Vec::new(),
            times: Vec::new(),
            ended: Ended::Completed,
            ended_ns: 2000,
        }
    }

    #[test]
    fn figures_follow_from_the_writes_that_carried_tokens() {
        let emissions = [
            (120, Kind::Role, 0),
            (400, Kind::Answer, 1),
            (500, Kind::Reasoning, 2),
            (500, Kind::Answer, 1),
            (900, Kind::Silent, 1),
            (900, Kind::Usage, 0),
            (950, Kind::Done, 0),
        ];
        let truth = Truth::of(&record("17", &emissions)).expect("it has a number");
        // 500 ns for the four tokens after the first write.
        let expected = Truth {
            number: 17,
            ttft: Some(300),
            tpot: Some(125),
            gaps: vec![100, 400],
            tokens: 5,
        };
        assert_eq!(truth, expected);
    }

    #[test]
    fn what_was_not_written_has_no_figure() {
        let nothing = Truth::of(&record("1", &[(120, Kind::Role, 0)])).expect("it has a number");
        assert_eq!(
            nothing,
            Truth {
                number: 1,
                ttft: None,
                tpot: None,
                gaps: Vec::new(),
                tokens: 0
            }
        );
        let one = Truth::of(&record("1", &[(130, Kind::Answer, 3)])).expect("it has a number");
        assert_eq!(
            one,
            Truth {
                number: 1,
                ttft: Some(30),
                tpot: None,
                gaps: Vec::new(),
                tokens: 3
            }
        );
        assert_eq!(Truth::of(&record("somebody else's", &[])), None);
    }
}
