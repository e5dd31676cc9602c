//! What was done, step by step, so that a benchmark that was stopped goes on where it was.
//!
//! A file of JSON lines: first what is being done (device, options, seed, version), then a line for every step with
//! what came of it. A benchmark goes through the same steps in the same order every time; those that the journal has
//! are taken from it, and the plan that follows from them is the same. A line that was cut short by the end of the
//! program is done again.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("{doing} the journal '{}' failed: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is the journal of something else.
    #[error(
        "the journal '{}' is of another benchmark: it was begun with {found}, now {expected} was asked for; give the same device and options to go on with it, or another folder to begin anew",
        path.display()
    )]
    Other {
        /// Which.
        path: PathBuf,
        /// What it was begun with.
        found: String,
        /// What was asked for now.
        expected: String,
    },
    /// A line is no step, or not the one that comes next.
    #[error("the journal '{}' is damaged in line {line}: {reason}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// The first line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// The version of the form.
    uflip: u32,
    definition: String,
}

const FORM: u32 = 1;
/// What every journal begins with.
const BEGINNING: &[u8] = b"{\"uflip\":";

/// A step, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    step: String,
    #[serde(flatten)]
    done: Done<Value>,
}

/// What came of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Done<T> {
    pub(crate) value: T,
    /// Response times in nanoseconds, in the order of submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) latencies_ns: Vec<u64>,
    /// I/Os that it did …
    pub(crate) ios: u64,
    /// … bytes that it wrote …
    pub(crate) written_bytes: u64,
    /// … and how long it took, in nanoseconds of the device's time.
    pub(crate) took_ns: u64,
}

/// A journal, open to be read to its end and then written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Steps that were read and not yet asked for, with their lines.
    ahead: VecDeque<(u64, Line)>,
    /// Steps that were taken from it.
    resumed: u64,
}

impl Journal {
    /// The journal in `path` of what `definition` says; where there is none it is begun.
    ///
    /// # Errors
    /// [`JournalError`] where it cannot be read or written, is damaged, or is of something else.
    pub fn open(path: &Path, definition: &str) -> Result<Self, JournalError> {
        let failed = |doing| move |source| JournalError::File { path: path.to_owned(), doing, source };
        // Of a pipe or a device there is no end to be read to, and a link may lead to a file of the user's.
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
        let (ahead, good_bytes) = read(path, &file, definition)?;
        // What was cut short is written anew.
        file.set_len(good_bytes).map_err(failed("writing"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("writing"))?;
        let mut journal = Self { path: path.to_owned(), file, ahead, resumed: 0 };
        if good_bytes == 0 {
            journal.append(&Header { uflip: FORM, definition: definition.to_owned() })?;
        }
        Ok(journal)
    }

    /// Steps that were taken from the journal instead of being done.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Steps that it holds and that have not been asked for yet.
    pub fn ahead(&self) -> usize {
        self.ahead.len()
    }

    /// The next step, with so many response times, if it was done before.
    pub(crate) fn take<T: DeserializeOwned>(
        &mut self,
        step: &str,
        latencies: u64,
    ) -> Result<Option<Done<T>>, JournalError> {
        let Some((line, found)) = self.ahead.pop_front() else { return Ok(None) };
        let damaged = |reason| JournalError::Damaged { path: self.path.clone(), line, reason };
        if found.step != step {
            return Err(damaged(format!("it is the step '{}', but '{step}' comes next", found.step)));
        }
        let Done { value, latencies_ns, ios, written_bytes, took_ns } = found.done;
        if latencies_ns.len() as u64 != latencies {
            return Err(damaged(format!(
                "it has {} response times instead of {latencies}",
                latencies_ns.len()
            )));
        }
        let value = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        self.resumed += 1;
        Ok(Some(Done { value, latencies_ns, ios, written_bytes, took_ns }))
    }

    /// Keeps a step that was done.
    pub(crate) fn keep<T: Serialize>(&mut self, step: &str, done: &Done<T>) -> Result<(), JournalError> {
        let &Done { ios, written_bytes, took_ns, .. } = done;
        let value = serde_json::to_value(&done.value).expect("steps are plain data");
        let latencies_ns = done.latencies_ns.clone();
        let done = Done { value, latencies_ns, ios, written_bytes, took_ns };
        self.append(&Line { step: step.to_owned(), done })
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        let mut text = serde_json::to_string(line).expect("lines are plain data");
        text.push('\n');
        let failed = |source| JournalError::File { path: self.path.clone(), doing: "writing", source };
        self.file.write_all(text.as_bytes()).map_err(failed)
    }
}

/// The steps of a journal, with their lines, and the length of what is whole.
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
            // What is cut off has to be ours.
            let ours = line > 1 || BEGINNING.starts_with(&text) || text.starts_with(BEGINNING);
            if !ours {
                let reason = "it is no journal".to_owned();
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
            if header != (Header { uflip: FORM, definition: definition.to_owned() }) {
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
        journal.keep("one", &done(1, &[5, 6])).unwrap();
        journal.keep("two", &done(2, &[])).unwrap();
        (dir, path)
    }

    #[test]
    fn what_was_done_is_taken_up_again() {
        let (_dir, path) = journal();
        let mut journal = Journal::open(&path, "this").unwrap();
        assert_eq!(journal.take::<u32>("one", 2).unwrap(), Some(done(1, &[5, 6])));
        assert_eq!(journal.take::<u32>("two", 0).unwrap(), Some(done(2, &[])));
        assert_eq!((journal.take::<u32>("three", 0).unwrap(), journal.resumed()), (None, 2));
        journal.keep("three", &done(3, &[])).unwrap();
        assert_eq!(Journal::open(&path, "this").unwrap().ahead(), 3);
    }

    #[test]
    fn a_line_that_was_cut_anywhere_is_done_again() {
        let (_dir, path) = journal();
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut journal = Journal::open(&path, "this").unwrap();
            let complete = whole[..length].iter().filter(|&&byte| byte == b'\n').count().saturating_sub(1);
            assert_eq!(journal.ahead(), complete, "{length} bytes");
            for _ in 0..complete {
                let (line, step) = journal.ahead.pop_front().unwrap();
                assert_eq!(step.step, ["one", "two"][line as usize - 2]);
            }
            // What follows stands whole behind what was whole.
            journal.keep("next", &done(9, &[])).unwrap();
            assert_eq!(Journal::open(&path, "this").unwrap().ahead(), complete + 1);
        }
    }

    #[test]
    fn the_journal_of_something_else_is_refused_and_left_as_it_is() {
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
