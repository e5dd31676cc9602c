//! Profiles: from a name or a file's text, and settings in place of the file's, to a checked [`DriveConfig`].
//!
//! Reading is parse, then check, then build: what a drive cannot do is refused here, naming file, line and field.
//! `checks` has the order of the checks, and the rules over several sections.
//!
//! A profile here is a drive's file. The properties that the drive built from it reports are a `flashlane_device::Profile`.
//!
//! [`DriveConfig`]: crate::DriveConfig

mod checks;
mod error;
mod inherited;
mod load;
mod randomness;
mod renamed;
mod reserve;
#[cfg(test)]
mod tests;
mod words;

pub use error::ConfigError;
pub use load::{PROFILES, ProfileSource, field_names, load, load_with, names, parse, parse_with};
