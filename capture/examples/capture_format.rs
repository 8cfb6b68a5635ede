//! Writes docs/CAPTURE-FORMAT.md from the documentation of the modules that are the format.

#[path = "../tests/format_page/mod.rs"]
mod format_page;

fn main() -> std::io::Result<()> {
    std::fs::write(format_page::path(), format_page::markdown())
}
