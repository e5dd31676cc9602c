//! `store file mount`: random operations of a program, each on the mounted files and on a directory of the host, with
//! equal results; signals and kills. Where FUSE is missing the tests say on standard error that they were skipped.

mod differential;

use crate::program::{command, done, refused, text};
use differential::{Pair, Random};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A store on a file, its mount, and a directory of the host.
struct Mounted {
    dir: tempfile::TempDir,
    device: String,
    server: Option<Child>,
}

impl Mounted {
    /// Mounts a new store. Returns `None`, and says so, where FUSE is not to be had.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        let spec = format!("lanes({},channels=4,unit=256KiB)", path.display());
        done(&["store", "create", &spec, "--create", "64MiB", "--log-size", "16MiB"]);
        fs::create_dir(dir.path().join("mount")).unwrap();
        fs::create_dir(dir.path().join("host")).unwrap();
        let device = format!("lanes({})", path.display());
        let mut mounted = Self { dir, device, server: None };
        mounted.mount(&["--durability", "memory", "--extent", "4KiB"]).then_some(mounted)
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("mount")
    }

    fn pair(&self) -> Pair {
        Pair { ours: self.path(), hosts: self.dir.path().join("host") }
    }

    /// Mounts the store. Returns false where FUSE is missing.
    fn mount(&mut self, arguments: &[&str]) -> bool {
        let path = self.path();
        let own = ["store", "file", "mount", &self.device, text(&path)];
        let mut server = command(&[&own, arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.starts_with("files of ") {
            self.server = Some(server);
            return true;
        }
        let output = server.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("FUSE requires"), "'{line}': {error}");
        eprintln!("skipped: {error}");
        false
    }

    /// Ends the server with a signal. Returns its status, and what it said.
    fn end(&mut self, signal: &str) -> (Option<i32>, String) {
        let mut server = self.server.take().unwrap();
        kill(&server, signal);
        let mut said = String::new();
        server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (server.wait().unwrap().code(), said)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
        if is_mounted(&self.path()) {
            let _ = Command::new("umount").arg(self.path()).status();
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

/// `FLASHLANE_MOUNT_OPERATIONS` sets the number of operations, `FLASHLANE_MOUNT_SEED` the seed.
#[test]
fn operations_do_what_they_do_on_the_host() {
    let Some(mut mounted) = Mounted::new() else { return };
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let operations = number("FLASHLANE_MOUNT_OPERATIONS", 600);
    let mut random = Random(number("FLASHLANE_MOUNT_SEED", 1));
    let pair = mounted.pair();
    for round in 0..4 {
        pair.run(&mut random, operations / 4);
        if round < 3 {
            assert_eq!(mounted.end("-INT"), (Some(0), String::new()));
            assert!(!is_mounted(&mounted.path()));
            assert!(mounted.mount(&["--durability", "memory"]));
        }
        pair.compare();
    }
    mounted.end("-TERM");
    assert!(done(&["store", "file", "fsck", &mounted.device]).contains("sound"));
}

#[test]
fn synced_files_survive_kill_9() {
    let Some(mut mounted) = Mounted::new() else { return };
    let path = mounted.path();
    fs::create_dir(path.join("d")).unwrap();
    let kept = fs::File::create(path.join("d/kept")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&kept, &[7; 10_000], 100).unwrap();
    // Open and without a name when the server is killed.
    fs::write(path.join("gone"), [1; 5000]).unwrap();
    let gone = fs::File::open(path.join("gone")).unwrap();
    fs::remove_file(path.join("gone")).unwrap();
    kept.sync_all().unwrap();
    mounted.end("-KILL");
    drop((kept, gone));
    // The next mount unmounts what the killed server left.
    assert!(mounted.mount(&["--read-only"]));
    let bytes = fs::read(path.join("d/kept")).unwrap();
    assert!(bytes.len() == 10_100 && bytes[..100] == [0; 100] && bytes[100..] == [7; 10_000]);
    assert_eq!(fs::write(path.join("new"), "x").unwrap_err().raw_os_error(), Some(30), "EROFS");
    mounted.end("-INT");
    assert!(mounted.mount(&[]));
    mounted.end("-INT");
    let listed = done(&["store", "file", "ls", &mounted.device, "/", "--recursive"]);
    assert!(listed.contains("kept") && !listed.contains("flashlane-removed"), "{listed}");
    let none = mounted.dir.path().join("none");
    refused(2, &["store", "file", "mount", &mounted.device, text(&none)], &["none", "empty directory"]);
}
