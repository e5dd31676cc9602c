//! A fit as a result.

use crate::fit::{Constant, Fit, OPEN};
use crate::measurement::{Measurement, Quantity};
use crate::start::Start;
use flashlane_result::Warning;
use flashlane_result::calibration::{
    CALIBRATION_SCHEMA, CalibrationResult, ConstantRow, CountRow, PredictionRow,
};

/// Converts a fit; `measurements` is the name of their file.
pub fn result_of(measurements: &str, start: &Start, rows: &[Measurement], fit: &Fit) -> CalibrationResult {
    let flash = &start.config().flash;
    let count = |(field, to): &(String, String)| CountRow {
        field: field.clone(),
        from: match field.as_str() {
            "flash.channels" => flash.channels.to_string(),
            "flash.packages" => flash.packages.to_string(),
            "flash.planes" => flash.planes.to_string(),
            _ => flash.cache_mode.to_string(),
        },
        to: to.clone(),
    };
    let numbers = rows.iter().zip(&fit.predicted).zip(&fit.kept_back);
    let predictions = numbers.map(|((row, &predicted), &kept_back)| prediction(row, predicted, kept_back));
    let mut warnings = Vec::new();
    if !fit.kept_back.contains(&true) {
        let message = format!(
            "all {} measurements were fitted, so that nothing says how well others are predicted; measurements of more \
             workloads are needed to keep some back",
            rows.len()
        );
        warnings.push(Warning::new("nothing-kept-back", message));
    }
    CalibrationResult {
        schema: CALIBRATION_SCHEMA.into(),
        measurements: measurements.into(),
        start: start.name().into(),
        tried: fit.tried,
        counts: fit.counts.iter().map(count).collect(),
        constants: fit.constants.iter().map(constant).collect(),
        predictions: predictions.collect(),
        warnings,
        partial: None,
        figures: Vec::new(),
        machine: None,
    }
}

fn constant(constant: &Constant) -> ConstantRow {
    let standing = match constant.error {
        None => "unused",
        Some(error) if error < OPEN => "fixed",
        Some(_) => "open",
    };
    ConstantRow {
        field: constant.key.clone(),
        from: constant.start.clone(),
        to: constant.value.clone(),
        standard_error_share: constant.error,
        standing: standing.into(),
        fixed_by: constant.fixed_by.clone(),
    }
}

fn prediction(row: &Measurement, predicted: f64, kept_back: bool) -> PredictionRow {
    PredictionRow {
        place: row.place.clone(),
        workload: row.workload_name(),
        quantity: row.quantity.to_string(),
        unit: match row.quantity {
            Quantity::Mean | Quantity::Percentile(_) => "ns",
            Quantity::Rate => "requests_per_s",
            Quantity::Bandwidth => "bytes_per_s",
        }
        .into(),
        measured: row.value,
        predicted,
        error_share: predicted / row.value - 1.0,
        kept_back,
    }
}
