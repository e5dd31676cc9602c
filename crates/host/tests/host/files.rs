//! Files: bytes, units, order, doubts.

use flashlane_base::{Duration, Instant};
use flashlane_device::{Buffer, Completion, DataDevice, Device, Request, RequestId, SubmitError};
use flashlane_host::{
    CreateError, Doubt, EngineChoice, FileDevice, OpenError, OpenOptions, create, identity,
};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub const ENGINES: [EngineChoice; 2] = [EngineChoice::Automatic, EngineChoice::Threads];

/// A file in a folder of its own, which goes with it.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn path(&self) -> std::path::PathBuf {
        self.0.path().join("data")
    }
}

/// A new file of pseudo-random bytes, on a file system that has direct I/O or at least pretends to.
pub fn scratch(length_bytes: u64) -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    create(&folder.path().join("data"), length_bytes, |_| true).unwrap_or_else(|e| panic!("{e}"));
    Scratch(folder)
}

pub fn open(options: &OpenOptions) -> FileDevice {
    options.open().unwrap_or_else(|e| panic!("{e}"))
}

/// Waits for everything that is in flight.
pub fn drain(device: &mut FileDevice, count: usize) -> Vec<Completion> {
    let mut out = Vec::new();
    while out.len() < count {
        device.reap(Instant::FAR, &mut out);
    }
    assert_eq!(out.len(), count);
    out
}

#[test]
fn what_is_written_is_read_back_and_lies_in_the_file() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::destroy(file.path()) });
        let bytes: Vec<u8> = (0..16_384_u32).map(|n| (n / 7) as u8).collect();
        let write = Request::write(1, 65_536, 16_384).durable();
        device.submit_with(write, Buffer::from_slice(&bytes)).unwrap();
        assert_eq!(drain(&mut device, 1)[0].outcome, Ok(()));
        assert!(device.take_buffer(RequestId(1)).is_some() && device.take_buffer(RequestId(1)).is_none());
        device.submit(Request::flush(2)).unwrap();
        device.submit_with(Request::read(3, 65_536, 16_384), Buffer::zeroed(16_384)).unwrap();
        assert!(drain(&mut device, 2).iter().all(|c| c.outcome.is_ok()));
        assert_eq!(device.take_buffer(RequestId(3)).unwrap().as_slice(), bytes);
        assert_eq!(std::fs::read(file.path()).unwrap()[65_536..81_920], bytes);
    }
}

#[test]
fn a_write_without_bytes_sends_bytes_that_do_not_repeat() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::destroy(file.path()) });
        for id in 0..16 {
            device.submit(Request::write(id, id * 65_536, 65_536)).unwrap();
        }
        drain(&mut device, 16);
        // The same slots again, now with what reads left in memory close by.
        for id in 0..16 {
            device.submit(Request::read(id, id * 65_536, 65_536)).unwrap();
        }
        drain(&mut device, 16);
        for id in 0..8 {
            device.submit(Request::write(id, id * 65_536, 65_536)).unwrap();
        }
        drain(&mut device, 8);
        let bytes = std::fs::read(file.path()).unwrap();
        let mut blocks: Vec<&[u8]> = bytes.chunks(4096).collect();
        blocks.sort();
        blocks.dedup();
        assert_eq!(blocks.len(), 256, "blocks of 4 KiB repeat");
        // Random bytes: no value takes more than its share.
        let mut counts = [0_u32; 256];
        bytes.iter().for_each(|&b| counts[usize::from(b)] += 1);
        assert!(counts.iter().all(|n| (3500..4700).contains(n)), "the bytes could be compressed");
    }
}

#[test]
fn a_trimmed_range_reads_as_zeros_and_gives_its_space_back() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let blocks = std::fs::metadata(file.path()).unwrap().blocks();
        let mut device = open(&OpenOptions { engine, ..OpenOptions::destroy(file.path()) });
        device.submit(Request::trim(1, 65_536, 262_144)).unwrap();
        if let Err(e) = drain(&mut device, 1)[0].outcome {
            println!("skipped: the file system of temporary files cannot punch holes: {e}");
            return;
        }
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(bytes[65_536..327_680].iter().all(|&b| b == 0));
        assert!(bytes[..65_536].iter().any(|&b| b != 0) && bytes.len() == 1 << 20);
        assert!(std::fs::metadata(file.path()).unwrap().blocks() < blocks);
    }
}

