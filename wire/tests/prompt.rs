//! A request's prompt in its canonical form, for each route.

#![expect(
    clippy::unwrap_used,
    reason = "what goes wrong in a helper fails the test"
)]

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use wire::{Endpoint, Piece, Prompt};

fn read(endpoint: Endpoint, body: &str) -> Prompt {
    let prompt = Prompt::read(endpoint, body.as_bytes());
    assert!(prompt.whole, "{body}");
    prompt
}

/// The canonical bytes, with media as their length.
fn form(endpoint: Endpoint, body: &str) -> (String, Vec<usize>) {
    let form = read(endpoint, body).canonical(|media| [u8::try_from(media.len()).unwrap(); 32]);
    let mut text = String::new();
    let mut bytes = form.bytes.as_slice();
    while let Some((&byte, rest)) = bytes.split_first() {
        match byte {
            0xff => text.push('<'),
            0xfe => text.push('>'),
            0xfd => text.push('#'),
            0xfc => {
                text.push_str(&format!("[{}]", rest[0]));
                bytes = &rest[32..];
                continue;
            }
            _ => text.push(char::from(byte)),
        }
        bytes = rest;
    }
    (text, form.turns)
}

#[test]
fn each_route_has_its_prompt() {
    for (endpoint, body, expected) in routes().into_iter().chain(chats()) {
        assert_eq!(form(endpoint, body).0, expected, "{body}");
    }
}

#[test]
fn a_call_of_grpc_has_none() {
    assert_eq!(Prompt::read(Endpoint::VllmGrpc, b"{}"), Prompt::default());
}

type Case = (Endpoint, &'static str, &'static str);

