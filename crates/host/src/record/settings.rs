//! Kernel settings that a recording changes, and restores however it ends.

use super::error::RecordError;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

/// Times a busy setting is tried again, each after [`BUSY_PAUSE`]. The kernel refuses a change of the tracer while any
/// process has a pipe of the trace open. That includes a child just forked by another thread, until it executes its
/// program.
const BUSY_TRIES: u32 = 1000;
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// Changed settings with their previous values, the latest last.
#[derive(Debug, Default)]
pub(super) struct Settings {
    changed: Vec<(PathBuf, String)>,
}

impl Settings {
    /// Writes `value` and remembers `before` to restore.
    pub(super) fn set(&mut self, path: &Path, value: &str, before: String) -> Result<(), RecordError> {
        if before == value {
            return Ok(());
        }
        write(path, value)?;
        self.changed.push((path.into(), before));
        Ok(())
    }

    /// Remembers `before` to restore for a setting that was not changed here.
    pub(super) fn restore_to(&mut self, path: PathBuf, before: &str) {
        self.changed.push((path, before.into()));
    }

    /// Restores everything, the latest change first. Tries all and returns the first error.
    pub(super) fn restore(mut self) -> Result<(), RecordError> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), RecordError> {
        let changed = std::mem::take(&mut self.changed);
        let tried: Vec<_> = changed.iter().rev().map(|(path, before)| write(path, before)).collect();
        tried.into_iter().collect()
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // The error that led here is the one to report.
        let _ = self.put_back();
    }
}

/// Returns the text of a file without its line end.
pub(super) fn read(path: &Path) -> Result<String, RecordError> {
    let text = fs::read_to_string(path).map_err(|e| RecordError::os(path, "read", e))?;
    Ok(text.trim_end().to_owned())
}

/// Writes a setting. Waits a second for one that is busy.
pub(super) fn write(path: &Path, value: &str) -> Result<(), RecordError> {
    let mut written = try_write(path, value);
    for _ in 0..BUSY_TRIES {
        if !matches!(&written, Err(e) if e.kind() == ErrorKind::ResourceBusy) {
            break;
        }
        thread::sleep(BUSY_PAUSE);
        written = try_write(path, value);
    }
    written.map_err(|e| RecordError::os(path, "write to", e))
}

fn try_write(path: &Path, value: &str) -> io::Result<()> {
    // Never create a missing file: these are the kernel's.
    let mut file = fs::OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restore_undoes_changes_in_reverse_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("setting");
        fs::write(&path, "a\n").unwrap();
        let change = |settings: &mut Settings, value| {
            let before = read(&path).unwrap();
            settings.set(&path, value, before).unwrap();
        };
        let mut settings = Settings::default();
        for value in ["b", "c"] {
            change(&mut settings, value);
        }
        assert_eq!(read(&path).unwrap(), "c");
        settings.restore().unwrap();
        assert_eq!(read(&path).unwrap(), "a");
        let mut dropped = Settings::default();
        change(&mut dropped, "d");
        drop(dropped);
        assert_eq!(read(&path).unwrap(), "a");
    }

    #[test]
    fn restore_continues_after_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let mut settings = Settings::default();
        for path in [&first, &second] {
            fs::write(path, "old").unwrap();
            settings.set(path, "new", "old".into()).unwrap();
        }
        fs::remove_file(&second).unwrap();
        let words = settings.restore().unwrap_err().to_string();
        assert!(words.contains("write to") && words.contains("second"), "{words}");
        assert!(!second.exists(), "restore created a missing setting");
        assert_eq!(read(&first).unwrap(), "old");
    }
}
