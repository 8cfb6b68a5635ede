//! State of each choice of an answer, by its index.

use super::{Asked, Ending};
use crate::limits;

/// The choices seen so far, by ascending index; at most [`limits::CHOICES`].
#[derive(Debug)]
pub(crate) struct Choices<T> {
    list: Vec<(u64, T)>,
    /// There were more than are kept.
    overflow: bool,
}

/// A choice that may say why it ended.
pub(crate) trait Finishes {
    /// As the engine spells it.
    fn finish_reason(&self) -> Option<&str>;
}

// ---- Choices

impl<T> Default for Choices<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            overflow: false,
        }
    }
}

impl<T> Choices<T> {
    /// The choice with this index; `None` if that would be one too many.
    pub(crate) fn at(&mut self, index: u64) -> Option<&mut T>
    where
        T: Default,
    {
        let place = match self.list.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(place) => place,
            Err(_) if self.list.len() == limits::CHOICES => {
                self.overflow = true;
                return None;
            }
            Err(place) => {
                self.list.insert(place, (index, T::default()));
                place
            }
        };
        self.list.get_mut(place).map(|(_, choice)| choice)
    }

    /// How many are kept.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// All choices seen, by index; `None` if there were more than are kept.
    pub(crate) fn all(&self) -> Option<impl Iterator<Item = &T> + Clone> {
        (!self.overflow).then(|| self.list.iter().map(|(_, choice)| choice))
    }

    /// Whether each of the choices seen is such, and none that was asked for is missing.
    pub(crate) fn are_all(&self, asked: &Asked, is: impl Fn(&T) -> bool) -> bool {
        let expected = u64::from(asked.n).saturating_mul(u64::from(asked.prompts));
        self.all()
            .is_some_and(|mut choices| choices.all(is) && self.len() as u64 >= expected)
    }

    /// Adds a count that each choice of a prompt repeats. Known only if every prompt of the request has one.
    pub(crate) fn once_per_prompt(
        &self,
        asked: &Asked,
        count: impl Fn(&T) -> Option<u64>,
    ) -> Option<u64> {
        let n = u64::from(asked.n);
        let mut sum: Option<u64> = None;
        let mut prompts = 0;
        for of_prompt in self
            .list
            .chunk_by(|(one, _), (next, _)| one / n == next / n)
        {
            let counted = of_prompt.iter().find_map(|(_, choice)| count(choice))?;
            sum = Some(sum.unwrap_or(0).saturating_add(counted));
            prompts += 1;
        }
        sum.filter(|_| !self.overflow && prompts >= asked.prompts)
    }
}

impl<T: Finishes> Choices<T> {
    /// As the engine spells them, by index.
    pub(crate) fn finish_reasons(&self) -> Vec<Option<String>> {
        self.list
            .iter()
            .map(|(_, choice)| choice.finish_reason().map(str::to_owned))
            .collect()
    }

    /// What the finish reasons say about the end.
    pub(crate) fn ending(&self) -> Ending {
        let reasons = self
            .list
            .iter()
            .filter_map(|(_, choice)| choice.finish_reason());
        let all =
            !self.overflow && !self.list.is_empty() && reasons.clone().count() == self.list.len();
        match Ending::by_reasons(reasons) {
            Ending::Open if all => Ending::Finished,
            ending => ending,
        }
    }
}
