//! Any bytes as the requests of one connection, heads and chunks.

#![no_main]
#![allow(
    dead_code,
    reason = "the guard is not the library's to show, so its source is taken in as it is"
)]

#[path = "../../tests/support/any_request.rs"]
mod any_request;
#[path = "../../src/guard/mod.rs"]
mod guard;
#[path = "../../src/guard/tests/lenient.rs"]
mod lenient;
#[path = "../../tests/support/reading.rs"]
mod reading;

use guard::{Admitted, Fault, Guard, GuardLimits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| any_request::check_input(data));
