//! Kinds of value: how each is read from text, shown again, and described.
//!
//! A [`Scalar`] is read from one text. A [`Kind`] is read from what was written, which may be a list; every scalar is one.
//! What `show` gives, `read` takes back unchanged.

mod address;
mod auto;
mod choice;
mod count;
mod duration;
mod engine_url;
mod file;
mod label;
mod list;
mod listen;
mod model_name;
mod ports;
mod route;
mod server_name;
mod size;
pub(crate) mod unix_path;

use serde_json::Value;

pub(crate) use address::Address;
pub(crate) use auto::Auto;
pub(crate) use choice::{
    ACCUMULATIONS, Choice, ENGINE_KINDS, ENGINE_PROTOCOLS, HALF_CLOSES, LEVELS, LOG_FORMATS,
    TOGGLE, UPGRADES, USAGES,
};
pub(crate) use count::Count;
pub(crate) use duration::{Time, TimeOrOff, spell as spell_duration};
pub(crate) use engine_url::EngineUrl;
pub(crate) use file::FileOrNone;
pub(crate) use label::Label;
pub(crate) use list::{List, Order};
pub(crate) use listen::ListenText;
pub(crate) use model_name::ModelName;
pub(crate) use route::RouteText;
pub use route::{ROUTES, Route};
pub(crate) use server_name::ServerName;
pub(crate) use size::Size;

use crate::draft::Written;
use crate::fault::Complaint;

/// How one kind of value is read from what was written.
pub(crate) trait Kind: Sync {
    type Value;

    /// The value, or everything that is wrong with what was written.
    fn read(&self, written: &Written) -> Result<Self::Value, Vec<Complaint>>;

    /// The value as it would be written in the file.
    fn show(&self, value: &Self::Value) -> Value;

    /// What the value is, without an article: `duration`.
    fn name(&self) -> String;

    /// Allowed values in words; empty where the name says it all.
    fn range(&self) -> String;

    /// JSON schema of the value.
    fn schema(&self) -> Value;
}

/// How one kind of value is read from one text.
pub(crate) trait Scalar: Sync {
    type Value;

    /// Text, not empty and without space around it, to value.
    fn parse(&self, text: &str) -> Result<Self::Value, Complaint>;

    /// See [`Kind::show`].
    fn show(&self, value: &Self::Value) -> Value;

    /// See [`Kind::name`].
    fn name(&self) -> &'static str;

    /// See [`Kind::range`].
    fn range(&self) -> String;

    /// See [`Kind::schema`].
    fn schema(&self) -> Value;
}

impl<S: Scalar> Kind for S {
    type Value = S::Value;

    fn read(&self, written: &Written) -> Result<Self::Value, Vec<Complaint>> {
        let text = written
            .one(Scalar::name(self))
            .map_err(|complaint| vec![complaint])?;
        self.parse(text).map_err(|complaint| vec![complaint])
    }

    fn show(&self, value: &Self::Value) -> Value {
        Scalar::show(self, value)
    }

    fn name(&self) -> String {
        Scalar::name(self).to_owned()
    }

    fn range(&self) -> String {
        Scalar::range(self)
    }

    fn schema(&self) -> Value {
        Scalar::schema(self)
    }
}

#[cfg(test)]
mod tests;
