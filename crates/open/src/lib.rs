//! From a device's spec to the device: simulated drives, real ones, and layers over either, in one call.
//!
//! ```
//! use flashlane_open::OpenOptions;
//!
//! let opened = OpenOptions::new().open("sim:ssd-s,channels=16")?;
//! assert_eq!(opened.device.profile().name, "sim:ssd-s,channels=16");
//! # Ok::<(), flashlane_open::OpenError>(())
//! ```
//!
//! The command line and programs open devices here and nowhere else, so that both stand behind the same guards. A real
//! device is opened for reading only, unless [`OpenOptions::destroy_data`] allows it to be overwritten; the refusals of
//! [`flashlane_host::OpenOptions`] hold even then.

mod blocks;
mod error;
mod open;
mod options;
mod own;
mod profile;
mod stack;
mod target;
mod zoned;

pub use blocks::{AnyBlockStore, AnyBlocks, BlockAccess, BlocksError, Division, formatting};
pub use error::OpenError;
pub use open::{Opened, create};
pub use options::OpenOptions;
pub use profile::{PROFILE_BYTES_MAX, config_named, is_profile_file, profile_fields, profile_text};
pub use target::{IntoTarget, Real, Target};
