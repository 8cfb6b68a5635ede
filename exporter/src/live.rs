//! What is true at the moment of a scrape, and is not kept between scrapes.

use std::fmt;

use crate::catalogue::{self, Family};
use crate::descriptor::{RowEncoder, Rows};

/// What is true at the moment of a scrape.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Live {
    /// Exchanges in flight without a token yet.
    pub prefill: u64,
    /// Exchanges in flight past their first token.
    pub decode: u64,
    /// How long the exchange that has waited longest for its first token has waited, in seconds. `None`: none waits.
    pub oldest_without_token: Option<f64>,
    /// Time since the engine's last byte while an exchange is open, in seconds; 0 when idle.
    pub silent: f64,
}

/// One gauge of [`Live`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Momentary {
    InFlight(Live),
    Oldest(Live),
    Silent(Live),
}

impl Live {
    pub(crate) fn in_order(&self) -> [Momentary; 3] {
        [
            Momentary::InFlight(*self),
            Momentary::Oldest(*self),
            Momentary::Silent(*self),
        ]
    }
}

impl Rows for Momentary {
    fn family(&self) -> &'static Family {
        match self {
            Self::InFlight(_) => &catalogue::IN_FLIGHT_REQUESTS,
            Self::Oldest(_) => &catalogue::OLDEST_REQUEST_WITHOUT_TOKEN,
            Self::Silent(_) => &catalogue::ENGINE_SILENT,
        }
    }

    fn write(&self, rows: &mut RowEncoder<'_, '_>) -> fmt::Result {
        match self {
            Self::InFlight(live) => {
                for (phase, number) in [("prefill", live.prefill), ("decode", live.decode)] {
                    let labels = rows.labelled([("phase", phase)]);
                    rows.encoder.encode_family(&labels)?.encode_gauge(&number)?;
                }
                Ok(())
            }
            Self::Oldest(live) => match live.oldest_without_token {
                Some(seconds) => gauge(rows, seconds),
                None => Ok(()),
            },
            Self::Silent(live) => gauge(rows, live.silent),
        }
    }
}

fn gauge(rows: &mut RowEncoder<'_, '_>, seconds: f64) -> fmt::Result {
    let labels = rows.labelled([]);
    rows.encoder.encode_family(&labels)?.encode_gauge(&seconds)
}
