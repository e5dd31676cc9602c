//! Workload arguments: one line or the path of a job file, with settings replaced for sweeps.

use crate::failure::Failure;
use crate::input::{SETTINGS_BYTES, read_text};
use anyhow::anyhow;
use flashlane_open::Target;
use flashlane_result::Warning;
use flashlane_workload::{FioFile, KEYS, Scope, Workload};
use std::path::Path;
use toml::{Table, Value};

/// The text of a workload, read once.
#[derive(Clone, Debug)]
pub struct WorkloadSource {
    text: String,
    /// Name of the job file; `None` for the one-line form.
    file: Option<String>,
    /// The parsed fio job file; `text` is then its first stage in one-line form.
    fio: Option<FioFile>,
}

/// One of the arguments that make up a workload. They are one, unless the user forgot quotes.
#[derive(Clone, Debug)]
pub struct Word(String);

impl Word {
    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn joined(words: &[Self]) -> String {
        words.iter().map(Self::text).collect::<Vec<_>>().join(" ")
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Key of the pattern, in addition to [`KEYS`].
pub const PATTERN: &str = "pattern";

impl WorkloadSource {
    /// Reads a workload argument, or the job file that it names. `capacity` returns the size of the device, if known,
    /// which a fio job file may depend on.
    pub fn read(
        typed: &str,
        capacity: impl FnOnce() -> Result<Option<u64>, Failure>,
    ) -> Result<Self, Failure> {
        let is_fio = typed.ends_with(".fio");
        if Self::job_file(typed).is_none() {
            return Ok(Self { text: typed.into(), file: None, fio: None });
        }
        let text = read_text(typed.as_ref(), SETTINGS_BYTES)
            .map_err(|error| Failure::unusable(anyhow!("cannot read the job file '{typed}': {error}")))?;
        if !is_fio {
            return Ok(Self { text, file: Some(typed.into()), fio: None });
        }
        let fio = FioFile::parse(&text, typed, capacity()?).map_err(Failure::unusable)?;
        Ok(Self { text: fio.stages[0].to_string(), file: None, fio: Some(fio) })
    }

    /// Returns the job file that a workload argument names, if it names one.
    pub fn job_file(typed: &str) -> Option<&Path> {
        (typed.ends_with(".toml") || typed.ends_with(".fio")).then(|| typed.as_ref())
    }

    /// Returns the workloads to run one after the other: one, unless a fio job file has stonewalls.
    pub fn stages(&self) -> Result<Vec<Workload>, Failure> {
        match &self.fio {
            Some(fio) => Ok(fio.stages.clone()),
            None => self.workload().map(|workload| vec![workload]),
        }
    }

    /// Returns the warnings about running a fio job file on `target`.
    pub fn warnings(&self, target: &Target) -> Vec<Warning> {
        let Some(fio) = &self.fio else { return Vec::new() };
        let mut warnings = Vec::new();
        let spec = target.to_string();
        let is_target =
            |name: &str| name == spec || flashlane_host::is_same_file(name.as_ref(), spec.as_ref());
        if let Some(filename) = fio.filename.as_ref().filter(|name| !is_target(name)) {
            let message = format!("the job file names '{filename}', but '{target}' was measured");
            warnings.push(Warning::new("fio-filename", message));
        }
        if !fio.ignored.is_empty() {
            let message = format!(
                "ignored options of the job file, which do not change the measurement: {}",
                fio.ignored.join(", ")
            );
            warnings.push(Warning::new("fio-options-left-out", message));
        }
        warnings
    }

    /// Parses the workload without changes.
    pub fn workload(&self) -> Result<Workload, Failure> {
        if let Some(fio) = &self.fio {
            let [stage] = &fio.stages[..] else {
                return Err(Failure::unusable(anyhow!(
                    "a sweep requires one workload, but stonewalls divide the job file into {}",
                    fio.stages.len()
                )));
            };
            return Ok(stage.clone());
        }
        match &self.file {
            Some(file) => Workload::parse_toml(&self.text, file),
            None => Workload::parse(&self.text),
        }
        .map_err(Failure::unusable)
    }

    /// Parses the workload with settings replaced; a job key is set in every job.
    pub fn with_settings(&self, settings: &[(&str, &str)]) -> Result<Workload, Failure> {
        if settings.is_empty() {
            return self.workload();
        }
        let Some(file) = &self.file else {
            return Workload::parse(&one_line(&self.text, settings)).map_err(Failure::unusable);
        };
        // Report an error of the file itself with its line; lines mean nothing once settings are replaced.
        let workload = self.workload();
        let Ok(mut table) = self.text.parse::<Table>() else { return workload };
        settings.iter().for_each(|(key, value)| set(&mut table, key, value));
        Workload::parse_toml(&table.to_string(), file).map_err(|error| match workload {
            Err(own) => own,
            Ok(_) => {
                let given: Vec<String> =
                    settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
                Failure::unusable(anyhow!("{file} with {}: {}", given.join(","), error.reason))
            }
        })
    }
}

fn one_line(text: &str, settings: &[(&str, &str)]) -> String {
    let words = |job: &str| job.split(',').map(|word| word.trim().to_owned()).collect();
    let mut jobs: Vec<Vec<String>> = text.split('+').map(words).collect();
    for &(key, value) in settings {
        let setting = format!("{key}={value}");
        if key == PATTERN {
            jobs.iter_mut().for_each(|job| job[0] = value.to_owned());
        } else if is_of_run(key) {
            // A key of the run occurs once, in any job.
            if !jobs.iter_mut().any(|job| replace(job, key, &setting)) {
                jobs[0].push(setting);
            }
        } else {
            for job in &mut jobs {
                if !replace(job, key, &setting) {
                    job.push(setting.clone());
                }
            }
        }
    }
    jobs.iter().map(|job| job.join(",")).collect::<Vec<_>>().join(" + ")
}

/// Replaces the setting of `key` after the pattern of a job. Returns whether the job has one.
fn replace(job: &mut [String], key: &str, setting: &str) -> bool {
    let is_it = |word: &&mut String| word.split('=').next().is_some_and(|name| name.trim() == key);
    let own = job.iter_mut().skip(1).find(is_it);
    own.map(|word| setting.clone_into(word)).is_some()
}

fn is_of_run(key: &str) -> bool {
    KEYS.iter().any(|known| known.name == key && known.scope == Scope::Run)
}

fn set(table: &mut Table, key: &str, value: &str) {
    let jobs = table.get_mut("job").and_then(Value::as_array_mut);
    let mut jobs: Vec<&mut Table> = jobs.into_iter().flatten().filter_map(Value::as_table_mut).collect();
    if is_of_run(key) || jobs.is_empty() {
        table.insert(key.into(), value.into());
    } else {
        jobs.iter_mut().for_each(|job| drop(job.insert(key.into(), value.into())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_replace_those_of_a_line() {
        let source = WorkloadSource::read("random-read,depth=4,jobs=2,shared", || Ok(None)).unwrap();
        let with = |settings: &[(&str, &str)]| source.with_settings(settings).map(|w| w.to_string());
        assert_eq!(with(&[]).unwrap(), source.workload().unwrap().to_string());
        let text = with(&[("depth", "8"), ("pattern", "random-write"), ("requests", "5")]).unwrap();
        assert_eq!(text, "random-write,size=4KiB,depth=8,jobs=2,shared,requests=5,seed=0");
        let several =
            WorkloadSource::read("random-read,depth=4,turns=2 + random-write,turns=1,seed=3", || Ok(None))
                .unwrap();
        let text =
            several.with_settings(&[("depth", "8"), ("seed", "5"), ("requests", "9")]).unwrap().to_string();
        let job = |name: &str, turns| format!("{name},size=4KiB,depth=8,turns={turns}");
        let jobs = format!("{} + {}", job("random-read", 2), job("random-write", 1));
        assert_eq!(text, format!("{jobs},requests=9,seed=5"));
        assert!(with(&[("depth", "0")]).unwrap_err().reason().contains("depth"));
    }

    #[test]
    fn settings_apply_to_every_job_of_a_file() {
        let text = "requests = 10\n[[job]]\npattern = \"random-read\"\n[[job]]\npattern = \"random-write\"\ndepth = 2\n";
        let source = WorkloadSource { text: text.into(), file: Some("job.toml".into()), fio: None };
        let workload = source.with_settings(&[("depth", "8"), ("requests", "7")]).unwrap();
        assert_eq!(workload.stop.requests, Some(7));
        assert!(workload.jobs.iter().all(|job| job.depth == 8));
        let reason = source.with_settings(&[("depth", "many")]).unwrap_err().reason();
        assert!(reason.contains("job.toml with depth=many"), "{reason}");
        let broken = WorkloadSource { text: "requests = 10\nsiez = 4\n".into(), ..source };
        assert!(broken.with_settings(&[("depth", "8")]).unwrap_err().reason().contains("job.toml:2"));
    }
}
