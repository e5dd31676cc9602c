//! Why a device was not opened.

use flashlane_device::SubmitError;
use flashlane_device::spec::SpecError;
use flashlane_layer::LayerError;
use flashlane_sim::{ConfigError, MakeError};
use std::io;
use std::path::PathBuf;

/// Why a spec could not be opened. No data on a real device was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The spec cannot be parsed.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The profile of a simulated drive does not exist, or a setting is invalid.
    #[error("{error}")]
    Profile {
        /// The profile's name or file.
        profile: String,
        /// What is wrong.
        error: ConfigError,
    },
    /// The file of a profile cannot be read.
    #[error("cannot read the profile file '{}': {error}", path.display())]
    ProfileFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A simulated drive was stopped while it was prepared, or its tables have no room.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The drive has no such lane.
    #[error("device '{spec}' has no lane {lane}: a conventional drive has lane 0 only")]
    ConventionalLane {
        /// The spec.
        spec: String,
        /// The lane asked for.
        lane: u32,
    },
    /// The lane of a drive cannot be opened as a device.
    #[error("device '{spec}' cannot be: {error}")]
    Lane {
        /// The spec.
        spec: String,
        /// The reason.
        error: SubmitError,
    },
    /// A real device was refused, or could not be opened.
    #[error("{error}")]
    Real {
        /// The path in the spec.
        path: PathBuf,
        /// What was found and what would be needed.
        error: flashlane_host::OpenError,
    },
    /// A zoned drive cannot be opened as lanes.
    #[error(transparent)]
    Zoned(flashlane_host::ZonedError),
    /// `zoned(…)` over anything but a path.
    #[error("'zoned' is for the path of a zoned block device, not '{inner}'")]
    ZonedOver {
        /// What stands below it.
        inner: String,
    },
    /// A setting of `zoned(…)` is unknown, invalid or given twice.
    #[error("'zoned' cannot take '{key}={given}': {reason}")]
    ZonedSetting {
        /// The key.
        key: String,
        /// The value.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A layer cannot be put over the device.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The file of [`OpenOptions::create`](crate::OpenOptions::create) cannot be made.
    #[error(transparent)]
    Create(#[from] flashlane_host::CreateError),
    /// [`OpenOptions::create`](crate::OpenOptions::create) makes a file, and the spec names a simulated device.
    #[error("a file is to be created, but there is no path in '{spec}'")]
    CreateSimulated {
        /// The spec.
        spec: String,
    },
    /// The system has no randomness for the identity of new lanes.
    #[error("cannot get random bytes from the system: {0}")]
    Random(io::Error),
}
