//! Random writes: the burst rate into the write buffer, and the sustained rate.
//!
//! The probe's own experiments change the drive. They write and trim the same places repeatedly, which leaves whole
//! blocks stale: until these are reclaimed, GC costs nothing, and the drive seems several times faster than it is. The
//! stale data is at most what they wrote. So [`precondition`] first writes at least as much at random, in requests of
//! mixed sizes, and continues until five consecutive rounds meet SNIA's rule for a steady state. [`sustained`] then
//! measures the chosen point in rounds until these meet the rule too; where the budget ends first, the result says so.
//!
//! The point is chosen by short measurements, possibly before GC has to reclaim as much as is written. Where the point
//! then sustains clearly less than they showed, it is chosen again in the new state.
//!
//! A drive that was only ever written in requests of one size fills its planes in step: they run GC at one time, for
//! which a request waits once. Requests that reach only some of the planes end that for good: each plane then runs GC
//! at a time of its own, and a request to many planes waits for one after the other. At the same write amplification
//! the drive can be several times slower. Mixed use leaves a drive out of step, and so do the probe's experiments. So
//! the workload line of a recommendation begins with the volume that the probe wrote in requests of other sizes
//! ([`Precondition::Mixed`]), and a run of it on a new drive reaches the same state.
//!
//! Latencies also depend on how the drive became busy. Its planes start programs one after the other, as requests
//! arrive or as a full buffer drains, and while the buffer is full each starts the next one when it ends one: they keep
//! the distances in time with which they began. Evenly spread programs make every request wait a little; programs that
//! end together let some pass at once and the next wait for most of a program. The bandwidth is the same, and the
//! percentiles may differ several times (`ssd-m`: p99 131 or 482 µs). A flush makes the planes idle, so that they begin
//! anew. So [`from_idle`] measures the chosen point again after flushes and writes of mixed sizes, as the run of its
//! line begins. Its latencies count, and where measurements disagree, the latencies are those of the slowest. Its rates
//! do not: writes of other sizes leave the planes in other steps, and an emptied buffer takes a part of what is written
//! next.
//!
//! The size of a large buffer is often unknown. Flushes therefore come only after the rounds, which begin with a
//! buffer that earlier writes filled, unless it is larger than these, or flash takes them nearly as fast as the link.
//! Where the device counts the pages that left its buffer, the rounds are doubled until the buffer no longer fills,
//! and after a flush more writes fill it to the level that it had in the rounds. Otherwise the first flush shows how
//! much the buffer may have taken meanwhile: where that matters and a burst is no faster, it may have been filling all
//! along. Either way, rounds that filled it are not called sustained ([`Writes::filling_share`]).
//!
//! A drive that was never written and has room for several times the probe's writes runs no GC, so that stale data
//! costs it nothing: the volumes above are then not written, only rounds of the least length, which must be steady all
//! the same.
//!
//! This does not show the rate of a drive with much spare space after that is used up: whether GC ran is reported
//! separately, where the drive counts it.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::grid::GridCell;
use crate::load::Load;
use crate::options::{Budget, Effort};
use crate::pattern::mean_and_variance;
use crate::point_measurement::{self, Latencies, PointMeasurement, is_timed};
use flashlane_base::{Duration, Seed};
use flashlane_measure::statistics::steady_state::{ROUNDS, ROUNDS_MAX, Window};
use flashlane_measure::statistics::student_t;
use flashlane_measure::{Run, is_filling_buffer, is_notable_in_buffer};
use flashlane_result::probe::{Rate, Writes};
use flashlane_workload::{Precondition, Stop, Workload};
use std::collections::BTreeMap;

/// Bytes of a measurement, within limits on its number of requests.
const RUN_BYTES: u64 = 80 << 20;
const REQUESTS_MIN: u64 = 1024;
const REQUESTS_MAX: u64 = 20_000;
/// The same where no GC runs, and as a multiple of the depth.
const REQUESTS_MIN_WITH_ROOM: u64 = 256;
const ROUNDS_MIN: u64 = 16;
/// A round of preconditioning writes at most this fraction of the capacity, as with `precondition=steady`.
const ROUND_PART: u64 = 4;
/// Queue depth of preconditioning.
const DEPTH: u32 = 32;
/// Writes before a run counts, where the buffer size is unknown.
const LEAD_IN_BYTES: u64 = 8 << 20;
/// Size of a burst, where the buffer size is unknown.
const BURST_BYTES: u64 = 1 << 20;
/// Bursts that are measured.
const BURSTS: usize = 3;

