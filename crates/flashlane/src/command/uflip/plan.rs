//! `flashlane uflip DEVICE --plan`: prints the runs of a benchmark and their cost, without running it.

use super::Arguments;
use crate::device::{self as devices, OpenRequest};
use crate::failure::{Failure, Status};
use crate::output;
use flashlane_base::{Duration, Seed};
use flashlane_device::Device;
use flashlane_measure::{MeasureError, closed_loop};
use flashlane_open::{AccessMode, Target};
use flashlane_result::uflip_plan::{PlannedBenchmark, PlannedDevice, UFLIP_PLAN_SCHEMA, UflipPlan};
use flashlane_uflip::{Lengths, Options, Plan};
use flashlane_workload::{Access, Generator, Job, Mix, Pattern};

/// Random reads that measure the speed of the device.
const READS: usize = 64;
/// Size of these reads, as in uFLIP.
const READ_BYTES: u64 = 32 << 10;
/// Writes before them, and the most that they write.
const WRITE_BYTES: u64 = 128 << 10;
const WRITE_DEPTH: u32 = 8;
const WRITTEN_BYTES_MAX: u64 = 1 << 30;

pub(super) fn call(arguments: &Arguments, target: &Target) -> Result<Status, Failure> {
    let opening = OpenRequest::new(&arguments.safety, AccessMode::ReadOnly, arguments.seed);
    let mut opened = devices::open_random_access(target, &opening, "uFLIP")?;
    let info = opened.device.info().clone();
    let unit_bytes = info.read_unit_bytes.max(info.write_unit_bytes);
    // Plan for a run with --destroy-data.
    let options = Options {
        effort: arguments.effort(),
        benchmarks: arguments.benchmarks(),
        state: arguments.state(),
        ..Options::default()
    };
    let plan = Plan::new(&options, info.capacity_bytes, unit_bytes);
    plan.check().map_err(Failure::unusable)?;
    let lengths = Lengths::default();
    let total = plan.estimate(&lengths);
    let took = sampled_reads(&mut *opened.device, &plan, total.enforcements > 0).map_err(Failure::failed)?;
    let read_ns = took.as_ns() as f64 / READS as f64;
    let endurance = target.config().and_then(|config| config.flash.endurance);
    let device_writes = total.written_bytes as f64 / info.capacity_bytes as f64;
    let benchmarks = plan.estimates(&lengths).into_iter();
    let result = UflipPlan {
        schema: UFLIP_PLAN_SCHEMA.into(),
        device: PlannedDevice {
            name: info.name,
            capacity_bytes: info.capacity_bytes,
            simulated: info.simulated,
        },
        mode: arguments.effort().name().into(),
        area_bytes: plan.area_bytes,
        benchmarks: benchmarks
            .map(|(benchmark, estimate)| PlannedBenchmark { estimate, benchmark })
            .collect(),
        device_writes,
        endurance_share: endurance.map(|erases| device_writes / f64::from(erases)),
        random_read_ns: read_ns,
        expected_s: (total.ios as f64 * read_ns + total.paused_ns as f64) / 1e9,
        total,
        warnings: opened.warnings,
        partial: None,
    };
    output::deliver(&arguments.output, &result, None)?;
    Ok(Status::Done)
}

/// Measures random reads. On a simulated drive whose state the benchmark `enforces`, they are of an area that is
/// written first: of flash never written they would not wait for it.
fn sampled_reads(device: &mut dyn Device, plan: &Plan, enforces: bool) -> Result<Duration, MeasureError> {
    let info = device.info().clone();
    let mut area_bytes = info.capacity_bytes;
    if info.simulated && enforces {
        area_bytes = plan.area_bytes.min(WRITTEN_BYTES_MAX);
        let pieces =
            (0..area_bytes / WRITE_BYTES).map(|piece| Access::write(piece * WRITE_BYTES, WRITE_BYTES));
        closed_loop(device, pieces, WRITE_DEPTH.min(info.depth), |_, _| {})?;
        // What stays in a buffer is the end of the area.
        area_bytes = area_bytes.div_ceil(2);
    }
    let job = Job::new("plan", Pattern::Random, Mix::READ, READ_BYTES.min(area_bytes)).area(0, area_bytes);
    closed_loop(device, Generator::new(&job, info.capacity_bytes, Seed(0)).take(READS), 1, |_, _| {})
}
