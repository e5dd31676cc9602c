//! A fit as a result.

use crate::fit::{Constant, Fit, OPEN};
use crate::measurement::{Measurement, Quantity};
use crate::start::Start;
use flashlane_base::Operation;
use flashlane_result::Warning;
use flashlane_result::calibration::{
    CALIBRATION_SCHEMA, CalibrationResult, ConstantRow, CountRow, PredictionRow,
};
use flashlane_workload::Job;

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
    warnings.extend(about_constants(&fit.constants, rows, flash.page.0));
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

/// Error of the predictions of what was fitted, of one or in the mean, above which the twin is not one of what was
/// measured.
const FITTED_ERROR_MAX: f64 = 0.2;

/// Warns where the twin does not have what it was fitted to, in the mean or one measurement of it, with the measurement
/// that it misses most.
fn about_fitted(predictions: &[PredictionRow]) -> Option<Warning> {
    let fitted: Vec<&PredictionRow> = predictions.iter().filter(|row| !row.kept_back).collect();
    let error = |row: &&PredictionRow| row.error_share.abs();
    let mean = fitted.iter().map(error).sum::<f64>() / fitted.len().max(1) as f64;
    let missed: Vec<&PredictionRow> =
        fitted.iter().copied().filter(|row| error(row) > FITTED_ERROR_MAX).collect();
    let factor = |row: &PredictionRow| (row.predicted / row.measured).ln().abs();
    let worst = missed.iter().max_by(|one, other| factor(one).total_cmp(&factor(other)))?;
    let PredictionRow { place, quantity, workload, .. } = worst;
    let what = match mean > FITTED_ERROR_MAX {
        true => format!(
            "the twin misses what it was fitted to by {:.0}% in the mean, so that it is none of what was measured; most by",
            mean * 100.0
        ),
        false => format!(
            "the twin misses {} of the {} measurements that it was fitted to by more than {:.0}%; most by",
            missed.len(),
            fitted.len(),
            FITTED_ERROR_MAX * 100.0
        ),
    };
    let message = format!(
        "{what} {place}, {quantity} of {workload}, of which it predicts {:.2} times what was measured. Check the measurements \
         and their units, or start from a profile that is more like the drive",
        worst.predicted / worst.measured
    );
    Some(Warning::new("fit-misses-measurements", message))
}

/// Warns where no constant follows from the measurements, with what would be missing for that. `page_bytes` is the
/// flash page of the start.
fn about_constants(constants: &[Constant], rows: &[Measurement], page_bytes: u64) -> Option<Warning> {
    let is_fixed = |constant: &Constant| constant.error.is_some_and(|error| error < OPEN);
    let unused = constants.iter().filter(|constant| constant.error.is_none()).count();
    (!constants.iter().any(is_fixed)).then(|| {
        let advice = match &missing(rows, page_bytes)[..] {
            [] => "More measurements are needed, of other sizes and with other numbers of requests in flight, or a start that \
                   is more like the drive"
                .to_owned(),
            [all @ .., last] if !all.is_empty() => format!("Missing are {} and {last}", all.join(", ")),
            all => format!("Missing are {}", all.concat()),
        };
        let message = format!(
            "no constant follows from the measurements: they leave {} open, and {unused} have no effect on them. {advice}",
            constants.len() - unused
        );
        Warning::new("nothing-follows", message)
    })
}

/// Requests in flight from which they are many.
const MANY_IN_FLIGHT: u32 = 8;
/// Bytes from which a request is large.
const LARGE_BYTES: u64 = 64 << 10;

/// Names the kinds of measurements that tell constants apart and are not among `rows`.
fn missing(rows: &[Measurement], page_bytes: u64) -> Vec<&'static str> {
    let has = |of: &dyn Fn(&Job) -> bool, quantities: &dyn Fn(Quantity) -> bool| {
        rows.iter().any(|row| quantities(row.quantity) && row.workload.jobs.iter().any(of))
    };
    // With one request in flight a mean and a rate are one number.
    let any = |_| true;
    let throughput = |quantity| matches!(quantity, Quantity::Rate | Quantity::Bandwidth);
    let alone = |job: &Job| job.depth == 1 && job.size_bytes <= page_bytes;
    [
        ("means of reads of a page at depth 1", has(&|job| alone(job) && job.mix.reads > 0.0, &any)),
        (
            "means of writes of a page at depth 1",
            has(&|job| alone(job) && job.mix.reads < 1.0 && job.mix.others == Operation::Write, &any),
        ),
        ("rates with many requests in flight", has(&|job| job.depth >= MANY_IN_FLIGHT, &throughput)),
        ("bandwidths of large requests", has(&|job| job.size_bytes >= LARGE_BYTES, &throughput)),
    ]
    .into_iter()
    .filter_map(|(name, is_there)| (!is_there).then_some(name))
    .collect()
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
