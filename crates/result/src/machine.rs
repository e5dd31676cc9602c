//! The drive below a real device and the system above it, as the kernel describes them.

use serde::{Deserialize, Serialize};

/// Drive and system of a real device. What the kernel does not report is none, and no field of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `block device` or `file`; nothing where the path leads to neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The drive's name in the kernel: `nvme0n1`; for a partition or a file, the drive that it lies on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// Maker and model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Revision of the drive's firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Whether the kernel takes it for a rotating disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Bytes of the whole drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_size_bytes: Option<u64>,
    /// Bytes of the smallest request that the drive takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block_bytes: Option<u64>,
    /// Bytes that the drive writes without reading first, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_block_bytes: Option<u64>,
    /// The kernel's scheduler for the drive: `none`, `mq-deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// The file system that a file lies on: `ext4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Name, release and machine: `Linux 6.12.4 x86_64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// When it was measured, as RFC 3339 writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The drive's serial number; only where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}
