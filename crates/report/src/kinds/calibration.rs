//! `flashlane.calibration/1`: a simulated drive fitted to measurements.

use super::{Content, Reportable};
use crate::document::{Cell, Column, Document, Fact, Row, Table, Tone};
use crate::format::{number, percent, time_ns};
use flashlane_base::units::format_rate;
use flashlane_result::calibration::{CalibrationResult, ConstantRow, CountRow, PredictionRow};

impl Reportable for CalibrationResult {
    fn content(&self) -> Content {
        Content(of(self))
    }
}

fn of(result: &CalibrationResult) -> Document {
    let fact = |label: &str, kept_back: bool| {
        let errors: Vec<f64> = result
            .predictions
            .iter()
            .filter(|row| row.kept_back == kept_back)
            .map(|row| row.error_share.abs())
            .collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        (!errors.is_empty()).then(|| {
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            Fact::new(label, format!("{} on average, {} at most", percent(mean), percent(largest)))
        })
    };
    let facts = [
        fact("Error of the measurements fitted", false),
        fact("Error of those kept back", true),
        Some(Fact::new("Profiles tried", number(result.tried as f64))),
    ];
    Document {
        kind: "Calibration",
        title: result.measurements.clone(),
        subtitle: format!("A twin fitted from {}", result.start),
        facts: facts.into_iter().flatten().collect(),
        tables: vec![predictions(&result.predictions), constants(&result.constants), counts(&result.counts)],
        ..Document::default()
    }
}

fn predictions(rows: &[PredictionRow]) -> Table {
    let value = |unit: &str, value: f64| {
        let text = match unit {
            "ns" => time_ns(value),
            "bytes_per_s" => format_rate(value),
            _ => format!("{}/s", number(value)),
        };
        Cell::exact(text, value.to_string())
    };
    let row = |row: &PredictionRow| {
        let sign = if row.error_share < 0.0 { "-" } else { "+" };
        let far = if row.error_share.abs() > 0.2 { Tone::Bad } else { Tone::Plain };
        Row::new(vec![
            Cell::text(&*row.workload),
            Cell::text(&*row.quantity),
            value(&row.unit, row.measured),
            value(&row.unit, row.predicted),
            Cell::exact(format!("{sign}{}", percent(row.error_share.abs())), row.error_share.to_string())
                .tone(far),
            Cell::exact(if row.kept_back { "yes" } else { "" }, row.kept_back.to_string()),
        ])
    };
    Table {
        title: "Measured and predicted".into(),
        columns: vec![
            Column::left("Workload", "workload"),
            Column::left("Quantity", "quantity"),
            Column::right("Measured", "measured"),
            Column::right("Predicted", "predicted"),
            Column::right("Error", "error_share"),
            Column::left("Kept back", "kept_back"),
        ],
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}

fn constants(rows: &[ConstantRow]) -> Table {
    let row = |row: &ConstantRow| {
        let error = row.standard_error_share.map(|error| format!("±{}", percent(error)));
        let tone = if row.standing == "fixed" { Tone::Plain } else { Tone::Muted };
        Row {
            note: row.fixed_by.first().map(|by| format!("most by {by}")).unwrap_or_default(),
            ..Row::new(vec![
                Cell::text(&*row.field),
                Cell::text(&*row.from),
                Cell::text(&*row.to),
                Cell::text(error.unwrap_or_else(|| "–".into())),
                Cell::text(&*row.standing).tone(tone),
            ])
        }
    };
    Table {
        title: "Constants".into(),
        columns: vec![
            Column::left("Field", "field"),
            Column::right("Start", "from"),
            Column::right("Twin", "to"),
            Column::right("Standard error", "standard_error_share"),
            Column::left("Standing", "standing"),
        ],
        rows: rows.iter().map(row).collect(),
        note_key: "fixed_by",
        ..Table::default()
    }
}

fn counts(rows: &[CountRow]) -> Table {
    let row = |row: &CountRow| {
        Row::new(vec![Cell::text(&*row.field), Cell::text(&*row.from), Cell::text(&*row.to)])
    };
    Table {
        title: "Counts and switches".into(),
        columns: vec![
            Column::left("Field", "field"),
            Column::right("Start", "from"),
            Column::right("Twin", "to"),
        ],
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}
