//! Devices that fail during a run: every request completes exactly once, with a reason.

use crate::files::{ENGINES, drain, open, scratch};
use flashlane_device::{Buffer, DataDevice, Device, Failure, Request, RequestId};
use flashlane_host::{OpenOptions, PageCache};
use std::collections::BTreeSet;
use std::fs::OpenOptions as Files;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn reads_past_the_end_of_a_truncated_file_are_short() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_only(file.path()) });
        let plain = Files::new().write(true).open(file.path()).unwrap();
        plain.set_len((512 << 10) + 4096).unwrap();
        for id in 0..32 {
            device.submit_with(Request::read(id, id * 32_768, 32_768), Buffer::zeroed(32_768)).unwrap();
        }
        let done = drain(&mut device, 32);
        let ids: BTreeSet<RequestId> = done.iter().map(|c| c.id).collect();
        assert_eq!(ids.len(), 32);
        for completion in done {
            let expected = match completion.id.0 {
                0..16 => Ok(()),
                16 => Err(Failure::Short { done_bytes: 4096 }),
                _ => Err(Failure::Short { done_bytes: 0 }),
            };
            assert_eq!(completion.outcome, expected, "{:?}", completion.id);
            assert!(device.take_buffer(completion.id).is_some(), "buffers come back even then");
        }
        // The file still exists, but is shorter.
        device.submit(Request::read(99, 0, 4096)).unwrap();
        assert_eq!(drain(&mut device, 1)[0].outcome, Ok(()));
    }
}

/// A full file system accepts the first pages of a write and ends it early; the retry of the rest returns the reason.
#[test]
fn write_that_ends_early_returns_the_reason() {
    let Some(mount) = tiny() else {
        eprintln!("skipped: mounting a small file system is not allowed here");
        return;
    };
    for engine in ENGINES {
        let path = mount.path().join("sparse");
        std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
        let options =
            OpenOptions { engine, page_cache: PageCache::Tolerate, ..OpenOptions::read_write(&path) };
        let mut device = open(&options);
        device.submit_with(Request::write(1, 0, 65_536), Buffer::from_slice(&[7; 65_536])).unwrap();
        assert_eq!(drain(&mut device, 1)[0].outcome, Err(Failure::Os(libc::ENOSPC)), "{engine:?}");
        drop(device);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes[0], bytes[65_535]), (7, 0), "it ended early");
        std::fs::remove_file(&path).unwrap();
    }
}

/// A mount that is removed on drop.
struct Mount(tempfile::TempDir);

impl Mount {
    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// A file system of 32 KiB; `None` where mounting is not permitted.
fn tiny() -> Option<Mount> {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=32k", "tmpfs"])
        .arg(dir.path())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    mounted.then(|| Mount(dir))
}
