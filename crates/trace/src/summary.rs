//! Summary of a trace that was read: counts, refusals, devices.

use crate::fault::{Backward, Device, Refusal};
use crate::format::Format;

/// Summary of a trace that was read.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The trace's format.
    pub format: &'static Format,
    /// Compression: `gz`, `xz` or `zst`; `None` for plain content.
    pub compression: Option<&'static str>,
    /// Lines of text, or events of a binary trace.
    pub lines: u64,
    /// Number of requests returned.
    pub records: u64,
    /// Lines that are validly not requests: blank ones, comments, headers, other events.
    pub skipped: u64,
    /// Lines that are not valid requests.
    pub refused: u64,
    /// The first refused lines, with reasons.
    pub refusals: Vec<Refusal>,
    /// Backward steps of time; such requests are returned unchanged.
    pub backward: Option<Backward>,
    /// The devices, by number; requests of devices that were not selected are counted only here.
    pub devices: Vec<Device>,
    /// The last line has no end: it may be incomplete.
    pub ends_inside_line: bool,
    /// Whether the whole trace was read.
    pub complete: bool,
}
