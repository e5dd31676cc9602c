//! `flashlane.score/1`: accuracy of the probe on drives of known structure.

use super::{Content, Reportable, cell};
use crate::document::{Cell, Column, Document, Row, Table, Tone};
use crate::format::{percent, plain_value};
use flashlane_result::score::{Band, Failed, Mistake, Score, Tally, Wide};

impl Reportable for Score {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(score: &Score) -> Document {
    let mut tables = vec![feature_table(score)];
    if let Some(wide) = &score.wide {
        tables.extend([calibration_table(wide), cpu_table(wide)]);
        tables.extend((!wide.failed.is_empty()).then(|| failure_table(&wide.failed)));
    }
    tables.extend((!score.mistakes.is_empty()).then(|| mistake_table(&score.mistakes)));
    Document {
        kind: "Score",
        title: format!(
            "{} random {}",
            plain_value("drives", &score.drives.into()),
            match score {
                Score { today: true, .. } => "drives of today",
                Score { wide: Some(_), .. } => "wide drives",
                _ => "drives",
            }
        ),
        subtitle: "Findings of the probe about drives of known structure".into(),
        summary: match score.mistakes.len() {
            0 => "No wrong answer.".into(),
            1 => "One wrong answer.".into(),
            n => format!("{n} wrong answers."),
        },
        tables,
        ..Document::default()
    }
}

fn feature_table(score: &Score) -> Table {
    let row = |tally: &Tally| {
        let wrong = if tally.wrong == 0 { Tone::Plain } else { Tone::Bad };
        let share = tally.right as f64 / score.drives.max(1) as f64;
        Row::new(vec![
            Cell::exact(tally.feature.title(), tally.feature.name()),
            cell("right", tally.right),
            cell("wrong", tally.wrong).tone(wrong),
            cell("not_determined", tally.not_determined),
            cell("cannot_be_seen", tally.cannot_be_seen),
            Cell::exact(percent(share), share.to_string()),
        ])
    };
    Table {
        title: "Answers".into(),
        columns: vec![
            Column::left("Feature", "feature"),
            Column::right("Right", "right"),
            Column::right("Wrong", "wrong"),
            Column::right("Not determined", "not_determined"),
            Column::right("Of these cannot be seen", "cannot_be_seen"),
            Column::right("Share right", "right_share"),
        ],
        rows: score.features.iter().map(row).collect(),
        ..Table::default()
    }
}

/// Stated confidence against the share right.
fn calibration_table(wide: &Wide) -> Table {
    let row = |band: &Band| {
        let wrong = if band.wrong == 0 { Tone::Plain } else { Tone::Bad };
        let share = band.right as f64 / (band.right + band.wrong).max(1) as f64;
        Row::new(vec![
            Cell::exact(percent(band.from), band.from.to_string()),
            cell("right", band.right),
            cell("wrong", band.wrong).tone(wrong),
            Cell::exact(percent(share), share.to_string()),
        ])
    };
    Table {
        title: "Findings by stated confidence".into(),
        columns: vec![
            Column::right("Confidence from", "from"),
            Column::right("Right", "right"),
            Column::right("Wrong", "wrong"),
            Column::right("Share right", "right_share"),
        ],
        rows: wide.calibration.iter().filter(|band| band.right + band.wrong > 0).map(row).collect(),
        ..Table::default()
    }
}

fn cpu_table(wide: &Wide) -> Table {
    let time = |seconds: f64| Cell::exact(format!("{seconds:.2} s"), seconds.to_string());
    Table {
        title: "CPU time of a probe".into(),
        columns: vec![Column::right("Median", "median_s"), Column::right("p99", "p99_s")],
        rows: vec![Row::new(vec![time(wide.cpu.median_s), time(wide.cpu.p99_s)])],
        ..Table::default()
    }
}

fn failure_table(failed: &[Failed]) -> Table {
    let row = |failed: &Failed| Row::new(vec![cell("drive", failed.drive), Cell::text(&*failed.error)]);
    Table {
        title: "Probes that ended with an error".into(),
        columns: vec![Column::right("Drive", "drive"), Column::left("Error", "error")],
        rows: failed.iter().map(row).collect(),
        ..Table::default()
    }
}

fn mistake_table(mistakes: &[Mistake]) -> Table {
    let row = |mistake: &Mistake| Row {
        cells: vec![
            cell("drive", mistake.drive),
            Cell::exact(mistake.feature.title(), mistake.feature.name()),
            Cell::text(&*mistake.answer),
        ],
        note: mistake.truth.clone(),
        ..Row::default()
    };
    Table {
        title: "Wrong answers".into(),
        columns: vec![
            Column::right("Drive", "drive"),
            Column::left("Feature", "feature"),
            Column::left("Answer", "answer"),
        ],
        rows: mistakes.iter().map(row).collect(),
        note_key: "truth",
        ..Table::default()
    }
}
