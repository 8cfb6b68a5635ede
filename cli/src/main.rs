//! The `loadproof` binary: glue only.

fn main() {}
