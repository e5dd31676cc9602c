//! A result as files in a directory: `result.json`, `samples.parquet`, one SVG a figure, `report.html`.
//!
//! After a crash every file is the old one or the new one, never half of it. What cannot be replaced is written first,
//! what can be drawn again last. Files of other names are left alone.

use crate::{ReportError, Samples, Shown, kinds, page, svg};
use flashlane_base::WholeFile;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Sees to it that the files of a result can be made in `dir`, which is there, and take the place of no others: they may
/// go where there are none of their names, and where the directory holds a result or a page of results already.
///
/// # Errors
/// [`ReportError::Foreign`] with the first file that is neither, [`ReportError::Write`] where none can be made.
pub fn check_place(dir: &Path) -> Result<(), ReportError> {
    if !is_ours(dir)? {
        check_free(dir.join("samples.parquet"))?;
    }
    let path = dir.join("result.json");
    // Nothing is left of a file that is only begun.
    match WholeFile::begin(&path) {
        Ok(_) => Ok(()),
        Err(source) => {
            Err(ReportError::Write { path, doing: "making the file", written: Vec::new(), source })
        }
    }
}

/// Whether `dir` holds a result or a page of results.
fn is_ours(dir: &Path) -> Result<bool, ReportError> {
    let mut ours = false;
    for name in ["result.json", "report.html"] {
        let path = dir.join(name);
        let is_known = if name == "result.json" { is_result } else { is_page };
        match path.symlink_metadata() {
            Err(_) => {}
            // Opening a pipe would wait for somebody to write.
            Ok(_) if path.is_file() && File::open(&path).is_ok_and(is_known) => ours = true,
            Ok(_) => return Err(ReportError::Foreign { path }),
        }
    }
    Ok(ours)
}

fn is_result(file: File) -> bool {
    /// More than any result has.
    const BYTES: u64 = 1 << 30;
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Result<Head, _> = serde_json::from_reader(BufReader::new(file.take(BYTES)));
    head.is_ok_and(|head| head.schema.starts_with("flashlane."))
}

fn is_page(file: File) -> bool {
    /// More than the longest title.
    const BYTES: u64 = 1 << 16;
    let mut begin = Vec::new();
    let read = file.take(BYTES).read_to_end(&mut begin);
    read.is_ok() && String::from_utf8_lossy(&begin).contains(page::TITLE_END)
}

fn check_free(path: PathBuf) -> Result<(), ReportError> {
    if path.symlink_metadata().is_ok() { Err(ReportError::Foreign { path }) } else { Ok(()) }
}

/// Writes everything that a result can be shown as into `dir`, which is made where it is missing, and says which
/// files those are. Files of an earlier result with the same names are replaced.
///
/// # Errors
/// [`ReportError::Foreign`] where a file of another kind stands in the way (see [`check_place`]), and
/// [`ReportError::Write`] where the directory or a file cannot be written; the files before it stay.
pub fn write_all(dir: &Path, result: &Value, samples: Option<&Samples>) -> Result<Vec<PathBuf>, ReportError> {
    let mut taken = BTreeSet::new();
    let figures = kinds::document(result).figures;
    let figures: Vec<_> =
        figures.into_iter().map(|figure| (figure_file(&figure.id, &mut taken), figure)).collect();
    let mut files = Files::begin(dir)?;
    if !files.replaces {
        // Before the first of ours is there, by which the directory would be taken for ours the next time.
        check_free(dir.join("samples.parquet"))?;
        figures.iter().try_for_each(|(name, _)| check_free(dir.join(name)))?;
    }
    files.put("result.json", |out| {
        serde_json::to_writer_pretty(&mut *out, result)?;
        out.write_all(b"\n")
    })?;
    if let Some(samples) = samples {
        files.put("samples.parquet", |out| samples.write(out))?;
    }
    for (name, figure) in figures {
        files.put(&name, |out| out.write_all(svg(&figure).as_bytes()))?;
    }
    files.put("report.html", |out| out.write_all(page(&[Shown { result, samples }]).as_bytes()))?;
    Ok(files.written)
}

/// Writes one page that shows `results` side by side, as `report.html` in `dir`, which is made where it is missing,
/// and says where that is.
///
/// # Errors
/// As [`write_all`].
pub fn write_page(dir: &Path, results: &[Shown<'_>]) -> Result<PathBuf, ReportError> {
    let mut files = Files::begin(dir)?;
    files.put("report.html", |out| out.write_all(page(results).as_bytes()))?;
    Ok(dir.join("report.html"))
}

/// The files written so far.
struct Files<'a> {
    dir: &'a Path,
    /// Whether files of their names may be there, which are an earlier result's.
    replaces: bool,
    written: Vec<PathBuf>,
}

impl<'a> Files<'a> {
    /// In a directory that is there from now on.
    fn begin(dir: &'a Path) -> Result<Self, ReportError> {
        fs::create_dir_all(dir).map_err(|source| ReportError::Write {
            path: dir.to_owned(),
            doing: "making the directory",
            written: Vec::new(),
            source,
        })?;
        Ok(Self { dir, replaces: is_ours(dir)?, written: Vec::new() })
    }

