//! `flashlane.sdf/1` and `flashlane.sdf_bench/1`: a device that holds blocks, and how fast puts and gets of them are.

use crate::{Common, Kind, Machine, Warning};
use flashlane_base::Latency;
use serde::{Deserialize, Serialize};

/// What [`SdfResult::schema`] says.
pub const SDF_SCHEMA: &str = "flashlane.sdf/1";
/// What [`SdfBenchResult::schema`] says.
pub const SDF_BENCH_SCHEMA: &str = "flashlane.sdf_bench/1";

/// A device that holds blocks, formatted, opened or checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SdfResult {
    /// Always [`SDF_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: BlockDeviceRow,
    /// Names the formatting, in hexadecimal.
    pub format: String,
    /// Bytes of user data that a block holds at most.
    pub block_bytes: u64,
    /// Blocks that are stored.
    pub blocks: u64,
    /// Blocks that there is room for.
    pub blocks_free: u64,
    /// Bytes of user data that fit in all.
    pub user_bytes: u64,
    /// The id that is given out next.
    pub next_id: u64,
    /// Units that can be written at once.
    pub units_erased: u64,
    /// Units that have to be erased first.
    pub units_dirty: u64,
    /// Units that can be used no more.
    pub units_bad: u64,
    /// Units that hold nothing that can be told, and of a check those with a block that cannot be read.
    pub units_damaged: u64,
    /// Copies of the superblock: two, but for damage.
    pub superblock_copies: u64,
    /// Lane by lane.
    pub lanes: Vec<LaneRow>,
    /// Doubts about the device.
    pub warnings: Vec<Warning>,
    /// After formatting: whether the device kept its lanes or was divided anew, and into what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<String>,
    /// What is damaged, and what to do; or that all is sound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Whether nothing is damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sound: Option<bool>,
    /// Of a check: blocks that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_checked: Option<u64>,
    /// Of a check: blocks and units that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<Vec<UnreadableRow>>,
    /// Why a check ended before its end; `null` where it did not.
    #[serde(default)]
    pub partial: Option<String>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// How fast puts and gets are, and the device as it is left at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SdfBenchResult {
    /// Always [`SDF_BENCH_SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: BlockDeviceRow,
    /// Names the formatting, in hexadecimal.
    pub format: String,
    /// Bytes of user data that a block holds at most.
    pub block_bytes: u64,
    /// Blocks that are stored.
    pub blocks: u64,
    /// Blocks that there is room for.
    pub blocks_free: u64,
    /// Bytes of user data that fit in all.
    pub user_bytes: u64,
    /// The id that is given out next.
    pub next_id: u64,
    /// Units that can be written at once.
    pub units_erased: u64,
    /// Units that have to be erased first.
    pub units_dirty: u64,
    /// Units that can be used no more.
    pub units_bad: u64,
    /// Units that hold nothing that can be told, and of a check those with a block that cannot be read.
    pub units_damaged: u64,
    /// Copies of the superblock: two, but for damage.
    pub superblock_copies: u64,
    /// Why it ended before its end; `null` where it did not.
    pub partial: Option<String>,
    /// Doubts about what was measured.
    pub warnings: Vec<Warning>,
    /// Of a real device: blocks that were put, and deleted at the end.
    pub blocks_removed: Option<u64>,
    /// The root of all randomness.
    pub seed: u64,
    /// Puts, or gets, at once.
    pub in_flight: u32,
    /// How lanes are chosen.
    pub placement: String,
    /// What was measured, one after the other.
    pub phases: Vec<PhaseRow>,
    /// Drive and system, of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// A device that holds blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDeviceRow {
    /// The spec or path it was opened by.
    pub name: String,
    /// Whether its time is simulated.
    pub simulated: bool,
    /// Lanes.
    pub lanes: u32,
    /// Erase units of a lane.
    pub units_per_lane: u32,
    /// Bytes of an erase unit.
    pub unit_bytes: u64,
    /// Reads are multiples of this.
    pub read_unit_bytes: u64,
}

/// A lane.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneRow {
    /// Its number, from 0.
    pub lane: u64,
    /// Blocks that it stores.
    pub blocks: u64,
    /// Units that can be written at once.
    pub units_erased: u64,
    /// Units that have to be erased first.
    pub units_dirty: u64,
    /// Units that can be used no more.
    pub units_bad: u64,
    /// Units that hold nothing that can be told.
    pub units_damaged: u64,
    /// Erases of the least worn unit, where the device counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_least: Option<u32>,
    /// Of all units on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_mean: Option<f64>,
    /// Of the most worn one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_most: Option<u32>,
}

/// A unit, and the bytes of its lane that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRow {
    /// Its lane, from 0.
    pub lane: u32,
    /// Its number in the lane, from 0.
    pub unit: u32,
    /// Its first byte.
    pub offset_bytes: u64,
    /// The bytes that it takes.
    pub length_bytes: u64,
}

/// A block that could not be read, or a unit that tells none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableRow {
    /// Where it lies.
    #[serde(flatten)]
    pub unit: UnitRow,
    /// The block's id; `null` of a damaged unit, which tells none.
    pub id: Option<u64>,
    /// What is wrong.
    pub reason: String,
}

/// What one measurement of puts or gets showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRow {
    /// `puts` or `gets`.
    pub operation: String,
    /// How many.
    pub requests: u64,
    /// User data of one.
    pub request_bytes: u64,
    /// At once.
    pub in_flight: u32,
    /// Device time, in seconds.
    pub elapsed_s: f64,
    /// Bytes of user data a second.
    pub bandwidth_bytes_per_s: f64,
    /// Their latencies.
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
