//! Any bytes as an answer, in each framing, on the route that the second byte chooses, plain and compressed.

#![no_main]

#[path = "../../tests/any_answer/mod.rs"]
mod any_answer;

use any_answer::{Input, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(input) = Input::parse(data) {
        check(input);
    }
});
