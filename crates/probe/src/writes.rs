//! Writes as they come at first and as they come for good.
//!
//! A burst is what the write buffer takes after a rest. What is sustained is measured as `run` measures it, one run
//! after another at the same point, until a run is steady by the rule that `run` applies and agrees with the run
//! before; where that does not happen within the budget, the result says so. Neither shows what a drive sustains once
//! its spare space is used up, unless it cleaned meanwhile: that is told apart.

use crate::confirm::{Measured, longest};
use crate::grid::Cell;
use crate::load::Load;
use crate::options::{Effort, Options, Progress};
use crate::result::{Rate, Recommendation, Writes};
use crate::rig::Rig;
use flashlane_device::Device;
use flashlane_measure::Interruption;
use flashlane_workload::{Stop, Workload};

/// Bytes of one run, within limits on its requests.
const RUN_BYTES: u64 = 80 << 20;
const FEWEST: u64 = 1024;
const MOST: u64 = 20_000;
/// Two runs agree within this share.
const AGREE: f64 = 0.05;
/// Where a buffer's size is not known, at least this much is written before a run counts, …
const LEAD_IN_BYTES: u64 = 8 << 20;
/// … and this much counts as a burst.
const BURST_BYTES: u64 = 1 << 20;

/// What is known of the drive before it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(crate) effort: Effort,
    /// The size of the write buffer, where it was found; `Some(0)` where there is none.
    pub(crate) buffer_bytes: Option<u64>,
    /// Bytes that the probe has written at random so far.
    pub(crate) written_bytes: u64,
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

    /// Runs one after another before the search for a steady one ends.
    fn runs(&self) -> usize {
        match self.effort {
            Effort::Quick => 2,
            Effort::Normal => 5,
            Effort::Full => 64,
        }
    }
}

/// Measures writes at one point until they are steady; adds what was written to `before`.
pub(crate) fn sustained(
    rig: &mut Rig<'_>,
    before: &mut Before,
    cell: &Cell,
) -> Result<Measured, Interruption> {
    let (size, depth) = (cell.size, cell.depth);
    let profile = rig.device().profile();
    let (simulated, capacity_bytes) = (profile.simulated, profile.capacity_bytes);
    let mut requests = (RUN_BYTES / size).clamp(FEWEST, MOST);
    let mut lead_in = before.lead_in_bytes().div_ceil(size).max(u64::from(depth));
    let mut last: Option<Measured> = None;
    for _ in 0..before.runs() {
        let mut stop = Stop::after(requests);
        stop.time = (!simulated).then(|| longest(before.effort));
        let workload = Workload::new(vec![Load::RandomWrite.job(size, depth)], stop).warmup(lead_in);
        let run = rig.run(&workload)?;
        let mut measured = Measured::from(&run);
        // On a drive in the state in which the probe found it, all that was written since comes first.
        let written = Workload { warmup_requests: before.written_bytes / size + lead_in, ..workload };
        let text = written.to_string();
        measured.workload = text.strip_suffix(",seed=0").unwrap_or(&text).to_owned();
        before.written_bytes += (lead_in + run.requests) * size;
        lead_in = 0;
        let agrees = |last: &Measured| {
            (last.bandwidth_bytes_per_s / measured.bandwidth_bytes_per_s - 1.0).abs() <= AGREE
        };
        let steady = measured.steady && last.as_ref().is_some_and(agrees);
        measured.steady = steady;
        let settled = steady && (before.effort != Effort::Full || is_worn(&measured, before, capacity_bytes));
        last = Some(measured);
        if settled {
            break;
        }
        if before.effort == Effort::Full {
            requests = (requests * 2).min((capacity_bytes / 8 / size).max(MOST));
        }
    }
    Ok(last.expect("there is at least one run"))
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
    let measured = Measured::from(&rig.run(&workload)?);
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
    let mut before = Before { effort, buffer_bytes, written_bytes: 0 };
    let (size, depth) = (point.request_bytes, point.queue_depth);
    let cell = Cell { size, depth, rate: 0.0, p99_ns: 0.0, confirmed: None };
    sustained(&mut rig, &mut before, &cell).map(|measured| Rate::from(&measured))
}

/// Burst and sustained rates side by side.
pub(crate) fn both(measured: &Measured, before: Before, burst: Option<Rate>) -> Writes {
    Writes {
        steady: measured.steady,
        cleaning: measured.cleaning,
        write_amplification: measured.write_amplification,
        written_bytes: before.written_bytes,
        buffer_bytes: before.buffer_bytes.filter(|bytes| *bytes > 0),
        burst,
        fragmented: None,
    }
}
