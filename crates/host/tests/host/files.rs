//! Tests on files: data, units, order and doubts.

use crate::stacks::Mounted;
use flashlane_base::{Duration, Instant, Seed};
use flashlane_device::{Buffer, Completion, DataDevice, Device, Request, RequestId, SubmitError};
use flashlane_host::{
    CreateError, Doubt, EngineChoice, FileDevice, OpenError, OpenOptions, PageCache, create, identity,
};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub const ENGINES: [EngineChoice; 2] = [EngineChoice::Automatic, EngineChoice::Threads];

/// A file in a temporary folder, removed on drop.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn path(&self) -> std::path::PathBuf {
        self.0.path().join("data")
    }
}

/// Creates a file of pseudo-random bytes, on a file system with direct I/O where there is one.
pub fn scratch(length_bytes: u64) -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    create(&folder.path().join("data"), length_bytes, |_| true).unwrap_or_else(|e| panic!("{e}"));
    Scratch(folder)
}

pub fn open(options: &OpenOptions) -> FileDevice {
    options.open().unwrap_or_else(|e| panic!("{e}"))
}

/// Waits for `count` completions.
pub fn drain(device: &mut FileDevice, count: usize) -> Vec<Completion> {
    let mut out = Vec::new();
    while out.len() < count {
        device.reap(Instant::FAR, &mut out);
    }
    assert_eq!(out.len(), count);
    out
}

#[test]
fn written_data_is_read_back_and_stored_in_the_file() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_write(file.path()) });
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
fn write_without_a_buffer_sends_unique_data() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_write(file.path()) });
        for id in 0..16 {
            device.submit(Request::write(id, id * 65_536, 65_536)).unwrap();
        }
        drain(&mut device, 16);
        // Reuse the same slots after reads, whose memory lies close by.
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
        // Random data: no byte value is far above its share.
        let mut counts = [0_u32; 256];
        bytes.iter().for_each(|&b| counts[usize::from(b)] += 1);
        assert!(counts.iter().all(|n| (3500..4700).contains(n)), "the bytes could be compressed");
    }
}

#[test]
fn trimmed_range_reads_as_zeros_and_frees_space() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let blocks = std::fs::metadata(file.path()).unwrap().blocks();
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_write(file.path()) });
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
fn reap_of_an_idle_device_returns_at_the_given_time() {
    for engine in ENGINES {
        let file = scratch(1 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_only(file.path()) });
        let mut out = Vec::new();
        let until = device.now() + Duration::from_ms(2);
        device.reap(until, &mut out);
        assert!(device.now() >= until && out.is_empty());
        device.reap(Instant::FAR, &mut out);
        // Polling must find the completion in the end.
        device.submit(Request::read(1, 0, 4096)).unwrap();
        while out.is_empty() {
            device.reap(Instant::ZERO, &mut out);
        }
        assert!(out[0].outcome.is_ok() && out[0].submitted <= out[0].completed);
    }
}

#[test]
fn drop_waits_for_requests_in_flight() {
    for engine in ENGINES {
        let file = scratch(4 << 20);
        let mut device = open(&OpenOptions { engine, ..OpenOptions::read_write(file.path()) });
        for id in 0..32 {
            device.submit_with(Request::read(id, id * 65_536, 65_536), Buffer::zeroed(65_536)).unwrap();
        }
        drop(device);
        open(&OpenOptions { engine, ..OpenOptions::read_write(file.path()) });
    }
}

#[test]
fn request_above_the_kernels_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    std::fs::File::create(&path).unwrap().set_len(4 << 30).unwrap();
    let mut device = open(&OpenOptions::read_only(&path));
    let refusal = device.submit(Request::read(1, 0, 2 << 30)).unwrap_err();
    assert_eq!(refusal, SubmitError::TooLong { length_bytes: 2 << 30, longest_bytes: (2 << 30) - 4096 });
}

#[test]
fn never_written_file_has_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 1 << 16]).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    let sparse = open(&OpenOptions::read_only(&path));
    let doubt = Doubt::NotAllWritten { written_bytes: 1 << 16, capacity_bytes: 1 << 20 };
    assert!(sparse.doubts().contains(&doubt), "{:?}", sparse.doubts());
    let full = scratch(1 << 20);
    let full = open(&OpenOptions::read_only(full.path()));
    assert!(!full.doubts().iter().any(|doubt| matches!(doubt, Doubt::NotAllWritten { .. })));
}

