//! What is taken out of texts before they are encrypted: the operator's rules first, then the built-in ones.
//!
//! What a rule finds is replaced by its name in brackets, `[email]`, and counted. Built in: `key` (private keys in PEM,
//! bearer and basic credentials, JWTs, the shapes of well-known vendors' keys, values of members named like keys), `email`,
//! `card` (13 to 19 digits that begin as a card's do and pass Luhn's check), `phone` (international with `+`, or three
//! groups with separators as in North America).
//!
//! Limits: a rule sees one string at a time. Shapes are shapes: what looks like none of them stays. That is why the rest
//! is encrypted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::TextError;

/// Memory of a compiled rule.
const RULE_BYTES: usize = 1 << 20;

/// Shapes of credentials.
const KEY: &str = concat!(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\z)",
    r"|(?-u:\b)(?i:bearer)\s+[A-Za-z0-9._~+/\-]{8,}=*",
    r"|(?-u:\b)(?i:basic)\s+[A-Za-z0-9+/]{16,}={0,2}",
    r"|(?-u:\b)eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    r"|(?-u:\b)(?:sk|pk|rk)[-_][A-Za-z0-9_\-]{16,}",
    r"|(?-u:\b)(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}(?-u:\b)",
    r"|(?-u:\b)(?:gh[oprsu]_|github_pat_|glpat-|hf_|nvapi-|xai-|gsk_|npm_|pypi-)[A-Za-z0-9_\-]{16,}",
    r"|(?-u:\b)xox[abeoprs]-[A-Za-z0-9\-]{10,}",
    r"|(?-u:\b)AIza[0-9A-Za-z_\-]{35}",
    r"|(?-u:\b)AGE-SECRET-KEY-1[0-9A-Z]{58}",
);

const EMAIL: &str = r"(?i)(?-u:\b)[a-z0-9._%+\-]{1,64}@[a-z0-9\-]{1,63}(?:\.[a-z0-9\-]{1,63}){0,8}\.[a-z]{2,24}(?-u:\b)";
const CARD: &str = r"(?-u:\b)[2-6](?:[ \-]?[0-9]){12,18}(?-u:\b)";
const PHONE: &str = concat!(
    r"\+[0-9]{1,3}(?:[ .\-/]?\(?[0-9]{1,4}\)?){2,6}",
    r"|\([0-9]{3}\) ?[0-9]{3}[ .\-][0-9]{4}(?-u:\b)",
    r"|(?-u:\b)[0-9]{3}[ .\-][0-9]{3}[ .\-][0-9]{4}(?-u:\b)",
);

/// A rule of the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Name, which stands in brackets for what is found.
    pub name: String,
    /// Regular expression, in the syntax of the crate `regex`: no look-around, time linear in the text.
    pub pattern: String,
}

/// Rules, and what they have found.
#[derive(Debug, Clone)]
pub struct Redaction {
    rules: Vec<Compiled>,
    counts: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
struct Compiled {
    name: String,
    regex: Regex,
    /// What a find has to be beside its shape.
    check: fn(&str) -> bool,
}

// ---- Redaction

impl Redaction {
    /// The rules of the operator, then the built-in ones.
    ///
    /// # Errors
    /// A pattern is no regular expression, or a very large one.
    pub fn new(rules: &[Rule]) -> Result<Self, TextError> {
        let own = rules
            .iter()
            .map(|rule| Compiled::new(&rule.name, &rule.pattern, any));
        let built_in = [
            Compiled::new("key", KEY, any),
            Compiled::new("email", EMAIL, any),
            Compiled::new("card", CARD, is_card),
            Compiled::new("phone", PHONE, is_phone),
        ];
        Ok(Self {
            rules: own.chain(built_in).collect::<Result<_, _>>()?,
            counts: BTreeMap::new(),
        })
    }

