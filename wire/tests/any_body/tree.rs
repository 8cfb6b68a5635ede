//! A JSON value by serde_json's reading, with every member of its objects: also those that have the key of another.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use std::fmt;

#[derive(Debug)]
pub(super) enum Tree {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// The last member with this key; null if there is none, or this is no object.
    pub(super) fn last(&self, key: &str) -> &Tree {
        let Self::Object(members) = self else {
            return &Self::Null;
        };
        let member = members.iter().rfind(|(known, _)| known == key);
        member.map_or(&Self::Null, |(_, value)| value)
    }

    pub(super) fn depth(&self) -> usize {
        let deepest = |depths: &mut dyn Iterator<Item = usize>| 1 + depths.max().unwrap_or(0);
        match self {
            Self::List(list) => deepest(&mut list.iter().map(Self::depth)),
            Self::Object(members) => deepest(&mut members.iter().map(|(_, value)| value.depth())),
            _ => 0,
        }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Tree]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    pub(super) fn length(&self) -> Option<u32> {
        u32::try_from(self.list()?.len()).ok()
    }

    pub(super) fn count(&self) -> Option<u32> {
        match self {
            Self::Number(number) => u32::try_from(number.as_u64()?).ok(),
            _ => None,
        }
    }

    /// A whole number; `-0` is one, which serde_json takes for a fraction.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Number(number) if number.to_string() == "-0.0" => Some(0),
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Grow)
    }
}

struct Grow;

impl<'de> Visitor<'de> for Grow {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tree, E> {
        Ok(Tree::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Tree, E> {
        let number = Number::from_f64(number).ok_or_else(|| E::custom("no finite number"))?;
        Ok(Tree::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Tree::Object(members))
    }
}