#[test]
fn reserved_but_unwritten_file_has_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let file = std::fs::File::create(&path).unwrap();
    if rustix_fallocate(&file, 1 << 20).is_err() {
        return println!("skipped: the file system of temporary files cannot reserve space");
    }
    let device = open(&OpenOptions::read_only(&path));
    if device.doubts().iter().any(|doubt| matches!(doubt, Doubt::InMemory { .. })) {
        return println!("skipped: temporary files lie in memory, which reports no extents");
    }
    let doubt = Doubt::NotAllWritten { written_bytes: 0, capacity_bytes: 1 << 20 };
    assert!(device.doubts().contains(&doubt), "{:?}", device.doubts());
}

fn rustix_fallocate(file: &std::fs::File, length_bytes: u64) -> rustix::io::Result<()> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, length_bytes)
}

#[test]
fn in_memory_file_has_a_doubt() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        return println!("skipped: there is no /dev/shm");
    };
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 1 << 16]).unwrap();
    match (OpenOptions { page_cache: PageCache::Tolerate, ..OpenOptions::read_only(&path) }).open() {
        Ok(device) => {
            assert!(device.doubts().contains(&Doubt::InMemory { file_system: "tmpfs" }));
        }
        Err(e) => panic!("{e}"),
    }
    // Kernels before 6.6 have no direct I/O on tmpfs.
    let strict = OpenOptions::read_only(&path).open();
    assert!(matches!(strict, Ok(_) | Err(OpenError::NoDirectIo { .. })));
}

/// Returns whether this process has opened a file with direct I/O.
fn is_open_for_direct_io(path: &Path) -> bool {
    let path = path.canonicalize().unwrap();
    let numbers = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let own = numbers.filter(|number| std::fs::read_link(number.path()).is_ok_and(|link| link == path));
    let mut flags = own.map(|number| {
        let info = Path::new("/proc/self/fdinfo").join(number.file_name());
        let text = std::fs::read_to_string(info).unwrap();
        let octal = text.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim().to_owned();
        i32::from_str_radix(&octal, 8).unwrap()
    });
    flags.any(|flags| flags & libc::O_DIRECT != 0)
}

#[test]
fn page_cache_is_used_only_where_it_is_asked_for() {
    let scratch = scratch(1 << 20);
    let path = scratch.path();
    if let Ok(direct) = OpenOptions::read_write(&path).open() {
        assert!(is_open_for_direct_io(&path));
        drop(direct);
    }
    let options = OpenOptions { page_cache: PageCache::Use, ..OpenOptions::read_write(&path) };
    let mut device = open(&options);
    assert!(!is_open_for_direct_io(&path));
    assert!(!device.doubts().contains(&Doubt::PageCacheNotBypassed), "it was asked for");
    for (id, durable) in [(1, false), (2, true)] {
        let request = Request { durable, ..Request::write(id, id * 8192, 4096) };
        device.submit_with(request, Buffer::from_slice(&[id as u8; 4096])).unwrap();
        let mut out = Vec::new();
        device.reap(Instant::FAR, &mut out);
        assert_eq!(out[0].outcome, Ok(()));
        assert!(
            std::fs::read(&path).unwrap()[id as usize * 8192..][..4096].iter().all(|&byte| byte == id as u8)
        );
    }
}

#[test]
fn reads_through_page_cache_see_every_write_past_it() {
    const UNIT: u64 = 64 << 10;
    for engine in ENGINES {
        let scratch = scratch(4 << 20);
        let path = scratch.path();
        let options = OpenOptions { engine, page_cache: PageCache::Reads, ..OpenOptions::read_write(&path) };
        let mut device = open(&options);
        let mut seen: Vec<Vec<u8>> =
            std::fs::read(&path).unwrap().chunks(UNIT as usize).map(Vec::from).collect();
        let (mut random, mut id) = (Seed(1).source(), 0);
        for step in 0..600_u64 {
            let at = random.below(seen.len() as u64);
            let (first, length) = (4096 * random.below(8), 4096 * (1 + random.below(8)));
            id += 1;
            if random.chance(0.3) {
                let bytes = vec![step as u8; UNIT as usize];
                let write = Request::write(id, at * UNIT, UNIT).durable();
                device.submit_with(write, Buffer::from_slice(&bytes)).unwrap();
                seen[at as usize] = bytes;
            } else {
                let read = Request::read(id, at * UNIT + first, length);
                device.submit_with(read, Buffer::zeroed(length as usize)).unwrap();
            }
            assert_eq!(drain(&mut device, 1)[0].outcome, Ok(()), "step {step}");
            let buffer = device.take_buffer(RequestId(id)).unwrap();
            if buffer.len() as u64 != UNIT {
                let expected = &seen[at as usize][first as usize..][..length as usize];
                assert!(buffer.as_slice() == expected, "step {step} reads what was there before");
            }
        }
    }
}

