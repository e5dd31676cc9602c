//! The values of a swept key: `KEY=VALUE{,VALUE}`, each a value or a range.
//!
//! ```text
//! VALUE = text             any value of the key
//!       | A..B*F           A, A*F, A*F*F … up to B
//!       | A..B+STEP        A, A+STEP … up to B
//! ```
//!
//! The values of a range are written in the unit of its ends where that is the same, else in the largest of the given
//! units in which they are whole; the reader of the key interprets them.

use crate::decimal::Decimal;
use flashlane_base::units::Quantity;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Maximum number of points of a grid, so that a typing error cannot exhaust memory.
pub const POINTS_MAX: usize = 100_000;

/// A key and its values, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The key.
    pub name: String,
    /// Its values, each as written without a range.
    pub values: Vec<String>,
    /// The quantity of its values, and the values in bytes, nanoseconds, bytes per second, shares or counts; `None` for
    /// words.
    pub numbers: Option<(Quantity, Vec<f64>)>,
}

/// Values could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot sweep '{given}': {reason}")]
pub struct ValuesError {
    /// The whole text.
    pub given: String,
    /// The fault, and the expected form.
    pub reason: String,
}

impl Key {
    /// Reads `KEY=VALUES`. `quantity` returns the quantity of a key's numbers, where known: some units, like `k`, have
    /// different meanings for different quantities.
    ///
    /// # Errors
    /// [`ValuesError`] with the fault and the expected form.
    pub fn parse(text: &str, quantity: impl Fn(&str) -> Option<Quantity>) -> Result<Self, ValuesError> {
        let error = |reason: String| ValuesError { given: text.into(), reason };
        let Some((name, list)) = text.split_once('=') else {
            return Err(error(
                "write KEY=VALUES, as in buffer.size=1MiB..64MiB*2 or buffer.policy=lru,fifo".into(),
            ));
        };
        let (name, known) = (name.trim(), quantity(name.trim()));
        if name.is_empty() {
            return Err(error("the key before '=' is missing".into()));
        }
        let mut values: Vec<String> = Vec::new();
        for item in list.split(',').map(str::trim) {
            let added = match item.split_once("..") {
                _ if item.is_empty() => Err("a value is missing".into()),
                Some((from, rest)) => range(item, from, rest, known),
                None if is_dashed(item) => Err(format!(
                    "'{item}' is not a value; a range is written A..B*FACTOR or A..B+STEP, as in '{}'",
                    item.replacen('-', "..", 1) + "*2"
                )),
                None => Ok(vec![item.to_owned()]),
            };
            values.extend(added.map_err(error)?);
        }
        if let Some((value, first)) = twice(&values, known) {
            let also = if value == first { String::new() } else { format!(", as '{first}' too") };
            return Err(error(format!("the value '{value}' is given twice{also}")));
        }
        let numbers = numbers(&values, known);
        Ok(Self { name: name.into(), values, numbers })
    }
}

impl FromStr for Key {
    type Err = ValuesError;

    /// Reads `KEY=VALUES` of a key whose quantity follows from its units.
    fn from_str(text: &str) -> Result<Self, ValuesError> {
        Self::parse(text, |_| None)
    }
}

/// Returns whether an item is two numbers with a dash, the notation of ranges elsewhere.
fn is_dashed(item: &str) -> bool {
    let is_number = |text: &str| {
        Written::parse(text).is_ok_and(|end| Quantity::ALL.iter().any(|q| q.scale(end.unit).is_some()))
    };
    item.split_once('-').is_some_and(|(from, to)| is_number(from) && is_number(to))
}

/// A number and its unit, as written.
#[derive(Clone, Copy)]
struct Written<'a> {
    number: Decimal,
    unit: &'a str,
}

impl<'a> Written<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
        let number = Decimal::parse(&text[..end]).ok_or_else(|| {
            format!("'{text}' is no end of a range: a number is expected, at most nine places behind its point, with its unit")
        })?;
        Ok(Self { number, unit: text[end..].trim() })
    }

    /// Zero is the same in every unit.
    fn has_any_unit(&self) -> bool {
        self.unit.is_empty() && self.number == Decimal::ZERO
    }
}

/// The step of a range.
enum Step<'a> {
    Times(Decimal),
    Plus(Written<'a>),
}

fn range(item: &str, from: &str, rest: &str, known: Option<Quantity>) -> Result<Vec<String>, String> {
    let Some(at) = rest.find(['*', '+']) else {
        return Err(format!(
            "the range '{item}' does not say how it goes on: write A..B*FACTOR, as in 1MiB..64MiB*2, or A..B+STEP, as in 10%..30%+5%"
        ));
    };
    let (first, last) = (Written::parse(from)?, Written::parse(&rest[..at])?);
    let step = rest[at + 1..].trim();
    let step = if rest[at..].starts_with('*') {
        let factor = Decimal::parse(step).filter(|factor| *factor > Decimal::ONE);
        Step::Times(factor.ok_or_else(|| format!(
                "the factor '{step}' of '{item}' is no number above 1 with at most nine places behind its point"
            ))?)
    } else {
        let step = Written::parse(step)?;
        if step.number == Decimal::ZERO {
            return Err(format!("the step of '{item}' is zero: it would never end"));
        }
        Step::Plus(step)
    };
    if matches!(step, Step::Times(_)) && first.number == Decimal::ZERO {
        return Err(format!("the range '{item}' begins at zero, which no factor increases; use A..B+STEP"));
    }
    let mut ends = vec![first, last];
    ends.extend(match step {
        Step::Plus(step) => Some(step),
        Step::Times(_) => None,
    });
    let units = Units::common(&ends, known)?;
    let [first, last] = [first, last].map(|end| units.smallest(end));
    let (first, last) = (first?, last?);
    if last < first {
        return Err(format!("the range '{item}' ends before it begins"));
    }
    let step_by = match step {
        Step::Times(_) => Decimal::ZERO,
        Step::Plus(step) => units.smallest(step)?,
    };
    let mut values = Vec::new();
    let mut next = Some(first);
    while let Some(value) = next.filter(|value| *value <= last) {
        if values.len() == POINTS_MAX {
            return Err(format!("the range '{item}' has more than {POINTS_MAX} values"));
        }
        values.push(units.write(value));
        next = match step {
            Step::Times(factor) => value.times(factor).filter(|next| *next > value),
            Step::Plus(_) => value.plus(step_by),
        };
    }
    Ok(values)
}

