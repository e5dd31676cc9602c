//! `flashlane.uflip-plan/1`: the I/O that uFLIP would issue to a device, and its cost.

use crate::uflip::Benchmark;
use crate::{Common, Kind, Warning};
use serde::{Deserialize, Serialize};

/// Value of [`UflipPlan::schema`].
pub const UFLIP_PLAN_SCHEMA: &str = "flashlane.uflip-plan/1";

/// A plan. I/Os are counted with runs of the paper's lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UflipPlan {
    /// Always [`UFLIP_PLAN_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: PlannedDevice,
    /// How much would be measured: `quick`, `normal`, `full`.
    pub mode: String,
    /// Bytes of the device that would be used, from its beginning.
    pub area_bytes: u64,
    /// The micro-benchmarks.
    pub benchmarks: Vec<PlannedBenchmark>,
    /// Total, including the methodology.
    pub total: Estimate,
    /// Bytes to write, in multiples of the device's capacity.
    pub device_writes: f64,
    /// Share of the rated endurance, if known.
    pub endurance_share: Option<f64>,
    /// Measured time of a random read of 32 KiB.
    pub random_read_ns: f64,
    /// Estimated time with every I/O as slow as such a read, plus pauses.
    pub expected_s: f64,
    /// Doubts about the planned measurement.
    pub warnings: Vec<Warning>,
    /// Always `null`: a plan cannot end early.
    pub partial: Option<String>,
}

/// The device of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedDevice {
    /// The spec or path given.
    pub name: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// Whether its time is simulated.
    pub simulated: bool,
}

/// Planned cost of a micro-benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedBenchmark {
    /// Estimated cost.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The micro-benchmark.
    pub benchmark: Benchmark,
}

/// Cost of a plan, or a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Runs.
    pub runs: u64,
    /// I/Os.
    pub ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Number of state enforcements.
    pub enforcements: u64,
    /// Time spent in pauses, in nanoseconds.
    pub paused_ns: u64,
}

impl Kind for UflipPlan {
    const SCHEMA: &'static str = UFLIP_PLAN_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common { warnings: &self.warnings, partial: self.partial.as_deref(), ..Common::default() }
    }
}
