//! Random writes: what the write buffer takes at first, and what the drive sustains.
//!
//! A drive that was just probed is not the drive that was found. The experiments write and trim the same places again and
//! again, which leaves whole blocks stale: until these are used up, cleaning costs nothing, and the drive looks several
//! times as fast as it is. What they can have left stale is bounded by what they wrote. So before anything is
//! measured, at least as much is written at random, and on until five rounds in a row meet SNIA's rule for a steady state
//! ([`settle`]). The point that is chosen is then measured in rounds until these meet the rule too ([`sustained`]); where
//! the budget ends before, the result says so.
//!
//! The point is chosen by short measurements, which may come before the drive has to clean as much as it is given. Where
//! it then sustains clearly less than they showed, it is chosen again, on the drive as it is by then.
//!
//! None of this shows what a drive with much spare space sustains once that is used up: whether the drive cleaned is
//! reported apart, where the drive counts it.

use crate::confirm::{self, Measured};
use crate::grid::Cell;
use crate::load::Load;
use crate::options::{Budget, Effort, Medium, Options, Progress};
use crate::rig::Rig;
use flashlane_base::Seed;
use flashlane_device::Device;
use flashlane_measure::statistics::steady_state::{ROUNDS, ROUNDS_MAX, Window};
use flashlane_measure::{Interruption, Run};
use flashlane_result::probe::{Rate, Recommendation, Writes};
use flashlane_workload::{Stop, Workload};

/// Bytes of a measurement, within limits on its requests.
const RUN_BYTES: u64 = 80 << 20;
const FEWEST: u64 = 1024;
const MOST: u64 = 20_000;
/// A round of writes before measuring is this part of the capacity, as with `precondition=steady`, or less.
const ROUND_PART: u64 = 4;
/// Size of the writes before measuring, where none is asked for: in the middle of those that are compared, …
pub(crate) const SIZE_BYTES: u64 = 64 << 10;
/// … and how many are in flight.
const DEPTH: u32 = 32;
/// Where a buffer's size is not known, at least this much is written before a run counts, …
const LEAD_IN_BYTES: u64 = 8 << 20;
/// … and this much counts as a burst.
const BURST_BYTES: u64 = 1 << 20;

/// A point stands where it sustains this share of what the short measurement showed by which it was chosen; …
pub(crate) const KEPT_UP: f64 = 0.75;
/// … else the drive has been worn by the long measurement, and the choice is made again, so often in all.
pub(crate) const CHOICES: usize = 3;

/// A burst is reported where it is faster than what is sustained by this factor.
pub(crate) const BURST_GAIN: f64 = 1.1;

/// What was written to the drive so far, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(crate) effort: Effort,
    /// Times on a device whose time is real.
    pub(crate) budget: Budget,
    /// The size of the write buffer, where it was found; `Some(0)` where there is none.
    pub(crate) buffer_bytes: Option<u64>,
    /// The most that the probe's other experiments may have left stale.
    pub(crate) stale_bytes: u64,
    /// Bytes that the probe has written at random since.
    pub(crate) written_bytes: u64,
    /// Bytes that the probe had written and trimmed in all when a point was last measured until it was steady.
    pub(crate) steady_since_bytes: u64,
}

impl Before {
    /// Bytes to be written before a run counts.
    pub(crate) fn lead_in_bytes(&self) -> u64 {
        match self.buffer_bytes {
            Some(0) => 1 << 20,
            Some(bytes) => 2 * bytes,
            None => LEAD_IN_BYTES,
        }
    }

    /// Whether what the probe may have left stale was used up again.
    pub(crate) fn is_used_up(&self) -> bool {
        self.written_bytes >= self.stale_bytes
    }

    /// How often the rounds of a measurement may be doubled until they are steady.
    fn doublings(&self) -> usize {
        match self.effort {
            Effort::Quick | Effort::Normal => 1,
            Effort::Full => 6,
        }
    }
}

