//! Puts and gets with so many in flight: bandwidth and latency of the block layer on a device.

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
use flashlane_block::{BlockOptions, Layout, Outcome, Placement};
use flashlane_device::Profile;
use flashlane_open::{AnyBlocks, Target};
use flashlane_result::Warning;
use flashlane_result::sdf::{PhaseRow, SDF_BENCH_SCHEMA, SdfBenchResult};

/// Blocks a lane that are put unless a number is given.
const BLOCKS_PER_LANE: u64 = 4;
/// Bytes that are put on a simulated device at most unless a number is given, if that is a block a lane.
const SIMULATED_BYTES: u64 = 2 << 30;
/// Operations a lane from which on the end, where some lanes have nothing left to do, is below 1% of the time.
const LONG: u64 = 100;
/// How long puts, and gets, go on where neither a time nor a number of blocks is given.
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
    // Of a real device no formatting may be taken for an earlier one.
    let seed = simulated.then_some(given.seed);
    let accept = |profile: &Profile, layout: &Layout| {
        LoadPlan::new(given, layout, simulated).check(profile, layout).map_err(Failure::unusable)
    };
    let meter = Meter::new(format!("preparing {target}"));
    let (mut blocks, mut warnings) = open_or_format(target, safety, seed, options, &accept)?;
    let status = blocks.status();
    let LoadPlan { puts, gets, get_bytes, in_flight } = LoadPlan::new(given, &status.layout, simulated);
    let filling = Load {
        // A full device says why it is.
        operations: puts.min(status.blocks_free.max(1)),
        time_limit: given.duration.or(DURATION.filter(|_| given.blocks.is_none() && given.size.is_none())),
        in_flight,
        puts: 1.0,
        random: given.random,
        get_bytes,
        keep: None,
        first_id: status.next_id,
        // Bytes of simulated devices are kept in memory.
        zeros: simulated,
        seed: given.seed,
    };
    let reading = Load { operations: gets, puts: 0.0, ..filling };
    let loads = [("puts", filling), ("gets", reading)];
    let mut partial = None;
    let mut phases = Vec::new();
    for (nth, (name, load)) in loads.into_iter().enumerate().filter(|(_, (_, load))| load.operations > 0) {
        meter.say(format!("measuring {name} on {target}"));
        meter.set(Some(nth as f64 / 2.0));
        let mut watch = |share: f64| meter.watch(Some((nth as f64 + share) / 2.0));
        let done = match load::run(&mut blocks, &load, &mut watch) {
            Ok(done) => done,
            Err(error) => {
                partial = Some(format!("the {name} ended early: {error}"));
                break;
            }
        };
        let side = if name == "puts" { &done.puts } else { &done.gets };
        phases.push(phase(name, &load, side, done.elapsed));
        warnings.extend(uneven(name, &load, side.count, status.layout.lanes.into()));
        if done.is_stopped {
            partial = Some("stopped".to_owned());
            break;
        }
    }
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
    let left = status_result(&blocks);
    let result = SdfBenchResult {
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
        partial: partial.clone(),
        warnings,
        blocks_removed: removed,
        seed: given.seed.0,
        in_flight,
        placement: placement_name(placement).into(),
        phases,
        machine: None,
    };
    output::deliver(output, &output::value(&result, target)?, None)?;
    Ok(match partial {
        None => Status::Done,
        Some(reason) => {
            notify(&format!("{reason}; the result is partial"));
            Status::Failed
        }
    })
}

/// Deletes the blocks that were put, those with this id or a higher one, and waits until their units are erased.
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

/// What is asked for, once it is known what blocks there are.
struct LoadPlan {
    puts: u64,
    gets: u64,
    get_bytes: u64,
    in_flight: u32,
}

impl LoadPlan {
    fn new(given: &LoadOptions, layout: &Layout, simulated: bool) -> Self {
        let lanes = u64::from(layout.lanes);
        // The bytes of a simulated device are moved in memory, which takes longer than its own time.
        let most = match simulated {
            true => lanes * (SIMULATED_BYTES / layout.block_bytes() / lanes).max(1),
            false => u64::MAX,
        };
        let usual = (BLOCKS_PER_LANE * lanes).min(most);
        // As many on every lane: none is left alone at the end, which would count in the bandwidth.
        let of_size = given.size.map(|size| size.div_ceil(layout.block_bytes()).next_multiple_of(lanes));
        let puts = given.blocks.map(|blocks| blocks.get().into()).or(of_size).unwrap_or(usual);
        Self {
            puts,
            gets: given.gets.unwrap_or(puts),
            get_bytes: given.get_bytes.unwrap_or(layout.block_bytes()),
            in_flight: given.in_flight.map_or(layout.lanes, |n| n.get()),
        }
    }

    fn check(&self, profile: &Profile, layout: &Layout) -> anyhow::Result<()> {
        if self.get_bytes > layout.block_bytes() {
            return Err(anyhow!(
                "--get-bytes {} is more than a block holds: {}; nothing was touched",
                exact_bytes(self.get_bytes),
                exact_bytes(layout.block_bytes()),
            ));
        }
        let (needed, there) =
            (self.least_memory_bytes(profile, layout), flashlane_host::machine_memory_bytes());
        if needed > there {
            return Err(anyhow!(
                "the blocks and the operations in flight require at least {} of memory, and the machine has {}; nothing was \
                 touched. Give a smaller --in-flight, or fewer --blocks",
                format_bytes(needed),
                format_bytes(there)
            ));
        }
        Ok(())
    }

    /// A buffer for each put in flight, and each get that the device has taken; of every block the checksums, and of a
    /// simulated device both its ends, too.
    fn least_memory_bytes(&self, profile: &Profile, layout: &Layout) -> u64 {
        let at_once = |requests: u64, bytes| requests.min(self.in_flight.into()).saturating_mul(bytes);
        let puts = self.puts.min(layout.all_units());
        let gets = self.gets.min(profile.depth.into());
        let buffers = at_once(puts, layout.unit_bytes).max(at_once(gets, self.get_bytes));
        let ends = if profile.simulated { 2 * layout.header_bytes } else { 0 };
        buffers.saturating_add(puts.saturating_mul(4 * u64::from(layout.granules) + ends))
    }
}

/// The doubt about a bandwidth in which some lanes had nothing left to do at the end.
fn uneven(name: &str, load: &Load, count: u64, lanes: u64) -> Option<Warning> {
    let last = count % lanes;
    // Random gets are uneven anyway, and what was stopped did not come to its end.
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

fn phase(name: &str, load: &Load, side: &OperationStats, elapsed: Duration) -> PhaseRow {
    PhaseRow {
        operation: name.into(),
        requests: side.count,
        request_bytes: side.bytes / side.count.max(1),
        in_flight: load.in_flight,
        elapsed_s: elapsed.as_s_f64(),
        bandwidth_bytes_per_s: side.bytes_per_s(elapsed),
        latency_ns: side.latency.latency(),
    }
}
