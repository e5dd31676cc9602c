//! Output file and format of a trace, checked before anything is read or recorded: a typing error must not cost a
//! recording.

use crate::failure::{Failure, notify};
use crate::output;
use crate::progress::metered;
use anyhow::anyhow;
use flashlane_host::{check_place, is_same_file};
use flashlane_trace::{
    FORMATS, Format, Output, Record, Trace, WriteError, Writer, Written, is_standard_output, output_name,
};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Returns the format to write: `to`, or else the one of the ending of `out`. `raw` is allowed too, and is the format
/// of an unknown ending.
pub(in crate::command) fn format(
    out: &Path,
    to: Option<&str>,
    raw: Option<&'static Format>,
) -> Result<&'static Format, Failure> {
    let is_raw = |format: &Format| raw.is_some_and(|raw| raw.name == format.name);
    let can_be = |format: &&Format| format.is_written() || is_raw(format);
    let not_written = |format: &Format| Err(Failure::unusable(format.not_written()));
    if let Some(name) = to {
        let format = Format::named(name).map_err(Failure::unusable)?;
        return if can_be(&format) { Ok(format) } else { not_written(format) };
    }
    let called: Vec<_> = Format::of_ending(out).collect();
    let fitting: Vec<_> = called.iter().copied().filter(can_be).collect();
    match (&fitting[..], &called[..], raw) {
        ([format], ..) => Ok(format),
        ([], [], Some(raw)) => Ok(raw),
        ([], [format, ..], _) => not_written(format),
        _ => {
            let all: Vec<_> = FORMATS.iter().copied().filter(can_be).collect();
            let names = if fitting.is_empty() { all } else { fitting };
            Err(Failure::unusable(anyhow!(
                "the ending of '{}' does not say which format to write; add --to NAME, one of {}",
                out.display(),
                names.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
            )))
        }
    }
}

/// Refuses to write over a file that is read: the other format, or the excerpt, may hold less.
pub(in crate::command) fn check_not_input(out: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    if is_standard_output(out) || !inputs.iter().any(|input| is_same_file(input, out)) {
        return Ok(());
    }
    Err(Failure::unusable(anyhow!(
        "'{}' is the file that is read, and would lose what is not written: write to another one",
        out.display()
    )))
}

/// Creates the output file, or opens standard output.
pub(in crate::command) fn create(out: &Path, force: bool) -> Result<Output, Failure> {
    if !is_standard_output(out) {
        check_place(out).map_err(Failure::unusable)?;
    }
    Output::create(out, force).map_err(|error| match error {
        WriteError::Exists { .. } => Failure::unusable(anyhow!("{error}: --force overwrites it")),
        error => Failure::unusable(error),
    })
}

/// Writes all requests of the trace and commits the file, unless it would be empty. `what` is the activity that the
/// meter shows.
pub(in crate::command) fn write(
    trace: &mut Trace,
    what: String,
    place: impl Fn(Record) -> Record,
    mut writer: Writer<Output>,
    out: &Path,
) -> Result<Written, WriteError> {
    let failed = |source| WriteError::File { name: output_name(out), source };
    for record in metered(trace, what) {
        writer.push(&place(record)).map_err(failed)?;
    }
    let (file, written) = writer.finish().map_err(failed)?;
    if written.records > 0 {
        close(file, out)?;
    }
    Ok(written)
}

/// Commits the file, and says so where its name was taken meanwhile. Returns its path.
pub(in crate::command) fn close(file: Output, out: &Path) -> Result<PathBuf, WriteError> {
    let beside = file.close()?;
    if let Some(beside) = &beside {
        notify(&format!(
            "another file was created as '{}' meanwhile, and is kept: the trace is '{}'",
            out.display(),
            beside.display()
        ));
    }
    Ok(beside.unwrap_or_else(|| out.into()))
}

/// Maps a closed pipe (`| head`) to `None`, which is not an error.
pub(in crate::command) fn ignore_closed_pipe<T>(
    written: Result<T, WriteError>,
) -> Result<Option<T>, Failure> {
    match written {
        Err(error) if error.is_closed_pipe() => Ok(None),
        written => written.map(Some).map_err(Failure::failed),
    }
}

/// Lists the information lost in the conversion, each item after `separator`.
pub(in crate::command) fn losses(written: &Written, separator: &str) -> String {
    written.losses.iter().fold(String::new(), |mut text, (loss, requests)| {
        let _ = write!(text, "{separator}{requests} {loss}");
        text
    })
}

/// Returns the error if no request could be written.
pub(in crate::command) fn nothing_written(
    source: &str,
    format: &Format,
    written: &Written,
    out: &Path,
) -> Failure {
    Failure::failed(anyhow!(
        "no request of {source} can be written as {}{}; '{}' is not written",
        format.name,
        losses(written, "; "),
        output_name(out)
    ))
}

/// Reports the written trace, on standard error if the trace itself is on standard output.
pub(in crate::command) fn print_summary(out: &Path, text: &str) -> Result<(), Failure> {
    let text = format!("{}: {text}", output_name(out));
    if is_standard_output(out) {
        notify(&text);
        return Ok(());
    }
    output::print(&format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn format_follows_the_ending_and_defaults_to_raw() {
        let raw = Format::named("blktrace").unwrap();
        let named = |out: &str, to, raw| match format(Path::new(out), to, raw) {
            Ok(format) => format.name.to_owned(),
            Err(failure) => failure.reason(),
        };
        for (out, converted, recorded) in [
            ("x.msr", "msr", "msr"),
            ("x.MSR.GZ", "msr", "msr"),
            ("x.disksim.zstd", "disksim", "disksim"),
            ("x.iolog", "iolog3", "iolog3"),
            ("x.iolog3.gz", "iolog3", "iolog3"),
            ("x.iolog2", "not written as 'iolog2'", "not written as 'iolog2'"),
            ("x.blktrace.xz", "not written as 'blktrace'", "blktrace"),
            ("x.blkparse", "not written as 'blkparse'", "not written as 'blkparse'"),
            ("x.csv", "one of msr, alibaba, tencent", "one of msr, alibaba, tencent"),
            ("x", "one of disksim, msr, iolog3", "blktrace"),
            ("x.bin.gz", "one of disksim, msr, iolog3", "blktrace"),
            ("-", "one of disksim, msr, iolog3", "blktrace"),
        ] {
            let (convert, record) = (named(out, None, None), named(out, None, Some(raw)));
            assert!(convert.contains(converted), "{out}: {convert}");
            assert!(record.contains(recorded), "{out}: {record}");
            assert_eq!(named(out, Some("spc"), Some(raw)), "spc");
        }
    }

    #[test]
    fn only_a_closed_pipe_is_not_an_error() {
        let failed = |kind: io::ErrorKind| {
            ignore_closed_pipe::<()>(Err(WriteError::File { name: "-".into(), source: kind.into() }))
        };
        assert_eq!(failed(io::ErrorKind::BrokenPipe).unwrap(), None);
        assert!(failed(io::ErrorKind::StorageFull).is_err());
        assert_eq!(ignore_closed_pipe(Ok(1)).unwrap(), Some(1));
    }
}
