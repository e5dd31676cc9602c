//! Devices and files that hold data under another name, or through several layers, using loop devices and mounts, which
//! require root. Elsewhere each test prints that it was skipped, and why.

use crate::blocks::{Loop, attach, findings, run, unmount, words};
use crate::files::scratch;
use flashlane_host::{Consent, Finding, OpenError, OpenOptions, PageCache};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A mount, removed on drop.
pub struct Mounted {
    pub at: PathBuf,
    _folder: tempfile::TempDir,
}

impl Mounted {
    /// Prints the reason where nothing can be mounted.
    pub fn new(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("at");
        fs::create_dir(&at).unwrap();
        match run("mount", &[arguments, &[at.to_str().unwrap()]].concat()) {
            Ok(_) => Some(Self { at, _folder: folder }),
            Err(e) => {
                println!("skipped: cannot mount here: {e}");
                None
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.at);
    }
}

fn is_mounted(found: &[Finding], device: &str) -> bool {
    found.iter().any(|finding| matches!(finding, Finding::Mounted { device: d, .. } if d == device))
}

pub fn presents(found: &[Finding], device: &str) -> bool {
    found.iter().any(|finding| matches!(finding, Finding::LoopDevice { device: d, .. } if d == device))
}

/// A program, terminated on drop.
pub struct Running(pub Child);

impl Running {
    /// Starts a shell and returns once it has a file open for writing.
    pub fn with_open(path: &Path) -> Self {
        Self::with_script(path, "exec 3<> \"$0\"; echo open; read end")
    }

    /// As [`Running::with_open`], for reading only.
    pub fn reading(path: &Path) -> Self {
        Self::with_script(path, "exec 3< \"$0\"; echo open; read end")
    }

    /// Starts a shell and returns once it is in a folder.
    pub fn inside(folder: &Path) -> Self {
        Self::with_script(folder, "cd \"$0\"; echo open; read end")
    }

    pub fn with_script(path: &Path, script: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, path.to_str().unwrap()]);
        Self::starting(shell)
    }

    /// Starts a program and returns once it prints `open`.
    fn starting(mut program: Command) -> Self {
        let mut running = Self(program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(running.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "open\n");
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn mounted_image_is_found_under_every_name_of_its_file() {
    let Some(drive) = Loop::ext4() else { return };
    let Some(_mounted) = Mounted::new(&[drive.device.to_str().unwrap()]) else { return };
    let folder = drive.file.parent().unwrap();
    let link = folder.join("hard link");
    fs::hard_link(&drive.file, &link).unwrap();
    let soft = folder.join("soft link");
    std::os::unix::fs::symlink(&link, &soft).unwrap();
    let through_root = PathBuf::from(format!("/proc/self/root{}", link.display()));
    let handle = fs::File::open(&link).unwrap();
    let through_handle = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle)));
    let Some(bound) = Mounted::new(&["--bind", folder.to_str().unwrap()]) else { return };
    for name in [link, soft, through_root, through_handle, bound.at.join("backing")] {
        let found = findings(&name);
        assert!(presents(&found, &drive.name()), "{}: {found:?}", name.display());
        assert!(is_mounted(&found, &drive.name()), "{}: {found:?}", name.display());
    }
}

#[test]
fn file_is_on_everything_that_its_file_system_lies_on() {
    let Some(drive) = Loop::ext4() else { return };
    let Some(mounted) = Mounted::new(&[drive.device.to_str().unwrap()]) else { return };
    let new = mounted.at.join("folder/result.json");
    for (path, is_there) in [(&new, true), (&drive.file.with_file_name("other"), false)] {
        for device in [&drive.device, &drive.file] {
            assert_eq!(flashlane_host::is_on_device(path, device), is_there, "{path:?} {device:?}");
        }
    }
}

