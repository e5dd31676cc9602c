//! The two stages that end in recommendations: reads (random ones and scans) and random writes.

use crate::advice_text;
use crate::area::{Area, MeasuredArea};
use crate::bench::Bench;
use crate::choice::{self, Choice};
use crate::confirm;
use crate::error::EarlyEnd;
use crate::grid::{Grid, GridCell, TestArea};
use crate::load::Load;
use crate::mapping::Policy;
use crate::options::{Effort, Medium};
use crate::point_measurement::{PointMeasurement, is_timed};
use crate::session::{FILL_BYTES, Session};
use crate::writes::{self, WriteHistory};
use flashlane_base::Duration;
use flashlane_result::feature::Feature;
use flashlane_result::probe::{Advice, FULL, Finding, Rate, Recommendation, Status, Writes};
use std::collections::BTreeMap;

/// Part of a never written drive that is filled for the measurement of reads: several times a drive's cache.
const READ_AREA_BYTES: u64 = 512 << 20;

/// Maximum number of points for random reads of which further measurements are made, where these miss a bound.
const READ_CHOICES_MAX: usize = 5;

/// Recommends points for random reads and scans. Where the drive was never written, they are measured on another one of
/// its kind that is full of data, if there is one, and in an area that the probe fills otherwise.
pub(crate) fn reads(session: &mut Session<'_, '_>) -> Result<(), EarlyEnd> {
    let capacity_bytes = session.settings().capacity_bytes;
    if session.drive_state().is_never_written() {
        let measured_area = MeasuredArea::FullDrive { capacity_bytes };
        if let Some(()) = session.on_full_drive(|session| reads_of(session, measured_area))? {
            return Ok(());
        }
    }
    let measured_area = prepare_read_area(session)?;
    reads_of(session, measured_area)
}

/// Recommends points for random reads and scans of an area that holds data.
fn reads_of(session: &mut Session<'_, '_>, measured_area: MeasuredArea) -> Result<(), EarlyEnd> {
    let area = measured_area.area();
    let (bytes_each, budget) = (bytes_each(session), session.settings().budget);
    let mut random_read = None;
    for load in [Load::RandomRead, Load::Scan] {
        let lead_in_bytes = if load == Load::Scan { 4 << 20 } else { 0 };
        let mut confirm = |bench: &mut Bench<'_>, cell: &GridCell| {
            let first = confirm::reads(bench, load, measured_area, budget, cell)?;
            if load != Load::Scan {
                return Ok(first);
            }
            // The rate of a scan can depend on where it begins; a point of which that is so counts as its slowest, and
            // one that is steady is chosen instead.
            Ok(first.repeated(&confirm::again(bench, load, area, budget, cell)?))
        };
        // The request size of a scan suits the drive, whatever that of random requests.
        let request_bytes = session.settings().request_bytes.filter(|_| load != Load::Scan);
        let mut grid =
            measure_grid(session, load, TestArea { area, bytes_each, lead_in_bytes }, request_bytes)?;
        let choice = choose(session, &mut grid, &mut confirm)?;
        if let Some(recommendation) = recommend_or_advise(session, &grid, &choice, measured_area, None) {
            session.recommend(load.name(), recommendation);
        } else if !is_timed(choice.measured.bandwidth_bytes_per_s, choice.cell.request_bytes) {
            continue;
        }
        random_read = random_read.or((load == Load::RandomRead).then_some((grid, choice)));
    }
    // Last, since these leave other data in the drive's cache.
    match random_read {
        Some((grid, choice)) => read_again(session, grid, choice, measured_area),
        None => Ok(()),
    }
}

