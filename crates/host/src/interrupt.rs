//! Ctrl-C: the first asks for an orderly end, the second ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
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
        // The order matters: the check comes before the flag is raised, so the first signal passes it.
        flag::register_conditional_default(signal, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(())
}

/// Whether a SIGINT or SIGTERM came since [`catch_interrupts`]. Cheap enough to ask in a loop.
pub fn interrupted() -> bool {
    ASKED_TO_STOP.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}
