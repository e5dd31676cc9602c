//! Output directory of a result, and ownership of the files in it: only owned files are replaced.
//!
//! `result.json` states length and checksum of each file of its result. A file is owned where both agree with its
//! bytes: one that was edited, or came to the name from elsewhere, is the user's. `result.json` itself is owned where
//! it reads whole as a result. A page without a result (which compares several) ends with its own length and checksum
//! ([`sealed`]). A result of a version without checksums owns no files, because a file with such a name may be the
//! user's. Only regular files are owned; symbolic links are never followed.
//!
//! With `force`, any regular file with the name of a result's file may be replaced.

use crate::{ReportError, kinds};
use flashlane_files::Seen;
use std::collections::{BTreeMap, BTreeSet};
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

/// Field of `result.json` with the [`Stated`] of the result's files.
pub(crate) const CHECKSUMS: &str = "checksums";

/// Length and checksum of a file's bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct Sum {
    length_bytes: u64,
    crc32c: u32,
}

impl Sum {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut sum = Self::default();
        sum.append(bytes);
        sum
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.length_bytes += bytes.len() as u64;
        self.crc32c = crc32c::crc32c_append(self.crc32c, bytes);
    }
}

/// A file as `result.json` states it. While the files of one result replace those of another, it states both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct Stated {
    pub file: String,
    #[serde(flatten)]
    pub sum: Sum,
}

/// A directory that a result is written to.
pub(crate) struct Directory<'a> {
    dir: &'a Path,
    force: bool,
    holds: Holds,
    /// Names that the result lists.
    listed: BTreeSet<String>,
    /// The files owned, as they were when their bytes were read.
    owned: BTreeMap<String, Owned>,
}

struct Owned {
    seen: Seen,
    sum: Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// A result that states its files.
    Result,
    /// A result that does not.
    OldResult,
    /// A page without a result.
    Page,
    /// Neither result nor page.
    NoResult,
}

impl<'a> Directory<'a> {
    /// Reads the content of `dir`, which may be missing: `result.json` and all files that it lists.
    ///
    /// # Errors
    /// [`ReportError::NotRegular`] where `result.json` or `report.html` is not a regular file.
    pub(crate) fn open(dir: &'a Path, force: bool) -> Result<Self, ReportError> {
        let mut directory =
            Self { dir, force, holds: Holds::NoResult, listed: BTreeSet::new(), owned: BTreeMap::new() };
        let (result, page) = (dir.join(RESULT), dir.join(PAGE));
        let stated = match regular(&result)?.map(|(seen, file)| (seen, result_in(file))) {
            Some((seen, Some((sum, Some(stated))))) => {
                directory.holds = Holds::Result;
                directory.owned.insert(RESULT.to_owned(), Owned { seen, sum });
                stated
            }
            Some((_, Some((_, None)))) => {
                directory.holds = Holds::OldResult;
                Vec::new()
            }
            _ => Vec::new(),
        };
        // A listed name cannot lead out of the directory.
        for Stated { file, sum } in stated.into_iter().filter(|stated| is_result_file(&stated.file)) {
            if let Ok(Some((seen, content))) = regular(&dir.join(&file))
                && seen.length_bytes() == sum.length_bytes
                && sum_of(content) == Some(sum)
            {
                directory.owned.insert(file.clone(), Owned { seen, sum });
            }
            directory.listed.insert(file);
        }
        if let Some((seen, file)) = regular(&page)?
            && let Some(sum) = sum_of_sealed(file)
        {
            directory.owned.insert(PAGE.to_owned(), Owned { seen, sum });
            if !exists(&result) {
                directory.holds = Holds::Page;
            }
        }
        Ok(directory)
    }

