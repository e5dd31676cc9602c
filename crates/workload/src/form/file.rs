//! The job file: TOML, the run's keys first, then a `[[job]]` table for each job (or for N equal jobs with `jobs =
//! "N"`).
//!
//! ```toml
//! requests = "1M"
//! seed = "7"
//!
//! [[job]]
//! name = "scan"
//! pattern = "sequential-read"
//! size = "128k"
//! area = "1GiB"
//!
//! [[job]]
//! name = "updates"
//! pattern = "random-write"
//! depth = 4
//! offset = "1GiB"
//! ```
//!
//! Values are strings with their units, as on the command line; integers and booleans need no quotes.

use super::draft::{Draft, Kind};
use super::error::{Fault, FormError, Place, unknown};
use super::keys::{KEYS, Scope};
use crate::{Job, Workload, fio};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Workload {
    /// Reads a job file. `file` is its name in errors.
    ///
    /// # Errors
    /// [`FormError`] with the line, the key, the value given and the values allowed.
    pub fn parse_toml(text: &str, file: &str) -> Result<Self, FormError> {
        let source = Source { text, file };
        let table = DeTable::parse(text)
            .map_err(|error| source.error(error.span().unwrap_or(0..0), None, error.message().to_owned()))?;
        let mut run = Draft::default();
        let mut jobs = Vec::new();
        for (name, value) in table.get_ref() {
            if name.get_ref() == "job" {
                jobs = source.jobs(value)?;
            } else {
                source.set(&mut run, Scope::Run, name, value)?;
            }
        }
        if jobs.is_empty() {
            return Err(source.error(
                0..0,
                Some("job"),
                "no [[job]] is given: at least one is needed".into(),
            ));
        }
        Ok(run.workload(jobs))
    }
}

type Table<'a> = DeTable<'a>;
type Name<'a> = Spanned<std::borrow::Cow<'a, str>>;

struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    fn error(&self, span: Range<usize>, key: Option<&str>, reason: String) -> FormError {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
        FormError { place: Place::File { file: self.file.into(), line }, key: key.map(str::to_owned), reason }
    }

    fn jobs(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<Job>, FormError> {
        let wrong = |span| self.error(span, Some("job"), "'job' is a table: write [[job]]".into());
        let DeValue::Array(tables) = value.get_ref() else { return Err(wrong(value.span())) };
        let mut jobs = Vec::new();
        for (index, table) in tables.iter().enumerate() {
            let DeValue::Table(keys) = table.get_ref() else { return Err(wrong(table.span())) };
            jobs.extend(self.job(keys, table.span(), index)?);
        }
        Ok(jobs)
    }

    fn job(&self, table: &Table<'_>, span: Range<usize>, index: usize) -> Result<Vec<Job>, FormError> {
        let mut draft = Draft::default();
        let mut name = format!("job-{}", index + 1);
        let mut kind = None;
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "name" => name = self.value(key, value)?,
                "pattern" => {
                    let named = self.value(key, value)?;
                    let parsed = Kind::parse(&named).map_err(|reason| {
                        let reason = fio::fio_word(&named, "").unwrap_or(reason);
                        self.error(value.span(), Some("pattern"), reason)
                    });
                    kind = Some(parsed?);
                }
                _ => self.set(&mut draft, Scope::Job, key, value)?,
            }
        }
        let Some(kind) = kind else {
            let reason = "the job lacks its pattern, as in pattern = \"random-read\"";
            return Err(self.error(span, Some("pattern"), reason.into()));
        };
        draft.jobs(kind, Some(&name)).map_err(|Fault { key, reason }| {
            let at = table.keys().find(|name| name.get_ref() == key).map_or(span, Spanned::span);
            self.error(at, Some(key).filter(|key| !key.is_empty()), reason)
        })
    }

    fn set(
        &self,
        draft: &mut Draft,
        scope: Scope,
        name: &Name<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), FormError> {
        let given = name.get_ref().as_ref();
        let Some(key) = KEYS.iter().find(|key| key.name == given) else {
            let own: &[&str] = if scope == Scope::Job { &["name", "pattern"] } else { &["job"] };
            let allowed = KEYS.iter().filter(|key| key.scope == scope).map(|key| key.name);
            let value = self.value(name, value).unwrap_or_default();
            let reason = fio::fio_word(given, &value)
                .unwrap_or_else(|| unknown("key", given, own.iter().copied().chain(allowed)));
            return Err(self.error(name.span(), Some(given), reason));
        };
        if key.scope != scope {
            let place = match key.scope {
                Scope::Job => "belongs to a job: write it inside a [[job]]",
                Scope::Run => "belongs to the whole run: write it before the first [[job]]",
            };
            return Err(self.error(name.span(), Some(given), format!("'{given}' {place}")));
        }
        let text = self.value(name, value)?;
        (key.set)(draft, &text)
            .map_err(|reason| self.error(value.span(), Some(given), format!("{given}: {reason}")))
    }

    /// Returns a value as in the one-line form.
    fn value(&self, name: &Name<'_>, value: &Spanned<DeValue<'_>>) -> Result<String, FormError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Ok(truth.to_string()),
            other => {
                let reason = format!(
                    "{}: a string with its unit is expected, as in \"4k\" or \"30s\", not a {}",
                    name.get_ref(),
                    other.type_str()
                );
                Err(self.error(value.span(), Some(name.get_ref()), reason))
            }
        }
    }
}
