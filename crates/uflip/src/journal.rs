//! A journal of the completed steps, so that a stopped benchmark can resume.
//!
//! A file of JSON lines: first the definition (device, options, seed, version), then a line for every step with its
//! result. A benchmark always has the same steps in the same order; those in the journal are taken from it, and the
//! plan that follows from them is the same. A step whose line is incomplete is repeated. Whatever else follows the
//! complete lines may be the user's: it is refused and kept.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("{doing} the journal '{}' failed: {source}", path.display())]
    File {
        /// Path of the journal.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// It is the journal of another benchmark.
    #[error(
        "the journal '{}' is of another benchmark: it was begun with {found}, now {expected} was asked for; give the same device and options to go on with it, or another folder to begin anew",
        path.display()
    )]
    Other {
        /// Path of the journal.
        path: PathBuf,
        /// Its definition.
        found: String,
        /// The definition of the present benchmark.
        expected: String,
    },
    /// A line is not a step, or not the next step.
    #[error("the journal '{}' is damaged in line {line}: {reason}", path.display())]
    Damaged {
        /// Path of the journal.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// The fault.
        reason: String,
    },
}

/// The first line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// Version of the format.
    uflip: u32,
    definition: String,
}

impl Header {
    fn of(definition: &str) -> Self {
        Self { uflip: FORM, definition: definition.to_owned() }
    }
}

const FORM: u32 = 1;
/// First bytes of every step.
const STEP: &[u8] = b"{\"step\":\"";

/// A step in the journal.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    step: String,
    #[serde(flatten)]
    done: Done<Value>,
}

/// Result of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done<T> {
    pub(crate) value: T,
    /// Response times in nanoseconds, in the order of submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) latencies_ns: Vec<u64>,
    pub(crate) ios: u64,
    pub(crate) written_bytes: u64,
    /// Duration in nanoseconds of the device's time.
    pub(crate) took_ns: u64,
    /// Whether the drive collected garbage since the step before, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cleaned: Option<bool>,
}

/// A journal, whose steps are read first; new ones are appended.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Steps that were read and not yet taken, with their line numbers.
    pending: VecDeque<(u64, Line)>,
    /// Number of steps taken from it.
    resumed: u64,
}

impl Journal {
    /// Opens the journal at `path`, or creates it, for the benchmark of `definition`.
    ///
    /// # Errors
    /// [`JournalError`] where it cannot be read or written, is damaged, or is of another benchmark.
    pub fn open(path: &Path, definition: &str) -> Result<Self, JournalError> {
        let failed = |doing| move |source| JournalError::File { path: path.to_owned(), doing, source };
        // A pipe or a device has no end, and a link may lead to another file of the user.
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let reason = "it is not a regular file".to_owned();
            return Err(JournalError::Damaged { path: path.to_owned(), line: 1, reason });
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed("opening"))?;
        let (pending, good_bytes) = read(path, &file, definition)?;
        // An incomplete line is overwritten.
        file.set_len(good_bytes).map_err(failed("writing"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("writing"))?;
        let mut journal = Self { path: path.to_owned(), file, pending, resumed: 0 };
        if good_bytes == 0 {
            journal.append(&line_of(&Header::of(definition)))?;
        }
        Ok(journal)
    }

    /// Returns the number of steps taken from the journal.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Returns the number of steps that were not taken yet.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes the next step, if the journal has it. It MUST be `step`, with `latencies` response times.
    pub(crate) fn take<T: DeserializeOwned>(
        &mut self,
        step: &str,
        latencies: u64,
    ) -> Result<Option<Done<T>>, JournalError> {
        let Some((line, found)) = self.pending.pop_front() else { return Ok(None) };
        let damaged = |reason| JournalError::Damaged { path: self.path.clone(), line, reason };
        if found.step != step {
            return Err(damaged(format!("it is the step '{}', but '{step}' comes next", found.step)));
        }
        let Done { value, latencies_ns, ios, written_bytes, took_ns, cleaned } = found.done;
        if latencies_ns.len() as u64 != latencies {
            return Err(damaged(format!(
                "it has {} response times instead of {latencies}",
                latencies_ns.len()
            )));
        }
        let value = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        self.resumed += 1;
        Ok(Some(Done { value, latencies_ns, ios, written_bytes, took_ns, cleaned }))
    }

    /// Appends a completed step.
    pub(crate) fn record<T: Serialize>(&mut self, step: &str, done: &Done<T>) -> Result<(), JournalError> {
        let &Done { ios, written_bytes, took_ns, cleaned, .. } = done;
        let value = serde_json::to_value(&done.value).expect("steps are plain data");
        let latencies_ns = done.latencies_ns.clone();
        let done = Done { value, latencies_ns, ios, written_bytes, took_ns, cleaned };
        self.append(&line_of(&Line { step: step.to_owned(), done }))
    }

    fn append(&mut self, text: &str) -> Result<(), JournalError> {
        let failed = |source| JournalError::File { path: self.path.clone(), doing: "writing", source };
        self.file.write_all(text.as_bytes()).map_err(failed)
    }
}

