//! Tests on block devices, using loop devices, which require root. Elsewhere each test prints that it was skipped, and
//! why.

use crate::files::{ENGINES, drain, open};
use flashlane_device::{Buffer, DataDevice, Device, Failure, Request, RequestId, SubmitError};
use flashlane_device_testing::conformance;
use flashlane_host::{Consent, Doubt, Finding, OpenError, OpenOptions, PageCache, create, identity};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program and returns its output, or why it failed.
pub fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    // An ordinary user's PATH may lack the system folders.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(program).args(arguments).env("PATH", path).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!("{program}: {}", text(&output.stderr)))
    }
}

/// Unmounts what is mounted here, once nothing uses it: the survey of another test may look at its files, and a
/// detached loop device keeps its file open until the last program that looks at it is done.
pub fn unmount(at: &Path) {
    let umount = || run("umount", &[at.to_str().unwrap()]);
    let is_done = (0..80).any(|_| {
        umount().is_ok() || {
            std::thread::sleep(std::time::Duration::from_millis(25));
            false
        }
    });
    assert!(is_done, "{:?}", umount());
}

/// Creates a loop device and returns its path. `losetup --find` reports the one it found as busy where another test
/// took it meanwhile, and so it is tried again.
pub fn attach(arguments: &[&str]) -> Result<String, String> {
    let mut tries_left = 40;
    loop {
        match run("losetup", &[&["--find", "--show"], arguments].concat()) {
            Err(error) if error.contains("busy") && tries_left > 0 => tries_left -= 1,
            outcome => return outcome,
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
}

/// A loop device over a file; both are removed on drop.
pub struct Loop {
    pub device: PathBuf,
    pub file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Loop {
    /// Creates a loop device over a file with the content made by `prepare`. Prints the reason where that is not
    /// possible.
    pub fn new(length_bytes: u64, prepare: impl FnOnce(&Path) -> Result<(), String>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("backing");
        fs::File::create(&file).unwrap().set_len(length_bytes).unwrap();
        let made = prepare(&file).and_then(|()| attach(&["--partscan", file.to_str().unwrap()]));
        match made {
            Ok(device) => Some(Self { device: device.into(), file, _folder: folder }),
            Err(e) => {
                println!("skipped: cannot create a loop device here: {e}");
                None
            }
        }
    }

    pub fn blank() -> Option<Self> {
        Self::new(4 << 20, |_| Ok(()))
    }

    pub fn ext4() -> Option<Self> {
        Self::new(8 << 20, |file| {
            run("mkfs.ext4", &["-q", "-L", "precious", file.to_str().unwrap()]).map(drop)
        })
    }

    pub fn name(&self) -> String {
        self.device.file_name().unwrap().to_string_lossy().into_owned()
    }

    /// Returns every reason not to overwrite the device.
    pub fn findings(&self) -> Vec<Finding> {
        findings(&self.device)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["-d", self.device.to_str().unwrap()]).unwrap();
    }
}

pub fn findings(path: &Path) -> Vec<Finding> {
    match OpenOptions::read_write(path).open() {
        Err(OpenError::Refused { findings, .. }) => findings,
        Err(e) => panic!("{e}"),
        Ok(_) => panic!("'{}' was opened", path.display()),
    }
}

pub fn words(findings: &[Finding]) -> String {
    findings.iter().map(|f| format!("{f}\n")).collect()
}

#[test]
fn block_device_conforms_with_either_engine() {
    let Some(drive) = Loop::blank() else { return };
    for engine in ENGINES {
        let options = OpenOptions { engine, ..OpenOptions::read_write(&drive.device) };
        conformance::check_data(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
    }
    let machine = identity(&drive.device);
    assert_eq!((machine.drive, machine.drive_size_bytes), (Some(drive.name()), Some(4 << 20)));
}

#[test]
fn blank_block_device_opens_once_and_is_claimed() {
    let Some(drive) = Loop::blank() else { return };
    let device = open(&OpenOptions::read_write(&drive.device));
    assert_eq!(device.info().capacity_bytes, 4 << 20);
    let other = fs::OpenOptions::new().write(true).open(&drive.device);
    assert!(other.is_ok(), "an ordinary open is not hindered");
    let again = OpenOptions::read_write(&drive.device).open().err().map(|e| e.to_string());
    assert!(again.is_some_and(|words| words.contains("claimed exclusively")));
    assert!(matches!(OpenOptions::read_only(&drive.device).open(), Err(OpenError::Locked { .. })));
}

#[test]
fn write_protected_device_is_refused_before_anything_is_written() {
    let Some(drive) = Loop::blank() else { return };
    run("blockdev", &["--setro", drive.device.to_str().unwrap()]).unwrap();
    for options in
        [OpenOptions::read_write(&drive.device), OpenOptions::read_write(&drive.device).really(&drive.device)]
    {
        let refused = options.open().err();
        assert!(matches!(refused, Some(OpenError::WriteProtected { .. })), "{refused:?}");
    }
    open(&OpenOptions::read_only(&drive.device));
    run("blockdev", &["--setrw", drive.device.to_str().unwrap()]).unwrap();
    open(&OpenOptions::read_write(&drive.device));
}

#[test]
fn file_system_on_a_block_device_is_reported() {
    let Some(drive) = Loop::ext4() else { return };
    let before = fs::read(&drive.file).unwrap();
    let words = words(&drive.findings());
    assert!(
        words.contains("ext4 file system (at byte 1080, UUID ") && words.contains("label precious"),
        "{words}"
    );
    // The backing file is refused for two reasons.
    let backing = fs::canonicalize(&drive.file).unwrap();
    let file = findings(&backing);
    let presented = Finding::LoopDevice { device: drive.name(), backing: backing.display().to_string() };
    assert!(file.contains(&presented) && file.len() == 2, "{file:?}");
    assert!(fs::read(&drive.file).unwrap() == before, "the survey changed the device");
    open(&OpenOptions::read_only(&drive.device));
    open(&OpenOptions::read_write(&drive.device).really(&drive.device));
}

#[test]
fn mounted_block_device_is_refused_with_its_mount_point() {
    let Some(drive) = Loop::ext4() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("with a blank");
    fs::create_dir(&at).unwrap();
    if let Err(e) = run("mount", &[drive.device.to_str().unwrap(), at.to_str().unwrap()]) {
        return println!("skipped: cannot mount here: {e}");
    }
    let found = drive.findings();
    let mut reader = open(&OpenOptions::read_only(&drive.device));
    reader.submit(Request::read(1, 0, 4096)).unwrap();
    assert_eq!(drain(&mut reader, 1)[0].outcome, Ok(()));
    drop(reader);
    let forced = OpenOptions::read_write(&drive.device).really(&drive.device).open();
    let forced = forced.map(|device| device.doubts().clone());
    unmount(&at);
    assert!(found.contains(&Finding::Mounted { device: drive.name(), at }), "{found:?}");
    // Some kernels refuse any writer to a mounted device.
    match forced {
        Ok(doubts) => assert!(doubts.contains(&Doubt::NotExclusive), "{doubts:?}"),
        Err(e) => assert!(matches!(e, OpenError::Os { .. }), "{e}"),
    }
}

#[test]
fn partitioned_block_device_is_refused_with_partitions() {
    let drive = Loop::new(16 << 20, |file| {
        // One Linux partition from sector 2048, 16,384 sectors long.
        let entry = [0, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x40, 0, 0];
        let mut file = fs::OpenOptions::new().write(true).open(file).map_err(|e| e.to_string())?;
        let table = [vec![0; 446], entry.to_vec(), vec![0; 48], vec![0x55, 0xaa]].concat();
        file.write_all(&table).map_err(|e| e.to_string())
    });
    let Some(drive) = drive else { return };
    // Add the partition by hand where the kernel does not read partition tables.
    let _ = run("addpart", &[drive.device.to_str().unwrap(), "1", "2048", "16384"]);
    let found = drive.findings();
    assert!(words(&found).contains("MBR partition table"), "{found:?}");
    let partition = format!("{}p1", drive.name());
    if !Path::new("/sys/block").join(drive.name()).join(&partition).exists() {
        return println!("skipped in part: this kernel has no partitions on loop devices");
    }
    assert!(found.contains(&Finding::Partitioned { partitions: vec![partition.clone()] }), "{found:?}");
    // A partition without a signature may be overwritten; it is a separate device.
    let path = Path::new("/dev").join(&partition);
    if path.exists() {
        let device = open(&OpenOptions::read_write(&path));
        assert_eq!(device.info().capacity_bytes, 8 << 20);
        drop(device);
        assert_eq!(identity(&path).drive, Some(drive.name()));
    }
}

#[test]
fn swap_space_in_use_is_refused() {
    let Some(drive) = Loop::new(4 << 20, |file| run("mkswap", &[file.to_str().unwrap()]).map(drop)) else {
        return;
    };
    let path = drive.device.to_str().unwrap();
    if let Err(e) = run("swapon", &[path]) {
        return println!("skipped: cannot add swap space here: {e}");
    }
    let found = drive.findings();
    run("swapoff", &[path]).unwrap();
    assert!(found.contains(&Finding::Swap { device: path.into() }), "{found:?}");
    assert!(words(&found).contains("swap space (at byte 4086, UUID"), "{found:?}");
}

#[test]
fn device_claimed_by_another_process_is_refused() {
    use std::os::unix::fs::OpenOptionsExt;
    let Some(drive) = Loop::blank() else { return };
    let claim = fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&drive.device).unwrap();
    assert_eq!(drive.findings(), [Finding::Claimed { device: drive.device.display().to_string() }]);
    drop(claim);
    open(&OpenOptions::read_write(&drive.device));
}

#[test]
fn claim_is_reported_beside_a_signature() {
    use std::os::unix::fs::OpenOptionsExt;
    // As of the journal of a mounted file system: the kernel's lists do not name who has it.
    let Some(drive) = Loop::ext4() else { return };
    let claim = fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&drive.device).unwrap();
    let found = drive.findings();
    assert!(found.contains(&Finding::Claimed { device: drive.device.display().to_string() }), "{found:?}");
    assert!(words(&found).contains("ext4 file system"), "{found:?}");
    drop(claim);
    assert!(!words(&drive.findings()).contains("claimed"));
}

#[test]
fn discarded_range_reads_as_zeros() {
    let Some(drive) = Loop::blank() else { return };
    for engine in ENGINES {
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_write(&drive.device) });
        for id in 0..8 {
            device.submit(Request::write(id, id * 65_536, 65_536)).unwrap();
        }
        assert!(drain(&mut device, 8).iter().all(|c| c.outcome.is_ok()));
        // Discards and reads are in flight together; every second block is discarded.
        for id in 0..8 {
            match device.submit(Request::trim(id, id * 131_072, 65_536)) {
                Err(SubmitError::Unsupported { .. }) => {
                    return println!("skipped: loop devices here do not support discard");
                }
                other => other.unwrap(),
            }
            device.submit(Request::read(100 + id, 1 << 20, 4096)).unwrap();
        }
        let done = drain(&mut device, 16);
        assert_eq!(done.iter().map(|c| c.id).collect::<BTreeSet<_>>().len(), 16);
        assert!(done.iter().all(|c| c.outcome.is_ok()), "{done:?}");
        for id in 0..8 {
            device.submit_with(Request::read(id, id * 65_536, 65_536), Buffer::zeroed(65_536)).unwrap();
        }
        drain(&mut device, 8);
        for id in 0..8 {
            let zeros = device.take_buffer(RequestId(id)).unwrap().as_slice().iter().all(|&b| b == 0);
            assert_eq!(zeros, id % 2 == 0, "block {id}");
        }
    }
}

