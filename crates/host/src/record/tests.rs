//! Ordinary files stand in for the tracing folder and a drive's folder: the content of a pipe is there from the start,
//! and a setting keeps the bytes written to it.

use super::*;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

/// Returns one record in the kernel's layout.
fn event(at: u64, sector: u64, bytes: u32, action: u32, extra: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0x6561_7407_u32, 0] {
        out.extend(word.to_ne_bytes());
    }
    for long in [at, sector] {
        out.extend(long.to_ne_bytes());
    }
    for word in [bytes, action, 77, 7 << 20, 0] {
        out.extend(word.to_ne_bytes());
    }
    for short in [0, extra.len() as u16] {
        out.extend(short.to_ne_bytes());
    }
    out.extend(extra);
    out
}

/// Actions of a read: issued, completed.
const ISSUE: u32 = 0x0141_0007;
const COMPLETE: u32 = 0x0181_0008;

/// A tracing folder and a drive's folder in sysfs.
struct Kernel {
    folder: tempfile::TempDir,
}

impl Kernel {
    /// Creates the folders, with these bytes in the processors' pipes.
    fn new(pipes: &[Vec<u8>]) -> Self {
        let kernel = Self { folder: tempfile::tempdir().unwrap() };
        for (file, text) in [
            ("tracing/available_tracers", "blk function nop\n"),
            ("tracing/current_tracer", "nop\n"),
            ("tracing/set_event", ""),
            ("tracing/options/bin", "0\n"),
            ("tracing/options/context-info", "1\n"),
            ("tracing/trace_clock", "[local] global mono\n"),
            ("tracing/buffer_size_kb", "7 (expanded: 1408)\n"),
            ("tracing/tracing_on", "1\n"),
            ("sys/dev/block/7:3/trace/enable", "0\n"),
            ("sys/dev/block/7:3/trace/act_mask", "disabled\n"),
            ("sys/dev/block/7:3/mq/0/cpu_list", "0\n"),
        ] {
            kernel.write(file, text.as_bytes());
        }
        for (cpu, bytes) in pipes.iter().enumerate() {
            kernel.write(&format!("tracing/per_cpu/cpu{cpu}/trace_pipe"), bytes);
            kernel.write(&format!("tracing/per_cpu/cpu{cpu}/stats"), b"overrun: 0\ndropped events: 0\n");
        }
        kernel
    }

