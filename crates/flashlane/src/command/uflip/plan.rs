//! `flashlane uflip DEVICE --plan`: prints the runs of a benchmark and their cost, without running it.

use super::Arguments;
use crate::device::{self as devices, OpenRequest};
use crate::failure::{Failure, Status};
use crate::output;
use flashlane_base::Seed;
use flashlane_measure::closed_loop;
use flashlane_open::{AccessMode, Target};
use flashlane_result::uflip_plan::{PlannedBenchmark, PlannedDevice, UFLIP_PLAN_SCHEMA, UflipPlan};
use flashlane_uflip::{Lengths, Options, Plan};
use flashlane_workload::{Generator, Job, Mix, Pattern};

/// Random reads that measure the speed of the device.
const READS: usize = 64;
/// Size of these reads, as in uFLIP.
const READ_BYTES: u64 = 32 << 10;

pub(super) fn call(arguments: &Arguments, target: &Target) -> Result<Status, Failure> {
    let opening = OpenRequest::new(&arguments.safety, AccessMode::ReadOnly, arguments.seed);
    let mut opened = devices::open_random_access(target, &opening, "uFLIP")?;
    let info = opened.device.info().clone();
    let job = Job::new("plan", Pattern::Random, Mix::READ, READ_BYTES.min(info.capacity_bytes));
    let reads = Generator::new(&job, info.capacity_bytes, Seed(0)).take(READS);
    let took = closed_loop(&mut *opened.device, reads, 1, |_, _| {}).map_err(Failure::failed)?;

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
