//! The content of a result, independent of the output format.
//!
//! A kind of result is converted to a [`Document`] once; terminal, CSV and page are rendered from that, so that a
//! number is formatted in one place.

use crate::Samples;
use crate::diagram::{self, DriveDiagram};
use crate::sample_runs::{Run, SampleRuns};
use crate::svg::svg;
use flashlane_result::{Figure, Warning};

/// A result in words, tables and figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// Name of the kind: `Probe`.
    pub kind: &'static str,
    /// Problems of the data checked, and what to do about them; shown first.
    pub verdict: String,
    /// The subject: device or paper.
    pub title: String,
    /// One line about the method.
    pub subtitle: String,
    /// A warning that concerns all numbers, if any.
    pub caution: String,
    /// The main recommendation, in one line.
    pub headline: String,
    /// Further recommendations, each with its evidence.
    pub advice: Vec<Advice>,
    /// The result in a sentence, if possible.
    pub summary: String,
    /// What was found inside a drive.
    pub diagram: Option<DriveDiagram>,
    /// The main numbers.
    pub facts: Vec<Fact>,
    /// The tables; the first is the main one.
    pub tables: Vec<Table>,
    /// The plots.
    pub figures: Vec<Figure>,
    /// Ids of the figures that a page shows above the numbers.
    pub leading: Vec<String>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the result is incomplete, if it is.
    pub partial: Option<String>,
    /// Structure of the samples, if a page can explore them.
    pub sample_structure: SampleStructure,
}

impl Document {
    /// Returns the id of each drawing that has a file of its own, with the content of the file.
    pub fn drawings(&self) -> impl Iterator<Item = (&str, String)> {
        let diagram = self.diagram.iter().map(|diagram| ("portrait", diagram::drawing::svg(diagram)));
        diagram.chain(self.figures.iter().map(|figure| (figure.id.as_str(), svg(figure))))
    }
}

/// Structure of the samples of a result.
#[derive(Clone, Debug, Default)]
pub(crate) enum SampleStructure {
    /// No samples, or none that a page explores.
    #[default]
    Other,
    /// Requests over time, by operation.
    OverTime,
    /// Requests by their run.
    ByRun {
        /// Titles of the parts of a run's name.
        levels: [&'static str; 4],
        /// The runs, without their requests.
        runs: Vec<Run>,
    },
}

impl SampleStructure {
    /// Takes the requests from `samples`; `None` where these have another structure.
    pub fn of(&self, samples: &Samples) -> Option<SampleRuns> {
        let column = |name| samples.u64(name);
        match self {
            Self::Other => None,
            Self::OverTime => {
                SampleRuns::over_time(column("submitted_ns")?, column("latency_ns")?, column("operation")?)
            }
            Self::ByRun { levels, runs } => {
                let mut runs = runs.clone();
                for (&run, &latency_ns) in column("run")?.iter().zip(column("latency_ns")?) {
                    runs.get_mut(usize::try_from(run).ok()?)?.latency_ns.push(latency_ns);
                }
                runs.retain(|run| !run.latency_ns.is_empty());
                let levels = levels.map(str::to_owned).to_vec();
                (!runs.is_empty()).then(|| SampleRuns {
                    levels,
                    counted: "I/O",
                    kinds: vec!["I/Os"],
                    runs,
                    is_timed: false,
                })
            }
        }
    }
}

/// A recommendation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice {
    pub text: String,
    /// Measurements that support it.
    pub evidence: String,
    /// Commands that measure it again, or that apply it.
    pub commands: Vec<String>,
}

/// A main number.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub label: String,
    pub value: Cell,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// The CSV name of the rows' notes; notes are dropped from CSV where it is empty.
    pub note_key: &'static str,
    /// Ids of figures shown beside it on a page; `fig3` includes ids that begin with `fig3-`.
    pub figures: Vec<String>,
    /// Shown on pages only.
    pub is_for_page: bool,
    pub comparable: Comparable,
}

/// How a table is compared with that of another result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Comparable {
    /// Not at all.
    #[default]
    No,
    /// Its rows are joined with those of the other.
    Rows,
    /// Value by value; `labels` cells of a row name it, from cell `first` on.
    Values { first: usize, labels: usize },
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// As people read it.
    pub title: String,
    /// As programs read it: the CSV header.
    pub key: String,
    /// Right-aligned, for numbers.
    pub right: bool,
    /// For the first column: values are headings over the rows that share them, except in CSV.
    pub grouped: bool,
    /// Omitted on a terminal where the table would be too wide.
    pub is_detail: bool,
    /// Whether it is omitted where the others do not fit without details.
    pub is_minor: bool,
}

/// A row, with an optional note below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub cells: Vec<Cell>,
    pub note: String,
    /// Ids of the figures that support it; a page links to them.
    pub figures: Vec<String>,
}

/// One value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// As people read it.
    pub text: String,
    /// For programs, where that differs.
    pub exact: Option<String>,
    pub tone: Tone,
}

/// Judgement of a value. The text conveys it too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    Muted,
}

impl Fact {
    pub fn new(label: &str, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: Cell::text(value) }
    }

    /// Returns a fact with a value that has another form for programs.
    pub fn exact(label: &str, value: impl Into<String>, exact: impl Into<String>) -> Self {
        Self { label: label.into(), value: Cell::exact(value, exact) }
    }

    pub fn tone(self, tone: Tone) -> Self {
        Self { value: self.value.tone(tone), ..self }
    }
}

impl Column {
    pub fn left(title: &str, key: &str) -> Self {
        Self {
            title: title.into(),
            key: key.into(),
            right: false,
            grouped: false,
            is_detail: false,
            is_minor: false,
        }
    }

    pub fn right(title: &str, key: &str) -> Self {
        Self { right: true, ..Self::left(title, key) }
    }

    pub fn grouped(title: &str, key: &str) -> Self {
        Self { grouped: true, ..Self::left(title, key) }
    }
}

impl Row {
    pub fn new(cells: Vec<Cell>) -> Self {
        Self { cells, ..Self::default() }
    }
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn exact(text: impl Into<String>, exact: impl Into<String>) -> Self {
        Self { text: text.into(), exact: Some(exact.into()), tone: Tone::Plain }
    }

    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }

    pub fn for_programs(&self) -> &str {
        self.exact.as_deref().unwrap_or(&self.text)
    }
}

impl Table {
    /// Adds figures beside the table.
    pub fn beside<S: Into<String>>(self, figures: impl IntoIterator<Item = S>) -> Self {
        Self { figures: figures.into_iter().map(Into::into).collect(), ..self }
    }

    /// Returns whether a figure is shown beside the table.
    pub fn claims(&self, figure: &str) -> bool {
        self.figures.iter().any(|claim| belongs(figure, claim))
    }

    /// Returns whether the first column names groups of rows.
    pub fn grouped(&self) -> bool {
        self.columns.first().is_some_and(|column| column.grouped)
    }

    /// Returns the name of the group that begins with row `row`, if one does.
    pub fn group_begun(&self, row: usize) -> Option<&str> {
        let name = |row: usize| self.rows[row].cells[0].text.as_str();
        (self.grouped() && (row == 0 || name(row) != name(row - 1))).then(|| name(row))
    }
}

/// Returns whether a figure has this id or a variant of it: `fig3-2jobs` of `fig3`.
pub(crate) fn belongs(figure: &str, claim: &str) -> bool {
    figure.strip_prefix(claim).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
