//! Rooms without sockets, files, threads or clocks: they can be tried on any input, at any time, and always say the same.

use crate::finding::Finding;
use crate::lexer::Token;
use crate::source::Source;
use crate::tree::Tree;

const PURE_ROOMS: &[&str] = &["wire", "measure", "judge", "decode"];
const CRATES: &[&str] = &["tokio", "hyper", "socket2"];
const STD_MODULES: &[&str] = &["fs", "net", "env", "process", "thread", "os"];
const CLOCKS: &[&str] = &["Instant", "SystemTime"];

/// Words in pure rooms that reach outside.
pub(crate) fn impurities(tree: &Tree) -> Vec<Finding> {
    let pure = tree
        .sources()
        .filter(|source| PURE_ROOMS.contains(&source.room()) && !source.is_tests());
    pure.flat_map(|source| in_source(&source)).collect()
}

fn in_source(source: &Source) -> Vec<Finding> {
    let tokens = source.production_tokens();
    let mut findings = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let text = token.text.as_str();
        let mut add = |what: &str| {
            let room = source.room();
            let message =
                format!("names {what}: {room} is pure; take the bytes or the time as an argument");
            findings.push(Finding::new(&source.path, token.line, message));
        };
        if CRATES.contains(&text) || CLOCKS.contains(&text) {
            add(text);
        }
        if text == "std" {
            for module in modules_after(&tokens, at)
                .iter()
                .filter(|module| STD_MODULES.contains(module))
            {
                add(&format!("std::{module}"));
            }
        }
    }
    findings
}

/// `std::X` gives X; `std::{X::…, Y}` gives X and Y.
fn modules_after(tokens: &[Token], std: usize) -> Vec<&str> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    if text(std + 1) != ":" {
        return Vec::new();
    }
    if text(std + 3) != "{" {
        return vec![text(std + 3)];
    }
    let mut modules = Vec::new();
    let mut depth = 0_usize;
    for at in std + 3..tokens.len() {
        match text(at) {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        let begins = depth == 1 && matches!(text(at), "{" | ",");
        if begins {
            modules.push(text(at + 1));
        }
    }
    modules
}

#[test]
fn a_reach_outside_is_found_in_every_spelling() {
    let reaches = [
        "use tokio::net::TcpStream;",
        "use std::time::Instant;",
        "use std::{io, fs::File};",
        "use std::{time::{self, SystemTime}, fmt};",
        "fn a() { std::net::TcpStream::connect(1); }",
        "fn a() { log!(std::env::args()); }",
    ];
    for reach in reaches {
        let found = impurities(&Tree::of("measure/src/a.rs", &format!("//! D\n{reach}\n")));
        assert_eq!(found.len(), 1, "{reach}: {found:?}");
        assert_eq!(
            impurities(&Tree::of("proxy/src/a.rs", &format!("//! D\n{reach}\n"))),
            [],
            "{reach}"
        );
    }
    let pure = "//! tokio\nuse std::{collections::HashMap, fmt};\nuse std::time::Duration;\nstruct A { fs: u8 }\n";
    assert_eq!(impurities(&Tree::of("wire/src/a.rs", pure)), []);
}
