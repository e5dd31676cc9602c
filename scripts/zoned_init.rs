//! The first program of the guest in `zoned-drive`: mounts what tests look at, loads modules if there are any, runs all tests
//! on each zoned drive, says how they ended, and turns the machine off. Built with rustc alone, statically.

use std::ffi::{CString, c_char, c_int, c_long, c_ulong, c_void};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

unsafe extern "C" {
    fn mount(from: *const c_char, at: *const c_char, kind: *const c_char, flags: c_ulong, data: *const c_void) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn reboot(command: c_int) -> c_int;
    fn sync();
}

#[cfg(target_arch = "x86_64")]
const SYS_FINIT_MODULE: c_long = 313;
#[cfg(not(target_arch = "x86_64"))]
const SYS_FINIT_MODULE: c_long = 273;

const POWER_OFF: c_int = 0x4321_fedc_u32 as c_int;

fn main() {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")] {
        let _ = fs::create_dir_all(at);
        let (kind, at) = (CString::new(kind).unwrap(), CString::new(at).unwrap());
        // SAFETY: three strings that live through the call, and no data.
        unsafe { mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    }
    // null_blk stands on this one, where it is a module too.
    load("/configfs.ko", "");
    let module = load("/null_blk.ko", "nr_devices=1 zoned=1 memory_backed=1 gb=1 zone_size=2 \
         zone_capacity=1 zone_nr_conv=3 zone_max_open=5");
    let drives = [("/dev/nvme0n1", true), ("/dev/nullb0", module)];
    let mut failed = 0;
    for (drive, expected) in drives {
        if !wait_for(Path::new(drive), expected) {
            println!("{}: {drive} is not there", if expected { "FAILED" } else { "skipped" });
            failed += i32::from(expected);
            continue;
        }
        for program in fs::read_dir("/tests").unwrap().map(|entry| entry.unwrap().path()) {
            println!("== {drive}: {}", program.display());
            let tests = || {
                let mut command = Command::new(&program);
                command.args(["zones", "--skip", "what_is_no_zoned_drive", "--nocapture", "--test-threads=1"]);
                command.env("FLASHLANE_ZONED_DEVICE", drive);
                command
            };
            // A program whose tests were renamed away has passed nothing.
            let listed = tests().arg("--list").output();
            let has_tests = listed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(": test"));
            let passed = has_tests && tests().status().is_ok_and(|status| status.success());
            println!("== {drive}: {}", if passed { "passed" } else { "FAILED" });
            failed += i32::from(!passed);
        }
    }
    println!("verdict: {}", if failed == 0 { "passed" } else { "FAILED" });
    // SAFETY: plain calls.
    unsafe {
        sync();
        reboot(POWER_OFF);
    }
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Whether a module was there and could be loaded.
fn load(path: &str, settings: &str) -> bool {
    let Ok(file) = fs::File::open(path) else { return false };
    let settings = CString::new(settings).unwrap();
    // SAFETY: an open file, a string that lives through the call, and a number.
    let result = unsafe { syscall(SYS_FINIT_MODULE, file.as_raw_fd() as c_long, settings.as_ptr(), 0 as c_long) };
    if result != 0 {
        println!("{path} cannot be loaded: {}", std::io::Error::last_os_error());
    }
    result == 0
}

fn wait_for(path: &Path, expected: bool) -> bool {
    for _ in 0..if expected { 300 } else { 1 } {
        if path.exists() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    path.exists()
}
