//! `flashlane.advice/1`: the cost model of a device, and settings or plans that follow from it.

use crate::{Figure, Machine, Warning, kind};
use serde::{Deserialize, Serialize};

/// Value of [`AdviceResult::schema`].
pub const ADVICE_SCHEMA: &str = "flashlane.advice/1";

/// Settings for a program, or the choice of a plan, with the measurements behind them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AdviceResult {
    /// Always [`ADVICE_SCHEMA`].
    pub schema: String,
    /// The device as it was written.
    pub device: String,
    /// The program: `postgresql 18`; `plan` for a choice between plans.
    pub program: String,
    /// Seed of all places.
    pub seed: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Settings to change.
    #[serde(default)]
    pub settings: Vec<SettingRow>,
    /// Settings that were to be changed until they were tried: no gain of 5% was measured.
    #[serde(default)]
    pub withdrawn: Vec<WithdrawnRow>,
    /// Settings to keep.
    #[serde(default)]
    pub kept: Vec<KeptRow>,
    /// Plans, fastest first: by measurement where all were measured, otherwise by prediction.
    #[serde(default)]
    pub plans: Vec<PlanRow>,
    /// Time of a page at random.
    pub random: Vec<CostRow>,
    /// Time of a page of a scan.
    pub scans: Vec<ScanRow>,
    /// Time of a commit, if it is known: of a page written and flushed.
    #[serde(default)]
    pub commit_ns: Option<Interval>,
    /// The cost model as plots.
    pub figures: Vec<Figure>,
    /// Doubts about the measurements, gravest first.
    pub warnings: Vec<Warning>,
    /// Why it ended early, if it did.
    pub partial: Option<String>,
    /// Drive and system of a real device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

kind!(AdviceResult, ADVICE_SCHEMA);

/// A value with the interval that holds it with 95% confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The value.
    pub value: f64,
    /// Upper end.
    pub high: f64,
}

/// A setting to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingRow {
    /// Its name.
    pub name: String,
    /// Its value now: the program's default.
    pub now: String,
    /// Its value to be.
    pub proposed: String,
    /// What it holds for, and what it takes to change it.
    pub scope: String,
    /// The line that sets it.
    pub apply: String,
    /// The line that undoes that.
    pub undo: String,
    /// The measurements that it follows from.
    pub measured: String,
    /// How it follows.
    pub formula: String,
    /// When it does not hold.
    pub void_when: String,
    /// What it gains.
    pub effect: Effect,
}

/// What a setting gains: how many times longer a task takes without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The task.
    pub on: String,
    /// By the cost model.
    pub predicted: Interval,
    /// By the task's reads, made on the device in turn with both values; `null` where they were not made.
    pub measured: Option<Interval>,
    /// Whether the prediction held: the values differ by at most 10%, or the intervals meet; `null` where these meet
    /// only since they are so wide that the values may differ by a factor of two.
    pub holds: Option<bool>,
}

/// A setting that stays as it is, since its check contradicted the prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithdrawnRow {
    /// Its name.
    pub name: String,
    /// Its value, which it keeps.
    pub now: String,
    /// The value that was proposed.
    pub proposed: String,
    /// Why it is withdrawn.
    pub why: String,
    /// What it was to gain, and what was measured.
    pub effect: Effect,
}

/// A setting to keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRow {
    /// Its name.
    pub name: String,
    /// Its value.
    pub now: String,
    /// Why it stays.
    pub why: String,
    /// Whether another value may gain 5%, but the measurements differ too much to tell.
    #[serde(default)]
    pub undecided: bool,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRow {
    /// Its name.
    pub name: String,
    /// Its elapsed time by the cost model, in nanoseconds.
    pub predicted_ns: Interval,
    /// Its elapsed time on the device, in nanoseconds; `null` where it was not measured.
    pub measured_ns: Option<Interval>,
    /// Whether the prediction held, as for a setting.
    pub holds: Option<bool>,
}

/// Time of a page at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostRow {
    /// Bytes of the band over which the reads are spread.
    pub band_bytes: u64,
    /// Reads in flight.
    pub in_flight: u32,
    /// Elapsed time by pages, in nanoseconds.
    pub page_ns: Interval,
}

/// Time of a page of a scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScanRow {
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Requests in flight.
    pub in_flight: u32,
    /// Elapsed time by pages, in nanoseconds.
    pub page_ns: Interval,
}
