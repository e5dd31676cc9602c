//! The measurement loop, and statistics over its completions.
//!
//! [`run`] drives a [`flashlane_workload::Workload`] and keeps histograms, counters and samples; [`run_verified`] also
//! checks the data. [`replay`] does so with recorded requests, at their time stamps or at another pace. [`closed_loop`]
//! drives a plain list of accesses and passes each completion to a closure. All share one loop, whose cost `cargo bench
//! -p flashlane-measure` prints. [`schema`] converts the results to the types of `flashlane_result`.

mod closed_loop;
mod doubt;
mod energy;
pub mod engine;
mod error;
pub mod figures;
mod options;
mod precondition;
pub mod rate;
mod recorder;
mod replay;
mod run;
pub mod schema;
pub mod statistics;
mod terms;
mod verify;

pub use closed_loop::closed_loop;
pub use doubt::{
    Doubt, Load, Throughput, about_drains, about_flash, about_free_blocks, about_over_provisioning,
    about_settings, is_filling_buffer, is_notable_in_buffer, never_written_share,
};
pub use energy::Power;
pub use error::{Interruption, MeasureError};
pub use options::{Progress, RunOptions, Watch};
pub use precondition::Preconditioned;
pub use replay::{
    Beyond, ByOperation, Fitted, MOST_IN_FLIGHT, Pace, PaceError, Refusal, Replay, ReplayError,
    ReplayOptions, Slow, Unaligned, Unfitting, check_replay, replay,
};
pub use run::{JobRun, Run, check, limits, run, run_verified};
pub use terms::Lag;
pub use verify::{Mismatch, Misread, Verified};

#[cfg(test)]
mod tests;
