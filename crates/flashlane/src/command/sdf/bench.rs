//! Measures bandwidth and latency of puts and gets with a given number in flight.

use super::LoadOptions;
use super::device::open_or_format;
use super::status::status_result;
use crate::failure::{Failure, Status, notify};
use crate::options::{OutputOptions, SafetyOptions};
use crate::output;
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_base::Duration;
use flashlane_base::units::{exact_bytes, format_bytes};
use flashlane_block::load::{self, Load, OperationStats};
use flashlane_block::{BlockOptions, Layout, Outcome, Placement, Status as BlockStatus};
use flashlane_device::DeviceInfo;
use flashlane_open::{AnyBlocks, Target};
use flashlane_result::Warning;
use flashlane_result::sdf::{PhaseRow, SDF_BENCH_SCHEMA, SdfBenchResult};

/// Default number of blocks per lane to put.
const BLOCKS_PER_LANE: u64 = 4;
/// Default limit of bytes to put on a simulated device, with at least a block per lane.
const SIMULATED_BYTES: u64 = 2 << 30;
/// Operations per lane from which the end, with some lanes idle, is below 1% of the time.
const LONG: u64 = 100;
/// Time limit of puts, and of gets, if neither a time nor a number of blocks is given.
const DURATION: Option<Duration> = Some(Duration::from_s(10));

pub fn call(
    target: &Target,
    given: &LoadOptions,
    output: &OutputOptions,
    safety: &SafetyOptions,
) -> Result<Status, Failure> {
    output::prepare_for_device(output, target)?;
    let placement: Placement = given.placement.into();
    let options = BlockOptions { placement, ..BlockOptions::default() };
    let simulated = target.is_simulated();
    // On a real device each format must have another seed, so that it is not mistaken for an earlier one.
    let seed = simulated.then_some(given.seed);
    let accept = |info: &DeviceInfo, layout: &Layout| {
        LoadPlan::new(given, layout, simulated).check(given, info, layout).map_err(Failure::unusable)
    };
    let meter = Meter::new(format!("preparing {target}"));
    let (mut blocks, mut warnings) = open_or_format(target, safety, seed, options, &accept)?;
    let status = blocks.status();
    check_size(given, status.layout.block_bytes(), status.blocks_free).map_err(Failure::unusable)?;
    let plan = LoadPlan::new(given, &status.layout, simulated);
    let in_flight = plan.in_flight;
    let loads = loads(given, plan, &status, simulated);
    let Phases { phases, warnings: uneven, mut partial } =
        measure(&mut blocks, loads, target, status.layout.lanes.into(), &meter);
    warnings.extend(uneven);
    drop(meter);
    let mut removed = None;
    if !simulated {
        match remove(&mut blocks, status.next_id) {
            Ok(count) => removed = Some(count),
            Err(reason) => {
                let reason = format!("blocks of the measurement were not removed: {reason}");
                partial = Some(partial.map_or_else(|| reason.clone(), |first| format!("{first}; {reason}")));
            }
        }
    }
    let mut result = SdfBenchResult {
        partial: partial.clone(),
        warnings,
        blocks_removed: removed,
        seed: given.seed.0,
        in_flight,
        placement: placement_name(placement).into(),
        phases,
        ..state_after(&blocks)
    };
    output::add_machine(&mut result, target);
    output::deliver(output, &result, None)?;
    Ok(match partial {
        None => Status::Done,
        Some(reason) => {
            notify(&format!("{reason}; the result is partial"));
            Status::Failed
        }
    })
}

/// Refuses a size that is more than has room: a part of it would be measured.
fn check_size(given: &LoadOptions, block_bytes: u64, blocks_free: u64) -> anyhow::Result<()> {
    match given.size.filter(|size| size.div_ceil(block_bytes) > blocks_free) {
        None => Ok(()),
        Some(size) => Err(anyhow!(
            "--size {} has no room: {} free blocks of {} hold {}; nothing was measured",
            exact_bytes(size),
            blocks_free,
            exact_bytes(block_bytes),
            exact_bytes(blocks_free * block_bytes)
        )),
    }
}

