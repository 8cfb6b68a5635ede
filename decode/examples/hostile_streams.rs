//! Writes docs/HOSTILE-STREAMS.md at the top of the checkout from the recordings.

#[path = "../tests/suite/hostile_page.rs"]
mod hostile_page;

use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/HOSTILE-STREAMS.md");
    fs::write(path, hostile_page::page()?)?;
    Ok(())
}