#[test]
fn device_under_a_mounted_loop_device_is_in_use() {
    let Some(under) = Loop::ext4() else { return };
    let path = under.device.to_str().unwrap();
    let over = attach(&[path]).unwrap();
    let name = over.trim_start_matches("/dev/").to_owned();
    let mounted = Mounted::new(&[&over]);
    let found = [findings(&under.device), findings(&under.file)];
    // The upper device is in use though nothing holds it.
    let is_there = mounted.is_some();
    drop(mounted);
    let unmounted = findings(&under.device);
    // In the other direction: a file system on the lower device is below the upper one.
    let lower = Mounted::new(&[path]);
    let above = lower.is_some().then(|| findings(Path::new(&over)));
    drop(lower);
    run("losetup", &["-d", &over]).unwrap();
    if is_there {
        for found in found {
            assert!(presents(&found, &name) && is_mounted(&found, &name), "{found:?}");
        }
    }
    assert!(presents(&unmounted, &name), "{unmounted:?}");
    if let Some(above) = above {
        assert!(is_mounted(&above, &under.name()), "{above:?}");
        assert!(above.iter().any(|f| matches!(f, Finding::Claimed { .. })), "{above:?}");
    }
}

#[test]
fn device_that_holds_a_loop_image_is_in_use() {
    let Some(under) = Loop::new(32 << 20, |file| run("mkfs.ext4", &["-q", file.to_str().unwrap()]).map(drop))
    else {
        return;
    };
    let Some(mounted) = Mounted::new(&[under.device.to_str().unwrap()]) else { return };
    let image = mounted.at.join("image");
    fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    let over = attach(&[image.to_str().unwrap()]).unwrap();
    let found = findings(&under.device);
    run("losetup", &["-d", &over]).unwrap();
    assert!(words(&found).contains("image, which loop"), "{found:?}");
}

#[test]
fn disjoint_part_of_the_same_image_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let part =
        |offset: &str| attach(&["--offset", offset, "--sizelimit", "4194304", image.to_str().unwrap()]);
    let first = match part("0") {
        Ok(device) => device,
        Err(e) => return println!("skipped: no loop device here: {e}"),
    };
    let second = part("8388608").unwrap();
    let open = OpenOptions::read_write(&second).open().map(drop);
    let overlapping = part("10485760").unwrap();
    let found = findings(Path::new(&second));
    for device in [&first, &second, &overlapping] {
        run("losetup", &["-d", device]).unwrap();
    }
    assert!(open.is_ok(), "{open:?}");
    assert!(presents(&found, overlapping.trim_start_matches("/dev/")), "{found:?}");
}

#[test]
fn loop_device_over_a_store_counts_as_the_store_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut bytes = vec![7; 8 << 20];
    bytes[..16].copy_from_slice(b"flashlane lanes\0");
    fs::write(&path, &bytes).unwrap();
    let part = ["--offset", "1052672", "--sizelimit", "4194304"];
    for range in [&part[..], &[]] {
        let device = match attach(&[range, &[path.to_str().unwrap()]].concat()) {
            Ok(device) => device,
            Err(e) => return println!("skipped: no loop device here: {e}"),
        };
        let found = findings(Path::new(&device));
        run("losetup", &["-d", &device]).unwrap();
        assert_eq!(words(&found).matches("Flashlane lanes").count(), 1, "{range:?}: {found:?}");
    }
    assert!(fs::read(&path).unwrap() == bytes);
}

#[test]
fn loop_device_inside_a_file_system_needs_consent_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let found = |device: &str| match OpenOptions::read_write(device).open() {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    for (mark, at, is_inside) in [(&b"XFSB"[..], 0, true), (b"EFI PART", 512, false)] {
        let mut bytes = vec![0; 8 << 20];
        bytes[at..at + mark.len()].copy_from_slice(mark);
        fs::write(&image, &bytes).unwrap();
        let outer = match attach(&[image.to_str().unwrap()]) {
            Ok(device) => device,
            Err(e) => return println!("skipped: no loop device here: {e}"),
        };
        let over_device = attach(&["--offset", "4194304", &outer]).unwrap();
        let below_device = found(&over_device);
        run("losetup", &["-d", &over_device]).unwrap();
        run("losetup", &["-d", &outer]).unwrap();
        let over_file = attach(&["--offset", "4194304", image.to_str().unwrap()]).unwrap();
        let below_file = found(&over_file);
        run("losetup", &["-d", &over_file]).unwrap();
        for found in [below_device, below_file] {
            assert_eq!(found.contains("XFS file system in"), is_inside, "{found}");
            assert!(is_inside || found.is_empty(), "{found}");
        }
    }
}

