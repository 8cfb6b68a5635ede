//! Style as a test: what a reviewer would otherwise have to notice.
//!
//! Each rule is a function from the checkout to findings, and each is tried on a text that breaks it. A finding names the
//! file, the line and the fix. Lists of exceptions may only shrink: an entry that is no longer needed is a finding too.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]

mod clocks;
mod faults;
mod finding;
mod lexer;
mod promises;
mod purity;
mod ratchet;
mod rooms;
mod sizes;
mod source;
mod tree;
mod words;

use finding::expect_none;
use tree::Tree;

#[test]
fn arrows_between_rooms_go_down_the_table() {
    let tree = Tree::read();
    expect_none(&rooms::arrows(&tree));
}

#[test]
fn the_table_of_rooms_is_the_one_in_the_architecture() {
    let tree = Tree::read();
    expect_none(&rooms::documented(&tree));
}

#[test]
fn every_file_says_what_it_is() {
    let tree = Tree::read();
    expect_none(&words::module_docs(&tree));
}

#[test]
fn functions_and_files_fit_on_a_screen() {
    let tree = Tree::read();
    expect_none(&sizes::functions(&tree));
    expect_none(&sizes::files(&tree));
    expect_none(&sizes::test_modules(&tree));
}

#[test]
fn the_clock_is_read_where_sockets_are() {
    let tree = Tree::read();
    expect_none(&clocks::reads(&tree));
}

#[test]
fn pure_rooms_are_pure() {
    let tree = Tree::read();
    expect_none(&purity::impurities(&tree));
}

#[test]
fn names_say_what_a_file_holds() {
    let tree = Tree::read();
    expect_none(&words::file_names(&tree));
    expect_none(&words::top_level(&tree));
}

#[test]
fn the_text_speaks_of_the_product() {
    let tree = Tree::read();
    expect_none(&words::unfinished(&tree));
    expect_none(&words::machine_paths(&tree));
    expect_none(&words::documents_exist(&tree));
}

#[test]
fn each_fault_of_the_page_is_shown() {
    let tree = Tree::read();
    expect_none(&faults::shown(&tree));
}

#[test]
fn documents_promise_what_is_there() {
    let tree = Tree::read();
    expect_none(&promises::tests_exist(&tree));
    expect_none(&promises::limits_hold(&tree));
}

#[test]
fn scripts_can_be_run_and_bans_bite() {
    let tree = Tree::read();
    expect_none(&words::executable(&tree));
    expect_none(&words::version_bans(&tree));
}
