//! Writes a result to a directory: `result.json`, `samples.parquet`, an SVG per figure, `report.html`.
//!
//! After a crash every file is either the old or the new one. `result.json` is written first and lists all files; files
//! that can be rendered again are last. Files of an earlier result that the new one does not have are removed.
//! `directory` decides which files those are; all others remain.

use crate::directory::{Directory, PAGE, RESULT, SAMPLES, figure_file};
use crate::{PageInput, Report, ReportError, Samples, render_page};
use flashlane_files::{AtomicFile, remove_if};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The field of `result.json` that lists the files of the result.
pub(crate) const FILES: &str = "files";

/// Checks that a result may be written to the existing directory `dir`: it is writable, and empty or of a result, a
/// stopped sweep or a stopped benchmark. `force` allows other directories, and replacing files with the names of a
/// result's.
///
/// # Errors
/// [`ReportError::NotAResults`], [`ReportError::OldResult`], [`ReportError::Foreign`] and [`ReportError::NotRegular`]
/// with the file found, [`ReportError::Write`] where no file can be created.
pub fn check_place(dir: &Path, force: bool) -> Result<(), ReportError> {
    Directory::open(dir, force)?.check()?;
    let path = dir.join(RESULT);
    // An uncommitted file is removed.
    match AtomicFile::create(&path) {
        Ok(_) => Ok(()),
        Err(source) => {
            Err(ReportError::Write { path, doing: "making the file", written: Vec::new(), source })
        }
    }
}

/// Writes all files of a result into `dir`, which is created if missing, and returns their paths. Files that an earlier
/// result lists are replaced; with `force`, all with the same names.
///
/// # Errors
/// [`ReportError::Foreign`] and [`ReportError::NotRegular`] where another file has a result's name (see
/// [`check_place`]), and [`ReportError::Write`] where the directory or a file cannot be written; files written before
/// remain.
pub fn write_all(
    dir: &Path,
    force: bool,
    report: &Report,
    samples: Option<&Samples>,
) -> Result<Vec<PathBuf>, ReportError> {
    let mut files = Files::begin(dir, force)?;
    let (mut taken, mut names) = (BTreeSet::new(), vec![RESULT.to_owned(), PAGE.to_owned()]);
    names.extend(samples.map(|_| SAMPLES.to_owned()));
    // All names are checked before the first file is written.
    names.iter().try_for_each(|name| files.directory.check_name(name).map(drop))?;
    let is_free = |name: &str| files.directory.check_name(name).is_ok();
    let drawings: Vec<_> = report
        .document
        .drawings()
        .map(|(id, drawing)| (figure_file(id, &mut taken, is_free), drawing))
        .collect();
    names.extend(drawings.iter().map(|(name, _)| name.clone()));
    let stale = files.directory.stale(&names);

    // Even after an interruption each of our files is on a list.
    files.put_result(report.json(), names.iter().chain(stale.iter().map(|(name, _)| name)))?;
    if let Some(samples) = samples {
        files.put(SAMPLES, |out| samples.write(out))?;
    }
    for (name, drawing) in drawings {
        files.put(&name, |out| out.write_all(drawing.as_bytes()))?;
    }
    files.put(PAGE, |out| out.write_all(render_page(&[PageInput { report, samples }]).as_bytes()))?;
    if !stale.is_empty() {
        for (name, old) in stale {
            // A file that cannot be removed remains, and is no longer listed. So does one that came to its name
            // meanwhile.
            let _ = remove_if(&files.directory.path(&name), |part| old.is_at(part));
        }
        files.written.remove(0);
        files.put_result(report.json(), names.iter())?;
        files.written.rotate_right(1);
    }
    Ok(files.written)
}

/// Writes one page that compares `results`, as `report.html` in `dir`, which is created if missing, and returns its
/// path.
///
/// # Errors
/// As [`write_all`].
pub fn write_page(dir: &Path, force: bool, results: &[PageInput<'_>]) -> Result<PathBuf, ReportError> {
    let mut files = Files::begin(dir, force)?;
    files.put(PAGE, |out| out.write_all(render_page(results).as_bytes()))?;
    Ok(dir.join(PAGE))
}

/// The files written so far.
struct Files<'a> {
    directory: Directory<'a>,
    written: Vec<PathBuf>,
}

impl<'a> Files<'a> {
    /// Creates the directory if missing, and reads its content.
    fn begin(dir: &'a Path, force: bool) -> Result<Self, ReportError> {
        std::fs::create_dir_all(dir).map_err(|source| ReportError::Write {
            path: dir.to_owned(),
            doing: "making the directory",
            written: Vec::new(),
            source,
        })?;
        Ok(Self { directory: Directory::open(dir, force)?, written: Vec::new() })
    }

    /// Writes `result.json` with a list of the result's files.
    fn put_result<'n>(
        &mut self,
        result: &Value,
        names: impl Iterator<Item = &'n String>,
    ) -> Result<(), ReportError> {
        let mut listed = result.clone();
        if let Some(fields) = listed.as_object_mut() {
            fields.insert(FILES.into(), names.cloned().collect());
        }
        self.put(RESULT, |out| {
            serde_json::to_writer_pretty(&mut *out, &listed)?;
            out.write_all(b"\n")
        })?;
        self.directory.own(RESULT);
        Ok(())
    }

    fn put(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<AtomicFile>) -> io::Result<()>,
    ) -> Result<(), ReportError> {
        let (path, replaces) = (self.directory.path(name), self.directory.check_name(name)?);
        let mut doing = "making the file";
        let outcome = AtomicFile::create(&path).and_then(|temporary| {
            doing = "writing";
            let mut out = BufWriter::new(temporary);
            write(&mut out)?;
            let temporary = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            doing = "putting the file in its place";
            // A file that came to its name meanwhile is the user's.
            match replaces {
                Some(old) => temporary.commit_over(|part| old.is_at(part)),
                None => temporary.commit_new(),
            }
        });
        match outcome {
            Ok(()) => {
                self.written.push(path);
                Ok(())
            }
            Err(source) => {
                Err(ReportError::Write { path, doing, written: std::mem::take(&mut self.written), source })
            }
        }
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
