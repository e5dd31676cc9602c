//! A cost model of a device, and the settings of a database that follow from it.
//!
//! A planner that takes a device for one arm prices random reads too high and parallel plans too low (chen11, section
//! 6; figure 9 shows the plan that flips). [`CostModel`] prices a page by two things that a caller knows: the part of
//! the device over which its reads are spread, and how many it keeps in flight. The idea is that of QDTT (Ghodsnia,
//! Bowman, Nica: "Parallel I/O aware query optimization", SIGMOD 2014); the formulas here are ours.
//!
//! 1. [`calibrate`] measures the model, by reads alone; [`measure_commits`] the time of a commit, by writes.
//! 2. [`postgresql`], [`rocksdb`] and [`fio`] derive settings from it. Each [`Proposal`] has the work of a program
//!    with the setting as it is and as proposed, so that the effect is predicted by the model.
//! 3. [`check`] does this work in turn on the device, and [`Advice::checked`] withdraws what they contradict.
//!
//! No proposal is made whose predicted effect is less than [`LEAST_GAIN`], and none stays whose measured effect is.

mod calibrate;
mod check;
mod cost;
mod error;
mod estimate;
mod figures;
mod fio;
mod plan;
mod postgresql;
mod proposal;
mod reads;
mod result;
mod rocksdb;

pub use calibrate::{Calibration, calibrate, measure_commits};
pub use check::{Trial, check};
pub use cost::{CostModel, RandomCost, ScanCost};
pub use error::AdviseError;
pub use estimate::Estimate;
pub use fio::fio;
pub use plan::{Plan, PlanError, compare};
pub use postgresql::{PostgreSql, PostgreSqlError, postgresql};
pub use proposal::{Advice, Checked, Kept, LEAST_GAIN, Proposal, Withdrawn};
pub use reads::Reads;
pub use result::{plan_result, result_of};
pub use rocksdb::rocksdb;
