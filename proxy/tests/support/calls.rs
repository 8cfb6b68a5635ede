//! A gRPC client and a gRPC engine, both tonic's, on either side of a proxy.
//!
//! The messages are those of the engines' protocols with the fields that matter here (smg-grpc-proto 0.4.28,
//! vllm_engine.proto; grpc_service.proto of Triton).

use super::infer::{EngineStream, InferRequest, STREAM_INFER, StreamResponse};
use super::support::{Engine, House};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::CompressionEncoding;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

pub(crate) const GENERATE: &str = "/vllm.grpc.engine.VllmEngine/Generate";
pub(crate) const HEALTH: &str = "/vllm.grpc.engine.VllmEngine/HealthCheck";
pub(crate) const ECHO: &str = "/test.Echo/Chat";

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GenerateRequest {
    #[prost(string, tag = "1")]
    pub(crate) request_id: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) tokenized: Option<Tokenized>,
    #[prost(message, optional, tag = "4")]
    pub(crate) sampling: Option<Sampling>,
    #[prost(bool, tag = "5")]
    pub(crate) stream: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Tokenized {
    #[prost(uint32, repeated, tag = "2")]
    pub(crate) input_ids: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Sampling {
    #[prost(uint32, optional, tag = "8")]
    pub(crate) max_tokens: Option<u32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GenerateResponse {
    #[prost(oneof = "Part", tags = "1, 2")]
    pub(crate) part: Option<Part>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Part {
    #[prost(message, tag = "1")]
    Chunk(Chunk),
    #[prost(message, tag = "2")]
    Complete(Complete),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Chunk {
    #[prost(uint32, repeated, tag = "1")]
    pub(crate) token_ids: Vec<u32>,
    #[prost(uint32, tag = "2")]
    pub(crate) prompt_tokens: u32,
    #[prost(uint32, tag = "3")]
    pub(crate) completion_tokens: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Complete {
    #[prost(uint32, repeated, tag = "1")]
    pub(crate) output_ids: Vec<u32>,
    #[prost(string, tag = "2")]
    pub(crate) finish_reason: String,
    #[prost(uint32, tag = "3")]
    pub(crate) prompt_tokens: u32,
    #[prost(uint32, tag = "4")]
    pub(crate) completion_tokens: u32,
}

/// A message of any service: some bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Blob {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) bytes: Bytes,
}

/// What a handler answers by; ends the call when it is dropped, with OK.
pub(crate) type Answers<M> = mpsc::Sender<Result<M, Status>>;

type Handler<Q, M> = Arc<dyn Fn(Request<Q>, Answers<M>) -> BoxFuture<'static, ()> + Send + Sync>;

/// What an engine does with its calls.
#[derive(Clone)]
pub(crate) struct Service {
    generate: Option<Handler<GenerateRequest, GenerateResponse>>,
    echo: Option<Handler<Streaming<Blob>, Blob>>,
    infer: Option<mpsc::Sender<EngineStream>>,
    compress: bool,
}

impl Service {
    pub(crate) fn new() -> Self {
        Self {
            generate: None,
            echo: None,
            infer: None,
            compress: false,
        }
    }

    /// Answers `Generate` by `handler`.
    pub(crate) fn generate<F>(
        mut self,
        handler: impl Fn(Request<GenerateRequest>, Answers<GenerateResponse>) -> F
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.generate = Some(Arc::new(move |request, answers| {
            Box::pin(handler(request, answers))
        }));
        self
    }

    /// Answers the bidirectional method of no engine's by `handler`.
    pub(crate) fn echo<F>(
        mut self,
        handler: impl Fn(Request<Streaming<Blob>>, Answers<Blob>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.echo = Some(Arc::new(move |request, answers| {
            Box::pin(handler(request, answers))
        }));
        self
    }

    /// Hands out the streams of `ModelStreamInfer` that are begun.
    pub(crate) fn infer(mut self, streams: mpsc::Sender<EngineStream>) -> Self {
        self.infer = Some(streams);
        self
    }

    /// Compresses what it sends.
    pub(crate) fn compressed(mut self) -> Self {
        self.compress = true;
        self
    }

    /// An engine that serves it.
    pub(crate) fn engine(self) -> Arc<Engine> {
        Engine::new(move |socket| serve(socket, self.clone()))
    }

    async fn answer(self, request: http::Request<Incoming>) -> http::Response<tonic::body::Body> {
        match request.uri().path() {
            GENERATE => {
                let handler = self.generate.expect("the test answers Generate");
                let method = tower::service_fn(move |request| {
                    std::future::ready(Ok(start(&handler, request)))
                });
                let mut grpc = tonic::server::Grpc::new(ProstCodec::default());
                if self.compress {
                    grpc = grpc.send_compressed(CompressionEncoding::Gzip);
                }
                grpc.server_streaming(method, request).await
            }
            ECHO => {
                let handler = self.echo.expect("the test answers Chat");
                let method = tower::service_fn(move |request| {
                    std::future::ready(Ok(start(&handler, request)))
                });
                tonic::server::Grpc::new(ProstCodec::default())
                    .streaming(method, request)
                    .await
            }
            STREAM_INFER => {
                let streams = self.infer.expect("the test answers ModelStreamInfer");
                let handler: Handler<_, StreamResponse> = Arc::new(move |request, answers| {
                    let streams = streams.clone();
                    Box::pin(async move {
                        let stream = (request.into_inner(), answers);
                        streams
                            .send(stream)
                            .await
                            .expect("the test takes the stream");
                    })
                });
                let method = tower::service_fn(move |request| {
                    std::future::ready(Ok(start(&handler, request)))
                });
                tonic::server::Grpc::new(ProstCodec::<StreamResponse, InferRequest>::default())
                    .streaming(method, request)
                    .await
            }
            HEALTH => {
                let method = tower::service_fn(|request: Request<Blob>| async move {
                    Ok(Response::new(request.into_inner()))
                });
                tonic::server::Grpc::new(ProstCodec::<Blob, Blob>::default())
                    .unary(method, request)
                    .await
            }
            other => Status::unimplemented(other).into_http(),
        }
    }
}

/// Runs a handler beside the answer that it gives.
fn start<Q, M: Send + 'static>(
    handler: &Handler<Q, M>,
    request: Request<Q>,
) -> Response<ReceiverStream<Result<M, Status>>> {
    let (answers, stream) = mpsc::channel(1);
    let mut response = Response::new(ReceiverStream::new(stream));
    let metadata = request.metadata();
    for key in ["x-both-ways", "x-binary-bin"] {
        if let Some(value) = metadata.get(key) {
            response.metadata_mut().insert(key, value.clone());
        }
        if let Some(value) = key
            .ends_with("-bin")
            .then(|| metadata.get_bin(key))
            .flatten()
        {
            response
                .metadata_mut()
                .insert_bin("x-binary-bin", value.clone());
        }
    }
    tokio::spawn(handler(request, answers));
    response
}

async fn serve(socket: DuplexStream, service: Service) {
    let answer = move |request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    };
    // Its end is what the test makes it.
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(socket), hyper::service::service_fn(answer))
        .await;
}

/// A client of the proxy.
pub(crate) struct Caller(tonic::client::Grpc<Channel>);

impl Caller {
    pub(crate) async fn new(house: &House) -> Self {
        let mut socket = Some(house.client());
        let connector = tower::service_fn(move |_: http::Uri| {
            let socket = socket.take().map(TokioIo::new);
            std::future::ready(socket.ok_or("the pipe was taken"))
        });
        let channel = Endpoint::from_static("http://front.test")
            .connect_with_connector(connector)
            .await
            .expect("the proxy takes the connection");
        Self(tonic::client::Grpc::new(channel))
    }

    /// A call with one request and a stream of answers.
    pub(crate) async fn call<Q, M>(
        &self,
        path: &'static str,
        request: Request<Q>,
    ) -> Result<Response<Streaming<M>>, Status>
    where
        Q: prost::Message + Send + Sync + 'static,
        M: prost::Message + Default + Send + Sync + 'static,
    {
        let mut grpc = self.0.clone();
        grpc.ready().await.expect("the connection stands");
        let path = PathAndQuery::from_static(path);
        grpc.accept_compressed(CompressionEncoding::Gzip)
            .server_streaming(request, path, ProstCodec::<Q, M>::default())
            .await
    }

    /// A call with streams both ways; the requests are what is sent into the channel.
    pub(crate) async fn talk<Q, M>(
        &self,
        path: &'static str,
    ) -> Result<(mpsc::Sender<Q>, Streaming<M>), Status>
    where
        Q: prost::Message + Send + Sync + 'static,
        M: prost::Message + Default + Send + Sync + 'static,
    {
        let (requests, stream) = mpsc::channel(16);
        let mut grpc = self.0.clone();
        grpc.ready().await.expect("the connection stands");
        let path = PathAndQuery::from_static(path);
        let request = Request::new(ReceiverStream::new(stream));
        let answer = grpc.streaming(request, path, ProstCodec::<Q, M>::default());
        Ok((requests, answer.await?.into_inner()))
    }
}

/// A chunk with one more token.
pub(crate) fn chunk_of(prompt: u32, so_far: u32) -> GenerateResponse {
    GenerateResponse {
        part: Some(Part::Chunk(Chunk {
            token_ids: vec![1000 + so_far],
            prompt_tokens: prompt,
            completion_tokens: so_far,
        })),
    }
}

/// What completes an answer of so many tokens.
pub(crate) fn complete_of(prompt: u32, total: u32) -> GenerateResponse {
    GenerateResponse {
        part: Some(Part::Complete(Complete {
            output_ids: (1..=total).map(|token| 1000 + token).collect(),
            finish_reason: "stop".to_owned(),
            prompt_tokens: prompt,
            completion_tokens: total,
        })),
    }
}

/// A request with so many prompt tokens.
pub(crate) fn prompt_of(tokens: u32) -> GenerateRequest {
    GenerateRequest {
        request_id: "r-1".to_owned(),
        tokenized: Some(Tokenized {
            input_ids: (0..tokens).collect(),
        }),
        sampling: Some(Sampling {
            max_tokens: Some(64),
        }),
        stream: true,
    }
}