/// Measurements of the chosen point that begin with idle planes.
const RUNS_FROM_IDLE: usize = 2;
/// The same where the point has to meet a bound: they say how far a further one may differ.
const RUNS_FROM_IDLE_WITH_BOUND: usize = 5;

/// Rounds may have been filling the buffer where a flush takes at least this share of their time.
const FLUSH_SHARE_MIN: f64 = 0.1;

/// Rounds of half the least length suffice where their mean rate is known to this share.
const MEAN_ERROR_MAX: f64 = 0.03;

/// A chosen point stands where it sustains this share of its short measurement.
pub(crate) const ESTIMATE_SHARE_MIN: f64 = 0.75;
/// Maximum number of choices; the choice is repeated where the long measurement has used up the drive's spare space.
pub(crate) const CHOICES_MAX: usize = 3;

/// A burst is reported where it exceeds the sustained rate by this factor.
pub(crate) const BURST_GAIN_MIN: f64 = 1.1;

/// The probe's writes to the drive so far, and the write buffer.
#[derive(Clone, Debug)]
pub(crate) struct WriteHistory {
    pub(crate) effort: Effort,
    /// Whether the point has to meet a bound on the latency.
    pub(crate) has_bound: bool,
    /// Time limits on a device whose time is real.
    pub(crate) budget: Budget,
    /// Size of a flash page, or a usual one: with it the stale data is bounded.
    pub(crate) page_bytes: u64,
    /// Size of the write buffer, where known; `Some(0)` where there is none.
    pub(crate) buffer_bytes: Option<u64>,
    /// Upper bound of the stale data left by the probe's other experiments.
    pub(crate) stale_bytes: u64,
    /// Bytes of the drive that were known to be never written before the probe.
    pub(crate) unwritten_bytes: u64,
    /// Bytes written at random since in requests of mixed sizes.
    pub(crate) mixed_bytes: u64,
    /// Bytes written at random since in requests of one size, by that size.
    pub(crate) written: BTreeMap<u64, u64>,
    /// Bytes that the probe had written and trimmed in total when [`sustained`] last ended.
    pub(crate) steady_since_bytes: u64,
    /// Bytes that the rounds of [`sustained`] write together, as a multiple of those written since then.
    pub(crate) rounds_factor: u64,
}

impl WriteHistory {
    /// Adds bytes that were written at random in requests of `size`.
    pub(crate) fn add(&mut self, size: u64, bytes: u64) {
        *self.written.entry(size).or_default() += bytes;
    }

    /// Returns the bytes written at random.
    fn written_bytes(&self) -> u64 {
        self.mixed_bytes + self.written.values().sum::<u64>()
    }

    /// Returns the bytes written at random in requests of `size`.
    fn written_in(&self, size: u64) -> u64 {
        self.written.get(&size).copied().unwrap_or_default()
    }

    /// Returns the bytes to write before a run counts.
    pub(crate) fn lead_in_bytes(&self) -> u64 {
        match self.buffer_bytes {
            Some(0) => 1 << 20,
            Some(bytes) => 2 * bytes,
            None => LEAD_IN_BYTES,
        }
    }

    /// Returns the writes of a cell before a run of it counts.
    fn lead_in(&self, cell: &GridCell) -> u64 {
        self.lead_in_bytes().div_ceil(cell.request_bytes).max(u64::from(cell.depth))
    }

    /// Returns whether the random writes exceed the stale data of the probe's other experiments.
    pub(crate) fn is_used_up(&self) -> bool {
        self.written_bytes() >= self.stale_bytes
    }

