//! Records a loop device's known requests through the kernel's tracing. Requires root and no other user of tracing;
//! elsewhere the test prints that it was skipped, and why.

use crate::blocks::{Loop, run, unmount};
use flashlane_base::Duration;
use flashlane_host::{Ended, RecordError, Recorded, Recorder, Until};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

fn record(device: &Path, until: &Until, folder: &Path) -> Result<Recorded, RecordError> {
    Recorder::find(device)?.record(until, folder)
}

/// Serializes the tests: the kernel has one tracer.
static TRACER: Mutex<()> = Mutex::new(());

/// The tracer, and a mount of tracefs where there was none.
struct Tracefs(
    Option<tempfile::TempDir>,
    #[expect(dead_code, reason = "held, not used")] MutexGuard<'static, ()>,
);

impl Tracefs {
    fn new() -> Result<Self, String> {
        let tracer = TRACER.lock().unwrap_or_else(PoisonError::into_inner);
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        if mounts.contains(" - tracefs ") {
            return Ok(Self(None, tracer));
        }
        let folder = tempfile::tempdir().unwrap();
        run("mount", &["-t", "tracefs", "tracefs", folder.path().to_str().unwrap()])?;
        Ok(Self(Some(folder), tracer))
    }

    fn at(&self, file: &str) -> PathBuf {
        self.0.as_ref().map_or(Path::new("/sys/kernel/tracing"), |folder| folder.path()).join(file)
    }

    /// Returns the settings that a recording changes.
    fn settings(&self) -> Vec<String> {
        let files = ["current_tracer", "trace_clock", "tracing_on", "options/bin", "options/context-info"];
        files.map(|file| std::fs::read_to_string(self.at(file)).unwrap_or_default()).to_vec()
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            unmount(folder.path());
        }
    }
}

