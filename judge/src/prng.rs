//! SplitMix64, the one generator of this room: small, fast, and the same on every machine.
//!
//! Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. It resamples and places arrivals; it is
//! no source of secrets.

/// A stream of pseudo-random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream that belongs to `start`.
    pub fn new(start: u64) -> Self {
        Self { state: start }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `count`: the high 64 bits of output · count (Lemire, "Fast random integer generation in an
    /// interval", 2019, without the rejection).
    pub fn below(&mut self, count: u64) -> u64 {
        let product = u128::from(self.next_u64()) * u128::from(count);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A number in \[0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