/// A program, such as another Flashlane, that has open what lies below a loop device may write there.
#[test]
fn file_below_a_loop_device_that_a_program_has_open_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    fs::write(&image, vec![0; 4 << 20]).unwrap();
    let devices = match attach(&[image.to_str().unwrap()]) {
        Ok(one) => attach(&[&one]).map(|two| [one, two]),
        Err(e) => return println!("skipped: no loop device here: {e}"),
    };
    let devices = devices.unwrap();
    let refusal = |device: &str| match OpenOptions::read_write(device).open() {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let before = devices.each_ref().map(|device| refusal(device));
    let found = [&image, Path::new(&devices[0])].map(|below| {
        let _user = Running::with_open(below);
        refusal(&devices[1])
    });
    devices.iter().rev().for_each(|device| drop(run("losetup", &["-d", device]).unwrap()));
    assert!(before[1].is_empty(), "{before:?}");
    for found in found {
        assert!(found.contains("it is open in sh"), "{found}");
    }
}

/// Through loop devices over loop devices, and where the name of the file below leads to it no more.
#[test]
fn file_system_far_below_a_loop_device_needs_consent() {
    let folder = tempfile::tempdir().unwrap();
    let (image, kept) = (folder.path().join("image"), folder.path().join("kept"));
    let mut bytes = vec![0; 8 << 20];
    bytes[..4].copy_from_slice(b"XFSB");
    fs::write(&image, &bytes).unwrap();
    fs::hard_link(&image, &kept).unwrap();
    let refusal = |device: &str| match OpenOptions::read_write(device).open() {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let mut devices: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for (offset, is_last) in [("1048576", false), ("1048576", false), ("0", true)] {
        let on = devices.last().map_or(image.to_str().unwrap(), String::as_str);
        match attach(&["--offset", offset, on]) {
            Ok(device) => devices.push(device),
            Err(e) => return println!("skipped: no loop device here: {e}"),
        }
        let device = devices.last().expect("it was attached");
        found.push(refusal(device));
        if is_last {
            fs::remove_file(&image).unwrap();
            found.push(refusal(device));
        }
    }
    let detached = devices.iter().rev().map(|device| run("losetup", &["-d", device]));
    assert!(detached.collect::<Vec<_>>().iter().all(Result::is_ok), "{devices:?}");
    let [one, two, three, unnamed] = &found[..] else { panic!("{found:?}") };
    for found in [one, two, three] {
        assert!(found.contains("XFS file system in"), "{found}");
    }
    assert!(unnamed.contains("cannot be read"), "{unnamed}");
    assert!(fs::read(&kept).unwrap() == bytes);
}

/// The kernel is told of the partitions, since it may know no table of partitions.
#[test]
fn partition_inside_a_file_system_of_the_drive_needs_consent() {
    let Some(drive) =
        Loop::new(16 << 20, |file| fs::write(file, vec![0; 16 << 20]).map_err(|e| e.to_string()))
    else {
        return;
    };
    let device = drive.device.to_str().unwrap();
    for (number, start) in [("1", "2048"), ("2", "18432")] {
        if let Err(e) = run("addpart", &[device, number, start, "8192"]) {
            return println!("skipped: cannot add a partition here: {e}");
        }
    }
    let partition = |number| PathBuf::from(format!("{device}p{number}"));
    let refusal = |number| match OpenOptions::read_write(partition(number)).open() {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let at = |offset, bytes: &[u8]| {
        let file = fs::File::options().write(true).open(&drive.device).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, offset).unwrap();
        file.sync_all().unwrap();
    };
    let free = refusal(1);
    // Blocks on the first partition are none of the drive, and not on the second one.
    at(1 << 20, b"flashlane lanes\0");
    let beside_blocks = [refusal(1), refusal(2)];
    at(1 << 20, &[0; 16]);
    at(0, b"XFSB");
    // The drive is read itself, not only the file that this one is made of.
    fs::remove_file(&drive.file).unwrap();
    let inside = refusal(1);
    let found = findings(&drive.device);
    for number in ["1", "2"] {
        run("delpart", &[device, number]).unwrap();
    }
    assert_eq!(free, "");
    assert!(beside_blocks[0].contains("Flashlane lanes") && beside_blocks[1].is_empty(), "{beside_blocks:?}");
    let expected = format!("XFS file system in '{device}', of which it presents a part");
    assert!(inside.contains(&expected), "{inside}");
    assert!(words(&found).contains("it is partitioned: loop"), "{found:?}");
}

#[test]
fn file_on_a_fuse_file_system_needs_consent() {
    let folder = tempfile::tempdir().unwrap();
    let [below, at] = ["below", "at"].map(|name| folder.path().join(name));
    [&below, &at].iter().for_each(|path| fs::create_dir(path).unwrap());
    fs::write(below.join("file"), vec![7; 1 << 20]).unwrap();
    if let Err(e) = run("bindfs", &[below.to_str().unwrap(), at.to_str().unwrap()]) {
        return println!("skipped: cannot mount a file system by FUSE here: {e}");
    }
    let path = at.join("file");
    let destroy = OpenOptions { page_cache: PageCache::Tolerate, ..OpenOptions::read_write(&path) };
    let refused = destroy.clone().open().map(drop);
    let new = OpenOptions { consent: Consent::NewFile, ..destroy.clone() }.open().map(drop);
    let confirmed = destroy.really(&path).open().map(drop);
    let read =
        OpenOptions { page_cache: PageCache::Tolerate, ..OpenOptions::read_only(&path) }.open().map(drop);
    let above = attach(&[path.to_str().unwrap()]).map(|device| {
        let found = findings(Path::new(&device));
        run("losetup", &["-d", &device]).unwrap();
        words(&found)
    });
    run("umount", &["--lazy", at.to_str().unwrap()]).unwrap();
    match above {
        Ok(found) => assert!(found.contains("at/file is on a file system of type fuse"), "{found}"),
        Err(e) => println!("skipped: cannot create a loop device here: {e}"),
    }
    let Err(OpenError::Refused { findings, .. }) = refused else { panic!("{refused:?}") };
    assert!(findings.iter().all(|finding| matches!(finding, Finding::HiddenUse { .. })), "{findings:?}");
    assert_eq!(findings.len(), 1);
    for opened in [new, confirmed, read] {
        assert!(opened.is_ok(), "{opened:?}");
    }
}

#[test]
fn mapped_device_and_slave_count_for_each_other() {
    let Some(drive) = Loop::blank() else { return };
    let name = format!("flashlane-{}", std::process::id());
    let table = format!("0 2048 linear {} 0", drive.device.display());
    if let Err(e) = run("dmsetup", &["create", &name, "--table", &table]) {
        return println!("skipped: cannot create a mapped device here: {e}");
    }
    let found = [findings(&drive.device), findings(&drive.file)];
    run("dmsetup", &["remove", &name]).unwrap();
    for found in found {
        assert!(words(&found).contains("is held by dm-"), "{found:?}");
    }
}

#[test]
fn mount_in_another_namespace_is_found() {
    let Some(drive) = Loop::ext4() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("mount {} {} && echo mounted && read wait", drive.device.display(), folder.path().display());
    let child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => Running(child),
        Err(e) => return println!("skipped: cannot create a mount namespace here: {e}"),
    };
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line != "mounted\n" {
        return println!("skipped: cannot mount in a namespace here");
    }
    let found = [findings(&drive.device), findings(&drive.file)];
    drop(child);
    for found in found {
        assert!(is_mounted(&found, &drive.name()), "{found:?}");
    }
}

