//! What passes without being measured: requests that generate no tokens, as a closed set.

/// A kind of request that no tokens answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Passing {
    /// Vectors for texts.
    Embeddings,
    /// Scores, ranks, classes and rewards of texts.
    Scoring,
    /// Text to token ids or back, or a count of them.
    Tokenize,
    /// What models there are, and what they are.
    Models,
    /// Whether the engine lives.
    Health,
    /// The engine's own metrics.
    Metrics,
    /// A client that goes on in websocket.
    Websocket,
    /// Anything else.
    Other,
}

impl Passing {
    /// Each, once.
    pub const ALL: [Self; 8] = [
        Self::Embeddings,
        Self::Scoring,
        Self::Tokenize,
        Self::Models,
        Self::Health,
        Self::Metrics,
        Self::Websocket,
        Self::Other,
    ];

    /// The kind of a request whose target has this path. It is meant for requests that [`crate::Endpoint::of`] doesn't know.
    pub fn of(path: &str) -> Self {
        match path {
            "/v1/embeddings" | "/embeddings" | "/embedding" | "/embed" | "/api/embed"
            | "/api/embeddings" | "/v2/embed" | "/pooling" => Self::Embeddings,
            "/rerank" | "/v1/rerank" | "/v2/rerank" | "/reranking" | "/v1/reranking" | "/score"
            | "/v1/score" | "/classify" | "/v1/classify" => Self::Scoring,
            "/tokenize"
            | "/detokenize"
            | "/v1/tokenize"
            | "/v1/detokenize"
            | "/v1/messages/count_tokens"
            | "/chat_tokenize" => Self::Tokenize,
            "/models" | "/version" | "/props" | "/info" | "/server_info" | "/get_server_info"
            | "/model_info" | "/get_model_info" | "/api/tags" | "/api/show" | "/v2" => Self::Models,
            "/health" | "/v1/health" | "/ping" | "/live" | "/ready" | "/health_generate"
            | "/v2/health/live" | "/v2/health/ready" => Self::Health,
            "/metrics" | "/prometheus/metrics" => Self::Metrics,
            _ if path.starts_with("/v1/models") || path.starts_with("/v2/models/") => Self::Models,
            _ => Self::of_call(path),
        }
    }

    /// The same of a gRPC call: `/package.Service/Method`, of the services that Triton, vLLM and SGLang have.
    fn of_call(path: &str) -> Self {
        let mut parts = path.rsplit('/');
        let method = parts.next().unwrap_or_default();
        if !parts.next().is_some_and(|service| service.contains('.')) {
            return Self::Other;
        }
        match method {
            "Embed" => Self::Embeddings,
            "GetModelInfo" | "GetServerInfo" | "ServerMetadata" | "ModelMetadata"
            | "ModelConfig" | "RepositoryIndex" => Self::Models,
            "Check" | "Watch" | "HealthCheck" | "ServerLive" | "ServerReady" | "ModelReady" => {
                Self::Health
            }
            "GetLoads" | "ModelStatistics" => Self::Metrics,
            _ => Self::Other,
        }
    }

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Embeddings => "embeddings",
            Self::Scoring => "scoring",
            Self::Tokenize => "tokenize",
            Self::Models => "models",
            Self::Health => "health",
            Self::Metrics => "metrics",
            Self::Websocket => "websocket",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Passing;

    #[test]
    fn a_path_is_told_by_what_it_serves() {
        for (path, kind) in [
            ("/v1/embeddings", Passing::Embeddings),
            ("/rerank", Passing::Scoring),
            ("/v1/messages/count_tokens", Passing::Tokenize),
            ("/v1/models", Passing::Models),
            ("/v1/models/otter", Passing::Models),
            ("/v2/models/otter/config", Passing::Models),
            ("/health", Passing::Health),
            ("/metrics", Passing::Metrics),
            ("/v1/audio/speech", Passing::Other),
            ("/grpc.health.v1.Health/Check", Passing::Health),
            ("/vllm.grpc.engine.VllmEngine/GetModelInfo", Passing::Models),
            ("/inference.GRPCInferenceService/ModelInfer", Passing::Other),
            ("/a/Check", Passing::Other),
            ("", Passing::Other),
        ] {
            assert_eq!(Passing::of(path), kind, "{path}");
        }
        let mut names: Vec<_> = Passing::ALL.map(Passing::as_str).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Passing::ALL.len());
    }
}