    /// What was found so far, by the rule's name.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Takes out what the rules find.
    pub(super) fn apply<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for rule in &self.rules {
            let mut found = 0;
            let replaced = rule.regex.replace_all(&out, |captures: &Captures<'_>| {
                if !(rule.check)(&captures[0]) {
                    return captures[0].to_owned();
                }
                found += 1;
                format!("[{}]", rule.name)
            });
            if found == 0 {
                continue;
            }
            out = Cow::Owned(replaced.into_owned());
            *self.counts.entry(rule.name.clone()).or_default() += found;
        }
        out
    }

    /// A value was taken out for its member's name.
    pub(super) fn count_key(&mut self) {
        *self.counts.entry("key".to_owned()).or_default() += 1;
    }
}

impl Compiled {
    fn new(name: &str, pattern: &str, check: fn(&str) -> bool) -> Result<Self, TextError> {
        let regex = RegexBuilder::new(pattern)
            .size_limit(RULE_BYTES)
            .build()
            .map_err(|source| TextError::Rule {
                name: name.to_owned(),
                source: Box::new(source),
            })?;
        Ok(Self {
            name: name.to_owned(),
            regex,
            check,
        })
    }
}

// ---- Checks

fn any(_found: &str) -> bool {
    true
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> {
    text.chars().filter_map(|c| c.to_digit(10))
}

/// Luhn's check: from the right, every second digit doubled, and the digits of the products summed, give a multiple of 10.
fn is_card(found: &str) -> bool {
    let sum: u32 = digits(found)
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit) {
            (0, digit) => digit,
            (_, digit @ 0..=4) => digit * 2,
            (_, digit) => digit * 2 - 9,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// E.164 has at most 15 digits; shorter ones than 8 are no whole numbers.
fn is_phone(found: &str) -> bool {
    (8..=15).contains(&digits(found).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        Redaction::new(&[]).unwrap().apply(text).into_owned()
    }

    #[test]
    fn what_has_the_shape_goes() {
        let cases = [
            (
                "write to Ann.O'Neil+x@mail.example.co.uk, now",
                "write to Ann.O'[email], now",
            ),
            ("card 4111 1111 1111 1111.", "card [card]."),
            ("5500-0000-0000-0004", "[card]"),
            ("amex 378282246310005", "amex [card]"),
            (
                "call +49 (0)30 901820-0 or (415) 555-2671 or 415.555.2671",
                "call [phone] or [phone] or [phone]",
            ),
            ("sk-proj-abcdefghijklmnop1234", "[key]"),
            ("AKIAIOSFODNN7EXAMPLE", "[key]"),
            (
                "Authorization: Bearer abc.def-123456",
                "Authorization: [key]",
            ),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[key]"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nafter",
                "[key]\nafter",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMIIE and no end", "[key]"),
            ("ghp_0123456789abcdefABCDEF0123456789abcd", "[key]"),
        ];
        for (text, expected) in cases {
            assert_eq!(redacted(text), expected, "{text}");
        }
    }

    #[test]
    fn what_lacks_it_stays() {
        for text in [
            "4111 1111 1111 1112",
            "in 2024, 1234567890123 items at 10.0.0.1:8080",
            "a@b",
            "sk-short",
            "+1",
            "1.5e10 and 0.123456789012345",
            "bearer of news",
            "ask-me-anything-about-this-and-that",
        ] {
            assert_eq!(redacted(text), text);
        }
    }

    #[test]
    fn the_operators_rules_come_first_and_all_are_counted() {
        let rule = Rule {
            name: "order".to_owned(),
            pattern: r"ORD-\d+".to_owned(),
        };
        let mut redaction = Redaction::new(&[rule]).unwrap();
        assert_eq!(
            redaction.apply("ORD-1, ORD-22 of a@b.example"),
            "[order], [order] of [email]"
        );
        let counts: Vec<_> = redaction.counts().iter().collect();
        assert_eq!(
            counts,
            [(&"email".to_owned(), &1), (&"order".to_owned(), &2)]
        );
    }

    #[test]
    fn a_rule_that_is_none_is_named() {
        for pattern in ["(", r"\w{1000}{1000}"] {
            let rule = Rule {
                name: "broken".to_owned(),
                pattern: pattern.to_owned(),
            };
            let error = Redaction::new(&[rule]).unwrap_err();
            assert!(error.to_string().contains("\"broken\""), "{error}");
        }
    }
}
