//! Stopping a preparation that takes long.

use std::ops::ControlFlow;

/// Called from time to time during long preparations; says whether to continue.
pub type StopCheck<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// A [`StopCheck`] that never breaks.
pub fn never_stop() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Units prepared from one call of the [`StopCheck`] to the next: some milliseconds.
pub(crate) const UNITS_BETWEEN_STOP_CHECKS: u32 = 1 << 16;
