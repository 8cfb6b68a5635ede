//! One exposition of several engine ports: each family once, with the rows of every port below it.

use std::sync::Arc;

use crate::error::Error;
use crate::exporter::{Exporter, write};
use crate::exposition::{Exposition, Part};
use crate::format::Format;
use crate::live::Live;

/// The exporters of the ports of one engine. With several, every series of theirs has the label
/// [`crate::catalogue::ENGINE_PORT`]; what is the whole process's comes from the first.
#[derive(Debug)]
pub struct Ports {
    exporters: Vec<(Option<String>, Arc<Exporter>)>,
}

impl Ports {
    /// The exporter of each port with the label's value, in the order in which they are written.
    pub fn new(exporters: impl IntoIterator<Item = (String, Arc<Exporter>)>) -> Self {
        let mut exporters: Vec<_> = exporters
            .into_iter()
            .map(|(port, exporter)| (Some(port), exporter))
            .collect();
        if let [(port, _)] = exporters.as_mut_slice() {
            *port = None;
        }
        Self { exporters }
    }

    /// The exposition of this moment; `live` in the order of the ports.
    ///
    /// # Errors
    /// If the encoder fails; nothing of the kind is known to happen.
    pub fn encode(
        &self,
        format: Format,
        live: impl IntoIterator<Item = Live>,
    ) -> Result<Vec<u8>, Error> {
        let parts = self.exporters.iter().zip(live);
        let parts = parts.map(|((port, exporter), live)| Part {
            series: exporter.series(),
            live,
            port: port.clone(),
        });
        let exposition = Exposition(parts.collect());
        write(format, exposition)
    }
}
