//! Text, environment and flags to a checked configuration.
//!
//! Two steps. What was written, in a YAML file, in `LOADPROOF_*` variables and in flags, is gathered as text with the
//! place it came from and does nothing. Then [`check()`] reads each value by the one table of keys and gives either
//! [`Effective`], on which the program relies, or [`Faults`]: every fault at once, each with its key path, its value, its
//! place and its fix. Nothing is checked twice and nothing is checked later.
//!
//! A flag wins over the environment, the environment over the file, the file over the default. A value that lost is not
//! read, so that a bad line in a file can be overridden; an unknown key is a fault wherever it stands.
//!
//! The table (`keys`) is the single source of key paths, variable names, kinds, ranges, defaults and descriptions: the
//! check, [`schema()`], [`reference()`] and [`print()`] all read it. Only [`load()`] and [`Environment::of_process`] touch the
//! machine; the rest is pure.

mod check;
mod checked;
mod cross;
mod draft;
mod effective;
mod environment;
mod fault;
mod key;
mod keys;
mod kind;
mod load;
mod nearest;
mod origin;
mod print;
mod reader;
mod reference;
mod schema;
mod yaml;

pub use check::{FileText, Sources, check};
pub use checked::{
    Accumulation, Checked, Drain, Engine, EngineAt, EngineProtocol, EngineTls, HalfClose, Identity,
    Level, Limits, Listen, Log, LogFormat, Models, Scheme, Shape, Slo, Tls, Upgrades, Upstream,
    Usage,
};
pub use draft::Flag;
pub use effective::{Effective, Setting, Warning};
pub use environment::{CONFIG_VARIABLE, Environment};
pub use fault::{Code, Fault, Faults};
pub use key::KeyDoc;
pub use keys::keys;
pub use kind::{ROUTES, Route};
pub use load::{FILE_BYTES_MAX, load};
pub use origin::{Origin, Position};
pub use print::{print, print_json};
pub use reference::reference;
pub use schema::schema;
