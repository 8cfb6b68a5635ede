//! What tests of this room are made of.

use crate::{About, Level, Unit};

/// A segment of tokens at level `prefix`.
pub(crate) fn about() -> About {
    About {
        version: 1,
        capture: "c".to_owned(),
        pod: "a".to_owned(),
        segment: 0,
        previous: String::new(),
        level: Level::Prefix,
        unit: Unit::Tokens,
        block: 16,
        tokenizer: None,
        key: "k1".to_owned(),
        sample: 1.0,
        written_by: String::new(),
    }
}
