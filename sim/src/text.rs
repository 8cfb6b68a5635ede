//! The words that a simulated model says. One word is one token; some are longer in bytes than in characters.

const WORDS: [&str; 16] = [
    "otter",
    "river",
    "stone",
    "bends",
    "slow",
    "under",
    "café",
    "naïve",
    "reed",
    "森",
    "light",
    "drifts",
    "🦦",
    "seven",
    "grey",
    "\"quoted\"",
];

/// Appends token number `index` of a choice, with a blank before it unless it is the first of its text.
pub(crate) fn push_token(text: &mut String, choice: u32, index: u32) {
    if !text.is_empty() || index > 0 {
        text.push(' ');
    }
    let mixed =
        (u64::from(choice) << 32 | u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    let word = usize::try_from(mixed).ok().and_then(|at| WORDS.get(at));
    text.push_str(word.unwrap_or(&WORDS[0]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_however_it_is_cut() {
        let mut whole = String::new();
        (0..50).for_each(|index| push_token(&mut whole, 3, index));
        let pieces: String = (0..50)
            .map(|index| {
                let mut piece = String::new();
                push_token(&mut piece, 3, index);
                piece
            })
            .collect();
        assert_eq!(pieces, whole);
        assert!(!whole.is_ascii(), "{whole}");
    }
}
