//! `serve fuse`: the file, file systems on it over a loop device, signals, and what is refused. Tests that need FUSE or
//! loop devices say on standard error that they were skipped where these are missing.

use crate::program::{command, refused, text};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A simulated drive that is quick to make.
const DRIVE: &str = "sim:ssd-s,capacity=64MiB";
const SIZE_BYTES: u64 = 64 << 20;

struct Mounted {
    dir: tempfile::TempDir,
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Mounted {
    /// Mounts a device in a new directory. Returns `None`, and says so, where FUSE is not to be had.
    fn new(device: &str, arguments: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("mount")).unwrap();
        Self::on(dir, device, arguments)
    }

    fn on(dir: tempfile::TempDir, device: &str, arguments: &[&str]) -> Option<Self> {
        let mount = dir.path().join("mount");
        let own = ["serve", "fuse", device, text(&mount)];
        let mut child = command(&[&own, arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        if line.starts_with("serving ") {
            return Some(Self { dir, child, output });
        }
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("FUSE requires"), "'{line}': {error}");
        eprintln!("skipped: {error}");
        None
    }

    fn mount(&self) -> PathBuf {
        self.dir.path().join("mount")
    }

    fn file(&self) -> PathBuf {
        self.mount().join("drive")
    }

    fn open(&self) -> File {
        OpenOptions::new().read(true).write(true).open(self.file()).unwrap()
    }

    /// Ends the server with a signal, and returns the rest of its output and its warnings.
    fn end(mut self, signal: &str) -> (String, String) {
        kill(&self.child, signal);
        let (mut rest, mut warnings) = (String::new(), String::new());
        self.output.read_to_string(&mut rest).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut warnings).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{rest}{warnings}");
        assert!(!is_mounted(&self.mount()), "it is unmounted");
        (rest, warnings)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if is_mounted(&self.mount()) {
            unmount(&self.mount());
        }
    }
}

