//! A tracing instance for one recording: its own buffers, and the uprobe events defined for it. Everything is removed
//! when it is dropped, also after a signal; what a killed recording left is removed by the next one.
//!
//! Events are defined for the whole machine, under a group named after this process, and switched on in the instance
//! only: other users of tracing are not disturbed.

use super::error::PostgresError;
use super::probes::Definition;
use crate::record::error::RecordError;
use crate::record::settings::{read, write};
use crate::record::tracefs::Tracefs;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Start of the names of our groups and instances; the number of the process follows.
const PREFIX: &str = "flashlane_";
/// Size of each processor's buffer. A busy server makes some 8 MB of events a second.
const BUFFER_KB: u64 = 32 << 10;
/// Tries to remove a busy instance, and the pause between two.
const TRIES: u32 = 20;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(25);

/// An instance with its group of events.
#[derive(Debug)]
pub(super) struct Instance {
    tracefs: Tracefs,
    definitions: PathBuf,
    group: String,
    defined: Vec<String>,
}

impl Instance {
    /// Makes an instance and defines the events, switched off.
    pub(super) fn create(
        tracefs: &Tracefs,
        events: &[Definition],
        program: &Path,
    ) -> Result<Self, PostgresError> {
        let definitions = tracefs.at("uprobe_events");
        if !definitions.exists() {
            return Err(PostgresError::NoUprobes { missing: definitions });
        }
        remove_left(tracefs, &definitions)?;
        let group = format!("{PREFIX}{}", std::process::id());
        let folder = tracefs.at("instances").join(&group);
        fs::create_dir(&folder).map_err(|e| RecordError::os(&folder, "make", e))?;
        let mut instance =
            Self { tracefs: Tracefs::at_root(folder), definitions, group, defined: Vec::new() };
        write(&instance.at("trace_clock"), "mono")?;
        write(&instance.at("buffer_size_kb"), &BUFFER_KB.to_string())?;
        for event in events {
            let definition = event.line(&instance.group, program);
            define(&instance.definitions, &definition)
                .map_err(|source| PostgresError::Event { definition, source })?;
            instance.defined.push(event.name.clone());
        }
        Ok(instance)
    }

    /// The folder as one of tracing.
    pub(super) fn tracefs(&self) -> &Tracefs {
        &self.tracefs
    }

    pub(super) fn at(&self, file: &str) -> PathBuf {
        self.tracefs.at(file)
    }

    /// The folder of one of the defined events.
    pub(super) fn event(&self, name: &str) -> PathBuf {
        self.at("events").join(&self.group).join(name)
    }

    /// Switches the defined events on or off.
    pub(super) fn enable(&self, on: bool) -> Result<(), RecordError> {
        write(&self.at("events").join(&self.group).join("enable"), if on { "1" } else { "0" })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A removed instance switches its events off, after which they can be removed. A program that is being started
        // has its files open until it runs.
        for _ in 0..TRIES {
            let is_busy = |error: std::io::Error| error.kind() == std::io::ErrorKind::ResourceBusy;
            if !fs::remove_dir(self.at("")).is_err_and(is_busy) {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        for name in &self.defined {
            let _ = define(&self.definitions, &format!("-:{}/{name}", self.group));
        }
    }
}

/// Adds a line to the definitions. The file must not be truncated: that would remove the events of all users.
fn define(definitions: &Path, line: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).open(definitions)?.write_all(format!("{line}\n").as_bytes())
}

/// Removes the instances and events of recordings whose process has ended.
fn remove_left(tracefs: &Tracefs, definitions: &Path) -> Result<(), RecordError> {
    let ended = |group: &str| {
        let number = group.strip_prefix(PREFIX).and_then(|number| number.parse::<u32>().ok());
        // A process that was killed stays listed until its parent asks for its end; its program is gone at once.
        number.is_some_and(|number| fs::read_link(format!("/proc/{number}/exe")).is_err())
    };
    let instances = tracefs.at("instances");
    let entries = fs::read_dir(&instances).map_err(|e| RecordError::os(&instances, "list", e))?;
    for entry in entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(ended)) {
        fs::remove_dir(entry.path()).map_err(|e| RecordError::os(&entry.path(), "remove", e))?;
    }
    for line in read(definitions)?.lines() {
        let name = line.split_whitespace().next().and_then(|first| first.split_once(':'));
        if let Some((_, name)) = name
            && name.split_once('/').is_some_and(|(group, _)| ended(group))
        {
            define(definitions, &format!("-:{name}"))
                .map_err(|e| RecordError::os(definitions, "write to", e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn events_of_killed_recordings_are_removed_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let tracefs = Tracefs::at_root(root.path().into());
        // Killed, and not waited for.
        let mut killed = Command::new("sleep").arg("60").spawn().unwrap();
        killed.kill().unwrap();
        let (dead, alive) = (killed.id(), std::process::id());
        while fs::read_link(format!("/proc/{dead}/exe")).is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
        for name in [format!("flashlane_{dead}"), format!("flashlane_{alive}"), "mine".into()] {
            fs::create_dir_all(tracefs.at("instances").join(name)).unwrap();
        }
        let definitions = tracefs.at("uprobe_events");
        let lines = format!(
            "p:flashlane_{dead}/read /bin/postgres:0x10 a=%ax:u8\nr:flashlane_{alive}/read /bin/postgres:0x10\n\
             p:mine/read /bin/true:0x10\nr:flashlane_{dead}/done /bin/postgres:0x20\n"
        );
        fs::write(&definitions, &lines).unwrap();
        remove_left(&tracefs, &definitions).unwrap();
        let mut left: Vec<_> = fs::read_dir(tracefs.at("instances"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [format!("flashlane_{alive}"), "mine".into()]);
        // The kernel takes each line added as a command.
        let written = fs::read_to_string(&definitions).unwrap();
        let commands =
            written.strip_prefix(&lines).expect("the file was truncated, which removes all events");
        assert_eq!(commands, format!("-:flashlane_{dead}/read\n-:flashlane_{dead}/done\n"));
        killed.wait().unwrap();
    }
}
