//! Writes METRICS.md at the top of the checkout from the catalogue.

use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../METRICS.md");
    fs::write(path, exporter::reference::markdown()?)?;
    Ok(())
}