fn kill(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// Returns whether something is mounted on a directory, also where its server is gone.
fn is_mounted(directory: &Path) -> bool {
    let parent = directory.parent().unwrap().metadata().unwrap();
    directory.metadata().map_or(true, |metadata| metadata.dev() != parent.dev())
}

fn unmount(directory: &Path) {
    let by = |program: &str, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .arg(directory)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    assert!(by("umount", &[]) || by("fusermount3", &["-u"]), "{} can be unmounted", directory.display());
}

fn os_error<T: std::fmt::Debug>(result: std::io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().unwrap()
}

/// Returns bytes that differ from place to place.
fn pattern(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|nth| ((nth + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

#[test]
fn file_keeps_what_was_written_at_any_alignment() {
    let Some(mounted) = Mounted::new(DRIVE, &[]) else { return };
    assert_eq!(mounted.file().metadata().unwrap().len(), SIZE_BYTES);
    let names: Vec<_> = mounted.mount().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["drive"]);

    let file = mounted.open();
    let mut model = vec![0; 3 << 20];
    for (seed, (offset, length)) in
        [(0, 4096), (4096, 1 << 20), (5000, 3), (1 << 20, (1 << 20) + 513), (511, 513), (12_288, 8192)]
            .into_iter()
            .enumerate()
    {
        let data = pattern(seed as u64, length);
        file.write_all_at(&data, offset as u64).unwrap();
        model[offset..offset + length].copy_from_slice(&data);
    }
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    let mut read = vec![1; model.len()];
    mounted.open().read_exact_at(&mut read, 0).unwrap();
    assert!(read == model, "what was written is read");

    let (output, warnings) = {
        drop(file);
        mounted.end("-INT")
    };
    assert!(output.contains("writes: ") && output.contains("flushes: 2"), "{output}");
    assert!(!warnings.contains("in use"), "{warnings}");
}

#[test]
fn ends_of_the_file_are_those_of_a_drive() {
    let Some(mounted) = Mounted::new(DRIVE, &[]) else { return };
    let file = mounted.open();
    file.write_all_at(b"last", SIZE_BYTES - 4).unwrap();
    assert_eq!(file.read_at(&mut [0; 100], SIZE_BYTES - 4).unwrap(), 4);
    assert_eq!(file.read_at(&mut [0; 100], SIZE_BYTES).unwrap(), 0);
    assert_eq!(file.write_at(&[1; 100], SIZE_BYTES - 10).unwrap(), 10, "it is cut at the end");
    assert_eq!(os_error(file.write_at(&[1], SIZE_BYTES)), libc::ENOSPC);
    assert_eq!(os_error(file.set_len(0)), libc::EPERM);
    file.set_len(SIZE_BYTES).unwrap();
    assert!(File::create(mounted.mount().join("other")).is_err());
    assert!(std::fs::remove_file(mounted.file()).is_err());
    drop(file);
    mounted.end("-TERM");
}

#[test]
fn holes_are_trims_that_read_as_zeros() {
    let Some(mounted) = Mounted::new(DRIVE, &[]) else { return };
    let file = mounted.open();
    file.write_all_at(&[7; 64 << 10], 0).unwrap();
    let allocate = |arguments: &[&str]| {
        let done = Command::new("fallocate").args(arguments).arg(mounted.file()).output();
        done.expect("fallocate is part of util-linux")
    };
    let hole = allocate(&["--punch-hole", "--offset", "1000", "--length", "20000"]);
    assert!(hole.status.success(), "{}", String::from_utf8_lossy(&hole.stderr));
    let zeros = allocate(&["--zero-range", "--offset", "40960", "--length", "4096"]);
    assert!(zeros.status.success(), "{}", String::from_utf8_lossy(&zeros.stderr));
    assert!(!allocate(&["--collapse-range", "--offset", "0", "--length", "4096"]).status.success());
    // Longer than any one request of a block device.
    let rest = allocate(&["--punch-hole", "--offset", "65536", "--length", "1TiB"]);
    assert!(rest.status.success(), "{}", String::from_utf8_lossy(&rest.stderr));
    let mut read = vec![0; 64 << 10];
    file.read_exact_at(&mut read, 0).unwrap();
    for (at, &byte) in read.iter().enumerate() {
        let is_zero = (1000..21_000).contains(&at) || (40_960..45_056).contains(&at);
        assert_eq!(byte == 0, is_zero, "byte {at}");
    }
    drop(file);
    let (output, _) = mounted.end("-TERM");
    assert!(output.contains("trims: 2"), "{output}");
}

#[test]
fn counters_are_printed_on_request_and_the_run_is_kept_and_repeated_at_the_end() {
    let results = tempfile::tempdir().unwrap();
    let kept = results.path().join("run");
    let Some(mut mounted) = Mounted::new(DRIVE, &["--slowdown", "2", "--out", text(&kept)]) else { return };
    let file = mounted.open();
    for nth in 0..50 {
        file.write_all_at(&pattern(nth, 4096), nth * 4096).unwrap();
    }
    kill(&mounted.child, "-USR1");
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains("host_pages_written: 50")) {
        let mut line = String::new();
        assert!(mounted.output.read_line(&mut line).unwrap() > 0, "{lines:?}");
        lines.push(line);
    }
    assert!(lines.concat().contains("writes: 50, 200 KiB"), "{lines:?}");
    file.sync_all().unwrap();
    drop(file);
    let (output, _) = mounted.end("-TERM");
    assert!(output.contains("in virtual time, the same requests with the same pauses: mean "), "{output}");
    let result: serde_json::Value =
        serde_json::from_slice(&std::fs::read(kept.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["schema"], "flashlane.run/1");
    assert_eq!(result["operations"]["write"]["requests"], 50, "{result}");
    assert!(result["operations"]["flush"].is_object() && result["device"]["simulated"] == true, "{result}");
    assert!(result["workload"].as_str().unwrap().starts_with("served to "), "{result}");
    assert!(result["warnings"].to_string().contains("2 times those of the drive"), "{result}");
    assert!(kept.join("lateness-distribution.svg").exists() && kept.join("report.html").exists());

    let Some(mounted) = Mounted::new(DRIVE, &["--no-twin"]) else { return };
    mounted.open().write_all_at(&[1; 4096], 0).unwrap();
    let (output, _) = mounted.end("-TERM");
    assert!(output.contains("writes: 1") && !output.contains("virtual time"), "{output}");
}

#[test]
fn twin_of_a_drive_whose_data_is_in_a_file_leaves_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = dir.path().join("bytes");
    // Its preparation is what an interrupt stops, except that of the twin, which follows one.
    let device = format!("backed(({DRIVE},initial.state=fragmented),file={})", text(&bytes));
    for (value, consent) in [(1, &[][..]), (2, &["--destroy-data"][..])] {
        let Some(mounted) = Mounted::new(&device, consent) else { return };
        mounted.open().write_all_at(&[value; 4096], 8192).unwrap();
        let (output, _) = mounted.end("-TERM");
        assert!(output.contains("in virtual time"), "{output}");
        assert_eq!(std::fs::read(&bytes).unwrap()[8192..12288], [value; 4096]);
    }
}

#[test]
fn read_only_file_refuses_changes() {
    let Some(mounted) = Mounted::new(DRIVE, &["--read-only"]) else { return };
    assert_eq!(os_error(OpenOptions::new().write(true).open(mounted.file())), libc::EROFS);
    let file = File::open(mounted.file()).unwrap();
    file.read_exact_at(&mut [0; 4096], 4096).unwrap();
    drop(file);
    mounted.end("-TERM");
}

#[test]
fn killed_server_leaves_a_mount_that_the_next_one_replaces() {
    let Some(mut mounted) = Mounted::new(DRIVE, &[]) else { return };
    let file = mounted.open();
    mounted.child.kill().unwrap();
    mounted.child.wait().unwrap();
    assert_eq!(os_error(file.read_at(&mut [0; 10], 0)), libc::ENOTCONN);
    assert!(is_mounted(&mounted.mount()));
    drop(file);
    let empty = std::mem::replace(&mut mounted.dir, tempfile::tempdir().unwrap());
    std::fs::create_dir(mounted.mount()).unwrap();
    let next = Mounted::on(empty, DRIVE, &[]).expect("it could be mounted before");
    next.open().write_all_at(b"alive", 0).unwrap();
    next.end("-TERM");
}

#[test]
fn dead_mount_of_another_program_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mount = "mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 other \"$0\" 3<>/dev/fuse";
    let mounted = Command::new("sh").args(["-c", mount, text(dir.path())]).stderr(Stdio::null()).status();
    if !mounted.unwrap().success() {
        return eprintln!("skipped: nothing can be mounted here");
    }
    refused(2, &["serve", "fuse", DRIVE, text(dir.path())], &["the mount of another program", "unmount it"]);
    assert!(is_mounted(dir.path()));
    unmount(dir.path());
}

#[test]
fn served_file_keeps_what_was_synced_after_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("mount")).unwrap();
    let image = dir.path().join("image");
    std::fs::write(&image, vec![0; 1 << 20]).unwrap();
    let image = text(&image).to_owned();
    let Some(mut mounted) = Mounted::on(dir, &image, &["--destroy-data"]) else { return };
    let data = pattern(1, 10_000);
    let file = mounted.open();
    file.write_all_at(&data, 4096).unwrap();
    file.sync_all().unwrap();
    mounted.child.kill().unwrap();
    mounted.child.wait().unwrap();
    assert!(std::fs::read(&image).unwrap()[4096..][..data.len()] == data);
}

