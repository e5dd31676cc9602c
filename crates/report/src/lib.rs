//! Renders results for a terminal, as CSV, as SVG, and as one self-contained page.
//!
//! A result is complete. [`Report::of`] takes one of the types of `flashlane_result`, and [`Report::read`] the JSON of
//! one (`flashlane.probe/1`, `flashlane.run/1`, `flashlane.study/1` …), which it reads once into these types. Either is
//! converted to one document (`kinds`), which all output formats render.

mod comparison;
mod csv;
mod diagram;
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
pub use kinds::{Content, Reportable};
pub use samples::{Samples, Values};
pub use svg::{svg, svg_of_width};
pub use write::{Renamed, Written, check_place, write_all, write_page};

use document::Document;
use flashlane_result::ReadError;
use serde_json::Value;
use std::io;
use std::path::PathBuf;

/// Error of reading, rendering or writing a result.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The schema of the result is unknown.
    #[error("the schema {given} is not known; known are {known}")]
    Schema {
        /// The quoted schema of the result, or a note that it has none.
        given: String,
        /// The known schemas.
        known: String,
    },
    /// A field of the result is missing or contradicts the schema.
    #[error(transparent)]
    Field(#[from] ReadError),
    /// A column of samples is invalid.
    #[error("the sample column '{name}' is refused: {reason}")]
    Column {
        /// Name of the column.
        name: String,
        /// Why it is refused.
        reason: String,
    },
    /// Samples could not be read back.
    #[error("cannot read the samples '{}': {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why it cannot be read.
        reason: String,
    },
    /// A file that does not belong to a result, or was changed since, has the name of a result's file.
    #[error("'{}' exists and is not an unchanged file of a result of Flashlane: it is not overwritten", path.display())]
    Foreign {
        /// Which one.
        path: PathBuf,
    },
    /// A link, directory, pipe or device has the name of a result's file.
    #[error("'{}' exists and is not a regular file: links are not followed, and it is not overwritten", path.display())]
    NotRegular {
        /// Which one.
        path: PathBuf,
    },
    /// A directory holds other files than a result's.
    #[error("'{}' holds '{found}', which is not part of a result of Flashlane", dir.display())]
    NotAResults {
        /// Which one.
        dir: PathBuf,
        /// The first such file.
        found: String,
    },
    /// A file may belong to a result of an earlier version, which does not state checksums of its files.
    #[error(
        "'{}' exists beside a result of an earlier version, which states no checksums of its files: it is not \
         overwritten",
        path.display()
    )]
    OldResult {
        /// Which one.
        path: PathBuf,
    },
    /// A directory or file could not be written.
    #[error("{doing} failed for {}: {source}{}", path.display(), already(written))]
    Write {
        /// Which one.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// Files of this result that were complete before.
        written: Vec<PathBuf>,
        /// Error of the operating system.
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
    /// Reads the JSON of a result.
    ///
    /// # Errors
    /// [`ReportError::Schema`] where its schema is unknown; [`ReportError::Field`] with the first field that
    /// contradicts the schema.
    pub fn read(json: Value) -> Result<Self, ReportError> {
        Ok(Self { document: kinds::read(&json)?, json })
    }

    /// Returns the report of a result.
    pub fn of(result: &impl Reportable) -> Self {
        let json = serde_json::to_value(result).expect("all names of a result are text");
        Self { document: kinds::document(result), json }
    }

    /// Returns the result as JSON.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Renders plain text without colours for a terminal of `width` cells.
    pub fn text(&self, width: usize) -> String {
        text::render(&self.document, width)
    }

    /// Renders the result's main table as CSV: findings, latency statistics, rows of a study.
    pub fn csv(&self) -> String {
        csv::render(&self.document)
    }
}

/// Renders several results as plain text for a terminal of `width` cells: those of a kind side by side, then each that
/// is the only one of its kind.
pub fn text_of_several(results: &[&Report], width: usize) -> String {
    several(results, |document| text::render(document, width))
}

/// Renders several results as CSV, as [`text_of_several`] does: a table for each comparison, then the main tables of
/// the others, with empty lines between them.
pub fn csv_of_several(results: &[&Report]) -> String {
    several(results, csv::render)
}

fn several(results: &[&Report], render: impl Fn(&Document) -> String) -> String {
    let documents: Vec<&Document> = results.iter().map(|report| &report.document).collect();
    let (comparisons, alone) = comparison::by_kind(&documents);
    comparisons.iter().chain(alone).map(render).collect::<Vec<_>>().join("\n")
}

/// A result for a page.
#[derive(Clone, Copy, Debug)]
pub struct PageInput<'a> {
    /// The result.
    pub report: &'a Report,
    /// Its samples, if the page should show them.
    pub samples: Option<&'a Samples>,
}

/// Renders results as one self-contained HTML page that needs no network.
pub fn render_page(results: &[PageInput<'_>]) -> String {
    page::render(&results.iter().map(section).collect::<Vec<_>>())
}

fn section<'a>(shown: &PageInput<'a>) -> page::Section<'a> {
    let document = &shown.report.document;
    page::Section {
        document,
        samples: shown.samples.and_then(|samples| document.sample_structure.of(samples)),
    }
}
