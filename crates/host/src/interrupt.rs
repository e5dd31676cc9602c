//! Ctrl-C: the first requests an orderly end, the second ends the program at once.
//!
//! Loops with results to keep call [`interrupted`] every few milliseconds and end when it returns true. Where no loop
//! calls it within [`GRACE`], there is no result to keep, and the signal ends the program. A program that uses no
//! processor waits for a device or the system: it gets [`WAITING_GRACE`], so that a run of hours keeps its result
//! though the drive stalls. Time in which the program is runnable, but the machine is busy with other work, counts
//! towards neither limit. [`Uninterruptible`] protects the few steps that must finish.
//!
//! A loop that has noticed the signal prints what it has. Where nobody reads that, on standard output or error, for
//! [`WAITING_GRACE`], the program ends too.
//!
//! The signals are handled by threads of their own, and blocked in all others: a thread that waits in the kernel for a
//! device or server that does not answer handles none.

use crate::thread::start_thread;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Processor time within which the program must notice a signal. Time on a busy machine does not count.
const GRACE: Duration = Duration::from_millis(150);
/// Waiting time within which the program must notice a signal.
const WAITING_GRACE: Duration = Duration::from_millis(600);
/// Signals that request an orderly end.
const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Interval of checks whether an uninterruptible step is over.
const PAUSE: Duration = Duration::from_millis(10);

static STOP_REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Whether a loop has noticed the signal.
static NOTICED: AtomicBool = AtomicBool::new(false);
/// Number of uninterruptible steps in progress.
static UNINTERRUPTIBLE: AtomicUsize = AtomicUsize::new(0);

/// What a signal that kills writes before to standard error; null for nothing. What it points to is never freed.
static LEFT_BEHIND: AtomicPtr<String> = AtomicPtr::new(std::ptr::null_mut());

/// Catches the first SIGINT, SIGTERM or SIGHUP (the terminal or the connection is closed): it makes [`interrupted`]
/// return true, and ends the program where no loop calls that. The next SIGINT or SIGTERM has its default action and
/// kills; the next SIGHUP does not, since a terminal that closes may send two, its own and the shell's. A SIGHUP that
/// is already ignored, as under `nohup`, stays ignored. A second call has no effect. Must be called by the main thread,
/// before others are started.
///
/// Where the program ends since no loop asks, the line `last_words` is written to standard error before, if that takes
/// it.
///
/// # Errors
/// The operating system's error where a handler cannot be installed; the signals then end the program, as by default.
pub fn catch_interrupts(last_words: &str) -> io::Result<()> {
    let caught = install(last_words);
    if caught.is_err() {
        // A handler without its thread would leave the first signal without an effect.
        let handled = STOPPING.into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
        handled.for_each(take_default_action);
        _ = mask(libc::SIG_UNBLOCK);
    }
    caught
}

fn install(last_words: &str) -> io::Result<()> {
    // For this thread and those that it spawns. A signal during the installation would be lost, or kill.
    mask(libc::SIG_BLOCK)?;
    let requested = Arc::new(AtomicBool::new(false));
    if STOP_REQUESTED.set(Arc::clone(&requested)).is_err() {
        return Ok(());
    }
    for signal in STOPPING.into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)) {
        let requested = Arc::clone(&requested);
        // One handler for both steps: between two handlers a signal would be lost.
        let stop = move || {
            if requested.swap(true, Ordering::Relaxed) && signal != SIGHUP {
                name_left_behind();
                // Fails only for signals other than these.
                _ = low_level::emulate_default_handler(signal);
            }
        };
        // SAFETY: atomic operations, a write and `emulate_default_handler`, which is signal-safe, may run in a signal
        // handler.
        unsafe { low_level::register(signal, stop) }?;
        let (heard, sent) = UnixStream::pair()?;
        low_level::pipe::register(signal, sent)?;
        let last_words = format!("{last_words}\n");
        start_thread("interrupts", 64 << 10, move || {
            // It fails for other signals only.
            _ = mask(libc::SIG_UNBLOCK);
            end_unless_noticed(heard, signal, &last_words);
        })?;
    }
    Ok(())
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail as others do, in place of the signal that ends the
/// program.
pub fn report_file_size_limit() {
    // SAFETY: it changes the action of one signal, which no other code here does.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Makes a signal end the program, as it does where nothing handles it.
fn take_default_action(signal: i32) {
    // SAFETY: it changes the action of one signal to one that runs no code of this program.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Returns whether the process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    // SAFETY: an action is plain data; without a new one the call only fills in the current one, which outlives it.
    let (answer, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut action), action)
    };
    answer == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Blocks or unblocks (`how`) the stopping signals for this thread, and threads that it spawns.