/// Writes requests of `size` at random, all over the device, until what the probe may have left stale is used up and the
/// rounds are steady, or the budget ends.
pub(crate) fn settle(rig: &mut Rig<'_>, before: &mut Before, size: u64) -> Result<(), Interruption> {
    let capacity_bytes = rig.device().profile().capacity_bytes;
    let round_bytes = (capacity_bytes / ROUND_PART).min(RUN_BYTES.max(before.stale_bytes / ROUNDS as u64));
    let depth = rig.depth().min(DEPTH);
    let requests = (round_bytes / size).max(FEWEST);
    let (start, mut rounds) = (rig.device().now(), Vec::new());
    while rounds.len() < ROUNDS_MAX {
        let mut stop = Stop::after(requests);
        if rig.is_real() {
            let spent = rig.device().now().since(start);
            if spent >= before.budget.settle {
                break;
            }
            stop.time = Some(before.budget.settle / ROUNDS as u64);
        }
        let seed = Seed(rig.random().bits());
        let run = rig.run(&Workload::new(vec![Load::RandomWrite.job(size, depth)], stop).seed(seed))?;
        before.written_bytes += run.bytes();
        rounds.push(run.bandwidth_bytes_per_s());
        if before.is_used_up() && Window::of(&rounds).is_some_and(|window| window.is_steady()) {
            break;
        }
    }
    Ok(())
}

/// One measurement of a point, to compare it with others; adds what was written to `before`.
pub(crate) fn once(rig: &mut Rig<'_>, before: &mut Before, cell: &Cell) -> Result<Measured, Interruption> {
    let requests = (RUN_BYTES / cell.size).clamp(FEWEST, MOST);
    let lead_in = before.lead_in_bytes().div_ceil(cell.size).max(u64::from(cell.depth));
    measure(rig, before, cell, requests, lead_in).map(|run| Measured::from(&run))
}

/// Measures a point until it is steady; adds what was written to `before`.
///
/// What was written before at other sizes still shows in how stale pages lie, and a drive that cleans many blocks at a time
/// is fast and slow in turns. So the five rounds together write as much as was written and trimmed since a point was last
/// measured here, or ever (with [`Effort::Quick`] no more than the probe's other experiments may have left stale), and
/// where they do not meet the rule, the next ones are twice as long.
pub(crate) fn sustained(
    rig: &mut Rig<'_>,
    before: &mut Before,
    cell: &Cell,
    page_bytes: u64,
) -> Result<Measured, Interruption> {
    let capacity_bytes = rig.device().profile().capacity_bytes;
    let least = (RUN_BYTES / cell.size).clamp(FEWEST, MOST);
    let since = rig.changed().stale_bytes(page_bytes) - before.steady_since_bytes;
    let bytes = match before.effort {
        Effort::Quick => since.min(before.stale_bytes),
        _ => since,
    };
    let mut requests = match rig.is_real() {
        true => least,
        false => (bytes / ROUNDS as u64 / cell.size).max(least),
    };
    let mut lead_in = before.lead_in_bytes().div_ceil(cell.size).max(u64::from(cell.depth));
    for doubled in 0.. {
        let (mut rounds, warmup) = (Vec::new(), before.written_bytes / cell.size + lead_in);
        for _ in 0..ROUNDS {
            rounds.push(measure(rig, before, cell, requests, lead_in)?);
            lead_in = 0;
        }
        let rates: Vec<f64> = rounds.iter().map(Run::bandwidth_bytes_per_s).collect();
        let is_steady = Window::of(&rates).is_some_and(|window| window.is_steady());
        let mut measured = Measured::of_rounds(&rounds);
        measured.steady = is_steady && before.is_used_up();
        let job = Load::RandomWrite.job(cell.size, cell.depth);
        // On a drive in the state in which the probe found it, all that was written since comes first.
        let line = Workload::single(job, measured.requests).warmup(warmup);
        measured.workload = confirm::line(&line);
        let enough =
            measured.steady && (before.effort != Effort::Full || is_worn(&measured, before, capacity_bytes));
        if enough || doubled >= before.doublings() {
            before.steady_since_bytes = rig.changed().stale_bytes(page_bytes);
            return Ok(measured);
        }
        requests *= 2;
    }
    unreachable!("the rounds are doubled a limited number of times")
}

