//! Any bytes as a request's body.

#![no_main]

#[path = "../../tests/any_body/mod.rs"]
mod any_body;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| any_body::check_input(data));