    /// Returns whether the drive runs no GC, and will not for as much as was written so far: it counts GC and ran none,
    /// has no SLC cache whose end would count, and at most half of its never written space is used.
    fn has_room(&self, bench: &Bench<'_>) -> bool {
        let counters = bench.device().counters();
        self.effort != Effort::Full
            && point_measurement::is_cleaning(&counters) == Some(false)
            && counters.get("slc_pages_written").is_none_or(|pages| pages == 0)
            && bench.changed().stale_bytes(self.page_bytes) <= self.unwritten_bytes / 2
    }

    /// Returns the bytes of a round of preconditioning, before limits of the drive.
    fn round_bytes(&self, has_room: bool) -> u64 {
        match self.buffer_bytes {
            Some(buffer_bytes) if has_room => (RUN_BYTES / 4).max(2 * buffer_bytes),
            _ if has_room => RUN_BYTES,
            // Another drive, of which no experiment left stale data.
            _ if self.stale_bytes == 0 => RUN_BYTES / 2,
            _ => RUN_BYTES.max(self.stale_bytes / ROUNDS as u64),
        }
    }

    /// Returns how often the rounds of a measurement may be doubled until they are steady.
    fn doublings(&self) -> usize {
        match self.effort {
            Effort::Quick | Effort::Normal => 1,
            Effort::Full => 6,
        }
    }

    /// Returns how often a measurement may be doubled until the write buffer no longer fills.
    fn doublings_while_filling(&self) -> usize {
        match self.effort {
            Effort::Quick => 2,
            Effort::Normal => 4,
            Effort::Full => 6,
        }
    }
}

/// Writes mixed requests at random to the whole device until the stale data of the probe's experiments is used up, or
/// costs nothing as the drive has room, and the rounds are steady, or the budget ends.
pub(crate) fn precondition(bench: &mut Bench<'_>, history: &mut WriteHistory) -> Result<(), EarlyEnd> {
    let capacity_bytes = bench.device().info().capacity_bytes;
    let (start, mut rounds) = (bench.device().now(), Vec::new());
    while rounds.len() < ROUNDS_MAX {
        if bench.is_real() && bench.device().now().since(start) >= history.budget.precondition {
            break;
        }
        let round_bytes = history.round_bytes(history.has_room(bench));
        let (bytes, took) = write_mixed(bench, history, round_bytes.min(capacity_bytes / ROUND_PART))?;
        rounds.push(bytes as f64 / took.as_s_f64().max(1e-9));
        let has_no_effect = history.is_used_up() || history.has_room(bench);
        if has_no_effect && Window::of(&rounds).is_some_and(|window| window.is_steady()) {
            break;
        }
    }
    Ok(())
}

/// Writes about this many bytes at random to the whole device, in requests of mixed sizes. Returns the bytes that were
/// written in time, and how long it took.
fn write_mixed(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    bytes: u64,
) -> Result<(u64, Duration), EarlyEnd> {
    let (capacity_bytes, unit) = (bench.device().info().capacity_bytes, bench.unit_bytes(true));
    let random = Seed(bench.random().bits()).source();
    let writes = Precondition::mixed(bytes, capacity_bytes, unit, random);
    let (mut written, time) = (0, history.budget.precondition / ROUNDS as u64);
    let depth = bench.depth().min(DEPTH);
    let took = bench.stream_until(writes, depth, Some(time), &mut |access, _| {
        written += access.length_bytes;
    })?;
    history.mixed_bytes += written;
    Ok((written, took))
}

/// Measures a point briefly, to compare it with others; adds its writes to `history`. Where the latency matters,
/// measures it again from idle planes, unless a buffer of unknown size would then take the writes.
pub(crate) fn once(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    cell: &GridCell,
) -> Result<PointMeasurement, EarlyEnd> {
    let requests = if history.has_bound || !history.has_room(bench) {
        least_requests(cell)
    } else {
        least_requests_with_room(cell)
    };
    let lead_in = history.lead_in(cell);
    let run = measure_full(bench, history, cell, requests, lead_in)?;
    if !history.has_bound || history.buffer_bytes.is_none() {
        return Ok(PointMeasurement::from(&run));
    }
    bench.flush()?;
    let from_idle = measure(bench, history, cell, requests, lead_in)?;
    Ok(PointMeasurement::of_rounds(&[run, from_idle], 1))
}

