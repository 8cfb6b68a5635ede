//! Classic bucket edges: inclusive upper bounds, in the unit of the family that uses them.
//!
//! The latency edges contain every edge that vLLM exports for the same quantity (`vllm/v1/metrics/buckets.py`), so that an
//! `le` filter compares like with like, and finer ones where its own hide a p95: a constant 110 ms lies in its bucket
//! (0.1, 0.25] and reads as 242 ms.

/// Time to the first token, seconds.
pub const TTFT: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75,
    1.0, 1.5, 2.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];

/// Time per output token, seconds.
pub const TPOT: &[f64] = &[
    0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05,
    0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
];

/// Gaps, seconds: the same as [`TPOT`].
pub const GAP: &[f64] = TPOT;

/// Whole request, seconds.
pub const DURATION: &[f64] = &[
    0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0,
    120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0,
];

/// Upload of a request's body, seconds.
pub const UPLOAD: &[f64] = &[
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0, 60.0, 300.0,
];

/// Connecting to the engine, seconds.
pub const CONNECT: &[f64] = &[
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// What the proxy adds to a burst, seconds.
pub const OWN_DELAY: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0,
];

/// How far our figures and the engine's lie apart, seconds: the same as [`OWN_DELAY`].
pub const DIFFERENCE: &[f64] = OWN_DELAY;

/// Prompt tokens.
pub const INPUT_TOKENS: &[f64] = &[
    16.0,
    64.0,
    128.0,
    256.0,
    512.0,
    1024.0,
    2048.0,
    4096.0,
    8192.0,
    16384.0,
    32768.0,
    65536.0,
    131_072.0,
    262_144.0,
    1_048_576.0,
];

/// Generated tokens.
pub const OUTPUT_TOKENS: &[f64] = &[
    0.0, 1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0,
    32768.0, 65536.0,
];

/// Exchanges in flight at arrival.
pub const ARRIVALS: &[f64] = &[
    0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0,
];
