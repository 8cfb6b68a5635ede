//! Which model names may become label values: those of the configuration and of the engine's own list, and `other`.
//!
//! Limits: [`MODELS_MAX`] names, each of at most [`MODEL_NAME_BYTES`] bytes. A client's text is only ever compared, never
//! kept. A name once taken keeps its place for the life of the process.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

/// Most model names that become label values; `other` comes on top.
pub const MODELS_MAX: usize = 64;
/// Longest model name that becomes a label value, in bytes.
pub const MODEL_NAME_BYTES: usize = 128;

/// Label value of every model that isn't known.
const OTHER: &str = "other";

/// A label value of `model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Model(u8);

impl Model {
    /// Every model that isn't known.
    pub(crate) const OTHER: Self = Self(0);
}

/// The known models.
#[derive(Debug)]
pub(crate) struct Models {
    known: RwLock<Known>,
}

#[derive(Debug)]
struct Known {
    /// By place; the first is `other`.
    names: Vec<Arc<str>>,
    places: HashMap<Arc<str>, Model>,
}

/// What became of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learned {
    /// It was known, or is `other` itself.
    Known,
    /// It is known from now on.
    New(Model),
    /// It is empty, too long, or there are too many.
    Refused,
}

impl Models {
    /// Knows nothing but `other`.
    pub(crate) fn new() -> Self {
        let other: Arc<str> = OTHER.into();
        Self {
            known: RwLock::new(Known {
                names: vec![Arc::clone(&other)],
                places: HashMap::from([(other, Model::OTHER)]),
            }),
        }
    }

    /// Takes a name from the configuration or from the engine's list.
    pub(crate) fn learn(&self, name: &str) -> Learned {
        if self.known.read().places.contains_key(name) {
            return Learned::Known;
        }
        if name.is_empty() || name.len() > MODEL_NAME_BYTES {
            return Learned::Refused;
        }
        let mut known = self.known.write();
        if known.places.contains_key(name) {
            return Learned::Known;
        }
        let place = match u8::try_from(known.names.len()) {
            Ok(place) if usize::from(place) <= MODELS_MAX => Model(place),
            _ => return Learned::Refused,
        };
        let name: Arc<str> = name.into();
        known.names.push(Arc::clone(&name));
        known.places.insert(name, place);
        Learned::New(place)
    }

    /// The model of an exchange: the one asked for if it is known, else the one that answered if that is known.
    pub(crate) fn of(&self, requested: Option<&str>, answered: Option<&str>) -> Model {
        let known = self.known.read();
        [requested, answered]
            .into_iter()
            .flatten()
            .find_map(|name| known.places.get(name).copied())
            .unwrap_or(Model::OTHER)
    }

    /// The label values, by place.
    pub(crate) fn names(&self) -> Names {
        Names(self.known.read().names.clone())
    }
}

/// Label values of one moment.
#[derive(Debug)]
pub(crate) struct Names(Vec<Arc<str>>);

impl Names {
    /// The label value of a model that was known when these were taken.
    pub(crate) fn of(&self, model: Model) -> &str {
        self.0
            .get(usize::from(model.0))
            .map_or(OTHER, AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_wins_over_what_answered() {
        let models = Models::new();
        let Learned::New(a) = models.learn("a") else {
            panic!("a is new")
        };
        let Learned::New(b) = models.learn("b") else {
            panic!("b is new")
        };
        for (requested, answered, expected) in [
            (Some("a"), Some("b"), a),
            (Some("alias"), Some("b"), b),
            (None, Some("a"), a),
            (Some("alias"), None, Model::OTHER),
            (None, None, Model::OTHER),
        ] {
            assert_eq!(
                models.of(requested, answered),
                expected,
                "{requested:?} {answered:?}"
            );
        }
        assert_eq!(models.names().of(b), "b");
    }

    #[test]
    fn names_are_bounded_in_length_and_number() {
        let models = Models::new();
        assert_eq!(models.learn(""), Learned::Refused);
        assert_eq!(
            models.learn(&"x".repeat(MODEL_NAME_BYTES + 1)),
            Learned::Refused
        );
        assert!(matches!(
            models.learn(&"x".repeat(MODEL_NAME_BYTES)),
            Learned::New(_)
        ));
        for i in 1..MODELS_MAX {
            assert!(
                matches!(models.learn(&format!("m{i}")), Learned::New(_)),
                "name {i}"
            );
        }
        assert_eq!(models.learn("one too many"), Learned::Refused);
        assert_eq!(models.learn("m1"), Learned::Known);
        assert_eq!(models.learn("other"), Learned::Known);
    }
}