#[test]
fn path_through_another_root_opens_that_processs_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("at");
    fs::create_dir(&at).unwrap();
    fs::write(at.join("file"), vec![0; 1 << 16]).unwrap();
    let script = format!(
        "mount -t tmpfs tmpfs {0} && head -c 131072 /dev/zero > {0}/file && echo ready && read wait",
        at.display()
    );
    let child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => Running(child),
        Err(e) => return println!("skipped: cannot create a mount namespace here: {e}"),
    };
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    if line != "ready\n" {
        return println!("skipped: cannot mount in a namespace here");
    }
    let path = PathBuf::from(format!("/proc/{}/root{}/file", child.0.id(), at.display()));
    let options = OpenOptions { page_cache: PageCache::Tolerate, ..OpenOptions::read_write(&path) };
    let opened = options.open().map(|device| flashlane_device::Device::info(&device).capacity_bytes);
    assert_eq!(opened.unwrap(), 131_072, "the file here has 65,536 bytes");
}

#[test]
fn file_open_in_another_process_is_in_use() {
    let file = scratch(1 << 16);
    let path = file.path().to_str().unwrap().to_owned();
    let child = Running::with_open(Path::new(&path));
    let process = child.0.id();
    let error = OpenOptions::read_write(&path).open().err().unwrap();
    let OpenError::Refused { findings, .. } = &error else { panic!("{error}") };
    assert_eq!(findings[..], [Finding::Open { program: "sh".into(), process }]);
    assert!(error.to_string().contains(&format!("it is open in sh (process {process})")), "{error}");
    assert!(OpenOptions::read_write(&path).really(&path).open().is_ok());
    drop(child);
    assert!(OpenOptions::read_write(&path).open().is_ok());
}

