//! Any bytes as a compressed answer.

#![no_main]

#[path = "../../tests/any_answer/mod.rs"]
mod any_answer;

use any_answer::{Input, check_as_packed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(input) = Input::parse(data) {
        check_as_packed(input);
    }
});
