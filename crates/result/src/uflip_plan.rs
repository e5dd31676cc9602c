//! `flashlane.uflip-plan/1`: what uFLIP would do to a device, and what that would cost.

use crate::uflip::Benchmark;
use crate::{Common, Kind, Warning};
use serde::{Deserialize, Serialize};

/// What [`UflipPlan::schema`] says.
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
    /// The part of the device that would be used, from its beginning.
    pub area_bytes: u64,
    /// The micro-benchmarks.
    pub benchmarks: Vec<PlannedBenchmark>,
    /// All of them with the methodology.
    pub total: Estimate,
    /// How often the device's capacity would be written.
    pub device_writes: f64,
    /// The share of its rated endurance, where that is known.
    pub endurance_share: Option<f64>,
    /// What a random read of 32 KiB takes now.
    pub random_read_ns: f64,
    /// The time to expect if every I/O took as long, and the pauses.
    pub expected_s: f64,
    /// Doubts about what would be measured.
    pub warnings: Vec<Warning>,
    /// Always `null`: nothing is done that could end early.
    pub partial: Option<String>,
}

/// The device of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedDevice {
    /// The spec or path it was opened by.
    pub name: String,
    /// Bytes that can be addressed.
    pub capacity_bytes: u64,
    /// Whether its time is simulated.
    pub simulated: bool,
}

/// What a micro-benchmark would cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedBenchmark {
    /// What it would cost.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Which one.
    pub benchmark: Benchmark,
}

/// What a plan costs, or a part of it.
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
    /// How often the state is enforced.
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