fn routes() -> Vec<Case> {
    use Endpoint as E;
    vec![
        (E::Completions, r#"{"prompt":"a\nb"}"#, "a\nb"),
        (E::Completions, r#"{"prompt":["a","b"]}"#, "a<>b"),
        (E::Completions, r#"{"prompt":[97,98]}"#, "a\0\0\0b\0\0\0"),
        (
            E::Completions,
            r#"{"prompt":[[97],[98]]}"#,
            "a\0\0\0<>b\0\0\0",
        ),
        (
            E::Completion,
            r#"{"prompt":[97,"b",99]}"#,
            "a\0\0\0bc\0\0\0",
        ),
        (E::Generate, r#"{"text":"a"}"#, "a"),
        (
            E::Generate,
            r#"{"input_ids":[97],"image_data":"x.png"}"#,
            "a\0\0\0[7]",
        ),
        (E::Generate, r#"{"inputs":"a"}"#, "a"),
        (E::GenerateStream, r#"{"inputs":"a"}"#, "a"),
        (E::Root, r#"{"inputs":"a"}"#, "a"),
        (E::InferenceGenerate, r#"{"token_ids":[97]}"#, "a\0\0\0"),
        (E::TritonGenerate, r#"{"text_input":"a"}"#, "a"),
        (E::TritonGenerateStream, r#"{"text_input":"a"}"#, "a"),
        (
            E::OllamaGenerate,
            r#"{"prompt":"a","system":"s","images":["eA=="]}"#,
            "<system>sa[8]",
        ),
        (
            E::OllamaGenerate,
            r#"{"context":[98],"prompt":"a"}"#,
            "b\0\0\0a",
        ),
    ]
}

fn chats() -> Vec<Case> {
    use Endpoint as E;
    vec![
        (
            E::OllamaChat,
            r#"{"messages":[{"role":"user","content":"a","images":["eA=="]}]}"#,
            "<user>a[6]",
        ),
        (
            E::Responses,
            r#"{"input":"a","instructions":"s"}"#,
            "<system>s<user>a",
        ),
        (
            E::Responses,
            r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},
                {"type":"function_call","id":"fc_1","name":"f"},{"type":"function_call_output","output":"o"}]}"#,
            "<user>a<function_call>#name>\"f\"<function_call_output>#output>\"o\"",
        ),
        (
            E::Messages,
            r#"{"messages":[{"role":"user","content":"a"}],"system":[{"type":"text","text":"s","cache_control":{}}]}"#,
            "<system>s<user>a",
        ),
        (
            E::ChatCompletions,
            r#"{"messages":[{"content":"a","role":"user","name":"x"}],"tools":[{"name" : "f" }],"model":"m"}"#,
            "<tools>[{\"name\":\"f\"}]<user>a#name>\"x\"",
        ),
        (E::ChatCompletions, r#"{"prompt":"b"}"#, ""),
    ]
}

#[test]
fn one_text_is_the_same_however_it_is_written() {
    let forms = [
        r#"{"messages":[{"role":"user","content":"h\u00e9 there"}]}"#,
        r#"{ "messages" : [ { "content" : [ {"text":"hé ","type":"text"} , {"type":"text","text":"there","cache_control":{"type":"ephemeral"}} ], "role":"user", "refusal":null } ] }"#,
    ];
    let [one, other] = forms.map(|body| {
        read(Endpoint::ChatCompletions, body)
            .canonical(|_| [0; 32])
            .bytes
    });
    assert_eq!(one, other);
}

#[test]
fn a_turn_begins_with_the_models_word_after_the_clients() {
    let first = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}"#;
    let later = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},{"role":"tool","tool_call_id":"1","content":"t"},
        {"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
    let (first, turns) = form(Endpoint::ChatCompletions, first);
    assert!(turns.is_empty());
    let (later, turns) = form(Endpoint::ChatCompletions, later);
    assert_eq!(turns.len(), 2);
    assert_eq!(later[..turns[0]], first);
    assert!(later[turns[1]..].starts_with("<assistant>b<user>c"));
}

#[test]
fn media_are_pieces_apart() {
    let body = r#"{"messages":[{"role":"user","content":[
        {"type":"image_url","image_url":{"url":"data:;base64,AAAA"},"cache_control":{}},
        {"type":"input_audio","input_audio":{"data":"BBBB"}},{"type":"text","text":"what?"}]}]}"#;
    let pieces = read(Endpoint::ChatCompletions, body).pieces;
    let image = r#"{"type":"image_url","image_url":{"url":"data:;base64,AAAA"}}"#;
    let sound = r#"{"type":"input_audio","input_audio":{"data":"BBBB"}}"#;
    assert_eq!(
        pieces,
        [
            Piece::Message("user".to_owned()),
            Piece::Media(image.into()),
            Piece::Media(sound.into()),
            Piece::Text("what?".to_owned()),
        ]
    );
}

#[test]
fn whose_a_request_is() {
    let owner = |body: &str| {
        let prompt = read(Endpoint::ChatCompletions, body);
        (prompt.session, prompt.user)
    };
    let some = |text: &str| Some(text.to_owned());
    for (body, session, user) in [
        ("{}", None, None),
        (r#"{"user":"u","session_id":"s"}"#, some("s"), some("u")),
        (r#"{"session_id":7}"#, some("7"), None),
        (
            r#"{"conversation":{"id":"c"},"safety_identifier":"u"}"#,
            some("c"),
            some("u"),
        ),
        (r#"{"session_params":{"id":"c"}}"#, some("c"), None),
        (
            r#"{"metadata":{"user_id":"u","session_id":"s"}}"#,
            some("s"),
            some("u"),
        ),
        (
            r#"{"metadata":{"user":"u"},"session_id":"","user":null}"#,
            None,
            some("u"),
        ),
        (r#"{"messages":[{"user":"no"}]}"#, None, None),
    ] {
        assert_eq!(owner(body), (session, user), "{body}");
    }
}

#[test]
fn what_sets_equal_prompts_apart() {
    let salt = |body: &str| read(Endpoint::Generate, body).salt;
    assert_eq!(salt(r#"{"text":"a"}"#), b"");
    assert_eq!(
        salt(r#"{"text":"a","lora_path":null,"cache_salt":""}"#),
        b""
    );
    let one = salt(r#"{"lora_path":"x","cache_salt":"y"}"#);
    assert_eq!(
        one,
        salt(r#"{"cache_salt": "y" ,"text":"a","lora_path":"x"}"#)
    );
    assert_ne!(one, salt(r#"{"lora_path":"y","cache_salt":"x"}"#));
    assert_ne!(salt(r#"{"parameters":{"adapter_id":"x"}}"#), b"");
}

#[test]
fn of_two_members_with_the_same_key_the_last_holds() {
    let (text, _) = form(Endpoint::Completions, r#"{"prompt":"a","prompt":"b"}"#);
    assert_eq!(text, "b");
}

#[test]
fn a_body_that_was_cut_gives_the_beginning_of_its_prompt() {
    let body = r#"{"model":"m","tools":[{"name":"f"}],"messages":[{"role":"system","content":"Be \u00e9 brief.\n"},
        {"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},{"role":"assistant","content":"three"}]}"#;
    let of = |bytes: &[u8]| Prompt::read(Endpoint::ChatCompletions, bytes).canonical(|_| [0; 32]);
    let whole = of(body.as_bytes()).bytes;
    let mut longest = 0;
    for cut in 0..body.len() {
        let prompt = Prompt::read(Endpoint::ChatCompletions, &body.as_bytes()[..cut]);
        assert!(!prompt.whole);
        let part = prompt.canonical(|_| [0; 32]).bytes;
        assert!(whole.starts_with(&part), "cut at {cut}");
        longest = longest.max(part.len());
    }
    assert_eq!(longest, whole.len());
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,12}", any::<String>()]
}

fn message() -> impl Strategy<Value = Value> {
    let role = prop::sample::select(vec!["system", "user", "assistant", "tool"]);
    let content = prop_oneof![
        text().prop_map(Value::from),
        prop::collection::vec(text(), 0..3).prop_map(|texts| {
            texts
                .into_iter()
                .map(|text| json!({"type": "text", "text": text}))
                .collect()
        }),
    ];
    (role, content).prop_map(|(role, content)| json!({"role": role, "content": content}))
}

proptest! {
    /// What comes after leaves what came before as it is, and a turn ends where the shorter prompt did.
    #[test]
    fn messages_only_append(messages in prop::collection::vec(message(), 1..6), at in any::<Index>()) {
        let of = |messages: &[Value]| {
            let body = json!({"messages": messages}).to_string();
            Prompt::read(Endpoint::ChatCompletions, body.as_bytes()).canonical(|_| [0; 32])
        };
        let whole = of(&messages);
        let part = of(&messages[..at.index(messages.len())]);
        prop_assert!(whole.bytes.starts_with(&part.bytes));
        prop_assert!(whole.turns.starts_with(&part.turns));
    }

    /// No text can look like a mark: what the form says is what was written.
    #[test]
    fn different_chats_differ(one in prop::collection::vec((text(), text()), 1..4), other in prop::collection::vec((text(), text()), 1..4)) {
        let of = |chat: &[(String, String)]| {
            let messages: Vec<_> = chat.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
            Prompt::read(Endpoint::ChatCompletions, json!({"messages": messages}).to_string().as_bytes()).canonical(|_| [0; 32])
        };
        prop_assert_eq!(of(&one).bytes == of(&other).bytes, one == other);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in any::<Index>()) {
        let body = json!({"messages": [{"role": "user", "content": String::from_utf8_lossy(&bytes)}], "user": "u"}).to_string();
        for endpoint in Endpoint::ALL {
            Prompt::read(endpoint, &bytes);
            Prompt::read(endpoint, &body.as_bytes()[..cut.index(body.len())]);
        }
    }
}
