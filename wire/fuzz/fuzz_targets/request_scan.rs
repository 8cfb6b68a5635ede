//! Any bytes as a request's body: nothing breaks, and how they are cut changes nothing. The first byte is the length of a
//! read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Endpoint, RequestFacts, RequestScan};

fn scan(endpoint: Endpoint, bytes: &[u8], size: usize) -> RequestFacts {
    let mut scan = RequestScan::new(endpoint);
    bytes.chunks(size).for_each(|push| scan.push(push));
    scan.finish()
}

fuzz_target!(|data: &[u8]| {
    let Some((size, bytes)) = data.split_first() else {
        return;
    };
    for endpoint in Endpoint::ALL {
        let whole = scan(endpoint, bytes, bytes.len().max(1));
        assert_eq!(scan(endpoint, bytes, usize::from(*size).max(1)), whole);
    }
});
