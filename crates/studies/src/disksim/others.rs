//! Other configurations of the drive, without published numbers: compared with a step-by-step model of that simulator,
//! which is first validated with the published means.

use super::model::{Parameters, SECTOR_BYTES, SPARE_BYTES, mean_response_ms};
use super::synthetics::{WORKLOADS, workload};
use super::traces::TRACES;
use crate::lab::Lab;
use crate::study::{FigureStudy, Outcome};
use crate::{FigureError, Row, row};
use flashlane_base::Operation::Write;
use flashlane_measure::ReplayOptions;
use flashlane_trace::Record;

pub(super) const FIGURE: FigureStudy = FigureStudy::new(
    "others",
    "Other packages, pages, blocks, times, reserves and ways to clean than the extension's own (ruan12, Section III.B), for which nothing is published: beside a plain model of it, whose means of what is published stand first; with --traces DIR under its traces, too",
    measure,
);

/// Tolerance of another configuration, as a share of the model's mean.
const NEAR: f64 = 0.1;
/// Tolerance of the model, as a share of the published mean.
const MODEL_NEAR: f64 = 0.005;

pub(super) const DRIVE: Parameters = Parameters {
    packages: 8,
    planes: 8,
    blocks: 2048,
    pages: 64,
    page_sectors: 8,
    reserve_percent: 15,
    low_percent: 5,
    read_us: 25.0,
    program_us: 200.0,
    erase_us: 1500.0,
    bus_mb_per_s: 40.0,
    copyback: true,
};

pub(super) const OTHERS: [(&str, Parameters); 16] = [
    ("256 blocks a plane", Parameters { blocks: 256, ..DRIVE }),
    ("256 blocks, copyback off", Parameters { blocks: 256, copyback: false, ..DRIVE }),
    ("4 packages", Parameters { packages: 4, ..DRIVE }),
    ("16 packages", Parameters { packages: 16, ..DRIVE }),
    ("4 planes", Parameters { planes: 4, ..DRIVE }),
    ("pages of 2 KB", Parameters { page_sectors: 4, ..DRIVE }),
    ("pages of 8 KB", Parameters { page_sectors: 16, ..DRIVE }),
    ("128 pages a block", Parameters { pages: 128, blocks: 1024, ..DRIVE }),
    ("reads of 60 us", Parameters { read_us: 60.0, ..DRIVE }),
    ("programs of 800 us", Parameters { program_us: 800.0, ..DRIVE }),
    ("erases of 5 ms", Parameters { erase_us: 5000.0, ..DRIVE }),
    ("buses of 160 MB/s", Parameters { bus_mb_per_s: 160.0, ..DRIVE }),
    ("reserve 8%", Parameters { reserve_percent: 8, ..DRIVE }),
    ("reserve 25%", Parameters { reserve_percent: 25, ..DRIVE }),
    ("cleaning below 10%", Parameters { low_percent: 10, ..DRIVE }),
    ("copyback off", Parameters { copyback: false, ..DRIVE }),
];

fn measure(lab: &mut Lab<'_>) -> Result<Outcome, FigureError> {
    let mut outcome = Outcome::default();
    let mut traces = Vec::new();
    for (file, program, published_ms) in TRACES {
        match lab.trace(file)? {
            Some(records) => traces.push((program, published_ms, records)),
            None => outcome.warnings.push(lab.no_trace(file)),
        }
    }
    // Long enough for cleaning, which makes the difference; for the first two also in a quick study.
    let random = |parameters: &Parameters, requests| {
        workload(Write, false, requests, parameters.page_sectors, 0).records()
    };
    let long = lab.either(2_500_000, 250_000);
    // The long random writes, or in a quick study the short ones.
    let [.., (short, .., few, short_ms), _, (name, .., many, long_ms)] = WORKLOADS;
    let (name, requests, published_ms) = lab.either((name, many, long_ms), (short, few, short_ms));
    let reckoned_ms = reckon(lab, DRIVE, random(&DRIVE, requests))?;
    let quantity = format!("the model: {name}");
    outcome.rows.push(row::near(&quantity, published_ms, reckoned_ms, "ms", MODEL_NEAR));
    for (program, published_ms, records) in &traces {
        let reckoned_ms = reckon(lab, DRIVE, records.iter().copied())?;
        outcome.rows.push(row::near(
            &format!("the model: {program} trace"),
            *published_ms,
            reckoned_ms,
            "ms",
            MODEL_NEAR,
        ));
    }
    let others = lab.either(&OTHERS[..], &OTHERS[..2]);
    for (name, parameters) in others {
        let quantity = format!("{name}: {long} random writes");
        outcome.rows.push(compare(lab, &quantity, parameters, || random(parameters, long))?);
        for (program, _, records) in &traces {
            let records = || records.iter().filter_map(|record| in_pages(record, parameters));
            outcome.rows.push(compare(lab, &format!("{name}: {program} trace"), parameters, records)?);
        }
    }
    Ok(outcome)
}

