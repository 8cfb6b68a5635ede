//! What is true at the moment of a scrape, and is not kept between scrapes.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use crate::catalogue;
use crate::descriptor::with_descriptor;

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

impl Live {
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        with_descriptor(encoder, &catalogue::IN_FLIGHT_REQUESTS, |mut series| {
            for (phase, number) in [("prefill", self.prefill), ("decode", self.decode)] {
                series
                    .encode_family(&[("phase", phase)])?
                    .encode_gauge(&number)?;
            }
            Ok(())
        })?;
        with_descriptor(
            encoder,
            &catalogue::OLDEST_REQUEST_WITHOUT_TOKEN,
            |mut series| match self.oldest_without_token {
                Some(seconds) => series.encode_gauge(&seconds),
                None => Ok(()),
            },
        )?;
        with_descriptor(encoder, &catalogue::ENGINE_SILENT, |mut series| {
            series.encode_gauge(&self.silent)
        })
    }
}
