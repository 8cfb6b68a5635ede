//! Shared prefixes of prompts, without their text: ids of blocks, and what a prefix cache would have made of them.
//!
//! A replay is like the recorded load only if prompts share prefixes as they did; how much a cache can reuse is compared by
//! [`crate::fidelity`]. A room that writes captures takes the ids over; nothing here reads or keeps a file.

mod blocks;
mod cache;

pub use blocks::{Block, BlockHash, BlockIds, Hashing, Key, Mac};
pub use cache::{PrefixCache, Reuse, Row};
