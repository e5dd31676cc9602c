//! Ctrl-C: the first asks for an orderly end, the second ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static ASKED_TO_STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on the first SIGINT or SIGTERM only makes [`interrupted`] true; the next one has its default action
/// and kills. Calling it again changes nothing.
///
/// # Errors
/// What the operating system says where a handler cannot be installed.
pub fn catch_interrupts() -> io::Result<()> {
    let asked = Arc::new(AtomicBool::new(false));
    if ASKED_TO_STOP.set(Arc::clone(&asked)).is_err() {
        return Ok(());
    }
    for signal in [SIGINT, SIGTERM] {
        let asked = Arc::clone(&asked);
        // One handler for both: between two of them a signal would be lost.
        let stop = move || {
            if asked.swap(true, Ordering::Relaxed) {
                // It can only fail for signals that are not these.
                _ = low_level::emulate_default_handler(signal);
            }
        };
        // SAFETY: an atomic swap and that function, which is made for it, may run in a signal handler.
        unsafe { low_level::register(signal, stop) }?;
    }
    Ok(())
}

/// Whether a SIGINT or SIGTERM came since [`catch_interrupts`]. Cheap enough to ask in a loop.
pub fn interrupted() -> bool {
    ASKED_TO_STOP.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}
