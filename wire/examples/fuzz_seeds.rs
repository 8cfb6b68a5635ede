//! Writes the recorded answers as seeds for the fuzz targets `answer` and `packed` into a folder:
//!
//! ```text
//! cargo run -p wire --example fuzz_seeds -- FOLDER
//! ```

#[path = "../tests/any_answer/mod.rs"]
mod any_answer;
#[path = "../tests/corpus/mod.rs"]
mod corpus;

use corpus::Corpus;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("usage: fuzz_seeds FOLDER")?;
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    let corpus =
        Corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corpus"))?;
    for case in &corpus.cases {
        let endpoint = case
            .decoded_endpoint()
            .ok_or("a route that is not decoded")?;
        let seed = any_answer::Input::seed(endpoint, &corpus.bytes(case)?);
        fs::write(folder.join(&case.id), seed)?;
    }
    Ok(())
}
