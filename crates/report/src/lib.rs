//! From a result to what people see: terminal, CSV, SVG, one self-contained page.
//!
//! A result is JSON (`flashlane.probe/1`, `flashlane.run/1`, `flashlane.study/1` …) and complete: nothing is run
//! here. Each kind of result becomes one document (`kinds`), and each way of showing draws any document.

mod csv;
mod directory;
mod document;
mod fields;
mod kinds;
mod page;
mod samples;
mod singles;
mod svg;
mod text;
mod wording;
mod write;

pub use flashlane_measure::figure::Figure;
pub use samples::{Samples, Values};
pub use svg::{svg, svg_of_width};
pub use write::{check_place, write_all, write_page};

use serde_json::Value;
use std::io;
use std::path::PathBuf;

/// Why a result could not be shown or kept.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The result is of no kind that is known here.
    #[error("the schema {given} is not known; known are {known}")]
    Schema {
        /// The schema as the result gives it, quoted; or that there is none.
        given: String,
        /// The schemas that can be shown.
        known: String,
    },
    /// A field of the result is something else than its schema says.
    #[error("its field {field} is {found}, where {expected} is expected")]
    Field {
        /// Its name, with its place in a list.
        field: String,
        /// Its value, as JSON; the beginning of a long one.
        found: String,
        /// What it has to be, with its article.
        expected: &'static str,
    },
    /// A column of samples does not fit.
    #[error("the sample column '{name}' is refused: {reason}")]
    Column {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Samples could not be read back.
    #[error("cannot read the samples '{}': {reason}", path.display())]
    Read {
        /// Their file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that belongs to no result has the name of a result's.
    #[error("'{}' is there already and belongs to no result of Flashlane: it is not overwritten", path.display())]
    Foreign {
        /// Which one.
        path: PathBuf,
    },
    /// A link, directory, pipe or device has the name of a result's file.
    #[error("'{}' is there already and not a regular file: links are not followed, and nothing is written to it", path.display())]
    NotRegular {
        /// Which one.
        path: PathBuf,
    },
    /// A directory holds other things than a result.
    #[error("'{}' holds '{found}', which is not part of a result of Flashlane", dir.display())]
    NotAResults {
        /// Which one.
        dir: PathBuf,
        /// The first such thing.
        found: String,
    },
    /// A file may be that of an earlier result, which does not list its files.
    #[error("'{}' is there already, beside a result that does not list its files: it is not overwritten", path.display())]
    OldResult {
        /// Which one.
        path: PathBuf,
    },
    /// A directory or file could not be written.
    #[error("{doing} failed for {}: {source}{}", path.display(), already(written))]
    Write {
        /// Which one.
        path: PathBuf,
        /// What was being done to it.
        doing: &'static str,
        /// The files of this result that were complete by then.
        written: Vec<PathBuf>,
        /// What the operating system said.
        source: io::Error,
    },
}

fn already(written: &[PathBuf]) -> String {
    if written.is_empty() {
        return "; nothing was written".into();
    }
    let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    format!("; already written: {}", names.join(", "))
}

/// Checks that a result is of a kind that can be shown, and that its fields have the structure of that kind.
///
/// # Errors
/// [`ReportError::Schema`] where it is not, with the kinds that can; [`ReportError::Field`] with the first such field.
pub fn check(result: &Value) -> Result<(), ReportError> {
    if kinds::find(result).is_some() {
        return fields::check(result);
    }
    let given = match &result["schema"] {
        Value::Null => "of the result is missing and".to_owned(),
        schema => schema.to_string(),
    };
    let known: Vec<&str> = kinds::KINDS.iter().map(|kind| kind.schema).collect();
    Err(ReportError::Schema { given, known: known.join(", ") })
}

/// The result as plain text for a terminal of `width` cells. Never coloured.
pub fn text(result: &Value, width: usize) -> String {
    text::render(&kinds::document(result), width)
}

/// The result's main table as CSV: findings, latency statistics, rows of a study.
pub fn csv(result: &Value) -> String {
    csv::render(&kinds::document(result))
}

/// A result to be shown on a page.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The result.
    pub result: &'a Value,
    /// Its single requests, which the page can then explore.
    pub samples: Option<&'a Samples>,
}

/// One or several results as one HTML page that needs nothing else, not even a network.
pub fn page(results: &[Shown<'_>]) -> String {
    let sheet = |shown: &Shown<'_>| page::Sheet {
        document: kinds::document(shown.result),
        singles: kinds::singles(shown.result, shown.samples),
    };
    page::render(&results.iter().map(sheet).collect::<Vec<_>>())
}
