//! A workload as it is typed: in one line or as the path of a job file; with settings replaced, for sweeps.

use crate::failure::Failure;
use crate::input::{SETTINGS_BYTES, read_text};
use anyhow::anyhow;
use flashlane_workload::{KEYS, Scope, Workload};
use toml::{Table, Value};

/// A workload's text, read once.
#[derive(Clone, Debug)]
pub struct Written {
    text: String,
    /// The job file that it is from; none for the one-line form.
    file: Option<String>,
}

/// Beside [`KEYS`]: what is visited, and how.
pub const PATTERN: &str = "pattern";

impl Written {
    /// What was typed: the text itself, or that of the job file it names.
    pub fn read(typed: &str) -> Result<Self, Failure> {
        if !typed.ends_with(".toml") {
            return Ok(Self { text: typed.into(), file: None });
        }
        let text = read_text(typed.as_ref(), SETTINGS_BYTES)
            .map_err(|error| Failure::unusable(anyhow!("cannot read the job file '{typed}': {error}")))?;
        Ok(Self { text, file: Some(typed.into()) })
    }

    /// The workload as it stands.
    pub fn workload(&self) -> Result<Workload, Failure> {
        match &self.file {
            Some(file) => Workload::parse_toml(&self.text, file),
            None => Workload::parse(&self.text),
        }
        .map_err(Failure::unusable)
    }

    /// The workload with settings in place of its own: a key of a job is set in every job.
    pub fn with_settings(&self, settings: &[(&str, &str)]) -> Result<Workload, Failure> {
        if settings.is_empty() {
            return self.workload();
        }
        let Some(file) = &self.file else {
            return Workload::parse(&one_line(&self.text, settings)).map_err(Failure::unusable);
        };
        // A mistake of the file itself is told with its line; lines mean nothing once settings are replaced.
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
    let mut parts: Vec<String> = text.split(',').map(|part| part.trim().to_owned()).collect();
    for &(key, value) in settings {
        let setting = if key == PATTERN { value.to_owned() } else { format!("{key}={value}") };
        let is_it = |part: &String| part.split('=').next().is_some_and(|name| name.trim() == key);
        let at = if key == PATTERN { Some(0) } else { parts.iter().skip(1).position(is_it).map(|at| at + 1) };
        match at {
            Some(at) => parts[at] = setting,
            None => parts.push(setting),
        }
    }
    parts.join(",")
}

fn set(table: &mut Table, key: &str, value: &str) {
    let of_run = KEYS.iter().any(|known| known.name == key && known.scope == Scope::Run);
    let jobs = table.get_mut("job").and_then(Value::as_array_mut);
    let mut jobs: Vec<&mut Table> = jobs.into_iter().flatten().filter_map(Value::as_table_mut).collect();
    if of_run || jobs.is_empty() {
        table.insert(key.into(), value.into());
    } else {
        jobs.iter_mut().for_each(|job| drop(job.insert(key.into(), value.into())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_take_the_place_of_a_line_s_own() {
        let written = Written::read("random-read,depth=4,jobs=2,shared").unwrap();
        let with = |settings: &[(&str, &str)]| written.with_settings(settings).map(|w| w.to_string());
        assert_eq!(with(&[]).unwrap(), written.workload().unwrap().to_string());
        let text = with(&[("depth", "8"), ("pattern", "random-write"), ("requests", "5")]).unwrap();
        assert_eq!(text, "random-write,size=4KiB,depth=8,jobs=2,shared,requests=5,seed=0");
        assert!(with(&[("depth", "0")]).unwrap_err().reason().contains("depth"));
    }

    #[test]
    fn settings_reach_every_job_of_a_file() {
        let text = "requests = 10\n[[job]]\npattern = \"random-read\"\n[[job]]\npattern = \"random-write\"\ndepth = 2\n";
        let written = Written { text: text.into(), file: Some("job.toml".into()) };
        let workload = written.with_settings(&[("depth", "8"), ("requests", "7")]).unwrap();
        assert_eq!(workload.stop.requests, Some(7));
        assert!(workload.jobs.iter().all(|job| job.depth == 8));
        let reason = written.with_settings(&[("depth", "many")]).unwrap_err().reason();
        assert!(reason.contains("job.toml with depth=many"), "{reason}");
        let broken = Written { text: "requests = 10\nsiez = 4\n".into(), ..written };
        assert!(broken.with_settings(&[("depth", "8")]).unwrap_err().reason().contains("job.toml:2"));
    }
}
