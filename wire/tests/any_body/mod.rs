//! What holds for any bytes that are taken for a request's body.
//!
//! It panics where something doesn't hold. The fuzz target runs it on what a fuzzer makes up, the ordinary tests on requests
//! that are sound, damaged, or were kept by the fuzzer. An input is a byte, the length of a read, and the body.

#![allow(
    dead_code,
    reason = "each of those who include this module uses a part of it"
)]

mod tree;

use serde::de::IgnoredAny;
use tree::Tree;
use wire::limits::{JSON_DEPTH, TEXT_BYTES};
use wire::{Endpoint, RequestDetails, RequestFacts, RequestScan};

/// No longer number is read.
const NUMBER_BYTES: usize = 40;

pub(crate) fn scan<'b>(
    endpoint: Endpoint,
    pushes: impl IntoIterator<Item = &'b [u8]>,
) -> RequestFacts {
    let mut scan = RequestScan::new(endpoint);
    pushes.into_iter().for_each(|bytes| scan.push(bytes));
    scan.finish()
}

/// Takes an input apart and checks it.
pub(crate) fn check_input(data: &[u8]) {
    if let Some((size, body)) = data.split_first() {
        check(body, usize::from(*size).max(1));
    }
}

/// On each route the facts are the same however the body comes; where it is JSON, they are those of its tree.
pub(crate) fn check(body: &[u8], size: usize) {
    for endpoint in Endpoint::ALL.into_iter().chain(Endpoint::GRPC) {
        let whole = scan(endpoint, [body]);
        assert_eq!(scan(endpoint, body.chunks(size)), whole, "no cut decides");
        let is_json = !endpoint.is_grpc() && whole.whole;
        assert!(!is_json || is_almost_json(body), "that is no JSON");
    }
    let Ok(tree) = serde_json::from_slice::<Tree>(body) else {
        return;
    };
    let is_read = matches!(tree, Tree::Object(_)) && tree.depth() <= JSON_DEPTH;
    if !is_read || has_long_number(body) {
        return;
    }
    for endpoint in [Endpoint::Completions, Endpoint::ChatCompletions] {
        let mut facts = scan(endpoint, [body]);
        let mut expected = facts_of(endpoint, &tree);
        let pairs = [
            (&mut facts.temperature, &mut expected.temperature),
            (&mut facts.top_p, &mut expected.top_p),
        ];
        for (ours, theirs) in pairs {
            assert!(is_same(ours.take(), theirs.take()));
        }
        check_details(&facts.details, endpoint, &tree);
        expected.details = facts.details;
        assert_eq!(facts, expected, "{}", body.escape_ascii());
    }
}

/// Those that a tree says as easily. The others have tests of their own.
fn check_details(details: &RequestDetails, endpoint: Endpoint, body: &Tree) {
    let stop = body.last("stop");
    let texts = |list: &[Tree]| list.iter().filter_map(Tree::text).count();
    let stops = match stop.text() {
        Some(_) => Some(1),
        None => stop.list().map(texts),
    };
    assert_eq!(
        details.stops,
        stops.and_then(|count| u32::try_from(count).ok())
    );
    let tools = body.last("tools").list();
    assert_eq!(details.tool_bytes.is_some(), tools.is_some());
    let is_chat = endpoint == Endpoint::ChatCompletions;
    let has_messages = is_chat && body.last("messages").list().is_some();
    assert_eq!(details.system.is_some(), has_messages);
    assert_eq!(details.images.is_some(), has_messages);
}

/// A byte order mark may lead, and control characters may stand in strings as they are.
fn is_almost_json(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let tamed: Vec<u8> = body.iter().map(|byte| (*byte).max(b' ')).collect();
    serde_json::from_slice::<IgnoredAny>(&tamed).is_ok()
}

fn has_long_number(body: &[u8]) -> bool {
    let of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    body.split(|byte| !of_number(byte))
        .any(|run| run.len() > NUMBER_BYTES)
}

/// serde_json rounds a little differently.
fn is_same(ours: Option<f64>, theirs: Option<f64>) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => {
            (ours - theirs).abs() <= ours.abs() * 1e-12 + f64::MIN_POSITIVE
        }
        (ours, theirs) => ours == theirs,
    }
}

/// The facts, read from a tree.
fn facts_of(endpoint: Endpoint, body: &Tree) -> RequestFacts {
    let get = |key| body.last(key);
    let mut facts = RequestFacts {
        whole: true,
        model: get("model").text().map(|model| cut(model).to_owned()),
        stream: get("stream").flag(),
        n: get("n").count(),
        tools: get("tools").length(),
        max_tokens: get("max_completion_tokens")
            .count()
            .or(get("max_tokens").count()),
        echo: get("echo").flag(),
        include_usage: get("stream_options").last("include_usage").flag(),
        continuous_usage: get("stream_options").last("continuous_usage_stats").flag(),
        temperature: get("temperature").number(),
        top_p: get("top_p").number(),
        seed: get("seed").integer(),
        ..RequestFacts::default()
    };
    if endpoint == Endpoint::ChatCompletions {
        facts.messages = get("messages").length();
        facts.prompt_bytes = get("messages")
            .list()
            .map(|list| list.iter().map(|message| content(message, false)).sum());
    } else if let Some(text) = get("prompt").text() {
        (facts.prompts, facts.prompt_bytes) = (Some(1), Some(text.len() as u64));
    } else if let Some(list) = get("prompt").list().filter(|list| !list.is_empty()) {
        prompts(list, &mut facts);
    }
    facts
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES)]
}

fn prompts(list: &[Tree], facts: &mut RequestFacts) {
    let ids = |value: &Tree| {
        value
            .list()
            .filter(|list| list.iter().all(Tree::is_number))
            .map(<[Tree]>::len)
    };
    let texts: Vec<&str> = list.iter().filter_map(Tree::text).collect();
    let numbers = list.iter().filter(|value| value.is_number()).count();
    let lists = list.iter().filter(|value| value.list().is_some()).count();
    facts.prompt_bytes =
        (!texts.is_empty()).then(|| texts.iter().map(|text| text.len() as u64).sum());
    if texts.len() + numbers + lists == list.len() && (numbers == 0 || lists == 0) {
        facts.prompts = u32::try_from(if numbers > 0 { 1 } else { list.len() }).ok();
    }
    facts.prompt_tokens = if numbers == list.len() {
        Some(numbers as u64)
    } else {
        list.iter()
            .map(ids)
            .sum::<Option<usize>>()
            .map(|ids| ids as u64)
    };
}

/// Bytes of text under `content` and `text`.
fn content(value: &Tree, under: bool) -> u64 {
    match value {
        Tree::Text(text) if under => text.len() as u64,
        Tree::List(list) => list.iter().map(|value| content(value, under)).sum(),
        Tree::Object(members) => members
            .iter()
            .map(|(key, value)| content(value, matches!(key.as_str(), "content" | "text")))
            .sum(),
        _ => 0,
    }
}
