//! Writes a result to a directory: `result.json`, `samples.parquet`, an SVG per figure, `report.html`.
//!
//! After a crash every file is either the old or the new one. `result.json` gets its name first and states all files
//! with their checksums, and until the others are in their places also the files that they replace; files that can be
//! rendered again are last. Files of an earlier result that the new one does not have are removed. `directory` decides
//! which files those are; all others remain.

use crate::directory::{CHECKSUMS, Directory, PAGE, RESULT, SAMPLES, Stated, Sum, figure_file, sealed};
use crate::{PageInput, Report, ReportError, Samples, render_page};
use flashlane_files::{AtomicFile, Seen, remove_if};
use serde_json::{Value, json};
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

/// The files of a result that were written.
#[derive(Debug)]
pub struct Written {
    /// Their paths, `result.json` first and the page last.
    pub files: Vec<PathBuf>,
    /// The plots whose names were taken.
    pub renamed: Vec<Renamed>,
}

/// A plot that got another name, since a file that is not of an earlier result has its own.
#[derive(Debug)]
pub struct Renamed {
    /// The file that has the plot's name.
    pub taken: PathBuf,
    /// The file that the plot is in.
    pub plot: PathBuf,
}

/// Writes all files of a result into `dir`, which is created if missing. Unchanged files of an earlier result are
/// replaced; with `force`, all with the same names.
///
/// # Errors
/// [`ReportError::Foreign`], [`ReportError::OldResult`] and [`ReportError::NotRegular`] where another file has a
/// result's name (see [`check_place`]), and [`ReportError::Write`] where the directory or a file cannot be written;
/// files written before remain.
pub fn write_all(
    dir: &Path,
    force: bool,
    report: &Report,
    samples: Option<&Samples>,
) -> Result<Written, ReportError> {
    let mut files = Files::begin(dir, force)?;
    let mut names = vec![RESULT.to_owned(), PAGE.to_owned()];
    names.extend(samples.map(|_| SAMPLES.to_owned()));
    // All names are checked before the first file is written.
    names.iter().try_for_each(|name| files.directory.check_name(name).map(drop))?;
    let (drawings, renamed) = plots(&files.directory, report);
    names.extend(drawings.iter().map(|(name, _)| name.clone()));
    let stale = files.directory.stale(&names);
    let old: Vec<Stated> = files.directory.owned().collect();

    // Only the samples are not rendered in memory. Where they cannot be written, the result is still saved.
    let ready = samples.map(|samples| files.prepare(SAMPLES, |out| samples.write(out))).transpose();
    let ready = match ready {
        Ok(ready) => ready,
        Err(ReportError::Write { path, doing, source, .. }) => {
            files.put_result(report.json(), &[RESULT.to_owned()], &old)?;
            return Err(ReportError::Write { path, doing, written: files.written, source });
        }
        Err(error) => return Err(error),
    };
    let page = render_page(&[PageInput { report, samples }]);
    let of = |name: &str, sum| Stated { file: name.to_owned(), sum };
    let mut new: Vec<Stated> = ready.iter().map(|samples| of(SAMPLES, samples.sum)).collect();
    new.extend(drawings.iter().map(|(name, drawing)| of(name, Sum::of(drawing.as_bytes()))));
    new.push(of(PAGE, Sum::of(page.as_bytes())));

    // Even after an interruption each of our files is stated.
    let replaces_others = old.iter().any(|old| !new.contains(old));
    let both: Vec<Stated> = new.iter().chain(old.iter().filter(|old| !new.contains(old))).cloned().collect();
    let listed: Vec<String> = names.iter().chain(stale.iter().map(|(name, _)| name)).cloned().collect();
    files.put_result(report.json(), &listed, &both)?;
    ready.map(|samples| files.commit(samples)).transpose()?;
    for (name, drawing) in drawings {
        files.put(&name, |out| out.write_all(drawing.as_bytes()))?;
    }
    files.put(PAGE, |out| out.write_all(page.as_bytes()))?;
    if replaces_others {
        for (name, old) in stale {
            // A file that cannot be removed remains, and is no longer listed. So does one that came to its name
            // meanwhile.
            let _ = remove_if(&files.directory.path(&name), |part| old.is_at(part));
        }
        files.written.remove(0);
        files.put_result(report.json(), &names, &new)?;
        files.written.rotate_right(1);
    }
    Ok(Written { files: files.written, renamed })
}

