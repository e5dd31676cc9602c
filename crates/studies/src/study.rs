//! Papers, their figures, and how one is studied.

use crate::lab::Lab;
use crate::{FigureError, Options, Progress, REGISTRY, Row, STUDY_SCHEMA, StudyError, StudyResult};
use flashlane_measure::Interruption;
use flashlane_measure::figure::Figure;
use flashlane_measure::schema::Warning;

/// A paper.
pub struct Study {
    /// Its name here: first author and year.
    pub paper: &'static str,
    /// Its authors, title and place.
    pub title: &'static str,
    /// What of it is studied.
    pub figures: &'static [FigureStudy],
}

/// A figure or table of a paper.
pub struct FigureStudy {
    /// Its name: `fig3`, `table2`.
    pub id: &'static str,
    /// What the paper says by it, and in which section.
    pub claim: &'static str,
    pub(crate) measure: fn(&mut Lab<'_>) -> Result<Outcome, FigureError>,
}

/// What came of a figure; its rows do not name it yet.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) warnings: Vec<Warning>,
}

/// Studies `paper`: one of its figures, or all of them.
///
/// Where the caller's watch breaks the study off, the figures done stand and [`StudyResult::partial`] says so.
///
/// # Errors
/// [`StudyError`] names what there is where paper or figure are unknown, and why a figure could not be measured.
pub fn run(paper: &str, figure: Option<&str>, options: Options<'_>) -> Result<StudyResult, StudyError> {
    let study =
        REGISTRY.iter().find(|study| study.paper == paper).ok_or_else(|| StudyError::UnknownPaper {
            given: paper.into(),
            known: names(REGISTRY.iter().map(|study| study.paper)),
        })?;
    let figures = study.choose(figure)?;
    let mut lab = Lab::new(options);
    let mut result = StudyResult {
        schema: STUDY_SCHEMA.into(),
        paper: paper.into(),
        rows: Vec::new(),
        figures: Vec::new(),
        warnings: Vec::new(),
        partial: None,
    };
    for (done, figure) in figures.iter().enumerate() {
        lab.begin(Progress { figure: figure.id, share: done as f64 / figures.len() as f64 });
        match (figure.measure)(&mut lab) {
            Ok(outcome) => {
                result
                    .rows
                    .extend(outcome.rows.into_iter().map(|row| Row { figure: figure.id.into(), ..row }));
                result.figures.extend(outcome.figures);
                add_new(&mut result.warnings, outcome.warnings);
            }
            Err(FigureError::Interrupted(Interruption::Stopped)) => {
                result.partial = Some(format!("{} at {}", Interruption::Stopped, figure.id));
                break;
            }
            Err(source) => {
                return Err(StudyError::Figure {
                    paper: study.paper,
                    figure: figure.id,
                    source: source.into(),
                });
            }
        }
    }
    Ok(result)
}

impl Study {
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

/// What several figures warn of, such as a trace that all of them lack, stands once.
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
    fn what_several_figures_warn_of_stands_once() {
        let warning = |message: &str| Warning { code: "trace-not-given".into(), message: message.into() };
        let mut all = Vec::new();
        add_new(&mut all, vec![warning("a"), warning("b")]);
        add_new(&mut all, vec![warning("b"), warning("c"), warning("a")]);
        assert_eq!(all, ["a", "b", "c"].map(warning));
    }
}
