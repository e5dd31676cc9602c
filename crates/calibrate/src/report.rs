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
        let all = match rows.len() {
            1 => "the only measurement was".to_owned(),
            count => format!("all {count} measurements were"),
        };
        let message = format!(
            "{all} fitted, so that nothing says how well others are predicted; measurements of more workloads are needed \
             to keep some back"
        );
        warnings.push(Warning::new("nothing-kept-back", message));
    }
    let predictions: Vec<PredictionRow> = predictions.collect();
    warnings.extend(about_fitted(&predictions));
    warnings.extend(about_constants(&fit.constants));
    warnings.extend(about_kept_back(&predictions));
    CalibrationResult {
        schema: CALIBRATION_SCHEMA.into(),
        measurements: measurements.into(),
        start: start.name().into(),
        tried: fit.tried,
        counts: fit.counts.iter().map(count).collect(),
        constants: fit.constants.iter().map(constant).collect(),
        predictions,
        warnings,
        partial: None,
        figures: Vec::new(),
        machine: None,
    }
}

/// Error of the predictions of what was fitted, in the mean, above which the twin is not one of what was measured.
const FITTED_ERROR_MAX: f64 = 0.2;

/// Warns where the twin does not have what it was fitted to, with the measurement that it misses most.
fn about_fitted(predictions: &[PredictionRow]) -> Option<Warning> {
    let fitted: Vec<&PredictionRow> = predictions.iter().filter(|row| !row.kept_back).collect();
    let mean = fitted.iter().map(|row| row.error_share.abs()).sum::<f64>() / fitted.len().max(1) as f64;
    let factor = |row: &PredictionRow| (row.predicted / row.measured).ln().abs();
    let worst = fitted.into_iter().max_by(|one, other| factor(one).total_cmp(&factor(other)))?;
    (mean > FITTED_ERROR_MAX).then(|| {
        let PredictionRow { place, quantity, workload, .. } = worst;
        let message = format!(
            "the twin misses what it was fitted to by {:.0}% in the mean, so that it is none of what was measured; most by \
             {place}, {quantity} of {workload}, of which it predicts {:.2} times what was measured. Check the measurements and \
             their units, or start from a profile that is more like the drive",
            mean * 100.0,
            worst.predicted / worst.measured
        );
        Warning::new("fit-misses-measurements", message)
    })
}

/// Warns where no constant follows from the measurements, with what would be missing for that.
fn about_constants(constants: &[Constant]) -> Option<Warning> {
    let is_fixed = |constant: &Constant| constant.error.is_some_and(|error| error < OPEN);
    let unused = constants.iter().filter(|constant| constant.error.is_none()).count();
    (!constants.iter().any(is_fixed)).then(|| {
        let message = format!(
            "no constant follows from the measurements: they leave {} open, and {unused} have no effect on them. Missing are \
             means of reads and writes of a page at depth 1, rates with many requests in flight, and bandwidths of \
             large requests",
            constants.len() - unused
        );
        Warning::new("nothing-follows", message)
    })
}

/// Error of the predictions kept back, in the mean, above which the fit is doubted. Published simulators of SSDs are
/// off by up to 18% (MQSim; Tavakkol et al., FAST 2018).
const KEPT_BACK_ERROR_MAX: f64 = 0.2;

/// Warns where the fit predicts badly what it was not fitted to: its constants are then not those of the drive, however
/// certain their errors make them seem.
fn about_kept_back(predictions: &[PredictionRow]) -> Option<Warning> {
    let errors: Vec<f64> =
        predictions.iter().filter(|row| row.kept_back).map(|row| row.error_share.abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let most = errors.iter().copied().fold(0.0, f64::max);
    (mean > KEPT_BACK_ERROR_MAX).then(|| {
        let message = format!(
            "measurements that were kept back are predicted {:.0}% off in the mean, and up to {:.0}%: the constants are \
             not those of this drive, whatever their errors; start from a profile that is more like it, leave its \
             counts free, or measure more workloads",
            mean * 100.0,
            most * 100.0
        );
        Warning::new("fit-does-not-predict", message)
    })
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