/// Reads the steps of a journal, with their line numbers, and the length of the complete lines.
fn read(path: &Path, file: &File, definition: &str) -> Result<(VecDeque<(u64, Line)>, u64), JournalError> {
    let (mut steps, mut good_bytes, mut text) = (VecDeque::new(), 0, Vec::new());
    let mut reader = BufReader::new(file);
    for line in 1.. {
        text.clear();
        let length = reader.read_until(b'\n', &mut text).map_err(|source| JournalError::File {
            path: path.to_owned(),
            doing: "reading",
            source,
        })?;
        if text.last() != Some(&b'\n') {
            let is_ours = match line {
                1 => line_of(&Header::of(definition)).as_bytes().starts_with(&text),
                _ => begins_step(&text),
            };
            if !is_ours {
                let reason = "it is neither a line of this journal nor the beginning of one".to_owned();
                return Err(JournalError::Damaged { path: path.to_owned(), line, reason });
            }
            break;
        }
        let damaged = |error: serde_json::Error| JournalError::Damaged {
            path: path.to_owned(),
            line,
            reason: error.to_string(),
        };
        if line == 1 {
            let header: Header = serde_json::from_slice(&text).map_err(damaged)?;
            if header != Header::of(definition) {
                return Err(JournalError::Other {
                    path: path.to_owned(),
                    found: header.definition,
                    expected: definition.to_owned(),
                });
            }
        } else {
            steps.push_back((line, serde_json::from_slice(&text).map_err(damaged)?));
        }
        good_bytes += length as u64;
    }
    Ok((steps, good_bytes))
}

/// Returns whether a line without its end is the beginning of a step.
fn begins_step(text: &[u8]) -> bool {
    let is_cut = |error: serde_json::Error| error.is_eof();
    match text.get(..STEP.len()) {
        Some(first) => first == STEP && serde_json::from_slice::<Line>(text).map_or_else(is_cut, |_| true),
        None => STEP.starts_with(text),
    }
}

fn line_of(line: &impl Serialize) -> String {
    let mut text = serde_json::to_string(line).expect("lines are plain data");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(value: u32, latencies_ns: &[u64]) -> Done<u32> {
        Done { value, latencies_ns: latencies_ns.to_vec(), ios: 7, ..Done::default() }
    }

    fn journal() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut journal = Journal::open(&path, "this").unwrap();
        assert_eq!(journal.take::<u32>("one", 2).unwrap(), None);
        journal.record("one", &done(1, &[5, 6])).unwrap();
        journal.record("two", &done(2, &[])).unwrap();
        (dir, path)
    }

    #[test]
    fn recorded_steps_are_resumed() {
        let (_dir, path) = journal();
        let mut journal = Journal::open(&path, "this").unwrap();
        assert_eq!(journal.take::<u32>("one", 2).unwrap(), Some(done(1, &[5, 6])));
        assert_eq!(journal.take::<u32>("two", 0).unwrap(), Some(done(2, &[])));
        assert_eq!((journal.take::<u32>("three", 0).unwrap(), journal.resumed()), (None, 2));
        journal.record("three", &done(3, &[])).unwrap();
        assert_eq!(Journal::open(&path, "this").unwrap().pending(), 3);
    }

    #[test]
    fn step_with_incomplete_line_is_repeated() {
        let (_dir, path) = journal();
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut journal = Journal::open(&path, "this").unwrap();
            let complete = whole[..length].iter().filter(|&&byte| byte == b'\n').count().saturating_sub(1);
            assert_eq!(journal.pending(), complete, "{length} bytes");
            for _ in 0..complete {
                let (line, step) = journal.pending.pop_front().unwrap();
                assert_eq!(step.step, ["one", "two"][line as usize - 2]);
            }
            // The next step is appended after the last complete line.
            journal.record("next", &done(9, &[])).unwrap();
            assert_eq!(Journal::open(&path, "this").unwrap().pending(), complete + 1);
        }
    }

    #[test]
    fn what_follows_the_steps_is_refused_and_unchanged() {
        let (_dir, path) = journal();
        let whole = std::fs::read_to_string(&path).unwrap();
        let foreign = [
            "{\"uflip\":\"my own notes\"}".to_owned(),
            "{\"uflip\":1,\"definition\":\"that".to_owned(),
            format!("{whole}my own notes"),
            format!("{whole}{{\"step\":\"my own\"}}"),
            format!("{whole}{{\"stop\""),
        ];
        for text in foreign {
            std::fs::write(&path, &text).unwrap();
            assert!(matches!(Journal::open(&path, "this"), Err(JournalError::Damaged { .. })), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn foreign_journal_is_refused_and_unchanged() {
        let (_dir, path) = journal();
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(Journal::open(&path, "that"), Err(JournalError::Other { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        std::fs::write(&path, "somebody's notes").unwrap();
        assert!(matches!(Journal::open(&path, "this"), Err(JournalError::Damaged { line: 1, .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"somebody's notes");
        std::fs::write(&path, "no journal\n").unwrap();
        assert!(matches!(Journal::open(&path, "this"), Err(JournalError::Damaged { line: 1, .. })));
        let (_other_dir, path) = journal();
        let mut journal = Journal::open(&path, "this").unwrap();
        assert!(matches!(journal.take::<u32>("two", 0), Err(JournalError::Damaged { line: 2, .. })));
    }
}