/// Returns the plots of a report with their file names, and those that have another name than their own.
fn plots(directory: &Directory<'_>, report: &Report) -> (Vec<(String, String)>, Vec<Renamed>) {
    let mut taken = BTreeSet::new();
    let mut renamed = Vec::new();
    let is_free = |name: &str| directory.check_name(name).is_ok();
    let named = report.document.drawings().map(|(id, drawing)| {
        let own = figure_file(id, &mut taken.clone(), |_| true);
        let name = figure_file(id, &mut taken, is_free);
        if name != own {
            renamed.push(Renamed { taken: directory.path(&own), plot: directory.path(&name) });
        }
        (name, drawing)
    });
    (named.collect(), renamed)
}

/// Writes one page that compares `results`, as `report.html` in `dir`, which is created if missing, and returns its
/// path.
///
/// # Errors
/// As [`write_all`].
pub fn write_page(dir: &Path, force: bool, results: &[PageInput<'_>]) -> Result<PathBuf, ReportError> {
    let mut files = Files::begin(dir, force)?;
    files.put(PAGE, |out| out.write_all(sealed(render_page(results)).as_bytes()))?;
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

    /// Writes `result.json` with a list of the result's files, and their sums.
    fn put_result(&mut self, result: &Value, names: &[String], sums: &[Stated]) -> Result<(), ReportError> {
        let mut listed = result.clone();
        if let Some(fields) = listed.as_object_mut() {
            fields.insert(FILES.into(), json!(names));
            fields.insert(CHECKSUMS.into(), json!(sums));
        }
        self.put(RESULT, |out| {
            serde_json::to_writer_pretty(&mut *out, &listed)?;
            out.write_all(b"\n")
        })
    }

    fn put(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<Summed>) -> io::Result<()>,
    ) -> Result<(), ReportError> {
        let part = self.prepare(name, write)?;
        self.commit(part)
    }

    /// Writes a file under a temporary name.
    fn prepare(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<Summed>) -> io::Result<()>,
    ) -> Result<Part, ReportError> {
        let (path, replaces) = (self.directory.path(name), self.directory.check_name(name)?);
        let mut doing = "making the file";
        let outcome = AtomicFile::create(&path).and_then(|file| {
            doing = "writing";
            let mut out = BufWriter::new(Summed { file, sum: Sum::default() });
            write(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)
        });
        match outcome {
            Ok(Summed { file, sum }) => Ok(Part { name: name.to_owned(), file, replaces, sum }),
            Err(source) => Err(ReportError::Write { path, doing, written: self.written.clone(), source }),
        }
    }

    /// Puts a file in its place. A file that came there meanwhile is the user's.
    fn commit(&mut self, part: Part) -> Result<(), ReportError> {
        let path = self.directory.path(&part.name);
        let outcome = match part.replaces {
            Some(old) => part.file.commit_over(|part| old.is_at(part)),
            None => part.file.commit_new(),
        };
        if let Err(source) = outcome {
            let written = std::mem::take(&mut self.written);
            return Err(ReportError::Write { path, doing: "putting the file in its place", written, source });
        }
        self.directory.own(&part.name, part.sum);
        self.written.push(path);
        Ok(())
    }
}

/// A complete file under a temporary name.
struct Part {
    name: String,
    file: AtomicFile,
    /// The file that it may replace.
    replaces: Option<Seen>,
    sum: Sum,
}

/// A file that is summed while it is written.
struct Summed {
    file: AtomicFile,
    sum: Sum,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.file.write(bytes)?;
        self.sum.append(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
