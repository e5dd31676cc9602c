//! The configuration of a simulated drive, from a built-in profile or a file.

use crate::error::OpenError;
use flashlane_base::units::format_bytes;
use flashlane_device::spec::Spec;
use flashlane_policy::Policies;
use flashlane_sim::config::DriveConfig;
use flashlane_sim::profile::{self, PROFILES, field_names};
use std::fs::{self, File};
use std::io::{self, Read};

/// Length of the longest profile file; our own are at most 5 KB.
pub const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// Returns whether a profile name is a file rather than a built-in profile.
pub fn is_profile_file(name: &str) -> bool {
    name.ends_with(".toml")
}

/// Returns the configuration of `sim:NAME`, where the name is a built-in profile or a file that ends in `.toml`.
///
/// # Errors
/// [`OpenError::Profile`] and [`OpenError::ProfileFile`].
pub fn config_named(
    name: &str,
    overrides: &[(String, String)],
    policies: &Policies,
) -> Result<DriveConfig, OpenError> {
    let config = if is_profile_file(name) {
        profile::parse_with(policies, name, &profile_text(name)?, overrides)
    } else {
        profile::load_with(policies, name, overrides)
    };
    config.map_err(|error| OpenError::Profile { profile: name.into(), error: Box::new(error) })
}

/// Returns the names of the fields that the profile of the simulated drive in `spec` sets; none for a real device. The
/// profile may be incomplete, because a sweep may set the rest.
///
/// # Errors
/// [`OpenError::ProfileFile`].
pub fn profile_fields(spec: &Spec) -> Result<Vec<String>, OpenError> {
    let profile = match spec {
        Spec::Layer { inner, .. } => return profile_fields(inner),
        Spec::Path(_) => return Ok(Vec::new()),
        Spec::Simulated { profile, .. } => profile,
    };
    Ok(match PROFILES.iter().find(|source| source.name == profile) {
        Some(source) => field_names(source.text),
        None if is_profile_file(profile) => field_names(&profile_text(profile)?),
        None => Vec::new(),
    })
}

/// Returns the text of a profile file.
///
/// # Errors
/// [`OpenError::ProfileFile`], also for a file of more than [`PROFILE_BYTES_MAX`] bytes, and for a pipe or device.
pub fn profile_text(path: &str) -> Result<String, OpenError> {
    let read = || {
        // Opening a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut text = String::new();
        File::open(path)?.take(PROFILE_BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > PROFILE_BYTES_MAX {
            let reason = format!("it is larger than {}", format_bytes(PROFILE_BYTES_MAX));
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        Ok(text)
    };
    read().map_err(|error| OpenError::ProfileFile { path: path.into(), error })
}
