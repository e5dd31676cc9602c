//! See inside an SSD, simulate its firmware, use its parallelism: the library interface of Flashlane in one crate.
//!
//! ```
//! use flashlane::{RunOptions, Workload};
//!
//! let mut drive = flashlane::open("sim:ssd-s")?.device;
//! let workload = Workload::parse("random-read,size=4k,depth=32,requests=2k")?;
//! let run = flashlane::run(&mut *drive, &workload, RunOptions::default())?;
//! assert_eq!(run.requests, 2000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! | --- | --- |
//! | open a device by its spec | [`open`], [`OpenOptions`] |
//! | drive it request by request | [`Device`], [`Request`], [`Completion`] |
//! | run a workload on it | [`Workload`], [`run`] |
//! | store blocks on software-defined flash, a file or a zoned drive | [`OpenOptions::format_blocks`], [`BlockStore`]; [`Blocks`] for many in flight |
//! | keep keys and values | [`OpenOptions::create_store`], [`AnyKeyValueStore`]; [`store`] for calls that do not wait |
//! | keep rows in tables on the same store | [`tables::Tables`] |
//! | keep files in directories on the same store | [`files::Files`] |
//! | simulate a drive with your own policy | [`Policies`], [`OpenOptions::policies`] |
//!
//! The underlying crates are re-exported as modules. `default-features = false` drops the dependencies of the command
//! line. `examples/` has six programs to start from.
//!
//! A real device is opened read-only, unless [`OpenOptions::consent`] allows all data on it to be lost.

pub use flashlane_base::{Duration, Instant, Seed};
pub use flashlane_block::{BlockStore, Blocks, StoreError};
pub use flashlane_device::spec::{Spec, SpecError};
pub use flashlane_device::{
    Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, Operation, Request,
    RequestId, SubmitError,
};
pub use flashlane_measure::{MeasureError, Run, RunOptions, run};
pub use flashlane_open::{
    AccessMode, AnyKeyValueStore, BlocksError, Consent, NewStore, OpenError, OpenOptions, Opened,
    StoreSpecError,
};
pub use flashlane_policy::Policies;
pub use flashlane_workload::Workload;

pub use flashlane_base as base;
pub use flashlane_block as block;
pub use flashlane_device as device;
pub use flashlane_host as host;
pub use flashlane_layer as layer;
pub use flashlane_measure as measure;
pub use flashlane_policy as policy;
pub use flashlane_result as result;
pub use flashlane_sim as sim;
pub use flashlane_store as store;
pub use flashlane_store_files as files;
pub use flashlane_store_tables as tables;
pub use flashlane_trace as trace;
pub use flashlane_workload as workload;

/// Opens the device that `spec` names with default options, which open a real device read-only; see
/// [`OpenOptions::open`].
///
/// # Errors
/// [`OpenError`] says what failed and what is allowed.
pub fn open(spec: &str) -> Result<Opened<dyn Device>, OpenError> {
    OpenOptions::new().open(spec)
}

/// The Rust samples in the documents, compiled and run as tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../ARCHITECTURE.md")]
    mod architecture {}
    #[doc = include_str!("../../../CONTRIBUTING.md")]
    mod contributing {}
    #[doc = include_str!("../../../docs/devices.md")]
    mod devices {}
    #[doc = include_str!("../../../docs/json.md")]
    mod json {}
    #[doc = include_str!("../../../docs/layout.md")]
    mod layout {}
    #[doc = include_str!("../../../docs/profiles.md")]
    mod profiles {}
    #[doc = include_str!("../../../docs/sdf.md")]
    mod sdf {}
    #[doc = include_str!("../../../docs/store.md")]
    mod store {}
    #[doc = include_str!("../../../docs/sweeps.md")]
    mod sweeps {}
    #[doc = include_str!("../../../docs/traces.md")]
    mod traces {}
    #[doc = include_str!("../../../docs/transactions.md")]
    mod transactions {}
    #[doc = include_str!("../../../docs/uflip.md")]
    mod uflip {}
    #[doc = include_str!("../../../docs/workloads.md")]
    mod workloads {}
}
