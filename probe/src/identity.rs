//! Who the engine is, as it is shown: each word by the operator, by the engine, or by nobody.

use crate::Facts;
use std::fmt::Display;

/// Stands where nobody said anything.
pub const UNSTATED: &str = "unstated";

/// What the operator says of the engine; it holds against what the engine says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// Which engine it is.
    pub engine: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Precision of weights and cache.
    pub precision: Option<String>,
    /// Most tokens of prompt and answer together.
    pub max_model_len: Option<u64>,
}

/// Whose word it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The operator's, from the configuration.
    Operator,
    /// The engine's own.
    Engine,
    /// Nobody's.
    Nobody,
}

/// One word of an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// What was said, else [`UNSTATED`].
    pub text: String,
    /// By whom.
    pub by: By,
}

/// What the figures belong to, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Which engine it is.
    pub engine: Word,
    /// Its version.
    pub version: Word,
    /// The model.
    pub model: Word,
    /// Precision of weights and cache: see [`Facts::precision`].
    pub precision: Word,
    /// Most tokens of prompt and answer together.
    pub max_model_len: Word,
}

impl By {
    /// The word's origin as it is shown; `None` for nobody.
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Operator => Some("operator"),
            Self::Engine => Some("engine"),
            Self::Nobody => None,
        }
    }
}

impl Identity {
    /// What the operator says, and where he says nothing, the engine.
    pub fn of(words: &Words, facts: &Facts) -> Self {
        Self {
            engine: word(&words.engine, facts.engine.map(wire::EngineKind::as_str)),
            version: word(&words.version, facts.version.as_deref()),
            model: word(&words.model, facts.model.as_deref()),
            precision: word(&words.precision, facts.precision()),
            max_model_len: word(&words.max_model_len, facts.max_model_len),
        }
    }

    /// Name and word of each, in the order of the labels of `engine_info`.
    pub fn words(&self) -> [(&'static str, &Word); 5] {
        [
            ("engine", &self.engine),
            ("version", &self.version),
            ("model", &self.model),
            ("precision", &self.precision),
            ("max_model_len", &self.max_model_len),
        ]
    }
}

fn word(operator: &Option<impl Display>, engine: Option<impl Display>) -> Word {
    let (text, by) = match (operator, engine) {
        (Some(operator), _) => (operator.to_string(), By::Operator),
        (None, Some(engine)) => (engine.to_string(), By::Engine),
        (None, None) => (UNSTATED.to_owned(), By::Nobody),
    };
    Word { text, by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::EngineKind;

    #[test]
    fn the_operators_word_holds() {
        let words = Words {
            precision: Some("fp8 by hand".to_owned()),
            max_model_len: Some(4096),
            ..Words::default()
        };
        let facts = Facts {
            engine: Some(EngineKind::Vllm),
            kv_cache: Some("auto".to_owned()),
            max_model_len: Some(8192),
            ..Facts::default()
        };
        let identity = Identity::of(&words, &facts);
        let told = identity
            .words()
            .map(|(name, word)| (name, word.text.as_str(), word.by.as_str()));
        assert_eq!(
            told,
            [
                ("engine", "vllm", Some("engine")),
                ("version", "unstated", None),
                ("model", "unstated", None),
                ("precision", "fp8 by hand", Some("operator")),
                ("max_model_len", "4096", Some("operator")),
            ]
        );
    }
}
