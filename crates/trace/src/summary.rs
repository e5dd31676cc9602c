//! What was found in a trace beside its requests.

use crate::fault::{Backward, Device, Refusal};
use crate::format::Format;

/// What was read, and what was not taken.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The trace's format.
    pub format: &'static Format,
    /// How it is compressed: `gz`, `xz`, `zst`; none where it is plain.
    pub compression: Option<&'static str>,
    /// Lines of text, or events of a binary trace.
    pub lines: u64,
    /// Requests that were given out.
    pub records: u64,
    /// Lines that are no request and need not be: blank ones, comments, headers, other events.
    pub skipped: u64,
    /// Lines that should be a request and are not.
    pub refused: u64,
    /// The first of the refused lines, with reasons.
    pub refusals: Vec<Refusal>,
    /// Where time ran backwards; such requests are given out as they stand.
    pub backward: Option<Backward>,
    /// The devices that were seen, by number; requests of others than the one asked for are counted here only.
    pub devices: Vec<Device>,
    /// The last line has no end: it may have been cut.
    pub ends_inside_line: bool,
    /// Whether all of the trace was read.
    pub complete: bool,
}
