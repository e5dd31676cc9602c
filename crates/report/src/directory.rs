//! The directory of a result: which files in it are a result's own, and may be replaced.
//!
//! `result.json` lists the files of its result. Those are replaced where they are regular files, and no others; symbolic
//! links are never followed. A page without a result (of several results side by side) owns itself only. A result from
//! before there were lists owns nothing, because a file of its names may be the user's.
//!
//! With `force`, any regular file of a result's names may be replaced.

use crate::{ReportError, page};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

pub(crate) const RESULT: &str = "result.json";
pub(crate) const PAGE: &str = "report.html";
pub(crate) const SAMPLES: &str = "samples.parquet";

/// What a stopped benchmark and a stopped sweep leave to go on from.
const JOURNAL: &str = "uflip.journal";
const JOURNAL_BEGINS: &[u8] = b"{\"uflip\":";
const POINTS: &str = "points";

/// A directory that a result is written to.
pub(crate) struct Directory<'a> {
    dir: &'a Path,
    force: bool,
    holds: Holds,
    /// Names of files that belong to what it holds.
    listed: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// A result with a list of its files.
    Result,
    /// A result without one.
    OldResult,
    /// A page, and no result.
    Page,
    /// Neither.
    NoResult,
}

/// The beginning of a result that says whose it is.
#[derive(serde::Deserialize)]
struct Head {
    schema: String,
    #[serde(default)]
    files: Option<Vec<String>>,
}

impl<'a> Directory<'a> {
    /// Reads what `dir` holds; nothing where it is not there.
    ///
    /// # Errors
    /// [`ReportError::Foreign`] where a `result.json` or `report.html` of another program is there.
    pub(crate) fn open(dir: &'a Path, force: bool) -> Result<Self, ReportError> {
        let mut listed = BTreeSet::new();
        let head = regular(&dir.join(RESULT))?.and_then(head);
        let holds = match head {
            Some(Head { files: Some(files), .. }) => {
                // A name in the list cannot lead out of the directory.
                listed.extend(files.into_iter().filter(|name| is_a_results(name)));
                listed.insert(RESULT.to_owned());
                Holds::Result
            }
            Some(_) => Holds::OldResult,
            None if regular(&dir.join(PAGE))?.is_some_and(is_page) && !exists(&dir.join(RESULT)) => {
                listed.insert(PAGE.to_owned());
                Holds::Page
            }
            None => Holds::NoResult,
        };
        Ok(Self { dir, force, holds, listed })
    }

    /// Checks that a result may be written here: the directory is missing, empty, a result's, or that of a stopped sweep
    /// or benchmark.
    pub(crate) fn check(&self) -> Result<(), ReportError> {
        for name in [RESULT, PAGE, SAMPLES] {
            self.check_name(name)?;
        }
        if self.force || self.holds == Holds::Result {
            return Ok(());
        }
        let entries = fs::read_dir(self.dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        match names.into_iter().find(|name| !self.listed.contains(name) && !self.is_left_over(name)) {
            Some(found) => Err(ReportError::NotAResults { dir: self.dir.to_owned(), found }),
            None => Ok(()),
        }
    }

    /// Checks that a file of this name may be written, and reports whether it replaces one.
    pub(crate) fn check_name(&self, name: &str) -> Result<bool, ReportError> {
        let path = self.dir.join(name);
        match path.symlink_metadata() {
            Err(_) => Ok(false),
            Ok(meta) if !meta.is_file() => Err(ReportError::NotRegular { path }),
            Ok(_) if self.force || self.listed.contains(name) => Ok(true),
            Ok(_) if self.holds == Holds::OldResult => Err(ReportError::OldResult { path }),
            Ok(_) => Err(ReportError::Foreign { path }),
        }
    }

    /// Files of the earlier result whose names the new one does not have.
    pub(crate) fn stale(&self, new: &[String]) -> Vec<String> {
        let is_stale = |name: &&String| !new.contains(name) && self.check_name(name).is_ok_and(|there| there);
        self.listed.iter().filter(is_stale).cloned().collect()
    }

    /// From now on a file of this name is the result's own.
    pub(crate) fn owns(&mut self, name: &str) {
        self.listed.insert(name.to_owned());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Whether it is what an earlier command of ours left before there was a result.
    fn is_left_over(&self, name: &str) -> bool {
        let path = self.dir.join(name);
        match name {
            JOURNAL => regular(&path).is_ok_and(|file| file.is_some_and(|file| begins(file, JOURNAL_BEGINS))),
            POINTS => path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) && holds_points(&path),
            _ => is_part(name),
        }
    }
}

/// Whether a result can have a file of this name.
fn is_a_results(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let figure =
        name.strip_suffix(".svg").is_some_and(|stem| !stem.starts_with('.') && stem.chars().all(plain));
    figure || [RESULT, PAGE, SAMPLES].contains(&name)
}

/// A file that a killed program did not finish.
fn is_part(name: &str) -> bool {
    name.starts_with(".flashlane-") && name.ends_with(".part")
}

/// Whether all that lies in a folder are a sweep's points: each file's name ends with its fingerprint.
fn holds_points(folder: &Path) -> bool {
    let is_point = |name: &str| {
        let end = name.strip_suffix(".json").and_then(|stem| stem.rsplit_once('-'));
        end.is_some_and(|(_, mark)| mark.len() == 16 && mark.bytes().all(|c| c.is_ascii_hexdigit()))
    };
    fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.all(|entry| {
            entry.is_ok_and(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                entry.file_type().is_ok_and(|kind| kind.is_file()) && (is_point(&name) || is_part(&name))
            })
        })
    })
}

/// The file, where it is a regular one; nothing where there is none. Anything else is refused: opening a pipe would wait.
fn regular(path: &Path) -> Result<Option<File>, ReportError> {
    match path.symlink_metadata() {
        Err(_) => Ok(None),
        Ok(meta) if meta.is_file() => Ok(File::open(path).ok()),
        Ok(_) => Err(ReportError::NotRegular { path: path.to_owned() }),
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn head(file: File) -> Option<Head> {
    /// More than any result has.
    const BYTES: u64 = 1 << 30;
    let head: Head = serde_json::from_reader(BufReader::new(file.take(BYTES))).ok()?;
    head.schema.starts_with("flashlane.").then_some(head)
}

fn is_page(file: File) -> bool {
    /// More than the longest title.
    const BYTES: u64 = 1 << 16;
    let mut begin = Vec::new();
    let read = file.take(BYTES).read_to_end(&mut begin);
    read.is_ok() && String::from_utf8_lossy(&begin).contains(page::TITLE_END)
}

fn begins(file: File, with: &[u8]) -> bool {
    let mut begin = Vec::new();
    file.take(with.len() as u64).read_to_end(&mut begin).is_ok() && begin == with
}

/// A file name from a figure's id: nothing in it can leave the directory, hide the file, or meet another figure's or
/// a file for which `is_free` is false.
pub(crate) fn figure_file(id: &str, taken: &mut BTreeSet<String>, is_free: impl Fn(&str) -> bool) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let stem: String = id.trim_start_matches('.').chars().map(safe).take(100).collect();
    let stem = if stem.is_empty() { "figure".to_owned() } else { stem };
    let candidates = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}")));
    let mut files = candidates.map(|stem| format!("{stem}.svg"));
    // Some file systems do not tell upper case from lower.
    let free = files.find(|name| is_free(name) && taken.insert(name.to_lowercase()));
    free.expect("there are more numbers than files")
}