/// The head of a record, with the fields used here.
#[derive(Debug, PartialEq, Eq)]
struct Event {
    at: u64,
    sector: u64,
    bytes: u32,
    action: u32,
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while rest.len() >= 48 {
        let word = |at: usize| u32::from_ne_bytes(rest[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_ne_bytes(rest[at..at + 8].try_into().unwrap());
        found.push(Event { at: long(8), sector: long(16), bytes: word(24), action: word(28) });
        let extra = u16::from_ne_bytes(rest[46..48].try_into().unwrap());
        rest = &rest[48 + usize::from(extra)..];
    }
    assert!(rest.is_empty(), "{} bytes are left over", rest.len());
    found
}

/// Returns a loop device and the tracer; says why the test is skipped where there is none.
fn traceable() -> Option<(Loop, Tracefs)> {
    let drive = Loop::blank()?;
    let tracefs = Tracefs::new().map_err(|e| println!("skipped: tracefs cannot be mounted here: {e}"));
    Some((drive, tracefs.ok()?))
}

/// Returns what was recorded; says why the test is skipped where tracing is not available.
fn recorded_or_skipped(recorded: Result<Recorded, RecordError>) -> Option<Recorded> {
    match recorded {
        Ok(recorded) => Some(recorded),
        Err(e @ (RecordError::InUse { .. } | RecordError::NoTracer { .. } | RecordError::Denied { .. })) => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn shell(script: String) -> Until {
    Until::Exited(["sh", "-c", &script].map(OsString::from).to_vec())
}

#[test]
fn program_requests_are_recorded_and_tracing_is_restored() {
    let Some((drive, tracefs)) = traceable() else { return };
    let before = tracefs.settings();
    let folder = tempfile::tempdir().unwrap();
    let device = drive.device.to_str().unwrap();
    // Eight writes of 8 KiB from sector 1024 on and four reads of 4 KiB from sector 2048 on, one at a time.
    let script = format!(
        "dd if=/dev/zero of={device} bs=8192 count=8 seek=64 oflag=direct 2>&1 && \
         dd if={device} of=/dev/null bs=4096 count=4 skip=256 iflag=direct 2>&1"
    );
    let recorded = record(&drive.device, &shell(script), folder.path());
    let Some(mut recorded) = recorded_or_skipped(recorded) else { return };
    assert_eq!(tracefs.settings(), before);
    assert!(matches!(recorded.ended, Ended::Exited(status) if status.success()), "{:?}", recorded.ended);
    assert_eq!(recorded.lost_events, 0);
    let mut bytes = Vec::new();
    recorded.events.read_to_end(&mut bytes).unwrap();
    assert_eq!(recorded.events.skipped_bytes(), 0);
    let events = events(&bytes);
    assert!(events.is_sorted_by_key(|event| event.at));
    // The low half is the action, bit 17 marks a write; other programs read a new device, too.
    let having = |what: u32, write: bool| {
        let wanted = |event: &&Event| event.action & 0xffff == what && (event.action >> 17 & 1 == 1) == write;
        events.iter().filter(wanted).map(|event| (event.sector, event.bytes)).collect::<Vec<_>>()
    };
    let writes: Vec<_> = (0..8).map(|at| (1024 + at * 16, 8192)).collect();
    for (action, name) in [(7, "issued"), (8, "completed")] {
        assert_eq!(having(action, true), writes, "{name}");
        let reads = having(action, false);
        assert!((0..4).all(|at| reads.contains(&(2048 + at * 8, 4096))), "{name}: {reads:?}");
    }
    assert!(recorded.events.requests() >= 12);
    // A second recording works with the restored settings, once no other program has the kernel's only tracer.
    let again = (0..100).find_map(|_| {
        match record(&drive.device, &Until::Elapsed(Duration::from_ms(1)), folder.path()) {
            Err(RecordError::InUse { .. }) => {
                std::thread::sleep(std::time::Duration::from_millis(100));
                None
            }
            tried => Some(tried.map(|recorded| recorded.ended)),
        }
    });
    assert!(matches!(again, Some(Ok(Ended::Elapsed))), "{again:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn tracing_is_restored_while_a_child_holds_its_pipes_for_a_moment() {
    let Some((drive, tracefs)) = traceable() else { return };
    let before = tracefs.settings();
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let wait = std::time::Duration::from_millis;
    let recorded = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Where the recording is refused, the program never starts.
            for _ in 0..5000 {
                if started.exists() {
                    break;
                }
                std::thread::sleep(wait(1));
            }
            let mut late = std::process::Command::new("true");
            // SAFETY: the child only sleeps before it executes the program.
            unsafe {
                late.pre_exec(move || {
                    std::thread::sleep(wait(300));
                    Ok(())
                });
            }
            assert!(late.status().unwrap().success());
        });
        // Ends while the child still holds every file that is open here, so that the tracer cannot be changed.
        let script = format!("touch {}; sleep 0.1", started.display());
        record(&drive.device, &shell(script), folder.path())
    });
    let Some(recorded) = recorded_or_skipped(recorded) else { return };
    assert!(matches!(recorded.ended, Ended::Exited(status) if status.success()), "{:?}", recorded.ended);
    assert_eq!(tracefs.settings(), before);
}

#[test]
fn traced_device_is_refused() {
    let Some(drive) = Loop::blank() else { return };
    let _tracefs = Tracefs::new();
    let enable: PathBuf = Path::new("/sys/block").join(drive.name()).join("trace/enable");
    if let Err(e) = std::fs::write(&enable, "1") {
        return println!("skipped: tracing cannot be enabled here: {e}");
    }
    let folder = tempfile::tempdir().unwrap();
    let refused = record(&drive.device, &Until::Elapsed(Duration::ZERO), folder.path());
    std::fs::write(&enable, "0").unwrap();
    match refused {
        Err(RecordError::InUse { found, undo }) => {
            let traced = format!("tracing of '{}'", drive.name());
            assert!(found.contains(&traced), "{found:?}");
            assert_eq!(found.len(), undo.len(), "{undo:?}");
        }
        Err(RecordError::NotMounted) => println!("skipped: tracefs cannot be mounted here"),
        other => panic!("{other:?}"),
    }
}
