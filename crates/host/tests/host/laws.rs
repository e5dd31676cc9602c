//! The conformance tests over both engines on a file; those on a loop device are in `blocks`.

use crate::files::{ENGINES, scratch};
use flashlane_device::Device;
use flashlane_device_testing::conformance;
use flashlane_host::{Doubt, EngineChoice, OpenOptions};

#[test]
fn file_conforms_with_either_engine() {
    for engine in ENGINES {
        let file = scratch(4 << 20);
        let options = OpenOptions { engine, ..OpenOptions::read_write(file.path()) };
        conformance::check_data(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
    }
}

#[test]
fn file_conforms_at_a_small_depth() {
    let file = scratch(1 << 20);
    let options = OpenOptions { depth: 1, ..OpenOptions::read_write(file.path()) };
    conformance::check_data(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
}

#[test]
fn file_opened_for_reading_conforms() {
    for engine in ENGINES {
        let file = scratch(4 << 20);
        let before = std::fs::read(file.path()).unwrap();
        let options = OpenOptions { engine, ..OpenOptions::read_only(file.path()) };
        conformance::check(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
        assert!(std::fs::read(file.path()).unwrap() == before, "reading changed the file");
    }
}

#[test]
fn engine_is_the_requested_one_and_fallback_is_a_doubt() {
    let file = scratch(1 << 20);
    let threads = OpenOptions { engine: EngineChoice::Threads, ..OpenOptions::read_only(file.path()) };
    let device = threads.open().unwrap();
    assert_eq!(device.engine_name(), "threads");
    let words: Vec<String> = device.doubts().iter().map(ToString::to_string).collect();
    assert!(words.iter().any(|w| w.contains("instead of io_uring, as asked")), "{words:?}");
}

#[test]
fn refused_io_uring_falls_back_to_threads_with_a_doubt() {
    let file = scratch(4 << 20);
    // A filter applies to the thread that sets it and the threads that it starts, not to the rest of the process.
    let filtered = std::thread::spawn(move || {
        refuse_io_uring();
        let options = OpenOptions::read_write(file.path());
        let device = options.open().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((device.engine_name(), device.info().depth), ("threads", 64));
        let doubt = Doubt::NoIoUring { errno: libc::EPERM, depth: 64 };
        assert!(device.doubts().contains(&doubt), "{:?}", device.doubts());
        drop(device);
        conformance::check_data(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
    });
    filtered.join().unwrap();
}

/// Makes io_uring_setup fail with EPERM from now on, as container runtimes do.
fn refuse_io_uring() {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let answer = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        // The number of the system call is the first field of the filter's input.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, answer),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the arguments are plain numbers and a program that outlives the call.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(set, "{}", std::io::Error::last_os_error());
}
