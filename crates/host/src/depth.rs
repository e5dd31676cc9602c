//! How many requests may be in flight on a real device.

/// Requests in flight at once by default: as many as an NVMe queue usually takes.
pub const DEPTH_DEFAULT: u32 = 1024;
/// The most requests in flight that can be asked for.
pub const DEPTH_MAX: u32 = 4096;