fn mask(how: i32) -> io::Result<()> {
    // SAFETY: a signal set is plain data, and `sigemptyset` gives it its value; signal numbers are valid.
    let signals = unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        for signal in STOPPING {
            libc::sigaddset(&mut signals, signal);
        }
        signals
    };
    // SAFETY: the set outlives the call; null requests no old set.
    match unsafe { libc::pthread_sigmask(how, &signals, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn end_unless_noticed(mut heard: UnixStream, signal: i32, last_words: &str) {
    if heard.read_exact(&mut [0]).is_err() {
        return;
    }
    let (computed, mut waited) = (processor_time(), Duration::ZERO);
    loop {
        std::thread::sleep(PAUSE);
        let is_noticed = NOTICED.load(Ordering::Acquire);
        // Count pauses instead of elapsed time: the machine, or the program, may have been stopped in between.
        if is_noticed && is_read() {
            waited = Duration::ZERO;
        } else if !wants_processor() {
            waited += PAUSE;
        }
        let computes = !is_noticed && processor_time().saturating_sub(computed) >= GRACE;
        if (computes || waited >= WAITING_GRACE) && UNINTERRUPTIBLE.load(Ordering::Acquire) == 0 {
            if !is_noticed {
                say(last_words);
            }
            _ = low_level::emulate_default_handler(signal);
        }
    }
}

/// Returns whether standard output and error take more.
fn is_read() -> bool {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    [stdout.as_fd(), stderr.as_fd()].into_iter().all(takes_more)
}

/// Returns whether a write would not wait: it may fail.
fn takes_more(output: BorrowedFd<'_>) -> bool {
    let ready = poll(&mut [PollFd::new(&output, PollFlags::OUT)], Some(&Timespec::default()));
    ready.map_or(true, |count| count > 0)
}

/// Writes to standard error, unless its reader would make this program wait. The lock of `std::io::stderr` may be held
/// by a thread that does.
fn say(words: &str) {
    let stderr = io::stderr();
    if takes_more(stderr.as_fd()) {
        // There is nobody to tell where this fails.
        _ = rustix::io::write(&stderr, words.as_bytes());
    }
}

/// Returns the processor time of all threads.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Returns whether any thread other than the caller is running or runnable.
fn wants_processor() -> bool {
    let own = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return false };
    threads
        .flatten()
        .filter(|thread| Some(thread.file_name().as_os_str()) != own.file_name())
        .any(|thread| std::fs::read(thread.path().join("stat")).is_ok_and(|stat| is_runnable(&stat)))
}

/// Returns whether a thread's `stat` has the state `R`: the first letter after its name, which may contain any bytes.
fn is_runnable(stat: &[u8]) -> bool {
    let name_end = stat.iter().rposition(|&byte| byte == b')');
    name_end.is_some_and(|end| stat[end..].starts_with(b") R"))
}

/// Returns whether a stopping signal came since [`catch_interrupts`]. Cheap enough for a loop. The caller guarantees an
/// orderly end after `true`.
pub fn interrupted() -> bool {
    let requested = STOP_REQUESTED.get().is_some_and(|requested| requested.load(Ordering::Relaxed));
    if requested {
        NOTICED.store(true, Ordering::Release);
    }
    requested
}

/// A step that only a second Ctrl-C interrupts, because nothing else would repair an unfinished one.
#[derive(Debug)]
pub struct Uninterruptible(());

impl Uninterruptible {
    /// Begins the step, which ends when the value is dropped.
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

/// A file that is being made: where a second Ctrl-C kills the program, it names the file, which stays.
#[derive(Debug)]
pub(crate) struct UnfinishedFile(());

impl UnfinishedFile {
    /// Begins the file, which is finished or removed when the value is dropped.
    pub(crate) fn begin(path: &Path) -> Self {
        let words = format!("\n'{}' is left unfinished: remove it\n", path.display());
        // A signal handler may read it from now on at any time.
        LEFT_BEHIND.store(Box::into_raw(Box::new(words)), Ordering::Release);
        Self(())
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        LEFT_BEHIND.store(std::ptr::null_mut(), Ordering::Release);
    }
}

/// Names the file that is left unfinished, if there is one. May run in a signal handler.
fn name_left_behind() {
    // SAFETY: it is null, or points to a string that is never changed or freed.
    if let Some(words) = unsafe { LEFT_BEHIND.load(Ordering::Acquire).as_ref() } {
        // SAFETY: the bytes outlive the call. There is nobody to tell where it fails.
        unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::is_runnable;

    #[test]
    fn thread_state_follows_the_name() {
        assert!(is_runnable(b"12 (main) R 1 12 12"));
        assert!(!is_runnable(b"12 (main) S 1 12 12"));
        assert!(!is_runnable(b"12 (a) R (b) D 1 12 12"));
        assert!(!is_runnable(b""));
    }
}
