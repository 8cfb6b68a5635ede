//! The requests of `fixtures/http_cases.json`.

use serde::Deserialize;

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    let file: File = serde_json::from_str(include_str!("../fixtures/http_cases.json"))
        .expect("the fixture is as its README says");
    for case in &file.cases {
        assert_eq!(case.bytes().len(), case.len, "{}", case.id);
    }
    file.cases
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// One request, and what must become of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    raw: Vec<(String, usize)>,
    len: usize,
    pub(crate) expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub(crate) enum Expect {
    Refuse {
        status: u16,
        also: Vec<serde_json::Value>,
        engine: Reach,
    },
    Deliver {
        status: u16,
        forward: Vec<Forwarded>,
        #[serde(default)]
        forward_optional: Vec<Forwarded>,
    },
}

/// What may have reached the engine of a request that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reach {
    Nothing,
    NoCompleteRequest,
}

/// A request as the engine gets it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Forwarded {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) complete: bool,
}

impl Case {
    /// What the client sends.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (text, times) in &self.raw {
            let piece: Vec<u8> = text
                .chars()
                .map(|one| u8::try_from(u32::from(one)).expect("a character is one byte"))
                .collect();
            bytes.extend(piece.repeat(*times));
        }
        bytes
    }
}