#[test]
fn medium_error_and_lost_block_device_are_reported() {
    for engine in ENGINES {
        let Some(drive) = Loop::blank() else { return };
        let options =
            OpenOptions { engine, consent: Consent::ReadOnly, ..OpenOptions::read_write(&drive.device) };
        let mut device = open(&options);
        let read_all = |device: &mut flashlane_host::FileDevice| {
            for id in 0..32 {
                device.submit(Request::read(id, id * 131_072, 4096)).unwrap();
            }
            let done = drain(device, 32);
            assert_eq!(done.iter().map(|c| c.id).collect::<BTreeSet<_>>().len(), 32);
            done
        };
        assert!(read_all(&mut device).iter().all(|c| c.outcome.is_ok()));
        // The loop device cannot read past the end of the backing file.
        fs::OpenOptions::new().write(true).open(&drive.file).unwrap().set_len(65_536).unwrap();
        let done = read_all(&mut device);
        assert!(done.iter().any(|c| matches!(c.outcome, Err(Failure::Os(libc::EIO)))), "{done:?}");
        assert!(!done.iter().any(|c| c.outcome == Err(Failure::DeviceLost)), "{done:?}");
        // Now the device itself has length zero, like one that was pulled out.
        fs::OpenOptions::new().write(true).open(&drive.file).unwrap().set_len(0).unwrap();
        run("losetup", &["-c", drive.device.to_str().unwrap()]).unwrap();
        let done = read_all(&mut device);
        assert!(done.iter().all(|c| c.outcome == Err(Failure::DeviceLost)), "{done:?}");
        assert_eq!(device.submit(Request::read(1, 0, 4096)), Err(SubmitError::DeviceLost));
    }
}

