//! SIGUSR1, which requests a report from a running server.

use signal_hook::consts::SIGUSR1;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Catches SIGUSR1 from now on: it makes [`report_requested`] return true, once.
///
/// # Errors
/// The operating system's error where the handler cannot be installed.
pub fn catch_report_requests() -> io::Result<()> {
    let requested = Arc::clone(REQUESTED.get_or_init(Arc::default));
    signal_hook::flag::register(SIGUSR1, requested).map(|_| ())
}

/// Returns whether SIGUSR1 came since the last call.
pub fn report_requested() -> bool {
    REQUESTED.get().is_some_and(|requested| requested.swap(false, Ordering::Relaxed))
}