    fn put(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<WholeFile>) -> io::Result<()>,
    ) -> Result<(), ReportError> {
        let (path, replaces) = (self.dir.join(name), self.replaces);
        if !replaces {
            check_free(path.clone())?;
        }
        let mut doing = "making the file";
        let outcome = WholeFile::begin(&path).and_then(|whole| {
            doing = "writing";
            let mut out = BufWriter::new(whole);
            write(&mut out)?;
            let whole = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            doing = "putting the file in its place";
            // One that came meanwhile is somebody's.
            if replaces { whole.put() } else { whole.put_new() }
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

/// A file name from a figure's id: nothing in it can leave the directory, hide the file, or meet another figure's.
fn figure_file(id: &str, taken: &mut BTreeSet<String>) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let stem: String = id.trim_start_matches('.').chars().map(safe).take(100).collect();
    let stem = if stem.is_empty() { "figure".to_owned() } else { stem };
    let candidates = std::iter::once(stem.clone()).chain((2..).map(|n| format!("{stem}-{n}")));
    // Some file systems do not tell upper case from lower.
    let free = candidates.into_iter().find(|name| taken.insert(name.to_lowercase()));
    format!("{}.svg", free.expect("there are more numbers than figures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_cannot_leave_the_directory_or_meet_another() {
        let mut taken = BTreeSet::new();
        let mut name = |id: &str| figure_file(id, &mut taken);
        assert_eq!(name("fig3-2jobs"), "fig3-2jobs.svg");
        assert_eq!(name("FIG3-2jobs"), "FIG3-2jobs-2.svg");
        assert_eq!(name("../../etc/passwd"), "-..-etc-passwd.svg");
        assert_eq!(name(""), "figure.svg");
        assert_eq!(name(""), "figure-2.svg");
        assert!(name(&"x".repeat(1000)).len() < 200);
    }

    #[test]
    fn an_earlier_result_is_replaced_and_a_file_of_somebody_else_is_not() {
        let result = serde_json::json!({ "schema": "flashlane.run/1", "device": "null" });
        for name in ["result.json", "report.html", "samples.parquet"] {
            let dir = tempfile::tempdir().unwrap();
            for _ in 0..2 {
                check_place(dir.path()).unwrap();
                write_all(dir.path(), &result, None).unwrap();
            }
            write_page(dir.path(), &[]).unwrap();
            fs::remove_file(dir.path().join("result.json")).unwrap();
            // A page alone is known, too.
            check_place(dir.path()).unwrap();
            fs::remove_file(dir.path().join("report.html")).unwrap();
            for precious in ["precious\n", "{\"precious\": \"flashlane.run/1\"}"] {
                fs::write(dir.path().join(name), precious).unwrap();
                let error = check_place(dir.path()).unwrap_err();
                assert!(matches!(&error, ReportError::Foreign { path } if path.ends_with(name)), "{error}");
                let samples = Samples::new().with_u64("latency_ns", vec![1]).unwrap();
                let error = write_all(dir.path(), &result, Some(&samples)).unwrap_err();
                assert!(error.to_string().contains(name), "{error}");
                assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), precious);
                assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was written");
            }
        }
    }

    #[test]
    fn a_directory_that_takes_no_files_is_refused_before_there_is_a_result() {
        let error = check_place(Path::new("/proc")).unwrap_err();
        assert!(
            matches!(&error, ReportError::Write { path, .. } if path.ends_with("result.json")),
            "{error}"
        );
        let dir = tempfile::tempdir().unwrap();
        check_place(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left of the trial");
    }

    #[test]
    fn a_file_that_comes_while_ours_is_written_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a");
        let mut files = Files { dir: dir.path(), replaces: false, written: Vec::new() };
        let error = files.put("a", |out| {
            fs::write(&place, "precious")?;
            out.write_all(b"new")
        });
        let ReportError::Write { source, .. } = error.unwrap_err() else { panic!("no error of writing") };
        assert_eq!(source.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&place).unwrap(), "precious");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_is_told_with_its_path_and_leaves_the_old_file_whole() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("b"), "old").unwrap();
        let mut files = Files { dir: dir.path(), replaces: true, written: Vec::new() };
        files.put("a", |out| out.write_all(b"new")).unwrap();
        let error = files
            .put("b", |out| {
                out.write_all(b"half")?;
                Err(io::ErrorKind::StorageFull.into())
            })
            .unwrap_err();
        let ReportError::Write { path, doing, written, source } = &error else { panic!("{error}") };
        assert_eq!((path, *doing), (&dir.path().join("b"), "writing"));
        assert_eq!(written, &[dir.path().join("a")]);
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(dir.path().join("b")).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no part is left behind");
        assert!(error.to_string().contains("already written"), "{error}");
    }
}
