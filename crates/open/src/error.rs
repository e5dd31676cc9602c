//! Why a device was not opened.

use flashlane_device::SubmitError;
use flashlane_device::spec::SpecError;
use flashlane_layer::{LanesError, LayerError};
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
        /// The reason.
        error: Box<ConfigError>,
    },
    /// The file of a profile cannot be read.
    #[error("cannot read the profile file '{}': {error}", path.display())]
    ProfileFile {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The path of a profile file stands where that of a device belongs.
    #[error("'{}' is a profile file, not a device; the drive of this profile is 'sim:{}'", path.display(), path.display())]
    ProfileAsDevice {
        /// Path of the file.
        path: PathBuf,
    },
    /// The preparation of a simulated drive was interrupted, or its tables do not fit into memory.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The spec names a lane other than 0 of a drive without lanes.
    #[error("device '{spec}' has no lane {lane}: a conventional drive has lane 0 only")]
    ConventionalLane {
        /// The spec.
        spec: String,
        /// The requested lane.
        lane: u32,
    },
    /// The requested lane cannot be opened as a device.
    #[error("device '{spec}' is invalid: {error}")]
    Lane {
        /// The spec.
        spec: String,
        /// The reason.
        error: SubmitError,
    },
    /// Stripes over stripes: units of the same number of lanes would lie in another way than those of one layer, and
    /// what holds them could not tell which.
    #[error(
        "'{spec}' stripes units over lanes that are striped already: give one 'striped' the lanes of both, as in \
         'striped(lanes(FILE),lanes=4)' for twice two"
    )]
    StripedTwice {
        /// The spec.
        spec: String,
    },
    /// A real device was refused, or could not be opened.
    #[error("{error}")]
    Real {
        /// The path in the spec.
        path: PathBuf,
        /// The reason, with the findings.
        error: flashlane_host::OpenError,
    },
    /// The blocks on a real device that would be overwritten were different ones each time that it was opened.
    #[error(
        "'{}' is not overwritten: opened {looks} times, it held other blocks each time. Other programs change it, or what its \
         name leads to: end them first", path.display()
    )]
    Changing {
        /// The path in the spec.
        path: PathBuf,
        /// Number of times that it was opened.
        looks: u32,
    },
    /// A zoned drive cannot be opened as lanes.
    #[error(transparent)]
    Zoned(flashlane_host::ZonedError),
    /// `zoned(…)` over anything but a path.
    #[error("'zoned' is for the path of a zoned block device, not '{inner}'")]
    ZonedOver {
        /// The inner spec.
        inner: String,
    },
    /// A setting of `zoned(…)` is unknown, invalid or given twice.
    #[error("'zoned' cannot take '{key}={given}': {reason}")]
    ZonedSetting {
        /// The key.
        key: String,
        /// The value.
        given: String,
        /// The reason.
        reason: String,
    },
    /// A layer cannot be put over the device.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// Something is where a simulated device is to keep its data.
    #[error(
        "'{}' exists; allowed for the bytes of a simulated drive: a path where nothing is, or a file that may be \
         emptied (--destroy-data)",
        path.display()
    )]
    BytesFileExists {
        /// Path of the file.
        path: PathBuf,
    },
    /// A simulated device is to keep its data in the file of its profile.
    #[error("'{}' is the profile of the drive whose bytes it would hold: name another file", path.display())]
    BytesFileIsProfile {
        /// Path of the file.
        path: PathBuf,
    },
    /// A simulated device cannot keep its data in this file.
    #[error("the bytes of a simulated drive cannot be kept in '{}': {error}", path.display())]
    BytesFile {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A simulated device is to keep its data in what is no regular file.
    #[error("'{}' is not a regular file, and the bytes of a simulated drive are kept in one", path.display())]
    BytesFileIsNone {
        /// The path.
        path: PathBuf,
    },
    /// The file of [`OpenOptions::create`](crate::OpenOptions::create) cannot be created.
    #[error(transparent)]
    Create(#[from] flashlane_host::CreateError),
    /// [`OpenOptions::create`](crate::OpenOptions::create) is set, but the spec names a simulated device.
    #[error("a file is to be created, but there is no path in '{spec}'")]
    CreateSimulated {
        /// The spec.
        spec: String,
    },
    /// The system provides no randomness for the id of new lanes.
    #[error("cannot get random bytes from the system: {0}")]
    Random(io::Error),
}

impl OpenError {
    /// Returns whether a longer device would have been opened or formatted.
    pub fn is_of_length(&self) -> bool {
        matches!(
            self,
            Self::Layer(LayerError::Lanes(LanesError::TooSmall { .. }))
                | Self::Real { error: flashlane_host::OpenError::TooSmall { .. }, .. }
        )
    }
}
