//! `flashlane.sdf/1` and `flashlane.sdf_bench/1`: a device that stores blocks, and the speed of puts and gets.

use crate::{Common, Kind, Machine, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};

/// Value of [`SdfResult::schema`].
pub const SDF_SCHEMA: &str = "flashlane.sdf/1";
/// Value of [`SdfBenchResult::schema`].
pub const SDF_BENCH_SCHEMA: &str = "flashlane.sdf_bench/1";

/// A device that stores blocks, after formatting, opening or a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SdfResult {
    /// Always [`SDF_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: BlockDeviceRow,
    /// Id of the format, in hexadecimal.
    pub format: String,
    /// Most user data of a block.
    pub block_bytes: u64,
    /// Blocks stored.
    pub blocks: u64,
    /// Blocks that still fit.
    pub blocks_free: u64,
    /// Total capacity for user data.
    pub user_bytes: u64,
    /// Next id to be assigned.
    pub next_id: u64,
    /// Erased units.
    pub units_erased: u64,
    /// Units to be erased before writing.
    pub units_dirty: u64,
    /// Bad units.
    pub units_bad: u64,
    /// Units with unreadable headers, and in a check also those with an unreadable block.
    pub units_damaged: u64,
    /// Intact copies of the superblock, of two.
    pub superblock_copies: u64,
    /// Lane by lane.
    pub lanes: Vec<LaneRow>,
    /// Doubts about the device.
    pub warnings: Vec<Warning>,
    /// After formatting: whether the lanes were kept or newly divided, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<String>,
    /// Damage and what to do about it, or that the device is sound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Whether there is no damage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sound: Option<bool>,
    /// For a check: blocks read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_checked: Option<u64>,
    /// For a check: blocks and units that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<Vec<UnreadableRow>>,
    /// Why a check ended early; `null` if it did not.
    #[serde(default)]
    pub partial: Option<String>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// Speed of puts and gets, and the device afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SdfBenchResult {
    /// Always [`SDF_BENCH_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: BlockDeviceRow,
    /// Id of the format, in hexadecimal.
    pub format: String,
    /// Most user data of a block.
    pub block_bytes: u64,
    /// Blocks stored.
    pub blocks: u64,
    /// Blocks that still fit.
    pub blocks_free: u64,
    /// Total capacity for user data.
    pub user_bytes: u64,
    /// Next id to be assigned.
    pub next_id: u64,
    /// Erased units.
    pub units_erased: u64,
    /// Units to be erased before writing.
    pub units_dirty: u64,
    /// Bad units.
    pub units_bad: u64,
    /// Units with unreadable headers, and in a check also those with an unreadable block.
    pub units_damaged: u64,
    /// Intact copies of the superblock, of two.
    pub superblock_copies: u64,
    /// Why it ended early; `null` if it did not.
    pub partial: Option<String>,
    /// Doubts about the measurement.
    pub warnings: Vec<Warning>,
    /// On a real device: blocks put by the benchmark and deleted at the end.
    pub blocks_removed: Option<u64>,
    /// Root seed.
    pub seed: u64,
    /// Puts or gets in flight.
    pub in_flight: u32,
    /// Placement policy of blocks on lanes.
    pub placement: String,
    /// Measurements, in order.
    pub phases: Vec<PhaseRow>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// A device that stores blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDeviceRow {
    /// The spec or path given.
    pub name: String,
    /// Whether its time is simulated.
    pub simulated: bool,
    /// Number of lanes.
    pub lanes: u32,
    /// Erase units per lane.
    pub units_per_lane: u32,
    /// Size of an erase unit.
    pub unit_bytes: u64,
    /// Reads are multiples of this.
    pub read_unit_bytes: u64,
}

/// A lane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneRow {
    /// Number of the lane, from 0.
    pub lane: u64,
    /// Blocks stored on it.
    pub blocks: u64,
    /// Erased units.
    pub units_erased: u64,
    /// Units to be erased before writing.
    pub units_dirty: u64,
    /// Bad units.
    pub units_bad: u64,
    /// Units with unreadable headers.
    pub units_damaged: u64,
    /// Erases of the least worn unit, if the device counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_least: Option<u32>,
    /// Mean erases of all units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_mean: Option<f64>,
    /// Erases of the most worn unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_most: Option<u32>,
}

/// A unit and its range in the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRow {
    /// Lane, from 0.
    pub lane: u32,
    /// Number in the lane, from 0.
    pub unit: u32,
    /// Offset in the lane.
    pub offset_bytes: u64,
    /// Length of the range.
    pub length_bytes: u64,
}

/// A block that could not be read, or a unit without a readable block id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableRow {
    /// The unit.
    #[serde(flatten)]
    pub unit: UnitRow,
    /// The block's id; `null` for a damaged unit without one.
    pub id: Option<u64>,
    /// Why it could not be read.
    pub reason: String,
}

/// One measurement of puts or gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRow {
    /// `puts` or `gets`.
    pub operation: String,
    /// Number of puts or gets.
    pub requests: u64,
    /// User data per block.
    pub request_bytes: u64,
    /// Puts or gets in flight.
    pub in_flight: u32,
    /// Device time, in seconds.
    pub elapsed_s: f64,
    /// Bytes of user data per second.
    pub bandwidth_bytes_per_s: f64,
    /// Latencies of the puts or gets.
    pub latency_ns: Latency,
}

impl Kind for SdfResult {
    const SCHEMA: &'static str = SDF_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common {
            warnings: &self.warnings,
            partial: self.partial.as_deref(),
            machine: self.machine.as_ref(),
            ..Common::default()
        }
    }
}

impl Kind for SdfBenchResult {
    const SCHEMA: &'static str = SDF_BENCH_SCHEMA;

    fn common(&self) -> Common<'_> {
        Common {
            warnings: &self.warnings,
            partial: self.partial.as_deref(),
            machine: self.machine.as_ref(),
            ..Common::default()
        }
    }
}

crate::on_device!(SdfResult);
crate::on_device!(SdfBenchResult);
