//! Triton's `ModelStreamInfer` (grpc_service.proto), with the fields that matter here.

use super::calls::{Answers, Caller};
use std::collections::HashMap;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

pub(crate) const STREAM_INFER: &str = "/inference.GRPCInferenceService/ModelStreamInfer";

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct InferRequest {
    #[prost(string, tag = "1")]
    pub(crate) model_name: String,
    #[prost(string, tag = "3")]
    pub(crate) id: String,
    #[prost(map = "string, message", tag = "4")]
    pub(crate) parameters: HashMap<String, Parameter>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) inputs: Vec<Tensor>,
    #[prost(bytes = "vec", repeated, tag = "7")]
    pub(crate) raw: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Parameter {
    #[prost(bool, tag = "1")]
    pub(crate) value: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Tensor {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) datatype: String,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) shape: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StreamResponse {
    #[prost(string, tag = "1")]
    pub(crate) error: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) response: Option<InferResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct InferResponse {
    #[prost(string, tag = "1")]
    pub(crate) model_name: String,
    #[prost(string, tag = "3")]
    pub(crate) id: String,
    #[prost(map = "string, message", tag = "4")]
    pub(crate) parameters: HashMap<String, Parameter>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) outputs: Vec<Tensor>,
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub(crate) raw: Vec<Vec<u8>>,
}

fn text_tensor(name: &str) -> Tensor {
    Tensor {
        name: name.to_owned(),
        datatype: "BYTES".to_owned(),
        shape: vec![1],
    }
}

fn raw(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("the tests' texts are short");
    [&length.to_le_bytes()[..], text.as_bytes()].concat()
}

/// A request with a prompt; `flag` is the parameter that asks for the last response.
pub(crate) fn ask(id: &str, prompt: &str, end_asked: bool) -> InferRequest {
    let flag = (
        "triton_enable_empty_final_response".to_owned(),
        Parameter { value: true },
    );
    InferRequest {
        model_name: "ensemble".to_owned(),
        id: id.to_owned(),
        parameters: end_asked.then_some(flag).into_iter().collect(),
        inputs: vec![text_tensor("text_input")],
        raw: vec![raw(prompt)],
    }
}

/// Some text of an answer.
pub(crate) fn part(id: &str, text: &str) -> StreamResponse {
    StreamResponse {
        error: String::new(),
        response: Some(InferResponse {
            model_name: "ensemble".to_owned(),
            id: id.to_owned(),
            outputs: vec![text_tensor("text_output")],
            raw: vec![raw(text)],
            ..InferResponse::default()
        }),
    }
}

/// The last response of an answer, with nothing in it.
pub(crate) fn last(id: &str) -> StreamResponse {
    let flag = (
        "triton_final_response".to_owned(),
        Parameter { value: true },
    );
    StreamResponse {
        error: String::new(),
        response: Some(InferResponse {
            id: id.to_owned(),
            parameters: [flag].into(),
            ..InferResponse::default()
        }),
    }
}

/// An error in place of an answer.
pub(crate) fn error(id: &str, message: &str) -> StreamResponse {
    StreamResponse {
        error: message.to_owned(),
        response: Some(InferResponse {
            id: id.to_owned(),
            ..InferResponse::default()
        }),
    }
}

/// Both ends of a call, as a client has them.
pub(crate) type Stream = (mpsc::Sender<InferRequest>, Streaming<StreamResponse>);

pub(crate) async fn stream(caller: &Caller) -> Result<Stream, Status> {
    caller.talk(STREAM_INFER).await
}

/// Both ends of a call, as the engine has them.
pub(crate) type EngineStream = (Streaming<InferRequest>, Answers<StreamResponse>);
