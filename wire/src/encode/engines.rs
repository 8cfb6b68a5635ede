//! The tables, one file for each engine, and what several of them have in common.

mod anthropic;
mod llamacpp;
mod responses;
mod sglang;
mod tgi;
mod triton;
mod trtllm;
mod vllm;

use super::shape::Shape;
use crate::{Endpoint, EngineKind};

/// How an engine answers on a route, if it has it.
pub(super) fn shape(engine: EngineKind, endpoint: Endpoint) -> Option<&'static Shape> {
    match engine {
        EngineKind::Vllm => vllm::shape(endpoint),
        EngineKind::Sglang => sglang::shape(endpoint),
        EngineKind::Trtllm => trtllm::shape(endpoint),
        EngineKind::Triton => triton::shape(endpoint),
        EngineKind::Tgi => tgi::shape(endpoint),
        EngineKind::LlamaCpp => llamacpp::shape(endpoint),
    }
}
