//! A list of scalars: `[a, b]` in the file, `a,b` in the environment and in a flag.

use serde_json::{Value, json};

use super::{Kind, Scalar};
use crate::draft::Written;
use crate::fault::{Code, Complaint};

/// A list within bounds on its length.
pub(crate) struct List<S> {
    pub(crate) item: S,
    pub(crate) least: usize,
    pub(crate) most: usize,
    pub(crate) order: Order,
}

/// What must hold between the items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Each is above the one before it.
    Ascending,
    /// No two are equal.
    Distinct,
}

impl<S> Kind for List<S>
where
    S: Scalar,
    S::Value: PartialOrd,
{
    type Value = Vec<S::Value>;

    fn read(&self, written: &Written) -> Result<Self::Value, Vec<Complaint>> {
        let texts = written
            .many(self.item.name())
            .map_err(|complaint| vec![complaint])?;
        let count = texts.len();
        let mut values = Vec::with_capacity(count);
        let mut complaints = Vec::new();
        for (index, text) in texts.into_iter().enumerate() {
            match text.and_then(|text| self.item.parse(text)) {
                Ok(value) => values.push(value),
                Err(complaint) => complaints.push(complaint.at(index)),
            }
        }
        if !(self.least..=self.most).contains(&count) {
            complaints.push(Complaint::new(
                Code::Range,
                format!("a list of {count}"),
                format!("give {}", self.length()),
            ));
        }
        if complaints.is_empty() {
            complaints.extend(self.out_of_order(&values));
        }
        if complaints.is_empty() {
            Ok(values)
        } else {
            Err(complaints)
        }
    }

    fn show(&self, value: &Self::Value) -> Value {
        value.iter().map(|item| self.item.show(item)).collect()
    }

    fn name(&self) -> String {
        format!("list of {}s", self.item.name())
    }

    fn range(&self) -> String {
        let order = match self.order {
            Order::Ascending => "ascending",
            Order::Distinct => "no two alike",
        };
        format!("{}, {order}, each {}", self.length(), self.item.range())
    }

    fn schema(&self) -> Value {
        json!({
            "type": "array",
            "items": self.item.schema(),
            "minItems": self.least,
            "maxItems": self.most,
            "uniqueItems": true,
        })
    }
}

impl<S> List<S>
where
    S: Scalar,
    S::Value: PartialOrd,
{
    fn length(&self) -> String {
        format!("{} to {} items", self.least, self.most)
    }

    fn out_of_order(&self, values: &[S::Value]) -> Vec<Complaint> {
        let wrong = |index: usize, value: &S::Value| match self.order {
            Order::Ascending => {
                index > 0 && values.get(index - 1).is_some_and(|before| before >= value)
            }
            Order::Distinct => values.iter().take(index).any(|before| before == value),
        };
        let complaint = |index: usize| match self.order {
            Order::Ascending => Complaint::value(
                "not above the item before it",
                "write the items in ascending order, each once",
            )
            .at(index),
            Order::Distinct => {
                Complaint::value("given before in the same list", "write each item once").at(index)
            }
        };
        let indexed = values.iter().enumerate();
        indexed
            .filter(|(index, value)| wrong(*index, value))
            .map(|(index, _)| complaint(index))
            .collect()
    }
}
