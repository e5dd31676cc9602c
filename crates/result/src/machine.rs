//! The drive below a real device and the system above it, as the kernel describes them.

use serde::{Deserialize, Serialize};

/// Drive and system of a real device. Fields that the kernel does not report are absent from the JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `block device` or `file`; `None` for other paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The drive's name in the kernel: `nvme0n1`; for a partition or file, its drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Manufacturer and model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Revision of the drive's firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Whether the kernel reports a rotating disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Size of the whole drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_size_bytes: Option<u64>,
    /// Smallest request of the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block_bytes: Option<u64>,
    /// Smallest write without a read-modify-write, as reported by the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_block_bytes: Option<u64>,
    /// The kernel's scheduler for the drive: `none`, `mq-deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// File system of a file: `ext4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Name, release and architecture: `Linux 6.12.4 x86_64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Time of the measurement, by RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The drive's serial number, only if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}
