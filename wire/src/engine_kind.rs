//! The engines whose habits are known, a closed set.

use crate::{Endpoint, RequestFacts};

/// A kind of engine: what decides how it says things that the protocols leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// vLLM's own server.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM's `trtllm-serve`.
    Trtllm,
    /// Triton Inference Server, whatever backend is behind it.
    Triton,
    /// Text Generation Inference.
    Tgi,
    /// llama.cpp's server.
    LlamaCpp,
}

impl EngineKind {
    /// Each, once.
    pub const ALL: [Self; 6] = [
        Self::Vllm,
        Self::Sglang,
        Self::Trtllm,
        Self::Triton,
        Self::Tgi,
        Self::LlamaCpp,
    ];

    /// Its name in configuration, labels and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::Trtllm => "trtllm",
            Self::Triton => "triton",
            Self::Tgi => "tgi",
            Self::LlamaCpp => "llamacpp",
        }
    }

    /// Whether it holds what a request gets back until a tool call is whole, or the answer: SGLang all of a response with
    /// tools, TGI a chat with tools. The bytes don't tell, if there are few.
    pub fn holds_back(self, endpoint: Endpoint, request: &RequestFacts) -> bool {
        let has_tools = request.tools.is_some_and(|tools| tools > 0);
        let holds = matches!(
            (self, endpoint),
            (Self::Sglang, Endpoint::Responses) | (Self::Tgi, Endpoint::ChatCompletions)
        );
        has_tools && holds
    }

    /// The kind with this [name](Self::as_str).
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