    /// Checks that a result may be written here: the directory is missing, empty, or of a result, a stopped sweep or a
    /// stopped benchmark.
    pub(crate) fn check(&self) -> Result<(), ReportError> {
        for name in [RESULT, PAGE, SAMPLES] {
            self.check_name(name)?;
        }
        // With `force`, a plot whose name is a link gets another name.
        if !self.force {
            self.listed.iter().try_for_each(|name| self.check_name(name).map(drop))?;
        }
        if self.force || self.holds == Holds::Result {
            return Ok(());
        }
        let entries = fs::read_dir(self.dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        match names.into_iter().find(|name| !self.owned.contains_key(name) && !self.is_left_over(name)) {
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
            Ok(meta) if self.force || self.owned.get(name).is_some_and(|owned| owned.seen.is(&meta)) => {
                Ok(Some(Seen::new(&path, &meta)))
            }
            Ok(_) if self.holds == Holds::OldResult => Err(ReportError::OldResult { path }),
            Ok(_) => Err(ReportError::Foreign { path }),
        }
    }

    /// Returns the files of the earlier result that are not among the new ones, with their names.
    pub(crate) fn stale(&self, new: &[String]) -> Vec<(String, Seen)> {
        let old = self.owned.keys().filter(|name| !new.contains(name));
        old.filter_map(|name| Some((name.clone(), self.check_name(name).ok()??))).collect()
    }

    /// Returns the files owned, without `result.json`.
    pub(crate) fn owned(&self) -> impl Iterator<Item = Stated> {
        let files = self.owned.iter().filter(|(name, _)| *name != RESULT);
        files.map(|(name, owned)| Stated { file: name.clone(), sum: owned.sum })
    }

    /// Adds a file to those owned that was just written.
    pub(crate) fn own(&mut self, name: &str, sum: Sum) {
        if let Some(seen) = Seen::at(&self.path(name)) {
            self.owned.insert(name.to_owned(), Owned { seen, sum });
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns whether an unfinished command left this file or folder.
    fn is_left_over(&self, name: &str) -> bool {
        let path = self.dir.join(name);
        match name {
            JOURNAL => {
                regular(&path).is_ok_and(|file| file.is_some_and(|(_, file)| begins(file, JOURNAL_BEGINS)))
            }
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

/// Opens a regular file; `None` where there is no file. Others are refused: opening a pipe would block.
/// Its identity is looked at first, and its content then.
fn regular(path: &Path) -> Result<Option<(Seen, File)>, ReportError> {
    match path.symlink_metadata() {
        Err(_) => Ok(None),
        Ok(meta) if meta.is_file() => Ok(File::open(path).ok().map(|file| (Seen::new(path, &meta), file))),
        Ok(_) => Err(ReportError::NotRegular { path: path.to_owned() }),
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads a `result.json`: its own sum, and the files that it states, or `None` where its version states none. `None`
/// where the file is anything else than a whole result.
fn result_in(file: File) -> Option<(Sum, Option<Vec<Stated>>)> {
    let text = bytes_of(file)?;
    let mut json: serde_json::Value = serde_json::from_slice(&text).ok()?;
    kinds::read(&json).ok()?;
    let stated = json.as_object_mut().and_then(|fields| fields.remove(CHECKSUMS));
    let stated = stated.map(serde_json::from_value).transpose().ok()?;
    Some((Sum::of(&text), stated))
}

fn sum_of(mut file: File) -> Option<Sum> {
    let (mut sum, mut some) = (Sum::default(), vec![0; 1 << 17]);
    loop {
        match file.read(&mut some).ok()? {
            0 => return Some(sum),
            length => sum.append(&some[..length]),
        }
    }
}

/// Returns the line that ends a page without a result: length and checksum of the bytes before it.
fn seal(page: &[u8]) -> String {
    let Sum { length_bytes, crc32c } = Sum::of(page);
    format!("<!-- Flashlane: {length_bytes} bytes, crc32c {crc32c:08x} -->\n")
}

/// Returns a page with its seal, by which it is known to be unchanged.
pub(crate) fn sealed(page: String) -> String {
    let seal = seal(page.as_bytes());
    page + &seal
}

/// Returns the sum of a page that ends with its seal.
fn sum_of_sealed(file: File) -> Option<Sum> {
    let page = bytes_of(file)?;
    let line = page[..page.len().checked_sub(1)?].iter().rposition(|&byte| byte == b'\n')? + 1;
    let (content, end) = page.split_at(line);
    (end == seal(content).as_bytes()).then(|| Sum::of(&page))
}

fn bytes_of(file: File) -> Option<Vec<u8>> {
    /// Limit above the length of any result and page.
    const BYTES: u64 = 1 << 30;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
