//! `flashlane study PAPER[/FIGURE]`: reproduces tables and figures of a paper.

use crate::failure::{Failure, Status, notify};
use crate::options::{EffortOptions, Format, OutputOptions, at_least_one, seed};
use crate::output::{self, width};
use crate::progress::Meter;
use crate::sweep;
use anyhow::anyhow;
use flashlane_base::Seed;
use flashlane_report::csv_line;
use flashlane_studies::{Options, Progress, REGISTRY, Studied, Study, StudyError, StudyResult, Verdict};
use flashlane_sweep::Store;
use serde_json::{Value, json};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Reproduce a paper's tables and figures, with a verdict on each published number
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A paper or one of its figures, like chen11 or chen11/fig3; default: 'list', which lists all
    #[arg(value_name = "PAPER[/FIGURE]", default_value = LIST, hide_default_value = true)]
    study: String,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = seed)]
    seed: Seed,
    /// Directory of traces that a paper used and Flashlane does not include
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Measurements made in parallel, with the same results; default: the number of cores
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    effort: EffortOptions,
    #[command(flatten)]
    output: OutputOptions,
}

const LIST: &str = "list";

const EXAMPLES: &str = "\
Examples:
  flashlane study list
  flashlane study chen11
  flashlane study chen11/fig3 --out fig3
  flashlane study chen11 --quick --format json
  flashlane study disksim --traces ~/disksim-traces

All measurements run on simulated drives, at full length unless --quick is given. With
--out DIR each finished measurement is saved: the same command resumes an interrupted study.
The exit status is 1 if a published quantity is missed.";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    if arguments.study == LIST {
        output::print(&list(arguments.output.format))?;
        return Ok(Status::Done);
    }
    let (paper, figure) = match arguments.study.split_once('/') {
        Some((paper, figure)) => (paper, Some(figure)),
        None => (&*arguments.study, None),
    };
    if let Some(folder) = arguments.traces.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::unusable(anyhow!("--traces: there is no directory '{}'", folder.display())));
    }
    output::prepare(&arguments.output)?;
    let store = arguments.output.out.as_deref().map(sweep::store).transpose()?;
    let studied = measure(arguments, paper, figure, store.as_ref())?;
    for (file, reason) in &studied.damaged {
        notify(&format!(
            "cannot reuse '{}': {reason}; it was measured again, and can be saved once that file is removed",
            file.display()
        ));
    }
    if let Some(error) = &studied.store_error {
        notify(&format!("some measurements could not be saved for resuming: {error}"));
    }
    let study = studied.result;
    output::deliver(&arguments.output, &study, None)?;
    Ok(verdict(&study, arguments.effort.quick, arguments.output.out.as_deref()))
}

fn measure(
    arguments: &Arguments,
    paper: &str,
    figure: Option<&str>,
    store: Option<&Store>,
) -> Result<Studied, Failure> {
    let meter = Meter::new(format!("studying {paper}"));
    let watch = |progress: &Progress| {
        meter.say(format!("studying {paper}, {}", progress.figure));
        meter.watch(Some(progress.share))
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let program = if store.is_some() { sweep::program()? } else { String::new() };
    let options = Options {
        quick: arguments.effort.quick,
        seed: arguments.seed,
        traces: arguments.traces.as_deref(),
        jobs: arguments.jobs.map_or_else(cores, usize::from),
        store,
        program: &program,
        watch: Some(&watch),
    };
    flashlane_studies::run(paper, figure, options).map_err(|error| match error {
        StudyError::UnknownPaper { .. } | StudyError::UnknownFigure { .. } => Failure::unusable(error),
        StudyError::Figure { .. } => Failure::failed(error),
    })
}

/// Returns whether everything was reproduced, and reports what was not. Finished measurements are saved in `out`.
fn verdict(study: &StudyResult, is_quick: bool, out: Option<&Path>) -> Status {
    if let Some(reason) = &study.partial {
        let go_on = match out {
            Some(dir) => format!("the same command resumes with the measurements in {}", dir.display()),
            None => "nothing is saved for resuming: --out DIR saves each finished measurement".into(),
        };
        notify(&format!("{reason}; the result is partial; {go_on}"));
        return Status::Failed;
    }
    let missed = study.rows.iter().filter(|row| row.verdict == Verdict::Missed).count();
    if missed > 0 {
        let short = if is_quick { "; some may need the full length, without --quick" } else { "" };
        notify(&format!("{missed} of {} published quantities were missed{short}", study.rows.len()));
        return Status::Failed;
    }
    Status::Done
}

fn list(format: Format) -> String {
    let rows = || REGISTRY.iter().flat_map(|study| study.figures.iter().map(move |figure| (study, figure)));
    match format {
        Format::Text => REGISTRY.iter().map(paragraph).collect::<Vec<_>>().join("\n"),
        Format::Json => {
            let studies: Vec<Value> = REGISTRY.iter().map(fields).collect();
            output::json(&json!({ "schema": "flashlane.studies/1", "studies": studies }))
        }
        Format::Csv => rows().fold(csv_line(["paper", "figure", "claim"]), |text, (study, figure)| {
            text + &csv_line([study.paper, figure.id, figure.claim])
        }),
    }
}

fn fields(study: &Study) -> Value {
    let figures = study.figures.iter().map(|figure| json!({ "figure": figure.id, "claim": figure.claim }));
    json!({ "paper": study.paper, "title": study.title, "figures": figures.collect::<Vec<_>>() })
}

/// Formats a paper and its figures, one per line if the terminal is wide enough.
fn paragraph(study: &Study) -> String {
    let label = |figure: &str| format!("  {}/{figure}", study.paper);
    let indent = study.figures.iter().map(|figure| label(figure.id).len() + 1).max().unwrap_or(0).max(18);
    let mut text = String::new();
    wrapped(&mut text, &format!("{:<8}", study.paper), study.title, 8);
    for figure in study.figures {
        wrapped(&mut text, &format!("{:<indent$}", label(figure.id)), figure.claim, indent);
    }
    text
}

/// Appends `words` after `label`, wrapped at the width of the terminal.
fn wrapped(text: &mut String, label: &str, words: &str, indent: usize) {
    let mut line = label.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width() {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(indent);
            is_empty = true;
        }
        line += if is_empty { "" } else { " " };
        line += word;
        is_empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_studies::Row;

    fn study(verdict: Verdict, partial: Option<&str>) -> StudyResult {
        let row = Row {
            figure: "fig1".into(),
            quantity: "bandwidth".into(),
            published: 1.0.into(),
            measured: 1.0.into(),
            unit: String::new(),
            tolerance: "exact".into(),
            verdict,
        };
        StudyResult {
            schema: String::new(),
            paper: "paper".into(),
            rows: vec![row],
            tables: Vec::new(),
            figures: Vec::new(),
            warnings: Vec::new(),
            partial: partial.map(str::to_owned),
            machine: None,
        }
    }

    #[test]
    fn missed_verdicts_and_partial_studies_fail() {
        assert_eq!(verdict(&study(Verdict::Reproduced, None), false, None), Status::Done);
        assert_eq!(verdict(&study(Verdict::Missed, None), false, None), Status::Failed);
        assert_eq!(verdict(&study(Verdict::Reproduced, Some("stopped")), false, None), Status::Failed);
    }
}