/// Measures the point chosen for random reads again, and chooses another one where a further measurement may miss the
/// bound. Where a measurement of the last choice misses it, withdraws the recommendation.
fn read_again(
    session: &mut Session<'_, '_>,
    mut grid: Grid,
    mut choice: Choice,
    measured_area: MeasuredArea,
) -> Result<(), EarlyEnd> {
    let (load, budget) = (Load::RandomRead, session.settings().budget);
    let area = measured_area.area();
    let bound = bound(session, load);
    let mut confirm =
        |bench: &mut Bench<'_>, cell: &GridCell| confirm::reads(bench, load, measured_area, budget, cell);
    let mut tried = Vec::new();
    loop {
        let again = confirm::again(session.bench(), load, area, budget, &choice.cell)?;
        choice.measured = choice.measured.repeated(&again);
        let late = bound.filter(|bound| is_late(&choice.measured, *bound));
        tried.push(choice);
        let Some(bound) = late.filter(|_| tried.len() < READ_CHOICES_MAX) else { break };
        let bound_ns = bound.as_ns() as f64;
        let is_last = tried.len() + 1 == READ_CHOICES_MAX;
        choice =
            choice::within_bound_again(session.bench(), &mut grid, &tried, bound_ns, is_last, &mut confirm)?;
        // The same requests again would show nothing new.
        if tried.iter().any(|known: &Choice| known.cell.is_at(&choice.cell)) {
            break;
        }
    }
    let nearest = bound.map_or(0, |bound| choice::nearest(&tried, bound.as_ns() as f64));
    let choice = tried.swap_remove(nearest);
    let conditions = advice_text::conditions(&choice, measured_area, session.drive_state());
    match bound_missed(load, &choice, bound, measured_area, &conditions) {
        Some(advice) => {
            session.withdraw(load.name());
            session.advise(advice);
        }
        None => {
            let reason = advice_text::reason(load, &choice, bound) + &conditions;
            let recommendation = recommendation(session, &choice, bound, measured_area, None, reason);
            session.recommend(load.name(), recommendation);
        }
    }
    Ok(())
}

/// Recommends a point for random writes to the whole device. `page_bytes` is the page size, or a usual one.
pub(crate) fn writes(session: &mut Session<'_, '_>, page_bytes: u64) -> Result<(), EarlyEnd> {
    let mut history = write_history(session, page_bytes);
    let test_area = TestArea {
        area: whole(session).area(),
        bytes_each: bytes_each(session),
        lead_in_bytes: history.lead_in_bytes(),
    };
    let measured_area =
        if session.is_filled() { MeasuredArea::Filled(test_area.area) } else { whole(session) };
    warn_of_random_writes(session);
    writes::precondition(session.bench(), &mut history)?;
    let (grid, mut choice, flush_share) = choose_sustained_write(session, test_area, &mut history)?;
    let burst = writes::burst(session.bench(), &mut history, &choice.cell)?;
    let size = choice.cell.request_bytes;
    let rates = writes::rates(size, &mut choice.measured, &history, burst, flush_share);
    if let Some(recommendation) = recommend_or_advise(session, &grid, &choice, measured_area, Some(rates)) {
        session.recommend(Load::RandomWrite.name(), recommendation);
    }
    Ok(())
}

/// Returns what was written before the random writes, and what is known of the drive by then.
fn write_history(session: &mut Session<'_, '_>, page_bytes: u64) -> WriteHistory {
    let buffer_bytes = session.finding(Feature::WriteBuffer).and_then(|buffer| match buffer.status {
        Status::Found => buffer.number(),
        Status::Absent => Some(0),
        Status::NotDetermined => None,
    });
    let settings = session.settings();
    let unwritten_share = session.drive_state().never_written_share.unwrap_or(0.0);
    WriteHistory {
        effort: settings.effort,
        has_bound: settings.p99.is_some(),
        budget: settings.budget,
        page_bytes,
        buffer_bytes,
        stale_bytes: session.bench().changed().stale_bytes(page_bytes),
        unwritten_bytes: (unwritten_share * settings.capacity_bytes as f64) as u64,
        mixed_bytes: 0,
        written: BTreeMap::new(),
        steady_since_bytes: 0,
        rounds_factor: 1,
    }
}

/// Chooses a point of random writes until its rate is sustained. Returns its grid, the point with that rate, and the
/// share of the time of its measurement that flushing the buffer took.
fn choose_sustained_write(
    session: &mut Session<'_, '_>,
    test_area: TestArea,
    history: &mut WriteHistory,
) -> Result<(Grid, Choice, f64), EarlyEnd> {
    let bound = bound(session, Load::RandomWrite);
    let (mut grid, mut choice) = choose_write(session, test_area, history, None)?;
    if let Some(bound) = bound {
        return choose_write_within(session, test_area, history, bound, (grid, choice));
    }
    for choices in 1.. {
        let estimate = choice.measured;
        choice.measured = writes::sustained(session.bench(), history, &choice.cell)?;
        if keeps_up(&choice.measured, &estimate) || choices == writes::CHOICES_MAX {
            break;
        }
        (grid, choice) = choose_write(session, test_area, history, None)?;
    }
    let flush_share = writes::from_idle(session.bench(), history, &choice.cell, &mut choice.measured)?;
    Ok((grid, choice, flush_share))
}