#[test]
fn missing_direct_io_is_refused_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    if let Err(e) = run("mount", &["-t", "ramfs", "ramfs", at]) {
        return println!("skipped: cannot mount a file system without direct I/O here: {e}");
    }
    let path = folder.path().join("file");
    fs::File::create(&path).unwrap().write_all_at(&[7; 65_536], 0).unwrap();
    let strict = OpenOptions::read_only(&path).open().err().map(|e| e.to_string());
    let mut laws = Vec::new();
    for engine in ENGINES {
        let options =
            OpenOptions { engine, page_cache: PageCache::Tolerate, ..OpenOptions::read_write(&path) };
        laws.push(std::panic::catch_unwind(|| {
            let device = open(&options);
            assert!(device.doubts().contains(&Doubt::PageCacheNotBypassed));
            assert!(device.doubts().contains(&Doubt::InMemory { file_system: "ramfs" }));
            drop(device);
            conformance::check(&mut || Box::new(open(&options)));
        }));
    }
    unmount(Path::new(at));
    assert!(strict.is_some_and(|words| words.contains("without direct I/O")));
    assert!(laws.iter().all(Result::is_ok));
}

#[test]
fn new_file_is_removed_when_the_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    if let Err(e) = run("mount", &["-t", "tmpfs", "-o", "size=4m", "tmpfs", at]) {
        return println!("skipped: cannot mount a small file system here: {e}");
    }
    let path = folder.path().join("new");
    let refused = create(&path, 8 << 20, |_| panic!("nothing is written")).err().map(|e| e.to_string());
    let is_there = path.exists();
    // Another program takes the room meanwhile.
    let take = |done| {
        if done == 1 << 20 {
            fs::write(folder.path().join("other"), vec![1; 2 << 20]).unwrap();
        }
        true
    };
    let error = create(&path, 3 << 20, take).err().map(|e| e.to_string());
    let left = path.exists();
    unmount(Path::new(at));
    assert!(refused.is_some_and(|words| words.contains("its file system has 4 MiB left")));
    assert!(!is_there);
    assert!(error.is_some_and(|words| words.contains("cannot fill") && words.contains("No space left")));
    assert!(!left);
}
