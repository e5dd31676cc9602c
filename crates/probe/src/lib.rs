//! What is inside a drive, inferred from timing, each finding with its evidence and confidence.
//!
//! The method is that of chen11 (sections 4.2 to 4.4): treat the drive as a black box, ask patterned questions,
//! and read the structure off the pattern of the answers. Beyond the paper: pairs of simultaneous reads, whose
//! collision tells same die, same channel or neither whatever the speed of the bus; a test of power before a
//! finding's absence is believed; and more features. A wrong answer is far worse than "not determined": every
//! pattern has to be complete, or it is not reported.

mod advice;
mod changed;
pub mod chunk;
mod confirm;
mod error;
mod grid;
mod interference;
mod link;
mod load;
pub mod mapping;
mod options;
pub mod pattern;
mod readahead;
mod reclaim;
mod recommend;
pub mod rig;
mod state;
pub mod stride;
pub mod stripe;
mod survey;
mod words;
mod write_buffer;
mod writes;

pub use error::ProbeError;
pub use flashlane_result::feature::Feature;
pub use flashlane_result::probe::{Finding, ProbeResult, Rate, Recommendation, Status};
pub use options::{Effort, Medium, Options, Progress, Watch};
pub use survey::probe;
pub use words::add_fragmented;
pub use writes::sustained_elsewhere;
