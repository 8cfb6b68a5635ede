//! What is done to an output and its label before they are compared. All off unless asked for.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// A Unicode normal form (UAX #15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NormalForm {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

/// Steps, applied in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextOptions {
    /// A normal form.
    pub unicode: Option<NormalForm>,
    /// Without white space at both ends.
    pub strip: bool,
    /// Full Unicode case folding: "STRASSE" is "straße".
    pub casefold: bool,
    /// Without characters of general category P.
    pub ignore_punctuation: bool,
}

impl TextOptions {
    /// The text after all steps.
    pub fn apply(&self, text: &str) -> String {
        let mut text = match self.unicode {
            None => text.to_owned(),
            Some(NormalForm::Nfc) => text.nfc().collect(),
            Some(NormalForm::Nfd) => text.nfd().collect(),
            Some(NormalForm::Nfkc) => text.nfkc().collect(),
            Some(NormalForm::Nfkd) => text.nfkd().collect(),
        };
        if self.strip {
            text = text.trim().to_owned();
        }
        if self.casefold {
            text = caseless::default_case_fold_str(&text);
        }
        if self.ignore_punctuation {
            text.retain(|c| !is_punctuation(c));
        }
        text
    }
}

fn is_punctuation(c: char) -> bool {
    matches!(
        get_general_category(c),
        GeneralCategory::ConnectorPunctuation
            | GeneralCategory::DashPunctuation
            | GeneralCategory::OpenPunctuation
            | GeneralCategory::ClosePunctuation
            | GeneralCategory::InitialPunctuation
            | GeneralCategory::FinalPunctuation
            | GeneralCategory::OtherPunctuation
    )
}