#[test]
fn drive_in_use_is_pulled_at_the_end() {
    let Some(mounted) = Mounted::new(DRIVE, &[]) else { return };
    let file = mounted.open();
    let (_, warnings) = mounted.end("-TERM");
    assert!(warnings.contains("still in use"), "{warnings}");
    assert!(file.write_at(&[1], 0).is_err());
}

#[test]
fn unmounting_ends_the_server() {
    let Some(mut mounted) = Mounted::new(DRIVE, &[]) else { return };
    unmount(&mounted.mount());
    let mut rest = String::new();
    mounted.output.read_to_string(&mut rest).unwrap();
    assert_eq!(mounted.child.wait().unwrap().code(), Some(0), "{rest}");
    assert!(rest.contains("served "), "{rest}");
}

#[test]
fn what_cannot_be_mounted_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| text(&dir.path().join(name)).to_owned();
    std::fs::write(path("file"), "").unwrap();
    std::fs::create_dir(path("full")).unwrap();
    std::fs::write(path("full/file"), "").unwrap();
    std::fs::create_dir(path("empty")).unwrap();
    for (device, mount, expected) in [
        (DRIVE, &*path("none"), "cannot be read"),
        (DRIVE, &path("file"), "not a directory"),
        (DRIVE, &path("full"), "not empty"),
        (DRIVE, "/proc", "mounted on /proc already"),
        ("sim:sdf", &path("empty"), "erase units"),
        ("sim:sdf#3", &path("empty"), "erase units"),
    ] {
        refused(2, &["serve", "fuse", device, mount], &[expected]);
    }
    let hidden = ["serve", "fuse", DRIVE, &path("empty"), "--record", &path("empty/trace.msr")];
    refused(2, &hidden, &["--record", "is in the directory that is mounted on"]);
    let report = [DRIVE, &path("empty"), "--out", &path("result"), "--record", &path("result/report.html")];
    std::fs::create_dir(path("result")).unwrap();
    refused(2, &[&["serve", "fuse"], &report[..]].concat(), &["--record", "is in the directory of --out"]);
    assert!(path("empty").parse::<PathBuf>().unwrap().read_dir().unwrap().next().is_none());
}

