//! The closed set of generating routes. Everything else passes through unmeasured.

/// A route whose answers are generated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `POST /v1/completions`
    Completions,
    /// `POST /v1/chat/completions`
    ChatCompletions,
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/messages`
    Messages,
    /// `POST /completion` of llama.cpp.
    Completion,
    /// `POST /generate` of SGLang, and of TGI, which never streams there.
    Generate,
    /// `POST /inference/v1/generate` of vLLM.
    InferenceGenerate,
    /// `POST /generate_stream` of TGI.
    GenerateStream,
    /// `POST /` of TGI, a stream if the request asks for it.
    Root,
    /// `POST /v2/models/{model}/generate` of Triton, also of one version of the model.
    TritonGenerate,
    /// `POST /v2/models/{model}/generate_stream` of Triton, also of one version of the model.
    TritonGenerateStream,
    /// `POST /api/chat` in Ollama's shape.
    OllamaChat,
    /// `POST /api/generate` in Ollama's shape.
    OllamaGenerate,
    /// `Generate` of vLLM's gRPC service.
    VllmGrpc,
    /// `Generate` of SGLang's gRPC service.
    SglangGrpc,
    /// `ModelStreamInfer` of Triton's gRPC service.
    TritonGrpc,
}

impl Endpoint {
    /// Each route of HTTP, once.
    pub const ALL: [Self; 13] = [
        Self::Completions,
        Self::ChatCompletions,
        Self::Responses,
        Self::Messages,
        Self::Completion,
        Self::Generate,
        Self::InferenceGenerate,
        Self::GenerateStream,
        Self::Root,
        Self::TritonGenerate,
        Self::TritonGenerateStream,
        Self::OllamaChat,
        Self::OllamaGenerate,
    ];

    /// Each gRPC method, once. They generate only where a request is a gRPC call.
    pub const GRPC: [Self; 3] = [Self::VllmGrpc, Self::SglangGrpc, Self::TritonGrpc];

    /// The endpoint of a request, or `None` if the route does not generate.
    ///
    /// `path` is the request target without its query.
    pub fn of(method: &str, path: &str) -> Option<Self> {
        if method != "POST" {
            return None;
        }
        match path {
            "/v1/completions" => Some(Self::Completions),
            // llama.cpp has some routes without their version, too. Its `/completions` is not OpenAI's.
            "/v1/chat/completions" | "/chat/completions" => Some(Self::ChatCompletions),
            "/v1/responses" | "/responses" => Some(Self::Responses),
            "/v1/messages" => Some(Self::Messages),
            "/completion" | "/completions" => Some(Self::Completion),
            "/generate" => Some(Self::Generate),
            "/inference/v1/generate" => Some(Self::InferenceGenerate),
            "/generate_stream" => Some(Self::GenerateStream),
            "/" => Some(Self::Root),
            "/api/chat" => Some(Self::OllamaChat),
            "/api/generate" => Some(Self::OllamaGenerate),
            _ => Self::GRPC
                .into_iter()
                .find(|method| method.as_str() == path)
                .or_else(|| Self::of_triton(path)),
        }
    }

    fn of_triton(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix("/v2/models/")?.split('/');
        parts.next().filter(|model| !model.is_empty())?;
        let mut action = parts.next()?;
        if action == "versions" {
            parts.next().filter(|version| !version.is_empty())?;
            action = parts.next()?;
        }
        match (action, parts.next()) {
            ("generate", None) => Some(Self::TritonGenerate),
            ("generate_stream", None) => Some(Self::TritonGenerateStream),
            _ => None,
        }
    }

    /// The label value, a closed set: the path, and `*` where a request has names of its own.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completions => "/v1/completions",
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::Completion => "/completion",
            Self::Generate => "/generate",
            Self::InferenceGenerate => "/inference/v1/generate",
            Self::GenerateStream => "/generate_stream",
            Self::Root => "/",
            Self::TritonGenerate => "/v2/models/*/generate",
            Self::TritonGenerateStream => "/v2/models/*/generate_stream",
            Self::OllamaChat => "/api/chat",
            Self::OllamaGenerate => "/api/generate",
            Self::VllmGrpc => "/vllm.grpc.engine.VllmEngine/Generate",
            Self::SglangGrpc => "/sglang.grpc.scheduler.SglangScheduler/Generate",
            Self::TritonGrpc => "/inference.GRPCInferenceService/ModelStreamInfer",
        }
    }

    /// Whether it is a method of gRPC.
    pub const fn is_grpc(self) -> bool {
        matches!(self, Self::VllmGrpc | Self::SglangGrpc | Self::TritonGrpc)
    }

    /// Whether the route itself says if its answers are streams; `None` where the request does.
    pub(crate) const fn streams(self) -> Option<bool> {
        match self {
            Self::GenerateStream | Self::TritonGenerateStream => Some(true),
            Self::VllmGrpc | Self::SglangGrpc | Self::TritonGrpc => Some(true),
            Self::TritonGenerate => Some(false),
            _ => None,
        }
    }

    /// Whether a request that was seen as a whole and doesn't say so asks for a stream; `None` where that is not known to be
    /// a matter of the route.
    pub(crate) fn streams_unasked(self, whole: bool) -> Option<bool> {
        matches!(self, Self::OllamaChat | Self::OllamaGenerate if whole).then_some(true)
    }
}
