//! From a result to what people see: terminal, CSV, SVG, one self-contained page.
//!
//! A result is JSON (`flashlane.probe/1`, `flashlane.run/1`, `flashlane.study/1` …) and complete: nothing is run
//! here. [`Report::read`] reads it once into the types of `flashlane_result` and makes one document of it (`kinds`);
//! each way of showing draws any document.

mod csv;
mod directory;
mod document;
mod format;
mod kinds;
mod page;
mod sample_runs;
mod samples;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use csv::csv_line;
pub use samples::{Samples, Values};
pub use svg::{svg, svg_of_width};
pub use write::{check_place, write_all, write_page};

use document::Document;
use flashlane_result::ReadError;
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
    /// A field of the result is missing, or something else than its schema says.
    #[error(transparent)]
    Field(#[from] ReadError),
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

/// A result that can be shown.
#[derive(Clone, Debug)]
pub struct Report {
    json: Value,
    document: Document,
}

impl Report {
    /// Reads a result.
    ///
    /// # Errors
    /// [`ReportError::Schema`] where it is of no kind that can be shown, with those that can; [`ReportError::Field`] with
    /// the first field that is not as its schema says.
    pub fn read(json: Value) -> Result<Self, ReportError> {
        Ok(Self { document: kinds::read(&json)?, json })
    }

    /// The result as it was given.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// The result as plain text for a terminal of `width` cells. Never coloured.
    pub fn text(&self, width: usize) -> String {
        text::render(&self.document, width)
    }

    /// The result's main table as CSV: findings, latency statistics, rows of a study.
    pub fn csv(&self) -> String {
        csv::render(&self.document)
    }
}

/// A result to be shown on a page.
#[derive(Clone, Copy, Debug)]
pub struct PageInput<'a> {
    /// The result.
    pub report: &'a Report,
    /// Its single requests, which the page can then explore.
    pub samples: Option<&'a Samples>,
}

/// One or several results as one HTML page that needs nothing else, not even a network.
pub fn page(results: &[PageInput<'_>]) -> String {
    page::render(&results.iter().map(section).collect::<Vec<_>>())
}

fn section<'a>(shown: &PageInput<'a>) -> page::Section<'a> {
    let document = &shown.report.document;
    page::Section { document, samples: shown.samples.and_then(|samples| document.requests.of(samples)) }
}
