//! The one-line form: `PATTERN{,KEY=VALUE}`, as in `random-read,size=4k,depth=32,requests=1M,area=1GiB`.

use super::draft::{Draft, Kind};
use super::error::{Fault, FormError, Place, unknown};
use super::keys::KEYS;
use crate::Workload;
use std::str::FromStr;

impl Workload {
    /// Reads the one-line form. [`crate::KEYS`] lists the keys; `shared` stands without a value.
    ///
    /// # Errors
    /// [`FormError`] with the character, the key, what was given and what is allowed.
    pub fn parse(text: &str) -> Result<Self, FormError> {
        let error = |byte: usize, key: Option<&str>, reason: String| FormError {
            place: Place::Inline { text: text.into(), character: text[..byte].chars().count() + 1 },
            key: key.map(str::to_owned),
            reason,
        };
        let mut parts = parts(text);
        let (_, name) = parts.next().unwrap_or((0, ""));
        if name.is_empty() {
            let reason = "a pattern is expected, as in 'random-read,size=4k,depth=32,requests=1M'";
            return Err(error(0, None, reason.into()));
        }
        let kind = Kind::parse(name).map_err(|reason| error(0, None, reason))?;
        let mut draft = Draft::default();
        let mut given: Vec<(&str, usize)> = Vec::new();
        for (at, part) in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), value.trim()),
                None if part == "shared" => (part, "true"),
                None => (part, ""),
            };
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                return Err(error(at, Some(name), unknown("key", name, KEYS.iter().map(|k| k.name))));
            };
            if value.is_empty() {
                let reason = format!("'{name}' lacks its value, as in {name}={}", key.example);
                return Err(error(at, Some(name), reason));
            }
            if let Some((_, first)) = given.iter().find(|(other, _)| *other == name) {
                let first = text[..*first].chars().count() + 1;
                let reason = format!("'{name}' is given twice, first at character {first}");
                return Err(error(at, Some(name), reason));
            }
            given.push((key.name, at));
            (key.set)(&mut draft, value)
                .map_err(|reason| error(at, Some(name), format!("{name}: {reason}")))?;
        }
        let jobs = draft.jobs(kind, None).map_err(|Fault { key, reason }| {
            let at = given.iter().find(|(name, _)| *name == key).map_or(0, |&(_, at)| at);
            error(at, Some(key).filter(|key| !key.is_empty()), reason)
        })?;
        Ok(draft.workload(jobs))
    }
}

impl FromStr for Workload {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        Self::parse(text)
    }
}

/// What stands between commas, without the blanks around it, and at which byte it begins.
fn parts(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split(',').map(move |part| {
        let at = start + (part.len() - part.trim_start().len());
        start += part.len() + 1;
        (at, part.trim())
    })
}