/// Measures a point until it is steady; adds its writes to `history`.
///
/// Earlier writes at other sizes still determine where stale pages lie, and a drive that reclaims many blocks at a time
/// is fast and slow in turns. So the five rounds together write as much as was written and trimmed since the last call,
/// or since the start (with [`Effort::Quick`] at most the bound of stale data; on a drive with room the least). Where
/// they do not meet the rule, rounds are added until the last five do; ten that do not are five of twice the length.
/// Where they filled the write buffer, the next five are twice as long.
pub(crate) fn sustained(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    cell: &GridCell,
) -> Result<PointMeasurement, EarlyEnd> {
    let capacity_bytes = bench.device().info().capacity_bytes;
    let has_room = history.has_room(bench);
    let mut requests = round_requests(bench, history, cell, has_room);
    let lead_in = history.lead_in(cell);
    let (mut runs, mut runs_each, mut doubled) = (Vec::new(), 1, 0);
    // Rounds of half the least length suffice once their mean is certain; where ten do not, two of them are a round.
    let mut is_halved = requests < least_requests(cell);
    loop {
        while runs.len() < ROUNDS * runs_each {
            runs.push(measure(bench, history, cell, requests, if runs.is_empty() { lead_in } else { 0 })?);
        }
        let counted = if is_halved { runs.len() } else { ROUNDS * runs_each };
        let mut measured = of_rounds(&runs[runs.len() - counted..], runs_each, history, cell);
        let has_no_effect = history.is_used_up() || (has_room && measured.cleaning == Some(false));
        measured.steady &= has_no_effect;
        let enough = measured.steady
            && (history.effort != Effort::Full || has_no_spare_space(&measured, history, capacity_bytes));
        let enough = enough && (!is_halved || is_mean_certain(&runs));
        let is_filling = measured.filling == Some(true);
        let doublings = if is_filling { history.doublings_while_filling() } else { history.doublings() };
        if enough || doubled >= doublings {
            history.steady_since_bytes = bench.changed().stale_bytes(history.page_bytes);
            return Ok(measured);
        }
        if is_filling {
            // What filled the buffer does not count.
            runs.clear();
            requests *= 2;
            doubled += usize::from(!is_halved);
            is_halved = false;
        } else if is_halved && runs.len() == 2 * ROUNDS {
            (runs_each, is_halved) = (2, false);
        } else if runs.len() < 2 * ROUNDS * runs_each {
            for _ in 0..runs_each {
                runs.push(measure(bench, history, cell, requests, 0)?);
            }
        } else {
            runs_each *= 2;
            doubled += 1;
        }
    }
}

/// Returns whether the mean rate of rounds is known to this share, at 95% confidence.
fn is_mean_certain(rounds: &[Run]) -> bool {
    is_known(&rounds.iter().map(|run| rate(std::slice::from_ref(run))).collect::<Vec<_>>())
}

/// Returns whether the mean of these rates is known to that share.
fn is_known(rates: &[f64]) -> bool {
    let (mean, variance) = mean_and_variance(rates);
    let freedom = rates.len() - 1;
    student_t(0.95, freedom as u64) * (variance / freedom as f64).sqrt() <= MEAN_ERROR_MAX * mean
}

/// Returns the number of requests of a round of [`sustained`]: at least those of a measurement, or half of them where
/// there is no bound on the latency, as far as a 99th percentile allows.
fn round_requests(bench: &Bench<'_>, history: &WriteHistory, cell: &GridCell, has_room: bool) -> u64 {
    let least = least_requests(cell);
    if bench.is_real() {
        return least;
    }
    let since = bench.changed().stale_bytes(history.page_bytes) - history.steady_since_bytes;
    let bytes = match history.effort {
        _ if has_room => 0,
        Effort::Quick => since.min(history.stale_bytes),
        _ => history.rounds_factor * since,
    };
    let least = if history.has_bound { least } else { (least / 2).max(REQUESTS_MIN) };
    (bytes / ROUNDS as u64 / cell.request_bytes).max(least)
}

