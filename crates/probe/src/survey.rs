//! The survey: the stages of a probe in order, each based on the findings of earlier ones.

use crate::advice_text;
use crate::area::Area;
use crate::bench::Bench;
use crate::drive_state::DriveState;
use crate::error::EarlyEnd;
use crate::repetitions::Repetitions;
use crate::session::{AREA_UNIT_BYTES, FILL_BYTES, ProbeSettings, Session, SessionResults};
use crate::stage::Stage;
use crate::structure::Structure;
use crate::{Medium, Options, ProbeError, Progress, destructive, readahead, recommend};
use flashlane_base::Seed;
use flashlane_device::{Device, DeviceInfo};
use flashlane_measure::{Interruption, about_settings};
use flashlane_result::feature::Feature;
use flashlane_result::probe::{DeviceRow, Finding, PROBE_SCHEMA, ProbeResult};
use flashlane_result::{Warning, WarningCode};
use std::ops::ControlFlow;

/// Size of the area in which structure is looked for: several times 400 chunks of 64 KiB.
const AREA_BYTES: u64 = 34 * AREA_UNIT_BYTES;
const AREA_BYTES_MIN: u64 = 4 * AREA_UNIT_BYTES;

/// Finds the internal structure of a drive, and recommends how to use it.
///
/// Where the drive fails or the caller stops the probe, the result has the findings so far: `partial` gives the reason,
/// and all other features are not determined.
///
/// # Errors
/// [`ProbeError::TooSmall`] where the drive is too small.
pub fn probe(device: &mut dyn Device, mut options: Options<'_>) -> Result<ProbeResult, ProbeError> {
    let capacity_bytes = device.info().capacity_bytes;
    let area = area_of(capacity_bytes)?;
    let may_write = options.may_write && !device.info().read_only;
    let settings = settings(&options, may_write, capacity_bytes);
    let row = device_row(device.info(), &options, may_write);
    let changed_settings = about_settings(device.info());
    let mut full_drive = options.full_drive.take();
    let started = device.now();
    // The watch is called between stages and, by the bench, within them.
    let progress = std::cell::Cell::new(Progress { stage: "", share: 0.0 });
    let mut stop =
        || options.watch.as_mut().is_some_and(|watch| watch(&progress.get()) == ControlFlow::Break(()));
    let bench = Bench::new(device, options.seed, &mut stop);
    let drive_state = DriveState { never_written_share: options.never_written_share };
    let mut session = Session::new(bench, settings, area, drive_state, &progress);
    if let Some(full_drive) = &mut full_drive {
        session.offer_full_drive(&mut **full_drive);
    }
    let partial = run(&mut session, options.seed).err().map(|end| reason(&end, &row.name));
    let (mut bench, drive_state, mut results) = session.finish();
    results.warnings.extend(changed_settings.iter().map(Warning::from));
    if let Some(reason) = &partial {
        note_early_end(reason, &mut results);
    }
    if let Some(measurements) = options.measurements {
        *measurements = bench.take_measurements();
    }
    let SessionResults { stages, findings, recommendations, .. } = results;
    // On a file the lack of structure is advice, but not where the probe ended before it looked for any.
    let medium = if stages.contains(&Stage::Reads) { options.medium } else { Medium::Drive };
    Ok(ProbeResult {
        schema: PROBE_SCHEMA.into(),
        device: DeviceRow { never_written_share: drive_state.never_written_share, ..row },
        headline: advice_text::headline(&findings, &recommendations),
        advice: advice_text::advice(&findings, &recommendations, results.advice, medium),
        findings,
        slc_cache: results.slc_cache,
        layout_candidates: results.layout_candidates,
        recommendation: recommendations,
        warnings: results.warnings,
        partial,
        seed: options.seed.0,
        requests: bench.requests(),
        elapsed_s: bench.device().now().since(started).as_s_f64(),
        stages: stages.into_iter().map(|stage| stage.name().to_owned()).collect(),
        figures: results.figures,
        machine: None,
    })
}

/// Returns the area in which structure is looked for. The space after it is trimmed for the link.
fn area_of(capacity_bytes: u64) -> Result<Area, ProbeError> {
    let length_bytes = AREA_BYTES.min(capacity_bytes * 3 / 4) / AREA_UNIT_BYTES * AREA_UNIT_BYTES;
    if length_bytes < AREA_BYTES_MIN {
        let needed_bytes = (AREA_BYTES_MIN * 4).div_ceil(3);
        return Err(ProbeError::TooSmall { capacity_bytes, needed_bytes });
    }
    Ok(Area { offset_bytes: 0, length_bytes })
}

fn settings(options: &Options<'_>, may_write: bool, capacity_bytes: u64) -> ProbeSettings {
    ProbeSettings {
        effort: options.effort,
        budget: options.effort.budget(options.medium),
        medium: options.medium,
        may_write,
        capacity_bytes,
        request_bytes: options.request_bytes,
        p99: options.p99,
        structure_only: options.structure_only,
    }
}

