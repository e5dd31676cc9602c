//! Papers, their figures, and the execution of a study.

use crate::lab::{Lab, Shared};
use crate::workers::{Task, Workers};
use crate::{FigureError, Options, REGISTRY, Row, STUDY_SCHEMA, StudyError, StudyResult};
use flashlane_measure::Interruption;
use flashlane_result::study::Table;
use flashlane_result::{Figure, Warning};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::PathBuf;

/// A paper.
pub struct Study {
    /// Short name: first author and year.
    pub paper: &'static str,
    /// Authors, title and venue.
    pub title: &'static str,
    /// The studied figures.
    pub figures: &'static [FigureStudy],
    /// Measurements that several figures use.
    pub shared: &'static [SharedMeasurement],
}

/// A measurement that several figures of a paper use.
pub struct SharedMeasurement {
    /// Its name, different from those of the figures.
    pub name: &'static str,
    /// The figures that use it.
    pub figures: &'static [&'static str],
    /// Its duration relative to the others and to a figure.
    pub(crate) weight: u32,
    pub(crate) measure: fn(&mut Lab<'_>) -> Result<Value, FigureError>,
}

/// A figure or table of a paper.
pub struct FigureStudy {
    /// Its name: `fig3`, `table2`.
    pub id: &'static str,
    /// The paper's claim, with its section.
    pub claim: &'static str,
    /// How long it takes, relative to the others: the weights of the parts that it begins. Where it begins none, its
    /// progress is unknown until it ends.
    pub(crate) weight: u32,
    pub(crate) measure: fn(&mut Lab<'_>) -> Result<Outcome, FigureError>,
}

/// The outcome of a figure; its rows and tables do not name the figure yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    #[serde(default)]
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) warnings: Vec<Warning>,
}

/// A study, and the use of its store.
#[derive(Debug)]
pub struct Studied {
    /// The study.
    pub result: StudyResult,
    /// Number of measurements taken from the store.
    pub reused: usize,
    /// Unusable files of the store, with reasons; their measurements were repeated.
    pub damaged: Vec<(PathBuf, String)>,
    /// The first error of storing a measurement.
    pub store_error: Option<io::Error>,
}

/// Studies `paper`: one of its figures, or all of them.
///
/// Where the caller's watch stops the study, it keeps its finished figures, and [`StudyResult::partial`] is set.
///
/// # Errors
/// [`StudyError`] where the paper or figure is unknown, with the known ones, or a figure could not be measured.
pub fn run(paper: &str, figure: Option<&str>, options: Options<'_>) -> Result<Studied, StudyError> {
    let study =
        REGISTRY.iter().find(|study| study.paper == paper).ok_or_else(|| StudyError::UnknownPaper {
            given: paper.into(),
            known: names(REGISTRY.iter().map(|study| study.paper)),
        })?;
    let figures = study.choose(figure)?;
    let shared: Vec<_> = study.shared_by(figures).map(SharedMeasurement::task).collect();
    let weight = shared.iter().map(|task| task.weight).sum::<u32>()
        + figures.iter().map(|figure| figure.weight).sum::<u32>();
    let workers = Workers::new(study.paper, options, weight);
    let failed = |figure| {
        move |source: FigureError| StudyError::Figure { paper: study.paper, figure, source: source.into() }
    };

    // Shared measurements come first; a figure without one, because the study was stopped, is left out.
    let mut found = Shared::new();
    let names: Vec<&str> = shared.iter().map(|task| task.name).collect();
    for (name, result) in names.into_iter().zip(workers.make(shared, &Shared::new())) {
        if let Some(result) = unless_stopped(result).map_err(failed(name))? {
            found.insert(name, result);
        }
    }
    let has_all = |figure: &FigureStudy| {
        study.shared.iter().all(|of| !of.figures.contains(&figure.id) || found.contains_key(of.name))
    };
    let tasks = figures.iter().filter(|figure| has_all(figure)).map(FigureStudy::task).collect::<Vec<_>>();
    let mut made = workers.make(tasks, &found).into_iter();

    let mut result = StudyResult {
        schema: STUDY_SCHEMA.into(),
        paper: paper.into(),
        rows: Vec::new(),
        tables: Vec::new(),
        figures: Vec::new(),
        warnings: Vec::new(),
        partial: None,
        machine: None,
    };
    for figure in figures {
        let outcome = match has_all(figure).then(|| made.next()).flatten() {
            Some(outcome) => unless_stopped(outcome).map_err(failed(figure.id))?,
            None => None,
        };
        let Some(outcome) = outcome else {
            result.partial.get_or_insert_with(|| format!("{} at {}", Interruption::Stopped, figure.id));
            continue;
        };
        result.rows.extend(outcome.rows.into_iter().map(|row| Row { figure: figure.id.into(), ..row }));
        let of_figure = |table| Table { figure: figure.id.into(), ..table };
        result.tables.extend(outcome.tables.into_iter().map(of_figure));
        result.figures.extend(outcome.figures);
        add_new(&mut result.warnings, outcome.warnings);
    }
    let stored = workers.into_report();
    Ok(Studied { result, reused: stored.reused, damaged: stored.damaged, store_error: stored.store_error })
}

/// Returns `None` for a stopped measurement; other errors fail the study.
fn unless_stopped<T>(measured: Result<T, FigureError>) -> Result<Option<T>, FigureError> {
    match measured {
        Ok(measured) => Ok(Some(measured)),
        Err(FigureError::Interrupted(Interruption::Stopped)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl FigureStudy {
    /// A figure that takes as long as most.
    pub(crate) const fn new(
        id: &'static str,
        claim: &'static str,
        measure: fn(&mut Lab<'_>) -> Result<Outcome, FigureError>,
    ) -> Self {
        Self { id, claim, weight: 1, measure }
    }

    pub(crate) const fn with_weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    fn task(&self) -> Task<Outcome> {
        Task { name: self.id, weight: self.weight, measure: self.measure }
    }
}

impl Study {
    /// Returns the shared measurements that these figures use.
    fn shared_by(&self, figures: &'static [FigureStudy]) -> impl Iterator<Item = &'static SharedMeasurement> {
        let uses = |of: &&SharedMeasurement| figures.iter().any(|figure| of.figures.contains(&figure.id));
        self.shared.iter().filter(uses)
    }

    fn choose(&self, figure: Option<&str>) -> Result<&'static [FigureStudy], StudyError> {
        let Some(given) = figure else { return Ok(self.figures) };
        let found = self.figures.iter().position(|figure| figure.id == given);
        found.map(|at| &self.figures[at..=at]).ok_or_else(|| StudyError::UnknownFigure {
            paper: self.paper,
            given: given.into(),
            known: names(self.figures.iter().map(|figure| figure.id)),
        })
    }
}

/// Adds warnings that are not there yet: several figures may lack the same trace.
fn add_new(all: &mut Vec<Warning>, of_figure: Vec<Warning>) {
    for warning in of_figure {
        if !all.contains(&warning) {
            all.push(warning);
        }
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_warnings_of_figures_are_merged() {
        let warning = |message: &str| Warning::new("trace-not-given", message);
        let mut all = Vec::new();
        add_new(&mut all, vec![warning("a"), warning("b")]);
        add_new(&mut all, vec![warning("b"), warning("c"), warning("a")]);
        assert_eq!(all, ["a", "b", "c"].map(warning));
    }
}
