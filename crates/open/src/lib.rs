//! Opens the device of a spec in one call: a simulated or a real drive, with the layers over it.
//!
//! ```
//! use flashlane_open::OpenOptions;
//!
//! let opened = OpenOptions::new().open("sim:ssd-s,channels=16")?;
//! assert_eq!(opened.device.info().name, "sim:ssd-s,channels=16");
//! # Ok::<(), flashlane_open::OpenError>(())
//! ```
//!
//! The command line and other programs open all devices here, so that the same guards apply to both. A real device is
//! opened for reading only, unless [`OpenOptions::consent`] allows it to be overwritten; even then
//! [`flashlane_host::OpenOptions`] may refuse it.

mod blocks;
mod error;
mod length;
mod open;
mod options;
mod own;
mod profile;
mod stack;
mod stores;
mod target;
mod zoned;

pub use blocks::{
    AnyBlockStore, AnyBlocks, BlocksError, Division, belongs_to_store, formatting, is_of_store, refuse_store,
};
pub use error::OpenError;
pub use flashlane_host::{Change, Consent};
pub use length::{file_length, least_length_for_blocks, least_length_for_store};
pub use open::{Opened, create};
pub use options::{AccessMode, OpenOptions};
pub use profile::{PROFILE_BYTES_MAX, config_named, is_profile_file, profile_fields, profile_text};
pub use stack::has_signatures;
pub use stores::{AnyKeyValueStore, AnyStore, NewStore, StoreSpecError, check_new_store, log_beside};
pub use target::{IntoTarget, Real, Target};
