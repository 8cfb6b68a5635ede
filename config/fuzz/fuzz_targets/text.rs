//! Any text as a configuration file, with flags besides.

#![no_main]

#[path = "../../tests/any_text/mod.rs"]
mod any_text;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| any_text::check_input(data));