#[test]
fn waiting_for_nothing_ends_at_the_time_asked_for() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_only(file.path()) });
        let mut out = Vec::new();
        let until = device.now() + Duration::from_ms(2);
        device.reap(until, &mut out);
        assert!(device.now() >= until && out.is_empty());
        device.reap(Instant::FAR, &mut out);
        // A look that does not wait must find the completion in the end.
        device.submit(Request::read(1, 0, 4096)).unwrap();
        while out.is_empty() {
            device.reap(Instant::ZERO, &mut out);
        }
        assert!(out[0].outcome.is_ok() && out[0].submitted <= out[0].completed);
    }
}

#[test]
fn a_device_dropped_with_requests_in_flight_waits_for_them() {
    for engine in ENGINES {
        let file = scratch(4 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::destroy(file.path()) });
        for id in 0..32 {
            device.submit_with(Request::read(id, id * 65_536, 65_536), Buffer::zeroed(65_536)).unwrap();
        }
        drop(device);
        open(&OpenOptions { engine, ..OpenOptions::destroy(file.path()) });
    }
}

#[test]
fn a_longer_request_than_the_kernel_takes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    std::fs::File::create(&path).unwrap().set_len(4 << 30).unwrap();
    let mut device = open(&OpenOptions::read_only(&path));
    let refusal = device.submit(Request::read(1, 0, 2 << 30)).unwrap_err();
    assert_eq!(refusal, SubmitError::TooLong { length_bytes: 2 << 30, longest_bytes: (2 << 30) - 4096 });
}

#[test]
fn a_file_that_was_never_written_is_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 1 << 16]).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    let sparse = open(&OpenOptions::read_only(&path));
    let doubt = Doubt::NotAllWritten { written_bytes: 1 << 16, capacity_bytes: 1 << 20 };
    assert!(sparse.warnings().contains(&doubt), "{:?}", sparse.warnings());
    let full = scratch(1 << 20);
    let full = open(&OpenOptions::read_only(full.path()));
    assert!(!full.warnings().iter().any(|w| matches!(w, Doubt::NotAllWritten { .. })));
}

#[test]
fn a_reserved_file_that_was_never_written_is_a_doubt_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let file = std::fs::File::create(&path).unwrap();
    if rustix_fallocate(&file, 1 << 20).is_err() {
        return println!("skipped: the file system of temporary files cannot reserve space");
    }
    let device = open(&OpenOptions::read_only(&path));
    if device.warnings().iter().any(|w| matches!(w, Doubt::InMemory { .. })) {
        return println!("skipped: temporary files lie in memory, where extents are not told");
    }
    let doubt = Doubt::NotAllWritten { written_bytes: 0, capacity_bytes: 1 << 20 };
    assert!(device.warnings().contains(&doubt), "{:?}", device.warnings());
}

fn rustix_fallocate(file: &std::fs::File, length_bytes: u64) -> rustix::io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, length_bytes)
}

#[test]
fn memory_is_not_taken_for_a_drive() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        return println!("skipped: there is no /dev/shm");
    };
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 1 << 16]).unwrap();
    match (OpenOptions { allow_page_cache: true, ..OpenOptions::read_only(&path) }).open() {
        Ok(device) => {
            assert!(device.warnings().contains(&Doubt::InMemory { file_system: "tmpfs" }));
        }
        Err(e) => panic!("{e}"),
    }
    // Kernels before 6.6 have no direct I/O there.
    let strict = OpenOptions::read_only(&path).open();
    assert!(matches!(strict, Ok(_) | Err(OpenError::NoDirectIo { .. })));
}

#[test]
fn a_new_file_is_made_full_and_never_in_place_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    create(&path, 8 << 20, |_| true).unwrap();
    let meta = std::fs::metadata(&path).unwrap();
    assert!(meta.len() == 8 << 20 && meta.blocks() * 512 >= 8 << 20);
    assert!(matches!(create(&path, 4096, |_| true), Err(CreateError::Exists { .. })));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 << 20);

    let other = folder.path().join("other");
    assert!(matches!(create(&other, 100, |_| true), Err(CreateError::Length { length_bytes: 100, .. })));
    let stopped = create(&other, 16 << 20, |done| done == 0);
    assert!(matches!(stopped, Err(CreateError::Stopped { .. })) && !other.exists());
    assert!(matches!(create(Path::new("/no/such/folder/x"), 4096, |_| true), Err(CreateError::Os { .. })));
}

#[test]
fn a_file_is_known_by_the_drive_below_it() {
    let file = scratch(4096);
    let told = identity(&file.path());
    assert_eq!(told.kind.as_deref(), Some("file"));
    assert!(told.file_system.is_some_and(|name| !name.is_empty()));
}