/// Returns the measurement by rounds of this number of runs each. It is steady where the last five meet the rule, and
/// all together did not fill the write buffer.
fn of_rounds(runs: &[Run], runs_each: usize, history: &WriteHistory, cell: &GridCell) -> PointMeasurement {
    let rates: Vec<f64> = runs.chunks(runs_each).map(rate).collect();
    let mut measured = PointMeasurement::of_rounds(runs, runs_each);
    measured.steady =
        Window::of(&rates).is_some_and(|window| window.is_steady()) && measured.filling != Some(true);
    let own_requests = history.written_in(cell.request_bytes) / cell.request_bytes;
    let mixed_bytes = history.written_bytes() - history.written_in(cell.request_bytes);
    // A repetition on a drive in its state before the probe has to write these volumes first.
    let line = Workload {
        precondition: (mixed_bytes > 0).then_some(Precondition::Mixed { bytes: mixed_bytes }),
        ..Workload::single(Load::RandomWrite.job(cell.request_bytes, cell.depth), measured.requests)
            .warmup(own_requests - measured.requests)
    };
    measured.workload = point_measurement::line(&line);
    measured
}

/// Returns the bytes per second of several runs together.
fn rate(runs: &[Run]) -> f64 {
    let bytes: u64 = runs.iter().map(Run::bytes).sum();
    let ns: u64 = runs.iter().map(|run| run.elapsed.as_ns()).sum();
    bytes as f64 * 1e9 / ns.max(1) as f64
}

/// Adds the latencies of further measurements that begin as the run of a line does: with idle planes, then writes of
/// mixed sizes. MUST follow [`sustained`] at this point. Returns the share of the time of its rounds that a flush then
/// took.
pub(crate) fn from_idle(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    cell: &GridCell,
    measured: &mut PointMeasurement,
) -> Result<f64, EarlyEnd> {
    // As many as a round, since a drive that runs GC in turns is fast and slow in turns.
    let requests = (measured.requests / ROUNDS as u64).max(least_requests(cell));
    let lead_in = history.lead_in(cell);
    let mut flushes = Vec::new();
    let level_pages = bench.device().counters().pages_left_in_buffer();
    let runs = if history.has_bound { RUNS_FROM_IDLE_WITH_BOUND } else { RUNS_FROM_IDLE };
    for _ in 0..runs {
        let start = bench.device().now();
        bench.flush()?;
        flushes.push(bench.device().now().since(start).as_s_f64());
        write_mixed(bench, history, history.lead_in_bytes())?;
        let is_full = refill_buffer(bench, history, cell, requests, level_pages)?;
        let run = measure_full(bench, history, cell, requests, lead_in)?;
        // Where this filled the buffer and the rounds did not, it has other latencies.
        let is_filling = !is_full || is_filling_buffer(&run.counters) == Some(true);
        if measured.filling == Some(true) || !is_filling || history.buffer_bytes.is_some() {
            measured.join(Latencies::from(&run.latencies()));
        }
    }
    Ok(flushes[0] * measured.iops / measured.requests as f64)
}

/// After a flush, writes requests of the point's size, if the device counts what is in its buffer, until the buffer has
/// no room for a notable share of as many requests as follow, compared with its level before the flush. Returns
/// whether it has none, or such writes no longer fill it.
///
/// The point may fill a large buffer so slowly that this takes many times its size, while flash runs GC in turns, which
/// hides it in a measurement of the usual length. So more requests are in flight, and each step is twice the last one.
fn refill_buffer(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    cell: &GridCell,
    requests: u64,
    level_pages: u64,
) -> Result<bool, EarlyEnd> {
    let deep = GridCell { depth: cell.depth.max(DEPTH.min(bench.depth())), ..cell.clone() };
    let pages = (requests * cell.request_bytes) / history.page_bytes;
    let mut step_requests = requests;
    for _ in 0..=history.doublings_while_filling() {
        let held_pages = bench.device().counters().pages_left_in_buffer();
        if !is_notable_in_buffer(level_pages.saturating_sub(held_pages), pages) {
            return Ok(true);
        }
        let run = measure(bench, history, &deep, step_requests, 0)?;
        if is_filling_buffer(&run.counters) != Some(true) {
            return Ok(true);
        }
        step_requests *= 2;
    }
    Ok(false)
}

