//! The facts of an engine that hold while it runs.

use wire::EngineKind;

/// Longest text that is kept, in bytes.
const TEXT_BYTES: usize = 128;

/// What an engine says of itself; each only where it says so, texts as it spells them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Which engine it is.
    pub engine: Option<EngineKind>,
    /// Its version.
    pub version: Option<String>,
    /// The model that it serves, by the name that clients use; the first one if there are several.
    pub model: Option<String>,
    /// Most tokens of prompt and answer together.
    pub max_model_len: Option<u64>,
    /// Type of the weights, or of the file that they come from.
    pub weights: Option<String>,
    /// Method of quantisation; `none` if it says that there is none.
    pub quantization: Option<String>,
    /// Type of the KV cache.
    pub kv_cache: Option<String>,
    /// Ranks of tensor parallelism.
    pub tensor_parallel: Option<u64>,
    /// Ranks of pipeline parallelism.
    pub pipeline_parallel: Option<u64>,
}

impl Facts {
    /// These facts, and where they say nothing, those.
    pub fn or(self, other: Self) -> Self {
        Self {
            engine: self.engine.or(other.engine),
            version: self.version.or(other.version),
            model: self.model.or(other.model),
            max_model_len: self.max_model_len.or(other.max_model_len),
            weights: self.weights.or(other.weights),
            quantization: self.quantization.or(other.quantization),
            kv_cache: self.kv_cache.or(other.kv_cache),
            tensor_parallel: self.tensor_parallel.or(other.tensor_parallel),
            pipeline_parallel: self.pipeline_parallel.or(other.pipeline_parallel),
        }
    }

    /// What is told of the precision, as one text: `weights=bfloat16,quant=fp8,kv=fp8_e4m3`, each part only if it is told,
    /// in the engine's spelling.
    pub fn precision(&self) -> Option<String> {
        let parts: Vec<String> = [
            ("weights", &self.weights),
            ("quant", &self.quantization),
            ("kv", &self.kv_cache),
        ]
        .into_iter()
        .filter_map(|(part, told)| Some(format!("{part}={}", told.as_ref()?)))
        .collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }
}

/// A text that an engine sent, fit to be shown: without control characters, cut at a character; `None` if it says nothing.
pub(crate) fn kept(text: &str) -> Option<String> {
    let mut kept: String = text.trim().chars().filter(|c| !c.is_control()).collect();
    kept.truncate(kept.floor_char_boundary(TEXT_BYTES));
    (!kept.is_empty()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_is_what_is_told() {
        let told = |weights: Option<&str>, quantization: Option<&str>, kv: Option<&str>| {
            let facts = Facts {
                weights: weights.map(str::to_owned),
                quantization: quantization.map(str::to_owned),
                kv_cache: kv.map(str::to_owned),
                ..Facts::default()
            };
            facts.precision()
        };
        for (precision, expected) in [
            (told(None, None, None), None),
            (told(Some("Q4_1"), None, None), Some("weights=Q4_1")),
            (
                told(Some("bfloat16"), Some("none"), Some("auto")),
                Some("weights=bfloat16,quant=none,kv=auto"),
            ),
            (told(None, None, Some("fp8_e4m3")), Some("kv=fp8_e4m3")),
        ] {
            assert_eq!(precision.as_deref(), expected);
        }
    }

    #[test]
    fn a_text_is_cut_at_a_character_and_has_no_lines() {
        assert_eq!(kept(" a\nb\u{7f} ").as_deref(), Some("ab"));
        assert_eq!(kept(" \t"), None);
        let long = "é".repeat(100);
        assert_eq!(kept(&long).map(|text| text.len()), Some(TEXT_BYTES));
        assert_eq!(kept(&format!("x{long}")).map(|text| text.len()), Some(127));
    }
}