/// Returns the loads to measure, by name: puts, then gets of the blocks.
fn loads(
    given: &LoadOptions,
    plan: LoadPlan,
    status: &BlockStatus,
    simulated: bool,
) -> [(&'static str, Load); 2] {
    let LoadPlan { puts, gets, get_bytes, in_flight } = plan;
    let filling = Load {
        // On a full device one put reports the reason.
        operations: puts.min(status.blocks_free.max(1)),
        time_limit: given.duration.or(DURATION.filter(|_| given.blocks.is_none() && given.size.is_none())),
        in_flight,
        puts: 1.0,
        random: given.random,
        get_bytes,
        keep: None,
        first_id: status.next_id,
        // Data of simulated devices is in memory.
        zeros: simulated,
        seed: given.seed,
    };
    let reading = Load { operations: gets, puts: 0.0, ..filling };
    [("puts", filling), ("gets", reading)]
}

/// Measured phases, the warnings about them, and why they ended early, if they did.
struct Phases {
    phases: Vec<PhaseRow>,
    warnings: Vec<Warning>,
    partial: Option<String>,
}

fn measure(
    blocks: &mut AnyBlocks,
    loads: [(&'static str, Load); 2],
    target: &Target,
    lanes: u64,
    meter: &Meter,
) -> Phases {
    let (mut phases, mut warnings, mut partial) = (Vec::new(), Vec::new(), None);
    for (nth, (name, load)) in loads.into_iter().enumerate().filter(|(_, (_, load))| load.operations > 0) {
        meter.say(format!("measuring {name} on {target}"));
        meter.set(Some(nth as f64 / 2.0));
        let mut watch = |share: f64| meter.watch(Some((nth as f64 + share) / 2.0));
        let done = match load::run(blocks, &load, &mut watch) {
            Ok(done) => done,
            Err(error) => {
                partial = Some(format!("the {name} ended early: {error}"));
                break;
            }
        };
        let stats = if name == "puts" { &done.puts } else { &done.gets };
        phases.push(phase_row(name, &load, stats, done.elapsed));
        warnings.extend(uneven_lanes(name, &load, stats.count, lanes));
        if done.is_stopped {
            partial = Some("stopped".to_owned());
            break;
        }
    }
    Phases { phases, warnings, partial }
}

/// Returns a result with the state of the blocks after the measurement, and nothing measured.
fn state_after(blocks: &AnyBlocks) -> SdfBenchResult {
    let left = status_result(blocks);
    SdfBenchResult {
        schema: SDF_BENCH_SCHEMA.into(),
        device: left.device,
        format: left.format,
        block_bytes: left.block_bytes,
        blocks: left.blocks,
        blocks_free: left.blocks_free,
        user_bytes: left.user_bytes,
        next_id: left.next_id,
        units_erased: left.units_erased,
        units_dirty: left.units_dirty,
        units_bad: left.units_bad,
        units_damaged: left.units_damaged,
        superblock_copies: left.superblock_copies,
        partial: None,
        warnings: Vec::new(),
        blocks_removed: None,
        seed: 0,
        in_flight: 0,
        placement: String::new(),
        phases: Vec::new(),
        machine: None,
    }
}

/// Deletes the blocks of the measurement, with ids from `first_id`, and waits until their units are erased.
fn remove(blocks: &mut AnyBlocks, first_id: u64) -> Result<u64, String> {
    blocks.settle();
    let ids: Vec<u64> = blocks.list().map(|info| info.id).filter(|&id| id >= first_id).collect();
    for &id in &ids {
        let ticket = blocks.delete(id).map_err(|error| error.to_string())?;
        if let Some(Outcome::Delete(Err(failure))) = blocks.wait(ticket).map(|finished| finished.outcome) {
            return Err(failure.to_string());
        }
    }
    blocks.settle();
    Ok(ids.len() as u64)
}

/// The load, with defaults for the layout of the device.
struct LoadPlan {
    puts: u64,
    gets: u64,
    get_bytes: u64,
    in_flight: u32,
}

impl LoadPlan {
    fn new(given: &LoadOptions, layout: &Layout, simulated: bool) -> Self {
        let lanes = u64::from(layout.lanes);
        // Data of a simulated device moves in memory, which takes longer than its virtual time.
        let most = match simulated {
            true => lanes * (SIMULATED_BYTES / layout.block_bytes() / lanes).max(1),
            false => u64::MAX,
        };
        let usual = (BLOCKS_PER_LANE * lanes).min(most);
        // Equally many on every lane: lanes that idle at the end would lower the bandwidth.
        let of_size = given.size.map(|size| size.div_ceil(layout.block_bytes()).next_multiple_of(lanes));
        let puts = given.blocks.map(|blocks| blocks.get().into()).or(of_size).unwrap_or(usual);
        Self {
            puts,
            gets: given.gets.unwrap_or(puts),
            get_bytes: given.get_bytes.unwrap_or(layout.block_bytes()),
            in_flight: given.in_flight.map_or(layout.lanes, |n| n.get()),
        }
    }

    fn check(&self, given: &LoadOptions, info: &DeviceInfo, layout: &Layout) -> anyhow::Result<()> {
        if self.get_bytes > layout.block_bytes() {
            return Err(anyhow!(
                "--get-bytes {} is more than a block holds: {}; nothing was touched",
                exact_bytes(self.get_bytes),
                exact_bytes(layout.block_bytes()),
            ));
        }
        check_size(given, layout.block_bytes(), layout.all_units() - Layout::RESERVED_UNITS)?;
        let (needed, there) = (self.least_memory_bytes(info, layout), flashlane_host::machine_memory_bytes());
        if needed > there {
            return Err(anyhow!(
                "the blocks and the operations in flight require at least {} of memory, and the machine has {}; nothing was \
                 touched. Give a smaller --in-flight, or fewer --blocks",
                format_bytes(needed),
                format_bytes(there)
            ));
        }
        if !flashlane_host::has_address_space(needed) {
            return Err(anyhow!(
                "the blocks and the operations in flight require at least {} of memory, which the system does not give; \
                 nothing was touched. Give a smaller --in-flight, or fewer --blocks, or raise the limit (ulimit -v)",
                format_bytes(needed)
            ));
        }
        Ok(())
    }

    /// Returns the memory for a buffer per put in flight or get on the device, and per block for its checksums and, on
    /// a simulated device, its header and footer.
    fn least_memory_bytes(&self, info: &DeviceInfo, layout: &Layout) -> u64 {
        let at_once = |requests: u64, bytes| requests.min(self.in_flight.into()).saturating_mul(bytes);
        let puts = self.puts.min(layout.all_units());
        let gets = self.gets.min(info.depth.into());
        let buffers = at_once(puts, layout.unit_bytes).max(at_once(gets, self.get_bytes));
        let ends = if info.simulated { 2 * layout.header_bytes } else { 0 };
        buffers.saturating_add(puts.saturating_mul(4 * u64::from(layout.granules) + ends))
    }
}

/// Warns of a bandwidth lowered by lanes that were idle at the end.
fn uneven_lanes(name: &str, load: &Load, count: u64, lanes: u64) -> Option<Warning> {
    let last = count % lanes;
    // Random gets are always uneven, and a stopped load did not reach its end.
    if last == 0 || count / lanes >= LONG || load.random || count < load.operations {
        return None;
    }
    Some(Warning::new(
        "uneven-lanes",
        format!(
            "{count} {name} on {lanes} lanes: {} of the lanes are idle at the end, which lowers the bandwidth; a multiple \
             of {lanes} loads all lanes equally",
            lanes - last,
        ),
    ))
}

fn placement_name(placement: Placement) -> &'static str {
    Placement::ALL.iter().find(|(_, known)| *known == placement).expect("all have a name").0
}

fn phase_row(name: &str, load: &Load, stats: &OperationStats, elapsed: Duration) -> PhaseRow {
    PhaseRow {
        operation: name.into(),
        requests: stats.count,
        request_bytes: stats.bytes / stats.count.max(1),
        in_flight: load.in_flight,
        elapsed_s: elapsed.as_s_f64(),
        bandwidth_bytes_per_s: stats.bytes_per_s(elapsed),
        latency_ns: stats.latency.latency(),
    }
}
