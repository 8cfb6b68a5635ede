//! The room's tests: the vectors, and what holds for every input.

// The room's alias, as everywhere else.
extern crate judge as judge;

#[path = "../vectors/mod.rs"]
mod vectors;

mod arms;
mod comparison;
mod criteria;
mod dashboards;
mod independent;
mod records;
mod replays;
mod scorers;
mod toy_queue;
mod truths;
mod vector_files;
mod verdicts;
