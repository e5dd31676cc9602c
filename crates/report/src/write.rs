//! A result as files in a directory: `result.json`, `samples.parquet`, one SVG a figure, `report.html`.
//!
//! After a crash every file is the old one or the new one, never half of it. `result.json` comes first and lists all
//! files; what can be drawn again comes last. Files of an earlier result that the new one does not have are removed.
//! `directory` says which files those are; all others stay as they are.

use crate::directory::{Directory, PAGE, RESULT, SAMPLES, figure_file};
use crate::{PageInput, Report, ReportError, Samples, page, svg};
use flashlane_files::WholeFile;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The field of `result.json` that lists the files of the result.
pub(crate) const FILES: &str = "files";

/// Checks that a result may be written to `dir`, which is there: that it is empty, a result's, or that of a stopped sweep
/// or benchmark, and takes files. `force` allows other directories, and files of a result's names to be replaced.
///
/// # Errors
/// [`ReportError::NotAResults`], [`ReportError::Foreign`] and [`ReportError::NotRegular`] with what is there,
/// [`ReportError::Write`] where no file can be made.
pub fn check_place(dir: &Path, force: bool) -> Result<(), ReportError> {
    Directory::open(dir, force)?.check()?;
    let path = dir.join(RESULT);
    // Nothing is left of a file that is only begun.
    match WholeFile::begin(&path) {
        Ok(_) => Ok(()),
        Err(source) => {
            Err(ReportError::Write { path, doing: "making the file", written: Vec::new(), source })
        }
    }
}

/// Writes everything that a result can be shown as into `dir`, which is made where it is missing, and says which
/// files those are. Files that an earlier result lists are replaced; with `force`, all of the same names.
///
/// # Errors
/// [`ReportError::Foreign`] and [`ReportError::NotRegular`] where another file stands in the way (see [`check_place`]),
/// and [`ReportError::Write`] where the directory or a file cannot be written; the files before it stay.
pub fn write_all(
    dir: &Path,
    force: bool,
    report: &Report,
    samples: Option<&Samples>,
) -> Result<Vec<PathBuf>, ReportError> {
    let mut files = Files::begin(dir, force)?;
    let (mut taken, mut names) = (BTreeSet::new(), vec![RESULT.to_owned(), PAGE.to_owned()]);
    names.extend(samples.map(|_| SAMPLES.to_owned()));
    // Before the first file is there.
    names.iter().try_for_each(|name| files.directory.check_name(name).map(drop))?;
    let is_free = |name: &str| files.directory.check_name(name).is_ok();
    let figures: Vec<_> = report
        .document
        .figures
        .iter()
        .map(|figure| (figure_file(&figure.id, &mut taken, is_free), figure))
        .collect();
    names.extend(figures.iter().map(|(name, _)| name.clone()));
    let stale = files.directory.stale(&names);

    // Wherever this ends, no file of ours is on no list.
    files.put_result(report.json(), names.iter().chain(&stale))?;
    if let Some(samples) = samples {
        files.put(SAMPLES, |out| samples.write(out))?;
    }
    for (name, figure) in figures {
        files.put(&name, |out| out.write_all(svg(figure).as_bytes()))?;
    }
    files.put(PAGE, |out| out.write_all(page(&[PageInput { report, samples }]).as_bytes()))?;
    if !stale.is_empty() {
        for name in stale {
            // Where it stays, it stays: it is on no list any more.
            let _ = fs::remove_file(files.directory.path(&name));
        }
        files.written.remove(0);
        files.put_result(report.json(), names.iter())?;
        files.written.rotate_right(1);
    }
    Ok(files.written)
}

/// Writes one page that shows `results` side by side, as `report.html` in `dir`, which is made where it is missing,
/// and says where that is.
///
/// # Errors
/// As [`write_all`].
pub fn write_page(dir: &Path, force: bool, results: &[PageInput<'_>]) -> Result<PathBuf, ReportError> {
    let mut files = Files::begin(dir, force)?;
    files.put(PAGE, |out| out.write_all(page(results).as_bytes()))?;
    Ok(dir.join(PAGE))
}

/// The files written so far.
struct Files<'a> {
    directory: Directory<'a>,
    written: Vec<PathBuf>,
}

impl<'a> Files<'a> {
    /// In a directory that is there from now on.
    fn begin(dir: &'a Path, force: bool) -> Result<Self, ReportError> {
        fs::create_dir_all(dir).map_err(|source| ReportError::Write {
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
        self.directory.owns(RESULT);
        Ok(())
    }

    fn put(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<WholeFile>) -> io::Result<()>,
    ) -> Result<(), ReportError> {
        let (path, replaces) = (self.directory.path(name), self.directory.check_name(name)?);
        let mut doing = "making the file";
        let outcome = WholeFile::begin(&path).and_then(|whole| {
            doing = "writing";
            let mut out = BufWriter::new(whole);
            write(&mut out)?;
            let whole = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            doing = "putting the file in its place";
            // One that came meanwhile is somebody's.
            if replaces { whole.replace() } else { whole.create_new() }
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