/// Returns whether the sustained rate is near the short measurement of a point. One far below shows that the spare
/// space was used up only by it.
fn keeps_up(sustained: &PointMeasurement, estimate: &PointMeasurement) -> bool {
    sustained.bandwidth_bytes_per_s >= writes::ESTIMATE_SHARE_MIN * estimate.bandwidth_bytes_per_s
}

/// As [`choose_sustained_write`], from a first choice within a bound. Each choice is measured fully, and the one to
/// report is chosen from these alone: a drive with GC in turns keeps any bound in short measurements between the turns.
fn choose_write_within(
    session: &mut Session<'_, '_>,
    test_area: TestArea,
    history: &mut WriteHistory,
    bound: Duration,
    (mut grid, mut choice): (Grid, Choice),
) -> Result<(Grid, Choice, f64), EarlyEnd> {
    let (mut tried, mut flush_shares) = (Vec::new(), Vec::new());
    loop {
        let estimate = choice.measured;
        let cell = &choice.cell;
        choice.measured = writes::sustained(session.bench(), history, cell)?;
        flush_shares.push(writes::from_idle(session.bench(), history, cell, &mut choice.measured)?);
        let is_done = keeps_up(&choice.measured, &estimate) && !is_late(&choice.measured, bound);
        tried.push(choice);
        if is_done || tried.len() == writes::CHOICES_MAX {
            break;
        }
        let none_keeps = tried.iter().all(|choice| is_late(&choice.measured, bound));
        let is_last = is_late(&estimate, bound) || (none_keeps && tried.len() + 1 == writes::CHOICES_MAX);
        let again = TriedWrites { tried: &tried, is_last };
        (grid, choice) = choose_write(session, test_area, history, Some(again))?;
        // The same requests again would show nothing new.
        if tried.iter().any(|known: &Choice| known.cell.is_at(&choice.cell)) {
            break;
        }
    }
    let nearest = choice::nearest(&tried, bound.as_ns() as f64);
    Ok((grid, tried.swap_remove(nearest), flush_shares[nearest]))
}

/// Choices that were measured fully, none of which stands.
struct TriedWrites<'a> {
    tried: &'a [Choice],
    /// Whether no further choice follows the next one.
    is_last: bool,
}

/// Returns whether a further measurement of a point may miss a bound on its 99th percentile.
fn is_late(measured: &PointMeasurement, bound: Duration) -> bool {
    measured.longest_p99_ns() > bound.as_ns() as f64
}

/// Warns that random writes reach the whole drive, unless it maps by address.
fn warn_of_random_writes(session: &mut Session<'_, '_>) {
    let mapping = session.finding(Feature::MappingPolicy).and_then(Finding::word);
    if mapping == Some(Policy::Lba.name()) || session.settings().medium != Medium::Drive {
        return;
    }
    session.warn_of_changed_layout(
        "the probe overwrote places all over the drive in random order: unless the drive maps by address, its \
         pages no longer lie in address order",
    );
}

/// Chooses a point of random writes by short measurements of the drive in its present state, `again` after choices that
/// do not stand.
fn choose_write(
    session: &mut Session<'_, '_>,
    test_area: TestArea,
    history: &mut WriteHistory,
    again: Option<TriedWrites<'_>>,
) -> Result<(Grid, Choice), EarlyEnd> {
    let request_bytes = session.settings().request_bytes;
    let mut grid = measure_grid(session, Load::RandomWrite, test_area, request_bytes)?;
    grid.written.iter().for_each(|(&size, &bytes)| history.add(size, bytes));
    let mut confirm = |bench: &mut Bench<'_>, cell: &GridCell| writes::once(bench, history, cell);
    let choice = match (bound(session, Load::RandomWrite), again) {
        (Some(bound), Some(TriedWrites { tried, is_last })) => {
            let bound_ns = bound.as_ns() as f64;
            choice::within_bound_again(session.bench(), &mut grid, tried, bound_ns, is_last, &mut confirm)?
        }
        _ => choose(session, &mut grid, &mut confirm)?,
    };
    Ok((grid, choice))
}

fn measure_grid(
    session: &mut Session<'_, '_>,
    load: Load,
    test_area: TestArea,
    request_bytes: Option<u64>,
) -> Result<Grid, EarlyEnd> {
    let time = session.settings().budget.cell;
    Grid::measure(session.bench(), load, test_area, request_bytes, time)
}