/// Runs a point until a buffer of unknown size no longer fills, each time twice as long. Of a known one the lead-in
/// fills it.
fn measure_full(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    cell: &GridCell,
    mut requests: u64,
    lead_in: u64,
) -> Result<Run, EarlyEnd> {
    let mut run = measure(bench, history, cell, requests, lead_in)?;
    for _ in 0..history.doublings_while_filling() {
        if history.buffer_bytes.is_some() || is_filling_buffer(&run.counters) != Some(true) {
            break;
        }
        requests *= 2;
        run = measure(bench, history, cell, requests, 0)?;
    }
    Ok(run)
}

/// The same to compare the rates of points while the drive runs no GC, which would make it fast and slow in turns.
fn least_requests_with_room(cell: &GridCell) -> u64 {
    let least = REQUESTS_MIN_WITH_ROOM.max(ROUNDS_MIN * u64::from(cell.depth));
    (RUN_BYTES / 4 / cell.request_bytes).clamp(least, REQUESTS_MAX)
}

/// Least number of requests of a measurement.
fn least_requests(cell: &GridCell) -> u64 {
    (RUN_BYTES / cell.request_bytes).clamp(REQUESTS_MIN, REQUESTS_MAX)
}

/// Runs a point as `run` does.
fn measure(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    cell: &GridCell,
    requests: u64,
    lead_in: u64,
) -> Result<Run, EarlyEnd> {
    let mut stop = Stop::after(requests);
    stop.time = bench.is_real().then_some(history.budget.run);
    let job = Load::RandomWrite.job(cell.request_bytes, cell.depth);
    // With one seed, runs would write the same places again, and leave whole blocks stale.
    let seed = Seed(bench.random().bits());
    let run = bench.run(&Workload::new(vec![job], stop).warmup(lead_in).seed(seed))?;
    history.add(cell.request_bytes, (lead_in + run.requests) * cell.request_bytes);
    Ok(run)
}

/// Returns whether the drive has no spare space left: GC runs, or the whole drive was overwritten at random.
fn has_no_spare_space(measured: &PointMeasurement, history: &WriteHistory, capacity_bytes: u64) -> bool {
    measured.cleaning.unwrap_or(history.written_bytes() >= 2 * capacity_bytes)
}

/// Measures the rate into an empty buffer; `None` where there is no buffer. Of several bursts the slowest counts: one
/// may happen to meet no GC, and the next does.
pub(crate) fn burst(
    bench: &mut Bench<'_>,
    history: &mut WriteHistory,
    cell: &GridCell,
) -> Result<Option<Rate>, EarlyEnd> {
    let bytes = match history.buffer_bytes {
        Some(0) => return Ok(None),
        Some(bytes) => bytes,
        None => BURST_BYTES,
    };
    let requests = bytes / cell.request_bytes;
    if requests < u64::from(cell.depth).max(4) {
        return Ok(None);
    }
    let workload = Workload::single(Load::RandomWrite.job(cell.request_bytes, cell.depth), requests);
    let mut slowest: Option<PointMeasurement> = None;
    for _ in 0..BURSTS {
        bench.flush_and_pause()?;
        let seed = Seed(bench.random().bits());
        let run = bench.run(&workload.clone().seed(seed))?;
        history.add(cell.request_bytes, requests * cell.request_bytes);
        let measured =
            PointMeasurement { workload: point_measurement::line(&workload), ..PointMeasurement::from(&run) };
        let is_slower = |than: &PointMeasurement| measured.bandwidth_bytes_per_s < than.bandwidth_bytes_per_s;
        if slowest.as_ref().is_none_or(is_slower) {
            slowest = Some(measured);
        }
    }
    Ok(slowest.as_ref().map(Rate::from))
}