/// Runs `scripts/served/file-system` with a command. Returns its exit status and what it said; `None`, and says so,
/// where loop devices or FUSE are not to be had.
fn on_file_system(command: &[&str]) -> Option<(Option<i32>, String)> {
    // SAFETY: the call takes nothing.
    if unsafe { libc::geteuid() } != 0
        || !Path::new("/dev/loop-control").exists()
        || !Path::new("/dev/fuse").exists()
    {
        eprintln!("skipped: loop devices and FUSE require root, /dev/loop-control and /dev/fuse");
        return None;
    }
    let work = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/served/file-system");
    let output = Command::new(script)
        .args(command)
        .env("FLASHLANE", env!("CARGO_BIN_EXE_flashlane"))
        .envs([("DEVICE", "sim:ssd-s,capacity=256MiB"), ("OPTIONS", "--slowdown\n1"), ("MEMORY", "0")])
        .env("WORK_IN", work.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let left: Vec<_> = work.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}: {said}");
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts.contains(text(work.path())), "{mounts}");
    let loops = Command::new("losetup").arg("--list").output().unwrap().stdout;
    assert!(!String::from_utf8_lossy(&loops).contains(text(work.path())), "no loop device is left");
    Some((output.status.code(), said))
}

#[test]
fn ext4_on_the_drive_carries_files_and_is_taken_away() {
    let work = "set -e; findmnt -no FSTYPE -T . | grep -qx ext4; \
                head -c 20000000 /dev/urandom >file; cp file copy; sync -f .; \
                dd if=copy bs=1M iflag=direct status=none | cmp - file; rm file; fstrim .; sync -f .";
    let Some((status, said)) = on_file_system(&["bash", "-c", work]) else { return };
    assert_eq!(status, Some(0), "{said}");
    for part in ["reads: ", "writes: ", "trims: ", "flushes: "] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("failed") && !said.contains("in use"), "{said}");
}

#[test]
fn file_system_is_taken_away_after_a_failure() {
    let Some((status, said)) = on_file_system(&["bash", "-c", "echo begun >file; exit 7"]) else { return };
    assert_eq!(status, Some(7), "{said}");
    // What the command left running keeps the file system busy for a while.
    let Some((status, said)) = on_file_system(&["bash", "-c", "sleep 2 & exit 0"]) else { return };
    assert_eq!(status, Some(0), "{said}");
}
