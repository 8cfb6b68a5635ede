//! Which route answered: by what was said, by the path of the request, or by a body that only one of them writes.

use crate::recording::Recorded;
use crate::{EndpointFrom, Error, Options};
use serde_json::Value;
use wire::{Endpoint, EngineKind};

/// Objects of a body that are looked at.
const LOOKED_AT: usize = 64;

/// The path in a URL, without its query.
pub(crate) fn path(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = after
        .find('/')
        .and_then(|at| after.get(at..))
        .unwrap_or("/");
    path.split(['?', '#']).next().unwrap_or(path).to_owned()
}

/// The route of a path; one below the prefix of a gateway is known by its version.
pub(crate) fn of_path(path: &str) -> Option<Endpoint> {
    Endpoint::of("POST", path).or_else(|| {
        let at = path.find("/v1/")?;
        Endpoint::of("POST", path.get(at..)?)
    })
}

/// The route of an answer, and how it is known.
pub(crate) fn tell(
    recorded: &Recorded,
    options: &Options<'_>,
) -> Result<(Endpoint, EndpointFrom), Error> {
    if let Some(endpoint) = options.endpoint {
        return Ok((endpoint, EndpointFrom::Option));
    }
    if let Some(endpoint) = recorded.path.as_deref().and_then(of_path) {
        return Ok((endpoint, EndpointFrom::Path));
    }
    let body = recorded.body();
    let found = objects(&body)
        .iter()
        .map(candidates)
        .find(|candidates| !candidates.is_empty())
        .unwrap_or_default();
    let fits = |endpoint: &&Endpoint| options.engine.is_none_or(|engine| has(engine, **endpoint));
    let fitting: Vec<Endpoint> = found.iter().filter(fits).copied().collect();
    match fitting.as_slice() {
        [endpoint] => Ok((*endpoint, EndpointFrom::Body)),
        several => Err(Error::NoEndpoint {
            why: why(several, &found, options.engine),
        }),
    }
}

fn why(fitting: &[Endpoint], found: &[Endpoint], engine: Option<EngineKind>) -> String {
    let names = |endpoints: &[Endpoint]| {
        let names: Vec<&str> = endpoints.iter().map(|endpoint| endpoint.as_str()).collect();
        names.join(" and ")
    };
    match (fitting, engine) {
        ([], Some(engine)) if !found.is_empty() => format!(
            "the body is one of {}, which {} does not have",
            names(found),
            engine.as_str()
        ),
        ([], _) => "nothing in the body tells its route".to_owned(),
        (several, _) => format!("the body may be one of {}", names(several)),
    }
}

/// The first JSON objects of a body: of an event stream, of lines, or the body itself.
pub(crate) fn objects(body: &[u8]) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_slice::<Value>(body) {
        return match whole {
            Value::Array(objects) => objects,
            object => vec![object],
        };
    }
    body.split(|byte| matches!(byte, b'\n' | b'\r'))
        .filter_map(|line| {
            let data = line.strip_prefix(b"data:").unwrap_or(line);
            serde_json::from_slice::<Value>(data).ok()
        })
        .filter(Value::is_object)
        .take(LOOKED_AT)
        .collect()
}

/// The routes that write such an object; none for one that any could write, such as an error.
fn candidates(object: &Value) -> Vec<Endpoint> {
    let has = |name: &str| object.get(name).is_some();
    let kind = object.get("type").and_then(Value::as_str).unwrap_or("");
    let choice = object.get("choices").and_then(|choices| choices.get(0));
    if let Some(choice) = choice {
        let has = |name: &str| choice.get(name).is_some();
        return match () {
            () if has("delta") || has("message") => vec![Endpoint::ChatCompletions],
            () if object.get("request_id").is_some() => vec![Endpoint::InferenceGenerate],
            () if has("text") => vec![Endpoint::Completions],
            () => vec![Endpoint::Completions, Endpoint::InferenceGenerate],
        };
    }
    let message_kind = ["message", "content_block"]
        .iter()
        .any(|begin| kind.starts_with(begin));
    match () {
        () if kind.starts_with("response.") => vec![Endpoint::Responses],
        () if object.get("object").and_then(Value::as_str) == Some("response") => {
            vec![Endpoint::Responses]
        }
        () if message_kind => vec![Endpoint::Messages],
        () if has("meta_info") => vec![Endpoint::Generate],
        () if has("token") && has("generated_text") => vec![Endpoint::GenerateStream],
        () if has("generated_text") => vec![Endpoint::Generate],
        () if has("tokens_predicted") => vec![Endpoint::Completion],
        () if has("text_output") => vec![Endpoint::TritonGenerateStream],
        () if has("done") && has("message") => vec![Endpoint::OllamaChat],
        () if has("done") && has("response") => vec![Endpoint::OllamaGenerate],
        () => Vec::new(),
    }
}

/// Whether an engine has such a route.
fn has(engine: EngineKind, endpoint: Endpoint) -> bool {
    match endpoint {
        Endpoint::InferenceGenerate | Endpoint::VllmGrpc => engine == EngineKind::Vllm,
        Endpoint::Completion => engine == EngineKind::LlamaCpp,
        Endpoint::Generate => matches!(engine, EngineKind::Sglang | EngineKind::Tgi),
        Endpoint::GenerateStream | Endpoint::Root => engine == EngineKind::Tgi,
        Endpoint::TritonGenerate | Endpoint::TritonGenerateStream | Endpoint::TritonGrpc => {
            engine == EngineKind::Triton
        }
        Endpoint::SglangGrpc => engine == EngineKind::Sglang,
        Endpoint::OllamaChat | Endpoint::OllamaGenerate => {
            matches!(engine, EngineKind::Sglang | EngineKind::LlamaCpp)
        }
        Endpoint::Responses | Endpoint::Messages => engine != EngineKind::Tgi,
        Endpoint::Completions | Endpoint::ChatCompletions => true,
    }
}