/// Requests of the model between two looks at whether the study is stopped.
const LOOK_EVERY: usize = 4096;

/// Returns the model's mean response time in ms, unless the study is stopped meanwhile.
fn reckon(
    lab: &mut Lab<'_>,
    parameters: Parameters,
    records: impl Iterator<Item = Record>,
) -> Result<f64, FigureError> {
    let records = records.enumerate().map_while(|(at, record)| {
        (!at.is_multiple_of(LOOK_EVERY) || lab.advance(0.0).is_ok()).then_some(record)
    });
    let mean_ms = mean_response_ms(parameters, records);
    lab.advance(0.0)?;
    Ok(mean_ms)
}

/// Rounds a request to whole pages of a drive, as required by that simulator; `None` where it does not fit the drive.
fn in_pages(record: &Record, parameters: &Parameters) -> Option<Record> {
    let page_bytes = parameters.page_sectors * SECTOR_BYTES;
    let offset_bytes = record.offset_bytes / page_bytes * page_bytes;
    let end_bytes = (record.offset_bytes + record.length_bytes).next_multiple_of(page_bytes);
    (end_bytes <= parameters.capacity_bytes()).then_some(Record {
        offset_bytes,
        length_bytes: end_bytes - offset_bytes,
        ..*record
    })
}

/// Compares the model's mean with the drive's, for the same requests.
fn compare<I: Iterator<Item = Record>>(
    lab: &mut Lab<'_>,
    quantity: &str,
    parameters: &Parameters,
    records: impl Fn() -> I,
) -> Result<Row, FigureError> {
    let reckoned_ms = reckon(lab, *parameters, records())?;
    let settings = settings(parameters);
    let overrides: Vec<(&str, &str)> = settings.iter().map(|(field, value)| (*field, &**value)).collect();
    let replay = lab.replay("msr-32g", &overrides, records(), &ReplayOptions::default())?;
    Ok(row::near(quantity, reckoned_ms, replay.device_latencies.mean_ns() / 1e6, "ms", NEAR))
}

/// Returns the drive as settings of the profile.
pub(super) fn settings(parameters: &Parameters) -> Vec<(&'static str, String)> {
    let page_bytes = parameters.page_sectors * SECTOR_BYTES;
    // Without copyback that simulator fills one block of a package at a time, on any plane, as if it had only one
    // plane; but moves that happen to stay on a plane do not use the bus there.
    let (planes, blocks) = match parameters.copyback {
        true => (parameters.planes, parameters.blocks),
        false => (1, parameters.planes * parameters.blocks),
    };
    vec![
        ("capacity", format!("{}B", parameters.capacity_bytes())),
        ("mapping.chunk", format!("{page_bytes}B")),
        ("cleaning.low", format!("{}%", parameters.low_percent)),
        ("flash.channels", parameters.packages.to_string()),
        ("flash.planes", planes.to_string()),
        ("flash.blocks", blocks.to_string()),
        ("flash.pages", parameters.pages.to_string()),
        ("flash.page", format!("{page_bytes}B")),
        ("flash.spare", format!("{}B", parameters.page_sectors * SPARE_BYTES)),
        ("flash.read", format!("{}us", parameters.read_us)),
        ("flash.program", format!("{}us", parameters.program_us)),
        ("flash.erase", format!("{}us", parameters.erase_us)),
        ("flash.bus", format!("{}MB/s", parameters.bus_mb_per_s)),
        ("flash.copyback", parameters.copyback.to_string()),
    ]
}
