//! What a result says, free of how it is shown.
//!
//! A kind of result is turned into a [`Document`] once; terminal, CSV and page are drawn from that, so that a
//! number is worded and rounded in one place.

use crate::Samples;
use crate::sample_runs::{Run, SampleRuns};
use flashlane_result::{Figure, Warning};

/// A result in words, tables and figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    /// What was done: `Probe`.
    pub kind: &'static str,
    /// Whether what was looked at is sound, and what to do where it is not; it comes before all else.
    pub verdict: String,
    /// What it was done to: the device, the paper.
    pub title: String,
    /// One line about how.
    pub subtitle: String,
    /// What has to be known before any number is read, where there is such a thing.
    pub caution: String,
    /// What to do, in one line; it comes before all else.
    pub headline: String,
    /// What to do, each with its evidence, below that line.
    pub advice: Vec<Advice>,
    /// The answer in a sentence, where there is one.
    pub summary: String,
    /// The few numbers to see first.
    pub facts: Vec<Fact>,
    /// The tables; the first is the main one.
    pub tables: Vec<Table>,
    /// The plots.
    pub figures: Vec<Figure>,
    /// The ids of those that a page shows first, above the numbers: where the picture is the answer.
    pub leading: Vec<String>,
    /// Doubts about the result.
    pub warnings: Vec<Warning>,
    /// Why the result is incomplete, where it is.
    pub partial: Option<String>,
    /// What its samples are, where a page can explore them.
    pub requests: Requests,
}

/// What the samples of a result are.
#[derive(Clone, Debug, Default)]
pub(crate) enum Requests {
    /// None, or nothing that a page explores.
    #[default]
    Other,
    /// Requests over time, by operation.
    OverTime,
    /// Requests by their run.
    ByRun {
        /// What the parts of a run's name are.
        levels: [&'static str; 4],
        /// The runs, without their requests.
        runs: Vec<Run>,
    },
}

impl Requests {
    /// The single requests among `samples`; none where they hold something else.
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

/// A sentence on what to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice {
    pub text: String,
    /// What it rests on.
    pub evidence: String,
    /// The command that measures it once more; may be empty.
    pub command: String,
}

/// A number to see first.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub label: String,
    pub value: String,
    pub tone: Tone,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// The CSV name of the rows' notes; notes are dropped from CSV where it is empty.
    pub note_key: &'static str,
    /// The figures that belong beside it on a page: those of this id, and those whose id goes on with `-`.
    pub figures: Vec<String>,
    /// A terminal goes without it: what it says is a plot there, or on the page.
    pub is_for_page: bool,
    /// Its rows stand for themselves: those of several results are one table where they are compared.
    pub is_comparable: bool,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// As people read it.
    pub title: String,
    /// As programs read it: the CSV header.
    pub key: String,
    /// Numbers stand to the right.
    pub right: bool,
    /// As the first column: its values are headings over the rows that share them, though not in CSV.
    pub grouped: bool,
    /// A terminal leaves it out where the table would be too wide.
    pub is_detail: bool,
}

/// A row, with a remark below it where there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub cells: Vec<Cell>,
    pub note: String,
    /// The ids of the figures that it rests on; a page links to them.
    pub figures: Vec<String>,
}

/// One value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// As people read it.
    pub text: String,
    /// As programs read it, where that differs.
    pub exact: Option<String>,
    pub tone: Tone,
}

/// What a value means for the reader. Never the only carrier of the meaning: the words say it too.
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
        Self { label: label.into(), value: value.into(), tone: Tone::Plain }
    }

    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl Column {
    pub fn left(title: &str, key: &str) -> Self {
        Self { title: title.into(), key: key.into(), right: false, grouped: false, is_detail: false }
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
    /// With these figures beside it.
    pub fn beside<S: Into<String>>(self, figures: impl IntoIterator<Item = S>) -> Self {
        Self { figures: figures.into_iter().map(Into::into).collect(), ..self }
    }

    /// Whether a figure stands beside it.
    pub fn claims(&self, figure: &str) -> bool {
        self.figures.iter().any(|claim| belongs(figure, claim))
    }

    /// Whether the first column names groups of rows.
    pub fn grouped(&self) -> bool {
        self.columns.first().is_some_and(|column| column.grouped)
    }

    /// The name of the group that begins with row `row`, if one does.
    pub fn group_begun(&self, row: usize) -> Option<&str> {
        let name = |row: usize| self.rows[row].cells[0].text.as_str();
        (self.grouped() && (row == 0 || name(row) != name(row - 1))).then(|| name(row))
    }
}

/// Whether a figure is the one of this id, or one of several of it: `fig3-2jobs` of `fig3`.
pub(crate) fn belongs(figure: &str, claim: &str) -> bool {
    figure.strip_prefix(claim).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