/// The units of a range, largest first, each with its size in the smallest unit.
struct Units<'a>(Vec<(&'a str, Decimal)>);

impl<'a> Units<'a> {
    /// Returns the units of `ends`, which must be of one quantity.
    fn common(ends: &[Written<'a>], known: Option<Quantity>) -> Result<Self, String> {
        let mut given: Vec<&str> = Vec::new();
        for end in ends.iter().filter(|end| !end.has_any_unit()) {
            if !given.iter().any(|unit| unit.eq_ignore_ascii_case(end.unit)) {
                given.push(end.unit);
            }
        }
        let all_have = |quantity: &Quantity| given.iter().all(|unit| quantity.scale(unit).is_some());
        let suitable: Vec<Quantity> = match known {
            Some(quantity) => vec![quantity],
            None => Quantity::ALL.to_vec(),
        };
        let suitable: Vec<Quantity> = suitable.into_iter().filter(all_have).collect();
        let named = given.iter().map(|unit| format!("'{unit}'")).collect::<Vec<_>>().join(", ");
        match (suitable.first(), &given[..]) {
            (None, _) => Err(match known {
                Some(quantity) => format!("{} is expected, but its units are {named}", quantity.what()),
                None => format!("the units {named} do not belong to one quantity"),
            }),
            // A single unit needs no conversion.
            (Some(_), []) => Ok(Self(vec![("", Decimal::ONE)])),
            (Some(_), [unit]) => Ok(Self(vec![(unit, Decimal::ONE)])),
            (Some(_), _) if suitable.len() > 1 => Err(format!(
                "the units {named} mean one thing for {} and another for {}: write the range in one unit",
                suitable[0].what(),
                suitable[1].what()
            )),
            (Some(quantity), units) => {
                let scaled =
                    |unit: &&'a str| (*unit, Decimal::whole(quantity.scale(unit).unwrap_or(1.0) as u64));
                let mut units: Vec<(&str, Decimal)> = units.iter().map(scaled).collect();
                units.sort_by_key(|unit| std::cmp::Reverse(unit.1));
                Ok(Self(units))
            }
        }
    }

    fn smallest(&self, end: Written<'_>) -> Result<Decimal, String> {
        let unit = self.0.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(end.unit));
        let scale = unit.map_or(Decimal::ONE, |unit| unit.1);
        end.number.times(scale).ok_or_else(|| format!("'{}{}' is too large", end.number, end.unit))
    }

    fn write(&self, value: Decimal) -> String {
        let whole = self.0.iter().find_map(|(unit, scale)| Some((value.in_whole(*scale)?, unit)));
        let smallest = || {
            let (unit, scale) = self.0.last().expect("a range has a unit, if an empty one");
            (value.over(*scale).unwrap_or(value), unit)
        };
        let (number, unit) = whole.unwrap_or_else(smallest);
        format!("{number}{unit}")
    }
}

/// Returns a value that is given twice, with its first notation: `1MiB` and `1024KiB` are one value where they are
/// equal for each quantity that all of the numbers can have; words are compared as text.
fn twice(values: &[String], known: Option<Quantity>) -> Option<(&String, &String)> {
    let all = known.map_or(Quantity::ALL.to_vec(), |quantity| vec![quantity]);
    let is_number = |value: &String| all.iter().any(|&quantity| exact(value, quantity).is_some());
    let numbers: Vec<&String> = values.iter().filter(|value| is_number(value)).collect();
    let suits = |quantity: &Quantity| numbers.iter().all(|value| exact(value, *quantity).is_some());
    let suitable: Vec<Quantity> = all.iter().copied().filter(suits).collect();
    let mut seen = BTreeMap::new();
    values.iter().find_map(|value| {
        let word = (suitable.is_empty() || !is_number(value)).then_some(value);
        let numbers: Vec<_> = suitable.iter().map(|quantity| exact(value, *quantity)).collect();
        Some((value, seen.insert((word, numbers), value)?))
    })
}

/// Returns a value in its smallest unit; a share in percent.
fn exact(value: &str, quantity: Quantity) -> Option<Decimal> {
    let written = Written::parse(value).ok()?;
    if written.has_any_unit() {
        return Some(Decimal::ZERO);
    }
    let scale = quantity.scale(written.unit)?;
    written.number.times(if scale < 1.0 { Decimal::ONE } else { Decimal::whole(scale as u64) })
}

/// Returns the values as numbers of one quantity, where all of them are numbers.
fn numbers(values: &[String], known: Option<Quantity>) -> Option<(Quantity, Vec<f64>)> {
    let all = known.map_or(Quantity::ALL.to_vec(), |quantity| vec![quantity]);
    all.into_iter().find_map(|quantity| {
        let numbers: Result<Vec<f64>, _> = values.iter().map(|value| quantity.parse(value)).collect();
        Some((quantity, numbers.ok()?))
    })
}
