//! A Rust file as a flat list of words and signs, so that a rule also sees into macros.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A word, a sign, a bracket, or `""` for any literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// As written.
    pub(crate) text: String,
    /// Counting from 1.
    pub(crate) line: usize,
}

impl Token {
    fn new(text: impl Into<String>, line: usize) -> Self {
        Self {
            text: text.into(),
            line,
        }
    }
}

/// Flattens `stream`. Comments are not in it; documentation comments show as literals.
pub(crate) fn tokens(stream: TokenStream) -> Vec<Token> {
    let mut flat = Vec::new();
    flatten(stream, &mut flat);
    flat
}

fn flatten(stream: TokenStream, flat: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(ident) => flat.push(Token::new(ident.to_string(), line)),
            TokenTree::Punct(punct) => flat.push(Token::new(punct.as_char(), line)),
            TokenTree::Literal(_) => flat.push(Token::new("\"\"", line)),
            TokenTree::Group(group) => {
                let (open, close) = brackets(group.delimiter());
                flat.push(Token::new(open, line));
                flatten(group.stream(), flat);
                flat.push(Token::new(close, group.span_close().start().line));
            }
        }
    }
}

fn brackets(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

/// The texts of the tokens at `at` and after it are `wanted`.
pub(crate) fn reads(tokens: &[Token], at: usize, wanted: &[&str]) -> bool {
    tokens
        .get(at..at + wanted.len())
        .is_some_and(|found| found.iter().zip(wanted).all(|(a, b)| a.text == *b))
}

#[test]
fn sees_into_macros_and_not_into_comments() {
    let stream = "// now()\nlog!(\"now()\", clock.now());".parse().unwrap();
    let texts: Vec<String> = tokens(stream).into_iter().map(|token| token.text).collect();
    assert_eq!(
        texts,
        [
            "log", "!", "(", "\"\"", ",", "clock", ".", "now", "(", ")", ")", ";"
        ]
    );
}
