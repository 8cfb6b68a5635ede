//! One Rust file, and which of its lines are tests.

use crate::lexer::{Token, tokens};
use std::ops::RangeInclusive;

/// A parsed Rust file.
pub(crate) struct Source {
    /// Relative to the root of the checkout.
    pub(crate) path: String,
    /// As written.
    pub(crate) text: String,
    /// Parsed.
    pub(crate) syntax: syn::File,
    /// Modules under `#[cfg(test)]` that are written out in this file: their lines.
    pub(crate) test_modules: Vec<RangeInclusive<usize>>,
}

impl Source {
    /// Parses `text`; fails the test if it is no Rust.
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let test_modules = syntax.items.iter().filter_map(test_module).collect();
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            syntax,
            test_modules,
        }
    }

    /// The folder at the top of the checkout that it belongs to.
    pub(crate) fn room(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// The whole file is tests, benchmarks or examples: nothing that ships.
    pub(crate) fn is_tests(&self) -> bool {
        let mut parts = self.path.split('/');
        self.path.ends_with("/tests.rs")
            || parts.any(|part| matches!(part, "tests" | "benches" | "examples"))
    }

    /// The line belongs to tests.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_tests()
            || self
                .test_modules
                .iter()
                .any(|module| module.contains(&line))
    }

    /// Its words and signs, comments and literals' contents left out, test lines too.
    pub(crate) fn production_tokens(&self) -> Vec<Token> {
        let stream = self
            .text
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", self.path));
        tokens(stream)
            .into_iter()
            .filter(|token| !self.is_test_line(token.line))
            .collect()
    }
}

/// The lines of a module under `#[cfg(test)]` that is written out.
fn test_module(item: &syn::Item) -> Option<RangeInclusive<usize>> {
    let syn::Item::Mod(module) = item else {
        return None;
    };
    let (brace, _) = module.content.as_ref()?;
    let attribute = module
        .attrs
        .first()
        .filter(|_| is_test_only(&module.attrs))?;
    Some(attribute.pound_token.span.start().line..=brace.span.close().end().line)
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                tokens(list.tokens.clone())
                    .iter()
                    .any(|token| token.text == "test")
            })
    })
}

#[test]
fn a_test_module_is_known_by_its_attribute() {
    let text = "//! D\nfn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n#[cfg(test)]\nmod elsewhere;\n";
    let source = Source::parse("wire/src/a.rs", text);
    assert_eq!(source.test_modules, [3..=6]);
    assert!(!source.is_test_line(2) && source.is_test_line(5));
    assert_eq!(source.room(), "wire");
    assert!(Source::parse("wire/src/a/tests.rs", "//! D\n").is_tests());
}