    fn at(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.at(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read(&self, file: &str) -> String {
        settings::read(&self.at(file)).unwrap()
    }

    fn tracefs(&self) -> Tracefs {
        let mount = self.at("tracing");
        Tracefs::find(&format!("30 22 0:12 / {} rw - tracefs tracefs rw\n", mount.display())).unwrap()
    }

    fn traced(&self) -> Traced {
        Traced::numbered((7, 3), &self.at("sys")).unwrap()
    }

    fn record(&self, until: &Until) -> Result<Recorded, RecordError> {
        let (tracefs, traced) = (self.tracefs(), self.traced());
        tracefs.check()?;
        traced.check()?;
        in_use::check(&tracefs, &self.at("sys"))?;
        record_with(&tracefs, &traced, until, self.folder.path())
    }

    /// Asserts that every setting has its old value; some are written in another notation.
    fn assert_restored(&self) {
        for (file, text) in [
            ("tracing/current_tracer", "nop"),
            ("tracing/options/bin", "0"),
            ("tracing/options/context-info", "1"),
            ("tracing/trace_clock", "local"),
            ("tracing/buffer_size_kb", "1408"),
            ("tracing/tracing_on", "1"),
            ("sys/dev/block/7:3/trace/enable", "0"),
        ] {
            assert_eq!(self.read(file), text, "{file}");
        }
    }
}

fn all(events: &mut Events) -> Vec<u8> {
    let mut bytes = Vec::new();
    events.read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn streams_of_all_processors_are_merged_by_time() {
    let first = [event(10, 8, 4096, ISSUE, b""), event(40, 8, 4096, COMPLETE, b"")];
    let second = [event(20, 16, 512, ISSUE, b"abc"), event(30, 16, 512, COMPLETE, b"")];
    let third: [Vec<u8>; 0] = [];
    let kernel = Kernel::new(&[first.concat(), second.concat(), third.concat()]);
    let mut recorded = kernel.record(&Until::Elapsed(Duration::from_ms(20))).unwrap();
    let expected = [&first[0], &second[0], &second[1], &first[1]].map(Vec::as_slice).concat();
    assert_eq!(all(&mut recorded.events), expected);
    assert_eq!((recorded.events.requests(), recorded.events.skipped_bytes()), (2, 0));
    assert_eq!((recorded.ended, recorded.lost_events), (Ended::Elapsed, 0));
    assert!(recorded.took >= Duration::from_ms(20));
    kernel.assert_restored();
}

#[test]
fn wider_records_of_newer_kernels_are_merged() {
    let mut wide = event(15, 8, 4096, 0, b"");
    wide[0] = 8;
    wide.splice(28..48, [0; 36]);
    wide[32] = 7;
    wide[50] = 2;
    wide.extend(b"ab");
    let narrow = event(10, 8, 4096, ISSUE, b"");
    let kernel = Kernel::new(&[wide.clone(), narrow.clone()]);
    let mut recorded = kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
    assert_eq!(all(&mut recorded.events), [narrow, wide].concat());
    assert_eq!(recorded.events.requests(), 2);
}

#[test]
fn data_between_records_is_skipped_and_counted() {
    let records = [event(10, 8, 4096, ISSUE, b""), event(20, 8, 4096, COMPLETE, b"xy")];
    let lost = b"CPU:0 [LOST 12 EVENTS]\n";
    let cut = event(30, 0, 0, ISSUE, b"");
    let pipe = [&lost[..], &records[0], &lost[..], &records[1], &cut[..20]].concat();
    let kernel = Kernel::new(&[pipe]);
    let mut recorded = kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
    assert_eq!(all(&mut recorded.events), records.concat());
    assert_eq!(recorded.events.skipped_bytes(), 2 * lost.len() as u64 + 20);
}

#[test]
fn drive_without_a_queue_is_traced_by_queue_events() {
    let kernel = Kernel::new(&[Vec::new()]);
    kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
    assert_eq!(kernel.read("sys/dev/block/7:3/trace/act_mask"), "issue,requeue,complete");
    fs::remove_dir_all(kernel.at("sys/dev/block/7:3/mq")).unwrap();
    kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
    assert_eq!(kernel.read("sys/dev/block/7:3/trace/act_mask"), "queue,complete");
}

#[test]
fn recording_lasts_as_long_as_its_program() {
    let kernel = Kernel::new(&[event(10, 8, 4096, ISSUE, b"")]);
    let command = ["sh", "-c", "exit 3"].map(OsString::from).to_vec();
    let recorded = kernel.record(&Until::Exited(command)).unwrap();
    assert!(matches!(recorded.ended, Ended::Exited(status) if status.code() == Some(3)));
    kernel.assert_restored();
}

#[test]
fn failure_after_the_start_restores_the_settings() {
    let kernel = Kernel::new(&[Vec::new()]);
    let missing = Until::Exited(vec!["/no/such/program".into()]);
    let words = kernel.record(&missing).unwrap_err().to_string();
    assert!(words.contains("cannot run '/no/such/program': No such file"), "{words}");
    kernel.assert_restored();
    fs::remove_file(kernel.at("tracing/per_cpu/cpu0/trace_pipe")).unwrap();
    let error = kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap_err();
    assert!(matches!(error, RecordError::Os { action: "open", .. }), "{error}");
    kernel.assert_restored();
}

#[test]
fn failing_recording_terminates_its_program() {
    let kernel = Kernel::new(&[Vec::new()]);
    let pid = kernel.at("pid");
    let script = format!("echo $$ > '{0}.new' && mv '{0}.new' '{0}' && exec sleep 600", pid.display());
    let command = ["sh", "-c", &script].map(OsString::from).to_vec();
    let child = Child::start(&command).unwrap();
    while !pid.exists() {
        thread::sleep(PAUSE);
    }
    drop(child);
    let gone = Path::new("/proc").join(settings::read(&pid).unwrap());
    assert!(!gone.exists(), "{}", gone.display());
}

#[test]
fn tracing_in_use_is_refused_and_left_unchanged() {
    let refusal = |file: &str, text: &str| {
        let kernel = Kernel::new(&[Vec::new()]);
        kernel.write(file, text.as_bytes());
        let words = kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap_err().to_string();
        assert_eq!(fs::read_to_string(kernel.at(file)).unwrap(), text);
        assert_eq!(kernel.read("tracing/trace_clock"), "[local] global mono");
        words
    };
    let words = refusal("tracing/current_tracer", "function\n");
    assert!(words.contains("in use: the tracer 'function';") && words.contains("echo nop >"), "{words}");
    let words = refusal("tracing/set_event", "sched:sched_switch\nirq:irq_handler_entry\n");
    assert!(words.contains("sched:sched_switch"), "{words}");
    assert!(words.contains("(sched:sched_switch, …)") && words.contains("echo > '"), "{words}");
    // Tracing of another device is refused too, because its events would mix with ours.
    for enable in ["sys/dev/block/7:3/trace/enable", "sys/dev/block/8:0/trace/enable"] {
        let words = refusal(enable, "1\n");
        assert!(words.contains("in use: tracing of '") && words.contains("echo 0 > '"), "{words}");
        assert!(words.contains(enable), "{words}");
    }
    let words = refusal("tracing/available_tracers", "function nop\n");
    assert!(words.contains("'blk' is missing (CONFIG_BLK_DEV_IO_TRACE)"), "{words}");
}

/// A kernel with the settings that a killed recording left.
fn after_a_kill() -> Kernel {
    let kernel = Kernel::new(&[Vec::new()]);
    for (file, text) in [
        ("tracing/current_tracer", "blk\n"),
        ("tracing/options/bin", "1\n"),
        ("tracing/options/context-info", "0\n"),
        ("sys/dev/block/7:3/trace/enable", "1\n"),
    ] {
        kernel.write(file, text.as_bytes());
    }
    kernel
}

#[test]
fn refusal_after_a_kill_lists_all_commands() {
    let kernel = after_a_kill();
    let error = kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap_err();
    let words = error.to_string();
    let RecordError::InUse { found, undo } = error else { panic!("{error}") };
    assert_eq!(found, ["the tracer 'blk'", "tracing of '7:3'"]);
    for undo in undo {
        assert!(words.contains(&undo.to_string()), "{words} lacks {undo}");
        kernel.write(
            undo.path.strip_prefix(kernel.folder.path()).unwrap().to_str().unwrap(),
            undo.value.as_bytes(),
        );
    }
    let files = ["current_tracer", "options/bin", "options/context-info"];
    assert_eq!(files.map(|file| kernel.read(&format!("tracing/{file}"))), ["nop", "0", "1"]);
    kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
    kernel.assert_restored();
}

#[test]
fn settings_left_by_a_kill_are_restored_by_the_next() {
    let kernel = after_a_kill();
    kernel.write("tracing/current_tracer", b"nop\n");
    kernel.write("sys/dev/block/7:3/trace/enable", b"0\n");
    kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
    kernel.assert_restored();
    // One changed option alone may be a user's choice.
    let kernel = after_a_kill();
    kernel.write("tracing/current_tracer", b"nop\n");
    kernel.write("sys/dev/block/7:3/trace/enable", b"0\n");
    kernel.write("tracing/options/context-info", b"1\n");
    kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
    let files = ["options/bin", "options/context-info"];
    assert_eq!(files.map(|file| kernel.read(&format!("tracing/{file}"))), ["1", "1"]);
}

#[test]
fn large_or_uneven_buffers_are_left_unchanged() {
    for size in ["8192\n", "X\n"] {
        let kernel = Kernel::new(&[Vec::new()]);
        kernel.write("tracing/buffer_size_kb", size.as_bytes());
        kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap();
        assert_eq!(fs::read_to_string(kernel.at("tracing/buffer_size_kb")).unwrap(), size);
    }
}

#[test]
fn recording_onto_its_own_device_is_reported() {
    let kernel = Kernel::new(&[Vec::new()]);
    let recorded = |kernel: &Kernel| kernel.record(&Until::Elapsed(Duration::ZERO)).unwrap().records_itself;
    assert!(!recorded(&kernel));
    // Make the folder's file system lie on a partition of the imitated drive.
    let number = rustix::fs::stat(kernel.folder.path()).unwrap().st_dev;
    let link = format!("sys/dev/block/{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    kernel.write("sys/dev/block/7:3/part/partition", b"1\n");
    std::os::unix::fs::symlink(kernel.at("sys/dev/block/7:3/part"), kernel.at(&link)).unwrap();
    assert!(recorded(&kernel));
}

#[test]
fn only_block_devices_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let refusal = |path: &Path| Recorder::find(path).unwrap_err().to_string();
    assert!(refusal(&file).contains("is a regular file") && refusal(&file).contains("losetup"));
    assert!(refusal(folder.path()).contains("is a directory"));
    assert!(refusal(Path::new("/dev/null")).contains("is a character device"));
    assert!(refusal(&folder.path().join("none")).contains("does not exist"));
}
