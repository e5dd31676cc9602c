//! One quantity: what was published, what was measured, how close is close enough.

use serde::{Deserialize, Serialize};

/// One quantity, published beside measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The figure or table that has it.
    pub figure: String,
    /// What it is.
    pub quantity: String,
    /// What the paper says.
    pub published: Value,
    /// What came out here.
    pub measured: Value,
    /// The unit of both; empty for a plain number or a word.
    pub unit: String,
    /// When it counts as reproduced: `±15%` of the published value, `3.5 to 5.5`, `at least 1`, `exact`.
    pub tolerance: String,
    /// Whether it is.
    pub verdict: Verdict,
}

/// A number, or what a paper says in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
}

/// Whether a published quantity came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within the tolerance.
    Reproduced,
    /// Outside.
    Missed,
}

impl Row {
    /// A number within `share` of the published one.
    pub(crate) fn near(quantity: &str, published: f64, measured: f64, unit: &str, share: f64) -> Self {
        let holds = (measured - published).abs() <= share * published.abs();
        Self::new(quantity, published, measured, unit, format!("±{}%", tidy(share * 100.0)), holds)
    }

    /// A number from `least` to `most`.
    pub(crate) fn between(
        quantity: &str,
        published: impl Into<Value>,
        measured: f64,
        unit: &str,
        (least, most): (f64, f64),
    ) -> Self {
        let tolerance = format!("{} to {}", tidy(least), tidy(most));
        Self::new(quantity, published, measured, unit, tolerance, (least..=most).contains(&measured))
    }

    /// A number that is no less than `least`.
    pub(crate) fn at_least(
        quantity: &str,
        published: impl Into<Value>,
        measured: f64,
        unit: &str,
        least: f64,
    ) -> Self {
        Self::new(quantity, published, measured, unit, format!("at least {}", tidy(least)), measured >= least)
    }

    /// A number that is no more than `most`.
    pub(crate) fn at_most(
        quantity: &str,
        published: impl Into<Value>,
        measured: f64,
        unit: &str,
        most: f64,
    ) -> Self {
        Self::new(quantity, published, measured, unit, format!("at most {}", tidy(most)), measured <= most)
    }

    /// Exactly the published number or word; without a measured one there is nothing that could agree.
    pub(crate) fn exact(
        quantity: &str,
        published: impl Into<Value>,
        measured: Option<impl Into<Value>>,
        unit: &str,
    ) -> Self {
        let published = published.into();
        let measured = measured.map_or_else(|| Value::from("none"), Into::into);
        let holds = measured == published;
        Self::new(quantity, published, measured, unit, "exact".into(), holds)
    }

    fn new(
        quantity: &str,
        published: impl Into<Value>,
        measured: impl Into<Value>,
        unit: &str,
        tolerance: String,
        holds: bool,
    ) -> Self {
        Self {
            figure: String::new(),
            quantity: quantity.into(),
            published: published.into(),
            measured: measured.into(),
            unit: unit.into(),
            tolerance,
            verdict: if holds { Verdict::Reproduced } else { Verdict::Missed },
        }
    }
}

/// A limit without digits that mean nothing.
fn tidy(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Number(count as f64)
    }
}

impl From<&str> for Value {
    fn from(words: &str) -> Self {
        Self::Text(words.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_row_says_what_it_allows_and_keeps_to_it() {
        let near = |measured| Row::near("q", 100.0, measured, "MB/s", 0.15);
        assert_eq!(near(85.0).tolerance, "±15%");
        for (row, expected) in [
            (near(85.0), Verdict::Reproduced),
            (near(115.0), Verdict::Reproduced),
            (near(84.9), Verdict::Missed),
            (near(f64::NAN), Verdict::Missed),
            (Row::between("q", 4.2, 3.5, "", (3.5, 5.5)), Verdict::Reproduced),
            (Row::between("q", 4.2, 5.51, "", (3.5, 5.5)), Verdict::Missed),
            (Row::at_least("q", "recovers", 1.0, "", 1.0), Verdict::Reproduced),
            (Row::at_least("q", "recovers", 0.99, "", 1.0), Verdict::Missed),
            (Row::at_most("q", "flat", 2.1, "%", 2.0), Verdict::Missed),
            (Row::exact("q", 10_usize, Some(10_usize), "chunks"), Verdict::Reproduced),
            (Row::exact("q", 10_usize, None::<usize>, "chunks"), Verdict::Missed),
            (Row::exact("q", "lba", Some("lba"), ""), Verdict::Reproduced),
        ] {
            assert_eq!(row.verdict, expected, "{row:?}");
        }
        assert_eq!(Row::between("q", 4.2, 4.0, "", (3.5, 5.5)).tolerance, "3.5 to 5.5");
    }
}