/// Runs a script of Python on a loop device and returns what is found of the device meanwhile, and afterwards; `None`
/// where there is none of them.
fn found_under(script: &str) -> Option<[Vec<Finding>; 2]> {
    let drive = Loop::blank()?;
    if let Err(e) = run("python3", &["-c", "import ctypes, mmap"]) {
        println!("skipped: there is no Python here: {e}");
        return None;
    }
    let mut python = Command::new("python3");
    let end = "\nprint('open', flush=True); sys.stdin.read()";
    let begin = "import ctypes, mmap, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n";
    python.args(["-c", &[begin, script, end].concat(), drive.device.to_str().unwrap()]);
    let user = Running::starting(python);
    let reasons = || match OpenOptions::read_write(&drive.device).open() {
        Err(OpenError::Refused { findings, .. }) => findings,
        opened => opened.map(|_| Vec::new()).unwrap_or_else(|e| panic!("{e}")),
    };
    let found = reasons();
    drop(user);
    Some([found, reasons()])
}

#[test]
fn device_registered_with_io_uring_is_in_use() {
    let script = "call = ctypes.CDLL(None).syscall\nring = call(425, 4, ctypes.create_string_buffer(120))\n\
        assert ring >= 0 and call(427, ring, 2, (ctypes.c_int * 1)(fd), 1) == 0; os.close(fd)\n";
    let Some([found, after]) = found_under(script) else { return };
    assert!(found.iter().any(|finding| matches!(finding, Finding::Open { .. })), "{found:?}");
    assert_eq!(after, []);
}

#[test]
fn mapping_that_may_become_writable_is_a_use_of_the_device() {
    let script = "map = mmap.mmap(fd, 4096, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)\nos.close(fd)\n\
        [os.close(int(n)) for n in os.listdir('/proc/self/fd') if os.path.islink(f'/proc/self/fd/{n}') \
        and 'loop' in os.readlink(f'/proc/self/fd/{n}')]";
    let Some([found, after]) = found_under(script) else { return };
    assert!(found.iter().any(|finding| matches!(finding, Finding::Open { .. })), "{found:?}");
    assert_eq!(after, []);
}
