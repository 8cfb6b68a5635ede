//! Lengths of functions, of files, and of tests that sit in the file they test.
//!
//! A function counts from its `fn` to its closing bracket, comments included: what has to fit on a screen. A file counts
//! without its test modules.

use crate::finding::Finding;
use crate::ratchet::{Known, Measured, check};
use crate::source::Source;
use crate::tree::Tree;
use syn::visit::Visit;

const FUNCTION_LINES: usize = 70;
const FILE_LINES: usize = 500;
const TEST_MODULE_LINES: usize = 100;

const LONG_FUNCTIONS: &[Known] = &[];
const LONG_FILES: &[Known] = &[];
const LONG_TEST_MODULES: &[Known] = &[];

/// Functions above the limit, tests included.
pub(crate) fn functions(tree: &Tree) -> Vec<Finding> {
    let measured: Vec<Measured> = tree
        .sources()
        .flat_map(|source| measure_functions(&source))
        .collect();
    check("function", FUNCTION_LINES, &measured, LONG_FUNCTIONS)
}

/// Files above the limit; files that are all tests may be longer.
pub(crate) fn files(tree: &Tree) -> Vec<Finding> {
    let measured: Vec<Measured> = tree
        .sources()
        .filter(|source| !source.is_tests())
        .map(|source| {
            let size = (1..=source.text.lines().count())
                .filter(|line| !source.is_test_line(*line))
                .count();
            Measured {
                path: source.path,
                line: 0,
                name: String::new(),
                size,
            }
        })
        .collect();
    check("file", FILE_LINES, &measured, LONG_FILES)
}

/// Test modules that have outgrown the file they test.
pub(crate) fn test_modules(tree: &Tree) -> Vec<Finding> {
    let mut measured = Vec::new();
    for source in tree.sources() {
        for module in &source.test_modules {
            measured.push(Measured {
                path: source.path.clone(),
                line: *module.start(),
                name: "below #[cfg(test)]".to_owned(),
                size: module.clone().count(),
            });
        }
    }
    check(
        "test module",
        TEST_MODULE_LINES,
        &measured,
        LONG_TEST_MODULES,
    )
}

fn measure_functions(source: &Source) -> Vec<Measured> {
    let mut functions = Functions {
        path: &source.path,
        found: Vec::new(),
    };
    functions.visit_file(&source.syntax);
    functions.found
}

struct Functions<'a> {
    path: &'a str,
    found: Vec<Measured>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        self.found.push(Measured {
            path: self.path.to_owned(),
            line: first,
            name: signature.ident.to_string(),
            size: last + 1 - first,
        });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }
}

#[test]
fn a_long_function_is_found_wherever_it_is() {
    let body = "    let _ = 1;\n".repeat(69);
    for (open, close) in [
        ("", ""),
        ("impl A {", "}"),
        ("trait A {", "}"),
        ("mod a {", "}"),
        ("fn b() {", "}"),
    ] {
        let text = format!("//! D\n{open}\nfn long() {{\n{body}}}\n{close}\n");
        let found = functions(&Tree::of("wire/src/a.rs", &text));
        assert!(
            found
                .iter()
                .any(|one| one.line == 3 && one.message.contains("long is 71 lines")),
            "{open}: {found:?}"
        );
    }
    let short = format!(
        "//! D\nfn short() {{\n{}}}\n",
        "    let _ = 1;\n".repeat(68)
    );
    assert_eq!(functions(&Tree::of("wire/src/a.rs", &short)), []);
}

#[test]
fn a_file_counts_without_its_tests() {
    let constants = "const A: u8 = 1;\n".repeat(499);
    let tests = format!(
        "#[cfg(test)]\nmod tests {{\n{}}}\n",
        "    const B: u8 = 1;\n".repeat(97)
    );
    let within = format!("//! D\n{constants}{tests}");
    assert_eq!(files(&Tree::of("wire/src/a.rs", &within)), []);
    assert_eq!(test_modules(&Tree::of("wire/src/a.rs", &within)), []);
    let above = format!("//! D\n{constants}const C: u8 = 1;\n");
    assert_eq!(files(&Tree::of("wire/src/a.rs", &above)).len(), 1);
    assert_eq!(files(&Tree::of("wire/tests/a.rs", &above)), []);
    let much = format!(
        "//! D\n#[cfg(test)]\nmod tests {{\n{}}}\n",
        "    const B: u8 = 1;\n".repeat(98)
    );
    assert_eq!(test_modules(&Tree::of("wire/src/a.rs", &much)).len(), 1);
}
