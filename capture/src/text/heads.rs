//! The two header fields that are kept, each as one of a closed list, so that nothing a client made up gets through.

/// Families of clients, as their `user-agent` begins.
const AGENTS: [&str; 24] = [
    "openai",
    "asyncopenai",
    "anthropic",
    "asyncanthropic",
    "python-requests",
    "python-httpx",
    "python-urllib",
    "python",
    "aiohttp",
    "go-http-client",
    "curl",
    "wget",
    "node",
    "undici",
    "axios",
    "okhttp",
    "java",
    "ruby",
    "litellm",
    "langchain",
    "mozilla",
    "aiperf",
    "guidellm",
    "k6",
];

/// Media types of bodies that engines read and write.
const MEDIA_TYPES: [&str; 10] = [
    "application/json",
    "application/problem+json",
    "text/event-stream",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "text/plain",
    "text/html",
    "multipart/form-data",
    "application/grpc",
];

/// The family of a `user-agent`, `other` if it is in no list.
pub(super) fn agent(field: &str) -> &'static str {
    let product = field.split(['/', ' ']).next().unwrap_or_default();
    of(&AGENTS, product)
}

/// A `content-type` without its parameters, `other` if it is in no list.
pub(super) fn media_type(field: &str) -> &'static str {
    of(
        &MEDIA_TYPES,
        field.split(';').next().unwrap_or_default().trim(),
    )
}

fn of(list: &[&'static str], word: &str) -> &'static str {
    list.iter()
        .find(|known| known.eq_ignore_ascii_case(word))
        .copied()
        .unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_list_is_other() {
        assert_eq!(agent("OpenAI/Python 2.1.0"), "openai");
        assert_eq!(agent("curl/8.14.1"), "curl");
        assert_eq!(agent("sk-live-0123456789/1.0"), "other");
        assert_eq!(
            media_type("Application/JSON; charset=utf-8"),
            "application/json"
        );
        assert_eq!(media_type("x/sk-live-0123456789"), "other");
    }
}
