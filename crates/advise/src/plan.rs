//! Plans of a query as numbers of pages, and which is faster.
//!
//! A plan is written as its name and its reads: `index join: random,pages=25k,band=800MiB,depth=8 + scan,pages=400`.

use crate::{CostModel, Estimate, Reads};
use flashlane_base::units::{UnitError, format_bytes, parse_bytes, parse_count};

/// A plan: what it reads, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name: `index join`.
    pub name: String,
    /// Its reads.
    pub reads: Vec<Reads>,
}

/// Why a text is no plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// There is no name.
    #[error(
        "'{0}' has no name; allowed: NAME: READS, as in 'index join: random,pages=25k,band=800MiB,depth=8'"
    )]
    NoName(String),
    /// A part begins with something else than a pattern.
    #[error("'{0}' is no pattern; allowed: random, scan")]
    Pattern(String),
    /// A key that the pattern does not have.
    #[error("'{key}' is no key of {pattern}; allowed: {allowed}")]
    Key {
        /// What was given.
        key: String,
        /// The pattern.
        pattern: &'static str,
        /// Its keys.
        allowed: &'static str,
    },
    /// A value that cannot be read.
    #[error("{key}={value}: {error}")]
    Value {
        /// The key.
        key: String,
        /// What was given.
        value: String,
        /// What is wrong with it.
        error: Box<UnitError>,
    },
    /// A pattern without a key that it needs.
    #[error("{pattern} needs {key}=; allowed: {least} to {most}")]
    Missing {
        /// The key.
        key: &'static str,
        /// The pattern.
        pattern: &'static str,
        /// The least value.
        least: String,
        /// The greatest value.
        most: String,
    },
    /// A value outside its range.
    #[error("{key}={value} is out of range; allowed: {allowed}")]
    Range {
        /// The key.
        key: &'static str,
        /// What was given.
        value: String,
        /// The range.
        allowed: String,
    },
}

/// Most pages of a plan: 8 PiB of them.
const MOST_PAGES: u64 = 1 << 40;
/// Most reads in flight.
const MOST_IN_FLIGHT: u64 = 65_536;
/// Bytes of a scan's requests unless given.
const REQUEST: u64 = 128 << 10;

impl Plan {
    /// Reads a plan; sizes of bands are in pages of `page_bytes`.
    ///
    /// # Errors
    /// [`PlanError`] with what was given and what is allowed.
    pub fn parse(text: &str, page_bytes: u64) -> Result<Self, PlanError> {
        let (name, reads) = text.split_once(':').ok_or_else(|| PlanError::NoName(text.into()))?;
        if name.trim().is_empty() {
            return Err(PlanError::NoName(text.into()));
        }
        let reads =
            reads.split('+').map(|part| reads_of(part.trim(), page_bytes)).collect::<Result<_, _>>()?;
        Ok(Self { name: name.trim().into(), reads })
    }

    /// Predicts its elapsed time in nanoseconds. Time of the processor is not in it.
    ///
    /// # Panics
    /// If it reads nothing.
    pub fn time(&self, model: &CostModel) -> Estimate {
        let parts = self.reads.iter().map(|reads| model.time(reads));
        parts.reduce(Estimate::plus).expect("a plan reads something")
    }
}

/// Reads one pattern.
fn reads_of(text: &str, page_bytes: u64) -> Result<Reads, PlanError> {
    let mut words = text.split(',').map(str::trim);
    let (pattern, allowed) = match words.next().unwrap_or_default() {
        "random" => ("random", "pages, band, depth"),
        "scan" => ("scan", "pages, size, depth"),
        other => return Err(PlanError::Pattern(other.into())),
    };
    let (mut pages, mut width, mut depth) = (None, None, 1);
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let read = |parse: fn(&str) -> Result<u64, UnitError>| {
            parse(value).map_err(|error| PlanError::Value {
                key: key.into(),
                value: value.into(),
                error: error.into(),
            })
        };
        match (pattern, key) {
            (_, "pages") => pages = Some(read(parse_count)?),
            (_, "depth") => depth = read(parse_count)?,
            ("random", "band") | ("scan", "size") => width = Some(read(parse_bytes)?),
            _ => return Err(PlanError::Key { key: key.into(), pattern, allowed }),
        }
    }
    let within = |key, value: Option<u64>, least: u64, most: u64, show: fn(u64) -> String| match value {
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(value) => Err(PlanError::Range {
            key,
            value: show(value),
            allowed: format!("{} to {}", show(least), show(most)),
        }),
        None => Err(PlanError::Missing { key, pattern, least: show(least), most: show(most) }),
    };
    let count = |count: u64| count.to_string();
    let pages = within("pages", pages, 1, MOST_PAGES, count)? as f64;
    let depth = within("depth", Some(depth), 1, MOST_IN_FLIGHT, count)? as u32;
    Ok(match pattern {
        "random" => {
            let most = MOST_PAGES.saturating_mul(page_bytes);
            let band = within("band", width, page_bytes, most, format_bytes)?;
            Reads::Random { pages, band_pages: (band / page_bytes) as f64, depth }
        }
        _ => {
            let size = within("size", width.or(Some(REQUEST)), page_bytes, 64 << 20, format_bytes)?;
            // Requests of whole pages.
            Reads::Scan { pages, request_bytes: size / page_bytes * page_bytes, depth }
        }
    })
}

/// Returns the plans with their predicted times in nanoseconds, fastest first.
pub fn compare<'a>(model: &CostModel, plans: &'a [Plan]) -> Vec<(&'a Plan, Estimate)> {
    let mut times: Vec<_> = plans.iter().map(|plan| (plan, plan.time(model))).collect();
    times.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plan_is_read_with_its_defaults() {
        let plan = Plan::parse("hash join: scan,pages=400 + random, pages=25k, band=800MiB, depth=8", 8192);
        let scan = Reads::Scan { pages: 400.0, request_bytes: 131_072, depth: 1 };
        let random = Reads::Random { pages: 25_000.0, band_pages: 102_400.0, depth: 8 };
        assert_eq!(plan, Ok(Plan { name: "hash join".into(), reads: vec![scan, random] }));
    }

    #[test]
    fn wrong_plans_are_refused_with_what_is_allowed() {
        for (text, message) in [
            ("random,pages=1", "has no name"),
            (" : random,pages=1,band=1MiB", "has no name"),
            ("a: sequential,pages=1", "'sequential' is no pattern; allowed: random, scan"),
            ("a: scan,band=1MiB", "'band' is no key of scan; allowed: pages, size, depth"),
            ("a: scan", "scan needs pages=; allowed: 1 to"),
            ("a: random,pages=1", "random needs band=; allowed: 8 KiB to"),
            ("a: scan,pages=1,depth=0", "depth=0 is out of range; allowed: 1 to 65536"),
            ("a: scan,pages=1,size=4k", "size=4 KiB is out of range; allowed: 8 KiB to 64 MiB"),
            ("a: scan,pages=many", "pages=many: "),
        ] {
            let error = Plan::parse(text, 8192).expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([a-z ]{0,3}:)?(random|scan|x)?(,(pages|band|size|depth|y)=[0-9kMiB]{0,12}){0,4}") {
            if let Ok(plan) = Plan::parse(&text, 8192) {
                prop_assert!(!plan.reads.is_empty());
            }
        }
    }
}