#[test]
fn writes_through_page_cache_complete_once_and_in_order_of_time() {
    let scratch = scratch(8 << 20);
    let options = OpenOptions { page_cache: PageCache::Use, ..OpenOptions::read_write(scratch.path()) };
    let mut device = open(&options);
    // Short writes are made at once, the others by the engine; each kind waits for the other.
    let requests = |id: u64| match id % 4 {
        0 => Request::flush(id),
        1 => Request::write(id, id * 65536, 4096),
        2 => Request { durable: true, ..Request::write(id, id * 65536, 8192) },
        _ => Request::write(id, id * 65536, 1 << 20),
    };
    for first in [0, 24, 48] {
        for id in first..first + 24 {
            let request = requests(id);
            match request.length_bytes {
                0 => device.submit(request).unwrap(),
                bytes => {
                    device.submit_with(request, Buffer::from_slice(&vec![id as u8; bytes as usize])).unwrap();
                }
            }
        }
        let (mut out, mut last) = (Vec::new(), Instant::ZERO);
        while out.len() < 24 {
            device.reap(Instant::FAR, &mut out);
        }
        for completion in &out {
            assert_eq!(completion.outcome, Ok(()), "{completion:?}");
            assert!(completion.completed >= last && completion.completed >= completion.submitted);
            last = completion.completed;
        }
        let mut ids: Vec<u64> = out.iter().map(|completion| completion.id.0).collect();
        ids.sort_unstable();
        assert_eq!(ids, (first..first + 24).collect::<Vec<_>>());
    }
}

#[test]
fn create_fills_a_new_file_and_never_replaces_one() {
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
    assert!(matches!(
        create(Path::new("/no/such/folder/x"), 4096, |_| true),
        Err(CreateError::NoFolder { .. })
    ));
    let node = Path::new("/dev/flashlane-no-such-device");
    assert!(matches!(create(node, 4096, |_| true), Err(CreateError::AmongDevices { .. })) && !node.exists());
    assert!(matches!(create(Path::new("/dev/null"), 4096, |_| true), Err(CreateError::Exists { .. })));
}

#[test]
fn stopped_create_keeps_a_file_that_came_to_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let [path, theirs] = ["new", "theirs"].map(|name| folder.path().join(name));
    std::fs::write(&theirs, "thesis").unwrap();
    let stopped = create(&path, 1 << 20, |_| {
        std::fs::rename(&theirs, &path).unwrap();
        false
    });
    let words = stopped.unwrap_err().to_string();
    assert!(words.ends_with("and is not removed: another file has its name by now"), "{words}");
    assert_eq!(std::fs::read(&path).unwrap(), b"thesis");
}

/// Some file systems without direct I/O make the file before they refuse. What is at the path then may be another's by
/// now.
#[test]
fn create_removes_nothing_on_a_file_system_without_direct_io() {
    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
    let Some(folder) = Mounted::new(&["-t", "ramfs", "none"]) else { return };
    let watch = init(CreateFlags::NONBLOCK).unwrap();
    add_watch(&watch, &folder.at, WatchFlags::CREATE | WatchFlags::DELETE).unwrap();
    create(&folder.at.join("new"), 1 << 20, |_| true).unwrap();
    let mut memory = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = Reader::new(watch, &mut memory);
    let seen: Vec<ReadFlags> = std::iter::from_fn(|| Some(events.next().ok()?.events())).collect();
    assert_eq!(seen, [ReadFlags::CREATE]);
    assert_eq!(std::fs::read(folder.at.join("new")).unwrap().len(), 1 << 20);
}

#[test]
fn identity_of_a_file_describes_its_drive() {
    let file = scratch(4096);
    let machine = identity(&file.path());
    assert_eq!(machine.kind.as_deref(), Some("file"));
    assert!(machine.file_system.is_some_and(|name| !name.is_empty()));
}
