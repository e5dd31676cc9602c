//! Limits of the number of requests in flight on a real device.

/// Default number of requests in flight, as many as an NVMe queue usually holds.
pub const DEPTH_DEFAULT: u32 = 1024;
/// Largest number of requests in flight that can be configured.
pub const DEPTH_MAX: u32 = 4096;
