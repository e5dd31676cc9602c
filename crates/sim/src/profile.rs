//! Profiles: from a name or a file's text, and settings in place of the file's, to a checked [`DriveConfig`].
//!
//! Reading is parse, then check, then build: what a drive cannot do is refused here, naming file, line and field.
//! `checks` has the order of the checks, and the rules over several sections.
//!
//! A profile here is a drive's file. The properties that the drive built from it reports are a
//! `flashlane_device::DeviceInfo`.
//!
//! [`DriveConfig`]: crate::DriveConfig

mod builtin;
mod checks;
mod entered;
mod error;
mod fields;
mod inherited;
mod load;
mod message;
mod missing;
mod randomness;
mod renamed;
mod reserve;
mod settings;
#[cfg(test)]
mod tests;
mod words;

pub use builtin::{PROFILES, ProfileSource, names};
pub use entered::text_with;
pub use error::ConfigError;
pub use fields::field_names;
#[cfg(test)]
pub(crate) use load::parse_any;
pub use load::{load, load_with, parse, parse_with};
