//! The kernel's tracing folder, and the setup of its block tracer. The files are documented in
//! `Documentation/trace/ftrace.rst` and `kernel/trace/blktrace.c` of Linux.
//!
//! The tracer writes blktrace records into each `per_cpu/cpuN/trace_pipe` with the option `bin` on and `context-info`
//! off. All processors must use one clock, because the streams are merged by time.

use super::error::RecordError;
use super::settings::{Settings, read, write};
use super::traced::Traced;
use super::undo::Undo;
use crate::usage::{Mount, read_escaped};
use std::fs;
use std::path::{Path, PathBuf};

/// Size of each processor's ring buffer: fifty thousand events, a hundred times the usual number between two polls.
const BUFFER_KB: u64 = 4096;

/// Options that make the tracer write records, each with the required value and the kernel's default.
const OPTIONS: [(&str, &str, &str); 2] = [("options/bin", "1", "0"), ("options/context-info", "0", "1")];

/// The tracing folder.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    /// Finds the tracing folder in the list of mounts.
    pub(super) fn find(mountinfo: &str) -> Result<Self, RecordError> {
        let mut mounts = mountinfo.lines().filter_map(Mount::parse);
        let mount = mounts.find(|mount| mount.file_system == "tracefs").ok_or(RecordError::NotMounted)?;
        Ok(Self { root: mount.at })
    }

    /// The tracing folder `root`, such as that of an instance.
    pub(super) fn at_root(root: PathBuf) -> Self {
        Self { root }
    }

    /// Finds the tracing folder of this machine.
    pub(super) fn mounted() -> Result<Self, RecordError> {
        let mounts = Path::new("/proc/self/mountinfo");
        let mounts = read_escaped(mounts).map_err(|e| RecordError::os(mounts, "read", e))?;
        Self::find(&mounts)
    }

    pub(super) fn at(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Refuses a kernel without the block tracer.
    pub(super) fn check(&self) -> Result<(), RecordError> {
        let tracers = read(&self.at("available_tracers"))?;
        if !tracers.split_whitespace().any(|tracer| tracer == "blk") {
            return Err(RecordError::NoTracer { missing: "the tracer 'blk'".into() });
        }
        Ok(())
    }

    /// Returns the options left by a killed recording, with the kernel's defaults. Only the binary records of the block
    /// tracer need both options, so both together identify one. The previous clock and buffer size are unknown.
    pub(super) fn left_behind(&self) -> Result<Vec<Undo>, RecordError> {
        let mut found = Vec::new();
        for (file, ours, value) in OPTIONS {
            let path = self.at(file);
            if read(&path)? != ours {
                return Ok(Vec::new());
            }
            found.push(Undo { path, value });
        }
        Ok(found)
    }

    /// Starts the block tracer on `traced`. Restoring the returned settings stops it.
    pub(super) fn start(&self, traced: &Traced) -> Result<Settings, RecordError> {
        let mut settings = Settings::default();
        for Undo { path, value } in self.left_behind()? {
            settings.restore_to(path, value);
        }
        for (file, value, _) in OPTIONS {
            let path = self.at(file);
            settings.set(&path, value, read(&path)?)?;
        }
        let clock = self.at("trace_clock");
        settings.set(&clock, "mono", in_brackets(&read(&clock)?))?;
        let buffer = self.at("buffer_size_kb");
        // The file has no number where the processors' buffers differ; leave those unchanged.
        if let Some(before) = buffer_kb(&read(&buffer)?)
            && before < BUFFER_KB
        {
            settings.set(&buffer, &BUFFER_KB.to_string(), before.to_string())?;
        }
        settings.set(&traced.enable(), "1", "0".into())?;
        // Cleared together with `enable`, so it need not be restored.
        write(&traced.mask(), traced.events())?;
        let on = self.at("tracing_on");
        settings.set(&on, "1", read(&on)?)?;
        let tracer = self.at("current_tracer");
        settings.set(&tracer, "blk", read(&tracer)?)?;
        Ok(settings)
    }

    /// Returns the folders of the processors, in the order of their numbers.
    pub(super) fn processors(&self) -> Result<Vec<PathBuf>, RecordError> {
        let folder = self.at("per_cpu");
        let entries = fs::read_dir(&folder).map_err(|e| RecordError::os(&folder, "list", e))?;
        let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("cpu")?.parse::<u32>().ok();
        let mut found: Vec<_> =
            entries.flatten().filter_map(|e| number(&e.path()).map(|cpu| (cpu, e.path()))).collect();
        found.sort();
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }
}

/// Returns the number of events lost by a processor's full buffer, from its `stats`.
pub(super) fn lost(stats: &str) -> u64 {
    let fields = stats.lines().filter_map(|line| line.split_once(':'));
    fields
        .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

/// Returns `local` for `[local] global mono`.
fn in_brackets(text: &str) -> String {
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.unwrap_or(text).to_owned()
}

/// Returns `1408` for `1408`, and for `7 (expanded: 1408)`, the notation before the first use.
fn buffer_kb(text: &str) -> Option<u64> {
    let expanded = text.split_once("expanded:").map(|(_, rest)| rest.trim_end_matches(')'));
    expanded.unwrap_or(text).trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_in_every_kernel_notation() {
        assert_eq!(in_brackets("[local] global counter mono"), "local");
        assert_eq!(in_brackets("local global [mono]"), "mono");
        assert_eq!(buffer_kb("1408"), Some(1408));
        assert_eq!(buffer_kb("7 (expanded: 1408)"), Some(1408));
        assert_eq!(buffer_kb("X"), None);
    }

    #[test]
    fn lost_events_of_every_kind_are_counted() {
        let stats = "entries: 3\noverrun: 20\ncommit overrun: 1\nbytes: 120\nnow ts:  8.1\ndropped events: 4\n\
                     read events: 7\n";
        assert_eq!(lost(stats), 25);
    }

    #[test]
    fn tracing_folder_is_found_at_its_mount_point() {
        let mounts = "22 1 259:1 / / rw shared:1 - ext4 /dev/sda rw\n\
                      30 22 0:12 / /sys/kernel/tracing rw - tracefs tracefs rw\n";
        assert_eq!(Tracefs::find(mounts).unwrap().root, Path::new("/sys/kernel/tracing"));
        assert!(matches!(Tracefs::find(""), Err(RecordError::NotMounted)));
    }
}
