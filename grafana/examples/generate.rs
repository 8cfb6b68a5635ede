//! Writes the dashboard and the rules from the catalogue.

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let room = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in grafana::generated()? {
        let path = room.join(file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, file.text)?;
    }
    Ok(())
}
