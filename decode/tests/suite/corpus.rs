//! The recorded answers of `wire`'s corpus, in the forms in which people have them.

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// One recorded body, and what is known of it.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) endpoint: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) is_cut: bool,
    pub(crate) request: Value,
    pub(crate) expected: Value,
}

/// Every case that is a body: of an event stream, of lines, of gRPC, or JSON.
pub(crate) fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/fixtures/corpus");
    let listing = std::fs::read(folder.join("expected.json")).unwrap();
    let listing: Value = serde_json::from_slice(&listing).unwrap();
    let text = |case: &Value, name: &str| case[name].as_str().unwrap_or_default().to_owned();
    let cases = listing["cases"].as_array().unwrap().iter();
    cases
        .filter_map(|case| {
            let content_type = match case["framing"].as_str()? {
                "sse" => "text/event-stream",
                "json" => "application/json",
                "ndjson" => "application/x-ndjson",
                "grpc" => "application/grpc",
                _ => return None,
            };
            let grpc = content_type == "application/grpc";
            let endpoint = text(case, "endpoint");
            Some(Case {
                id: text(case, "id"),
                endpoint: if grpc {
                    format!("/{endpoint}")
                } else {
                    endpoint
                },
                content_type,
                body: std::fs::read(folder.join(text(case, "file"))).unwrap(),
                is_cut: case["transport_eof"] == "cut",
                request: case["request"].clone(),
                expected: case["expected"].clone(),
            })
        })
        .collect()
}

impl Case {
    /// Its reading depends on nothing that a recording can't say.
    pub(crate) fn is_plain(&self) -> bool {
        ["incremental", "text_mode", "num_output_tokens"]
            .iter()
            .all(|key| self.request.get(key).is_none())
    }

    /// The body of a request that says what matters of it.
    pub(crate) fn request_body(&self) -> Vec<u8> {
        let mut request = serde_json::Map::new();
        for key in ["stream", "n", "echo"] {
            if let Some(value) = self.request.get(key) {
                request.insert(key.to_owned(), value.clone());
            }
        }
        let prompts = self.request["prompts"].as_u64().unwrap_or(1);
        let prompts: Vec<String> = (0..prompts).map(|number| format!("p{number}")).collect();
        request.insert("prompt".to_owned(), json!(prompts));
        serde_json::to_vec(&request).unwrap()
    }

    fn head(&self, fields: &str) -> String {
        format!(
            "HTTP/1.1 {} X\r\ncontent-type: {}\r\n{fields}\r\n",
            self.expected["http_status"], self.content_type
        )
    }

    /// A raw response with its chunks.
    pub(crate) fn http(&self, chunk: usize) -> Vec<u8> {
        let mut bytes = self.head("transfer-encoding: chunked\r\n").into_bytes();
        for data in self.body.chunks(chunk) {
            bytes.extend_from_slice(format!("{:X};a=b\r\n", data.len()).as_bytes());
            bytes.extend_from_slice(data);
            bytes.extend_from_slice(b"\r\n");
        }
        if !self.is_cut {
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
        bytes
    }

    /// What `curl -i` shows: lines of a head before, the coding taken off.
    pub(crate) fn curl(&self) -> Vec<u8> {
        let head = self.head("transfer-encoding: chunked\r\n");
        [
            b"HTTP/1.1 100 Continue\r\n\r\n".as_slice(),
            head.replace("HTTP/1.1", "HTTP/2")
                .replace("\r\n", "\n")
                .as_bytes(),
            &self.body,
        ]
        .concat()
    }

    /// A raw response with a compressed body.
    pub(crate) fn gzip(&self) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&self.body).unwrap();
        let packed = encoder.finish().unwrap();
        let fields = format!(
            "content-encoding: gzip\r\ncontent-length: {}\r\n",
            packed.len()
        );
        [self.head(&fields).into_bytes(), packed].concat()
    }

    /// A HAR file with this answer between others; `base64` says how the body stands in it.
    pub(crate) fn har(&self, base64: bool) -> Vec<u8> {
        use base64::Engine;
        let content = if base64 {
            let text = base64::engine::general_purpose::STANDARD.encode(&self.body);
            json!({"mimeType": self.content_type, "encoding": "base64", "text": text})
        } else {
            let text = String::from_utf8(self.body.clone()).unwrap();
            json!({"mimeType": self.content_type, "text": text})
        };
        let other = json!({"request": {"method": "GET", "url": "http://a/v1/models"}, "response": {"status": 200}});
        let entry = json!({
            "startedDateTime": "2026-11-30T10:00:00Z",
            "request": {
                "method": "POST",
                "url": format!("https://gateway.test{}?a=b", self.endpoint),
                "postData": {"mimeType": "application/json", "text": String::from_utf8(self.request_body()).unwrap()},
            },
            "response": {
                "status": self.expected["http_status"],
                // A browser unpacks, and keeps the field.
                "headers": [{"name": "Content-Type", "value": self.content_type}, {"name": "content-encoding", "value": "br"}],
                "content": content,
            },
        });
        let har = json!({"log": {"version": "1.2", "entries": [other, entry, other]}});
        serde_json::to_vec_pretty(&har).unwrap()
    }
}