/// A run of a point as `run` makes it.
fn measure(
    rig: &mut Rig<'_>,
    before: &mut Before,
    cell: &Cell,
    requests: u64,
    lead_in: u64,
) -> Result<Run, Interruption> {
    let mut stop = Stop::after(requests);
    stop.time = rig.is_real().then_some(before.budget.run);
    let job = Load::RandomWrite.job(cell.size, cell.depth);
    // Runs of one seed would write the same places again, and leave whole blocks stale.
    let seed = Seed(rig.random().bits());
    let run = rig.run(&Workload::new(vec![job], stop).warmup(lead_in).seed(seed))?;
    before.written_bytes += (lead_in + run.requests) * cell.size;
    Ok(run)
}

/// Whether the drive has nothing left to be used up: it cleans, or every place was overwritten at random.
fn is_worn(measured: &Measured, before: &Before, capacity_bytes: u64) -> bool {
    measured.cleaning.unwrap_or(before.written_bytes >= 2 * capacity_bytes)
}

/// What the buffer takes after a rest; none where there is no buffer.
pub(crate) fn burst(
    rig: &mut Rig<'_>,
    before: &mut Before,
    cell: &Cell,
) -> Result<Option<Rate>, Interruption> {
    let bytes = match before.buffer_bytes {
        Some(0) => return Ok(None),
        Some(bytes) => bytes,
        None => BURST_BYTES,
    };
    let requests = bytes / cell.size;
    if requests < u64::from(cell.depth).max(4) {
        return Ok(None);
    }
    rig.settle()?;
    let workload = Workload::single(Load::RandomWrite.job(cell.size, cell.depth), requests);
    let seed = Seed(rig.random().bits());
    let run = rig.run(&workload.clone().seed(seed))?;
    let measured = Measured { workload: confirm::line(&workload), ..Measured::from(&run) };
    before.written_bytes += requests * cell.size;
    Ok(Some(Rate::from(&measured)))
}

/// The sustained rate of another drive at the point of a recommendation: of one of the same kind in another state, which
/// a simulated drive can be made in.
///
/// # Errors
/// [`Interruption`] where the device fails, or the caller asks to stop.
pub fn sustained_elsewhere(
    device: &mut dyn Device,
    point: &Recommendation,
    options: Options<'_>,
) -> Result<Rate, Interruption> {
    let Options { effort, seed, mut watch, .. } = options;
    let progress = Progress { stage: "writes on a fragmented drive", share: 1.0 };
    let mut stop = || watch.as_mut().is_some_and(|watch| watch(&progress).is_break());
    let mut rig = Rig::new(device, seed, &mut stop);
    let buffer_bytes = point.writes.as_ref().and_then(|writes| writes.buffer_bytes);
    let budget = effort.budget(Medium::Drive);
    let mut before =
        Before { effort, budget, buffer_bytes, stale_bytes: 0, written_bytes: 0, steady_since_bytes: 0 };
    let (size, depth) = (point.request_bytes, point.queue_depth);
    let cell = Cell { size, depth, rate: 0.0, p99_ns: 0.0, confirmed: None };
    sustained(&mut rig, &mut before, &cell, size).map(|measured| Rate::from(&measured))
}

/// Burst and sustained rates side by side.
pub(crate) fn both(measured: &Measured, before: Before, burst: Option<Rate>) -> Writes {
    Writes {
        steady: measured.steady,
        cleaning: measured.cleaning,
        write_amplification: measured.write_amplification,
        written_bytes: before.written_bytes,
        stale_bytes: before.stale_bytes,
        buffer_bytes: before.buffer_bytes.filter(|bytes| *bytes > 0),
        burst,
        fragmented: None,
    }
}