/// Returns why a probe of the drive `name` ended early.
fn reason(end: &EarlyEnd, name: &str) -> String {
    match end {
        EarlyEnd::Interrupted(Interruption::Stopped) => end.to_string(),
        _ => format!("{name}: {end}"),
    }
}

fn device_row(info: &DeviceInfo, options: &Options<'_>, may_write: bool) -> DeviceRow {
    DeviceRow {
        name: info.name.clone(),
        capacity_bytes: info.capacity_bytes,
        simulated: info.simulated,
        read_only: !may_write,
        medium: options.medium.name().into(),
        never_written_share: options.never_written_share,
    }
}

/// Reports features that were not looked for as not determined.
fn note_early_end(reason: &str, results: &mut SessionResults) {
    for &feature in Feature::ALL {
        results
            .findings
            .entry(feature)
            .or_insert_with(|| Finding::not_determined(format!("the probe ended before: {reason}")));
    }
    results.warnings.push(Warning::new(WarningCode::Partial, format!("the probe ended early: {reason}")));
}

/// Runs the stages in order. What they find stays in the session, whatever ends them.
fn run(session: &mut Session<'_, '_>, seed: Seed) -> Result<(), EarlyEnd> {
    let may_write = session.settings().may_write;
    session.begin_stage(Stage::State);
    let known_share = session.drive_state().never_written_share;
    let state = DriveState::measure(session.bench(), seed, known_share)?;
    session.set_drive_state(state);
    if !may_write && !can_be_read(session) {
        return Ok(());
    }
    if may_write {
        destructive::find_slc_cache(session)?;
        session.begin_stage(Stage::Fill);
        let Area { offset_bytes, length_bytes } = session.area();
        let filled_bytes = session.bench().fill_in_time(offset_bytes, length_bytes, FILL_BYTES)?;
        session.limit_area((filled_bytes / AREA_UNIT_BYTES * AREA_UNIT_BYTES).max(AREA_BYTES_MIN));
    }
    session.begin_stage(Stage::Noise);
    let effort = session.settings().effort;
    let area = session.area();
    let measured = session.in_time(&[], |session| Repetitions::measure(effort, session.bench(), area))?;
    let repetitions = measured.unwrap_or_else(|| Repetitions::most(effort, session.bench()));
    session.set_repetitions(repetitions);
    let structure = Structure::run_stages(session)?;
    session.begin_stage(Stage::Readahead);
    let page_or_usual = structure.page_or_usual(session.bench().sector_bytes());
    session.in_time(&[Feature::ReadaheadStreams], |session| find_readahead(session, page_or_usual))?;
    let recommends = !session.settings().structure_only;
    if recommends {
        session.begin_stage(Stage::Reads);
        recommend::reads(session)?;
    }
    if may_write {
        destructive::run_stages(session, &structure)?;
        if recommends {
            session.begin_stage(Stage::Writes);
            recommend::writes(session, page_or_usual)?;
        }
    } else {
        destructive::skip_stages(session);
    }
    session.reconcile_findings(structure.layout_evidence());
    session.begin_stage(Stage::Done);
    Ok(())
}

fn find_readahead(session: &mut Session<'_, '_>, page_bytes: u64) -> Result<(), EarlyEnd> {
    let area = session.area();
    let may_write = session.settings().may_write;
    let (finding, figure) = readahead::find(session.bench(), area, page_bytes, may_write)?;
    session.note(Feature::ReadaheadStreams, finding);
    session.add_figure(figure);
    Ok(())
}

/// Warns of the limits of a probe that only reads. Returns false where there is no data to read.
fn can_be_read(session: &mut Session<'_, '_>) -> bool {
    session.warn(
        WarningCode::ReadOnly,
        "nothing was written: the layout is whatever earlier writes made it, and mapping, write buffer, \
         interference and link were not looked for",
    );
    let state = session.drive_state();
    let share = state.never_written_share;
    if state.is_empty() {
        let share = 100.0 * share.unwrap_or(1.0);
        session.warn(
            WarningCode::NotWritten,
            &format!(
                "{share:.0}% of the device has never been written: reads of it are answered without flash, so \
                 nothing was measured and nothing is recommended; probe a drive that holds data (of a simulated \
                 one: the setting initial.state=full), or let the probe write"
            ),
        );
        let why = "there is no flash to be read: most of the device has never been written";
        session.note_not_determined(Feature::ALL, why);
        return false;
    }
    match share {
        Some(_) if state.is_written() => {}
        Some(share) => session.warn(
            WarningCode::NotWritten,
            &format!(
                "{:.0}% of the device has never been written, and reads of it are answered without flash: the \
                 rates are too high by as much",
                100.0 * share
            ),
        ),
        None => session.warn(
            WarningCode::StateUnknown,
            "reading does not show whether all of the device was ever written; what was never written, or was \
             trimmed, may be answered without flash",
        ),
    }
    true
}
