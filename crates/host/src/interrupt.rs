//! Ctrl-C: the first asks for an orderly end, the second ends the program at once.
//!
//! Loops that have something to keep ask [`interrupted`] every few milliseconds and then end. Where no loop asks within
//! [`GRACE`] there is nothing to keep, and the program ends by the signal, whatever it is doing: reading a file, drawing
//! a page. A program that computes nothing waits for a device or the system: it has [`WAITING_GRACE`], so that a run that
//! took hours is kept though the drive stalls. Time in which the program could compute, but the machine is busy with
//! others, counts as neither. [`Uninterruptible`] is for the few steps that must not be cut short.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long the program may compute until it notices a signal, in processor time: a busy machine does not count.
const GRACE: Duration = Duration::from_millis(150);
/// How long it may wait.
const WAITING_GRACE: Duration = Duration::from_millis(800);
/// Signals that ask for an orderly end.
const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Between two looks whether a step that must not be cut short is over.
const PAUSE: Duration = Duration::from_millis(10);

static ASKED_TO_STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Whether a loop has learned of the signal.
static NOTICED: AtomicBool = AtomicBool::new(false);
/// Steps under way that must not be cut short.
static UNINTERRUPTIBLE: AtomicUsize = AtomicUsize::new(0);

/// From now on the first SIGINT, SIGTERM or SIGHUP (the terminal or the connection is closed) makes [`interrupted`] true,
/// and ends the program where nothing asks for that; the next one has its default action and kills. A SIGHUP that is
/// ignored already, as under `nohup`, stays ignored. Calling it again changes nothing.
///
/// # Errors
/// What the operating system says where a handler cannot be installed.
pub fn catch_interrupts() -> io::Result<()> {
    // A signal that came while only a part of this is in its place would be lost, or kill.
    let _blocked = BlockedSignals::block()?;
    let asked = Arc::new(AtomicBool::new(false));
    if ASKED_TO_STOP.set(Arc::clone(&asked)).is_err() {
        return Ok(());
    }
    for signal in STOPPING.into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)) {
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
        let (heard, sent) = UnixStream::pair()?;
        low_level::pipe::register(signal, sent)?;
        std::thread::Builder::new().name("interrupts".into()).stack_size(64 << 10).spawn(move || {
            end_unless_noticed(heard, signal);
        })?;
    }
    Ok(())
}

/// Returns whether the process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: an action is plain data; without a new one the call only fills in the present one, which outlives it.
    let (answer, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut action), action)
    };
    answer == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// The signals that ask for an end, held back from this thread, and those that it spawns, until this is dropped.
struct BlockedSignals {
    /// The signals that were blocked before.
    before: libc::sigset_t,
}

impl BlockedSignals {
    fn block() -> io::Result<Self> {
        // SAFETY: a signal set is plain data, and `sigemptyset` gives it its value; signal numbers are valid.
        let (signals, mut before) = unsafe {
            let (mut signals, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&mut signals);
            libc::sigemptyset(&mut before);
            for signal in STOPPING {
                libc::sigaddset(&mut signals, signal);
            }
            (signals, before)
        };
        // SAFETY: both sets outlive the call.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &signals, &mut before) } {
            0 => Ok(Self { before }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set outlives the call; null asks for no old one.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

fn end_unless_noticed(mut heard: UnixStream, signal: i32) {
    if heard.read_exact(&mut [0]).is_err() {
        return;
    }
    let (computed, mut waited) = (processor_time(), Duration::ZERO);
    loop {
        std::thread::sleep(PAUSE);
        if NOTICED.load(Ordering::Acquire) {
            return;
        }
        if !wants_processor() {
            // Not the time that has passed: the machine, or the program, may have been stopped meanwhile.
            waited += PAUSE;
        }
        let is_over = processor_time().saturating_sub(computed) >= GRACE || waited >= WAITING_GRACE;
        if is_over && UNINTERRUPTIBLE.load(Ordering::Acquire) == 0 {
            _ = low_level::emulate_default_handler(signal);
        }
    }
}

/// What all threads have computed.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Whether a thread other than the calling one computes, or would if it had a processor.
fn wants_processor() -> bool {
    let own = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return false };
    threads
        .flatten()
        .filter(|thread| Some(thread.file_name().as_os_str()) != own.file_name())
        .any(|thread| std::fs::read(thread.path().join("stat")).is_ok_and(|stat| is_runnable(&stat)))
}

/// Whether a thread's `stat` has the state `R`: the first letter behind its name, which may hold anything.
fn is_runnable(stat: &[u8]) -> bool {
    let name_end = stat.iter().rposition(|&byte| byte == b')');
    name_end.is_some_and(|end| stat[end..].starts_with(b") R"))
}

/// Whether such a signal came since [`catch_interrupts`]. Cheap enough to ask in a loop. Requires: the caller ends
/// in an orderly way where it did.
pub fn interrupted() -> bool {
    let asked = ASKED_TO_STOP.get().is_some_and(|asked| asked.load(Ordering::Relaxed));
    if asked {
        NOTICED.store(true, Ordering::Release);
    }
    asked
}

/// A step that only a second Ctrl-C cuts short: it leaves behind what nothing else would put right.
#[derive(Debug)]
pub struct Uninterruptible(());

impl Uninterruptible {
    /// Begins the step; it ends when this is dropped.
    pub fn begin() -> Self {
        UNINTERRUPTIBLE.fetch_add(1, Ordering::AcqRel);
        Self(())
    }
}

impl Drop for Uninterruptible {
    fn drop(&mut self) {
        UNINTERRUPTIBLE.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::is_runnable;

    #[test]
    fn the_state_of_a_thread_follows_its_name() {
        assert!(is_runnable(b"12 (main) R 1 12 12"));
        assert!(!is_runnable(b"12 (main) S 1 12 12"));
        assert!(!is_runnable(b"12 (a) R (b) D 1 12 12"));
        assert!(!is_runnable(b""));
    }
}
