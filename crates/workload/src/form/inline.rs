//! The one-line form: `PATTERN{,KEY=VALUE}`, as in `random-read,size=4k,depth=32,requests=1M,area=1GiB`, and several
//! of these joined by `+`. The run's keys may be in any of them.

use super::draft::{Draft, Kind};
use super::error::{Fault, FormError, Place, unknown};
use super::keys::{KEYS, Scope};
use crate::{Job, Workload, fio};
use std::collections::BTreeSet;
use std::str::FromStr;

impl Workload {
    /// Reads the one-line form. [`crate::KEYS`] lists the keys; flags need no value. Jobs are named after their kind;
    /// where that name is taken, `+N` follows for the N-th part of the line.
    ///
    /// # Errors
    /// [`FormError`] with the character, the key, the value given and the values allowed.
    pub fn parse(text: &str) -> Result<Self, FormError> {
        Self::read_line(text).map_err(|error| about_blanks(text).unwrap_or(error))
    }

    fn read_line(text: &str) -> Result<Self, FormError> {
        let mut line = Line { text, run: Draft::default(), given: Vec::new() };
        let mut jobs: Vec<Job> = Vec::new();
        let mut names = BTreeSet::new();
        for ((at, part), place) in parts(text, '+').zip(1..) {
            let mut more = line.jobs(at, part)?;
            if more.iter().any(|job| names.contains(&job.name)) {
                more.iter_mut().for_each(|job| job.name += &format!("+{place}"));
            }
            names.extend(more.iter().map(|job| job.name.clone()));
            jobs.append(&mut more);
        }
        Ok(line.run.workload(jobs))
    }
}

/// A line and the run keys read so far.
struct Line<'a> {
    text: &'a str,
    run: Draft,
    /// The run's keys so far, with the byte where each begins.
    given: Vec<(&'static str, usize)>,
}

impl Line<'_> {
    fn error(&self, byte: usize, key: Option<&str>, reason: String) -> FormError {
        let character = self.character(byte);
        FormError {
            place: Place::Inline { text: self.text.into(), character },
            key: key.map(str::to_owned),
            reason,
        }
    }

    /// Returns the equivalents of a fio option and of the whole line.
    fn fio_hint(&self, name: &str, value: &str) -> Option<String> {
        let answer = fio::answer_within(self.text, name, value)?;
        let line = fio::whole_line(self.text).map(|line| format!("; {line}"));
        Some(answer + &line.unwrap_or_default())
    }

    /// Returns the number of the character, from 1, at a byte.
    fn character(&self, byte: usize) -> usize {
        self.text[..byte].chars().count() + 1
    }

    /// Reads the jobs of one part, which begins at byte `start`.
    fn jobs(&mut self, start: usize, part: &str) -> Result<Vec<Job>, FormError> {
        let mut settings = parts(part, ',').map(|(at, setting)| (start + at, setting));
        let (_, name) = settings.next().unwrap_or((start, ""));
        if name.is_empty() {
            let reason = "a pattern is expected, as in 'random-read,size=4k,depth=32,requests=1M'";
            return Err(self.error(start, None, reason.into()));
        }
        let kind = Kind::parse(name).map_err(|reason| {
            let (word, value) = name.split_once('=').unwrap_or((name, ""));
            self.error(start, None, self.fio_hint(word.trim(), value.trim()).unwrap_or(reason))
        })?;
        let mut draft = Draft::default();
        let mut given = Vec::new();
        for (at, setting) in settings {
            self.set(&mut draft, &mut given, at, setting)?;
        }
        draft.jobs(kind, None).map_err(|Fault { key, reason }| {
            let at = given.iter().find(|(name, _)| *name == key).map_or(start, |&(_, at)| at);
            self.error(at, Some(key).filter(|key| !key.is_empty()), reason)
        })
    }

    fn set(
        &mut self,
        draft: &mut Draft,
        given: &mut Vec<(&'static str, usize)>,
        at: usize,
        setting: &str,
    ) -> Result<(), FormError> {
        let (name, value) = match setting.split_once('=') {
            Some((name, value)) => (name.trim(), value.trim()),
            None if KEYS.iter().any(|key| key.name == setting && key.is_flag()) => (setting, "true"),
            None => (setting, ""),
        };
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            let reason = || unknown("key", name, KEYS.iter().map(|k| k.name));
            return Err(self.error(at, Some(name), self.fio_hint(name, value).unwrap_or_else(reason)));
        };
        if value.is_empty() {
            let reason = format!("'{name}' lacks its value, as in {name}={}", key.example);
            return Err(self.error(at, Some(name), reason));
        }
        let before = if key.scope == Scope::Run { &self.given } else { &*given };
        if let Some((_, first)) = before.iter().find(|(other, _)| *other == name) {
            let reason = format!("'{name}' is given twice, first at character {}", self.character(*first));
            return Err(self.error(at, Some(name), reason));
        }
        let (draft, given) = match key.scope {
            Scope::Run => (&mut self.run, &mut self.given),
            Scope::Job => (draft, given),
        };
        given.push((key.name, at));
        (key.set)(draft, value).map_err(|reason| self.error(at, Some(name), format!("{name}: {reason}")))
    }
}

impl FromStr for Workload {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        Self::parse(text)
    }
}

/// Returns the refusal of a line whose settings are separated by blanks; `None` where it would not be valid with commas
/// either.
fn about_blanks(text: &str) -> Option<FormError> {
    let (mut jobs, mut first_blank) = (Vec::new(), None);
    for (start, part) in parts(text, '+') {
        for (at, word) in parts(part, ',') {
            let blank = word.find(char::is_whitespace).map(|blank| start + at + blank);
            first_blank = first_blank.or(blank);
        }
        let words = part.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        jobs.push(words.collect::<Vec<_>>().join(","));
    }
    let character = text[..first_blank?].chars().count() + 1;
    let joined = jobs.join(" + ");
    let reason = if Workload::read_line(&joined).is_ok() {
        format!("settings are joined by commas, without blanks: '{joined}'")
    } else {
        let line = fio::whole_line(&joined)?;
        format!("settings are joined by commas, and fio's words are others here: {line}")
    };
    Some(FormError { place: Place::Inline { text: text.into(), character }, key: None, reason })
}

/// Splits a text at separators into trimmed parts, with the byte where each begins.
fn parts(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split(separator).map(move |part| {
        let at = start + (part.len() - part.trim_start().len());
        start += part.len() + 1;
        (at, part.trim())
    })
}
