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
mod options;
mod profile;
mod stack;

pub use blocks::{
    AnyBlockStore, AnyBlocks, BlockAccess, BlocksError, Division, asks_to_format, asks_to_repair,
    checking_erased, formatting,
};
pub use error::OpenError;
pub use options::{OpenOptions, Opened, create};
pub use profile::{PROFILE_BYTES_MAX, config_named, config_of, profile_text};

use flashlane_device::spec::{Spec, SpecError};
use std::path::Path;

/// Returns the path of the real device in `spec`, or `None` where the device is simulated.
pub fn real_path(spec: &Spec) -> Option<&Path> {
    match spec {
        Spec::Path(path) => Some(path),
        Spec::Simulated { .. } => None,
        Spec::Layer { inner, .. } => real_path(inner),
    }
}

/// A device's name: text, or a spec that was parsed before.
pub trait IntoSpec {
    /// Parses the text, if it is text.
    ///
    /// # Errors
    /// [`SpecError`] says where parsing stopped, and what was expected there.
    fn into_spec(self) -> Result<Spec, SpecError>;
}

impl IntoSpec for &str {
    fn into_spec(self) -> Result<Spec, SpecError> {
        self.parse()
    }
}

impl IntoSpec for &String {
    fn into_spec(self) -> Result<Spec, SpecError> {
        self.parse()
    }
}

impl IntoSpec for Spec {
    fn into_spec(self) -> Result<Spec, SpecError> {
        Ok(self)
    }
}

impl IntoSpec for &Spec {
    fn into_spec(self) -> Result<Spec, SpecError> {
        Ok(self.clone())
    }
}