/// Combines burst and sustained rates. `flush_share` is the time of a flush after the rounds, as a share of theirs.
///
/// A burst that is hardly faster than the sustained rate is not reported. Then either there is no buffer, or the rounds
/// wrote to one that was not full: that they may have done so shows in the time to empty it. Nor is a burst that took
/// no time.
pub(crate) fn rates(
    request_bytes: u64,
    measured: &mut PointMeasurement,
    history: &WriteHistory,
    burst: Option<Rate>,
    flush_share: f64,
) -> Writes {
    let least_burst = BURST_GAIN_MIN * measured.bandwidth_bytes_per_s;
    let burst = burst.filter(|burst| burst.bandwidth_bytes_per_s > least_burst);
    let filling_share = filling_share(measured, burst.is_some(), flush_share);
    let burst = burst.filter(|burst| is_timed(burst.bandwidth_bytes_per_s, request_bytes));
    Writes {
        steady: measured.steady,
        cleaning: measured.cleaning,
        write_amplification: measured.write_amplification,
        written_bytes: history.written_bytes(),
        stale_bytes: history.stale_bytes,
        buffer_bytes: history.buffer_bytes.filter(|bytes| *bytes > 0),
        filling_share,
        burst,
        fragmented: None,
        fragmented_filling_share: None,
    }
}

/// Returns `flush_share` where the rounds may have filled the write buffer; then they are not steady. Where the device
/// does not count what leaves its buffer, a burst that is faster than the rounds shows that it was full.
pub(crate) fn filling_share(
    measured: &mut PointMeasurement,
    is_burst_faster: bool,
    flush_share: f64,
) -> Option<f64> {
    let is_filling = measured.filling.unwrap_or(!is_burst_faster && flush_share >= FLUSH_SHARE_MIN);
    measured.steady &= !is_filling;
    is_filling.then_some(flush_share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice_text;
    use crate::options::Medium;
    use crate::point_measurement::tests::measured;

    #[test]
    fn mean_is_certain_where_rounds_agree() {
        let mean_of = |share: f64| is_known(&[1.0, 1.0 + share, 1.0 - share, 1.0 + share, 1.0 - share]);
        // s is the share, and t of four degrees 2.78: 1.24 shares.
        assert_eq!([0.02, 0.027].map(mean_of), [true, false]);
        assert!(is_known(&[100.0; 5]));
    }

    #[test]
    fn rounds_as_fast_as_a_burst_may_have_filled_the_buffer() {
        let history = WriteHistory {
            effort: Effort::Normal,
            has_bound: false,
            budget: Effort::Normal.budget(Medium::Drive),
            page_bytes: 4096,
            buffer_bytes: None,
            stale_bytes: 0,
            unwritten_bytes: 0,
            mixed_bytes: 1 << 30,
            written: BTreeMap::new(),
            steady_since_bytes: 0,
            rounds_factor: 1,
        };
        let filling = |burst: f64, flush_share: f64| {
            let mut sustained = measured(1.1e9);
            let burst = Some(Rate::from(&measured(burst)));
            let writes = rates(16384, &mut sustained, &history, burst, flush_share);
            assert_eq!((sustained.steady, writes.steady), (writes.filling_share.is_none(), sustained.steady));
            let text = advice_text::of_writes(&writes, 1.1e9, 1 << 40);
            assert_eq!(text.contains("flash may sustain only 880.0 MB/s"), !writes.steady, "{text}");
            writes.filling_share
        };
        assert_eq!(filling(1.15e9, 0.25), Some(0.25));
        assert_eq!(filling(1.15e9, 0.05), None);
        // The buffer was full: writes to an empty one are faster.
        assert_eq!(filling(1.4e9, 0.25), None);
        let burst = |bandwidth| {
            let burst = Some(Rate::from(&measured(bandwidth)));
            rates(16384, &mut measured(1.1e9), &history, burst, 0.25).burst.is_some()
        };
        // Eight MiB in the nanosecond that stands for no time.
        assert_eq!([1.4e9, 8.4e15].map(burst), [true, false]);
    }
}
