//! Output directory of a result, and ownership of the files in it: only owned files are replaced.
//!
//! `result.json` lists the files of its result. Only those are replaced, and only where they are regular files that
//! begin as ours do, since a list may be forged or stale; symbolic links are never followed. A page without a result
//! (which compares several) owns only itself. A result of a version without lists owns no files, because a file with
//! such a name may be the user's.
//!
//! With `force`, any regular file with the name of a result's file may be replaced.

use crate::{ReportError, page, svg};
use flashlane_files::Seen;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

pub(crate) const RESULT: &str = "result.json";
pub(crate) const PAGE: &str = "report.html";
pub(crate) const SAMPLES: &str = "samples.parquet";

/// Files from which a stopped benchmark or sweep continues.
const JOURNAL: &str = "uflip.journal";
const JOURNAL_BEGINS: &[u8] = b"{\"uflip\":";
const POINTS: &str = "points";

/// A directory that a result is written to.
pub(crate) struct Directory<'a> {
    dir: &'a Path,
    force: bool,
    holds: Holds,
    /// Names of the files owned.
    listed: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// A result with a list of its files.
    Result,
    /// A result without a list.
    OldResult,
    /// A page without a result.
    Page,
    /// Neither result nor page.
    NoResult,
}

/// Fields that identify a result of Flashlane.
#[derive(serde::Deserialize)]
struct Head {
    schema: String,
    #[serde(default)]
    files: Option<Vec<String>>,
}

impl<'a> Directory<'a> {
    /// Reads the content of `dir`, which may be missing.
    ///
    /// # Errors
    /// [`ReportError::NotRegular`] where `result.json` or `report.html` is not a regular file.
    pub(crate) fn open(dir: &'a Path, force: bool) -> Result<Self, ReportError> {
        let mut listed = BTreeSet::new();
        let head = regular(&dir.join(RESULT))?.and_then(head);
        let holds = match head {
            Some(Head { files: Some(files), .. }) => {
                // A listed name cannot lead out of the directory.
                listed.extend(files.into_iter().filter(|name| is_result_file(name)));
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

    /// Checks that a result may be written here: the directory is missing, empty, or of a result, a stopped sweep or a
    /// stopped benchmark.
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

    /// Checks that a file of this name may be written. Returns the file that it replaces.
    pub(crate) fn check_name(&self, name: &str) -> Result<Option<Seen>, ReportError> {
        let path = self.dir.join(name);
        match path.symlink_metadata() {
            Err(_) => Ok(None),
            Ok(meta) if !meta.is_file() => Err(ReportError::NotRegular { path }),
            // Its identity is looked at first, and its content then.
            Ok(meta) if self.force || self.listed.contains(name) && looks_ours(name, &path) => {
                Ok(Some(Seen::new(&path, &meta)))
            }
            Ok(_) if self.holds == Holds::OldResult => Err(ReportError::OldResult { path }),
            Ok(_) => Err(ReportError::Foreign { path }),
        }
    }

    /// Returns the files of the earlier result that are not among the new ones, with their names.
    pub(crate) fn stale(&self, new: &[String]) -> Vec<(String, Seen)> {
        let old = self.listed.iter().filter(|name| !new.contains(name));
        old.filter_map(|name| Some((name.clone(), self.check_name(name).ok()??))).collect()
    }

    /// Adds a file to those owned.
    pub(crate) fn own(&mut self, name: &str) {
        self.listed.insert(name.to_owned());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns whether an unfinished command left this file or folder.
    fn is_left_over(&self, name: &str) -> bool {
        let path = self.dir.join(name);
        match name {
            JOURNAL => regular(&path).is_ok_and(|file| file.is_some_and(|file| begins(file, JOURNAL_BEGINS))),
            POINTS => path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) && holds_points(&path),
            _ => is_part(name),
        }
    }
}

/// Returns whether a result can have a file of this name.
fn is_result_file(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let figure =
        name.strip_suffix(".svg").is_some_and(|stem| !stem.starts_with('.') && stem.chars().all(plain));
    figure || [RESULT, PAGE, SAMPLES].contains(&name)
}

/// Returns whether this is an unfinished file of a killed program.
fn is_part(name: &str) -> bool {
    name.starts_with(".flashlane-") && name.ends_with(".part")
}

/// Returns whether a folder holds only points of a sweep: their names end with a fingerprint.
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

/// Returns whether a regular file begins as our files of this name do.
fn looks_ours(name: &str, path: &Path) -> bool {
    let Ok(Some(file)) = regular(path) else { return false };
    match name {
        RESULT => true,
        PAGE => is_page(file),
        SAMPLES => begins(file, b"PAR1"),
        _ => begins(file, svg::BEGIN.as_bytes()),
    }
}

/// Opens a regular file; `None` where there is no file. Others are refused: opening a pipe would block.
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
    /// Limit above the size of any result.
    const BYTES: u64 = 1 << 30;
    let mut text = Vec::new();
    file.take(BYTES).read_to_end(&mut text).ok()?;
    let head: Head = serde_json::from_slice(&text).ok()?;
    head.schema.starts_with("flashlane.").then_some(head)
}

fn is_page(file: File) -> bool {
    /// Limit above the length of any title.
    const BYTES: u64 = 1 << 16;
    let mut begin = Vec::new();
    let read = file.take(BYTES).read_to_end(&mut begin);
    read.is_ok() && String::from_utf8_lossy(&begin).contains(page::TITLE_END)
}

fn begins(file: File, with: &[u8]) -> bool {
    let mut begin = Vec::new();
    file.take(with.len() as u64).read_to_end(&mut begin).is_ok() && begin == with
}

/// Returns a file name for a figure's id that stays in the directory, is not hidden, and differs from other figures'
/// names and from names for which `is_free` is false.
pub(crate) fn figure_file(id: &str, taken: &mut BTreeSet<String>, is_free: impl Fn(&str) -> bool) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let stem: String = id.trim_start_matches('.').chars().map(safe).take(100).collect();
    let stem = if stem.is_empty() { "figure".to_owned() } else { stem };
    let candidates = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}")));
    let mut files = candidates.map(|stem| format!("{stem}.svg"));
    // Some file systems ignore case.
    let free = files.find(|name| is_free(name) && taken.insert(name.to_lowercase()));
    free.expect("there are more numbers than files")
}