/// The bound on the 99th percentile of a load; scans have none.
fn bound(session: &Session<'_, '_>, load: Load) -> Option<Duration> {
    session.settings().p99.filter(|_| load != Load::Scan)
}

fn choose(
    session: &mut Session<'_, '_>,
    grid: &mut Grid,
    confirm: &mut choice::Confirm<'_>,
) -> Result<Choice, EarlyEnd> {
    match bound(session, grid.load) {
        Some(bound) => choice::within_bound(session.bench(), grid, bound.as_ns() as f64, confirm),
        None => choice::cheapest(session.bench(), grid, confirm),
    }
}

/// Draws the grid and returns the recommendation. Where no point meets the bound, reports that as advice, of random
/// reads only once they were measured again.
fn recommend_or_advise(
    session: &mut Session<'_, '_>,
    grid: &Grid,
    choice: &Choice,
    measured_area: MeasuredArea,
    writes: Option<Writes>,
) -> Option<Recommendation> {
    session.add_figure(grid.figure());
    let bound = bound(session, grid.load);
    let rate = choice.measured.bandwidth_bytes_per_s;
    if !is_timed(rate, choice.cell.request_bytes) {
        session.advise(advice_text::untimed(grid.load, choice, bound, measured_area));
        return None;
    }
    let mut conditions = advice_text::conditions(choice, measured_area, session.drive_state());
    if let Some(writes) = &writes {
        conditions += &advice_text::of_writes(writes, rate, session.settings().capacity_bytes);
    }
    match bound_missed(grid.load, choice, bound, measured_area, &conditions) {
        Some(_) if grid.load == Load::RandomRead => None,
        Some(advice) => {
            session.advise(advice);
            None
        }
        None => {
            let reason = advice_text::reason(grid.load, choice, bound) + &conditions;
            Some(recommendation(session, choice, bound, measured_area, writes, reason))
        }
    }
}

/// Returns the advice that no point meets the bound, where a measurement of the nearest one, `choice`, misses it.
fn bound_missed(
    load: Load,
    choice: &Choice,
    bound: Option<Duration>,
    measured_area: MeasuredArea,
    conditions: &str,
) -> Option<Advice> {
    let [_, longest_ns] = choice.measured.latencies.p99_range_ns();
    let missed = bound.filter(|bound| longest_ns > bound.as_ns() as f64);
    missed.map(|bound| advice_text::bound_missed(load, bound, choice, measured_area, conditions))
}

fn recommendation(
    session: &mut Session<'_, '_>,
    choice: &Choice,
    bound: Option<Duration>,
    measured_area: MeasuredArea,
    writes: Option<Writes>,
    reason: String,
) -> Recommendation {
    let Choice { cell, measured, .. } = choice;
    Recommendation {
        request_bytes: cell.request_bytes,
        queue_depth: cell.depth,
        queue_depth_max: Some(session.bench().device().info().depth),
        rate: Rate::from(measured),
        range_bytes_per_s: measured.range_bytes_per_s,
        p99_bound_ns: bound.map(|bound| bound.as_ns() as f64),
        more_may_be_better: choice.deeper_may_be_better || choice.larger_may_be_better,
        state: match measured_area {
            MeasuredArea::FullDrive { .. } => FULL,
            _ => session.drive_state().name(),
        }
        .into(),
        area_bytes: measured_area.filled().map(|area| area.length_bytes),
        command: None,
        writes,
        reason,
    }
}

/// Returns the area for reads: the whole device where it was written before; else a part, which the probe fills.
fn prepare_read_area(session: &mut Session<'_, '_>) -> Result<MeasuredArea, EarlyEnd> {
    let settings = session.settings();
    if !settings.may_write || session.drive_state().is_written() {
        return Ok(whole(session));
    }
    let wanted = READ_AREA_BYTES.min(settings.capacity_bytes * 3 / 4) / FILL_BYTES * FILL_BYTES;
    let length_bytes = wanted.max(session.area().length_bytes);
    // The part that was filled before is written again: a drive's cache holds what earlier experiments read there,
    // which random reads would find.
    session.bench().fill(0, length_bytes, FILL_BYTES)?;
    Ok(MeasuredArea::Filled(Area { offset_bytes: 0, length_bytes }))
}

fn whole(session: &Session<'_, '_>) -> MeasuredArea {
    MeasuredArea::Whole { capacity_bytes: session.settings().capacity_bytes }
}

fn bytes_each(session: &Session<'_, '_>) -> u64 {
    if session.settings().effort == Effort::Quick { 4 << 20 } else { 16 << 20 }
}
