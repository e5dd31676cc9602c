//! The safety rules on files and other file types; those on block devices are in `blocks`.

use crate::files::{drain, open, scratch};
use flashlane_device::{Device, Request, SubmitError};
use flashlane_host::{Finding, OpenError, OpenOptions};
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

fn refusal(options: OpenOptions) -> OpenError {
    match options.open() {
        Ok(_) => panic!("'{}' was opened", options.path.display()),
        Err(e) => e,
    }
}

/// Creates a file with a known signature.
fn database(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("database");
    let mut bytes = vec![0; 1 << 16];
    bytes[..16].copy_from_slice(b"SQLite format 3\0");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn missing_path_is_refused_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing");
    for options in [OpenOptions::read_only(&path), OpenOptions::read_write(&path).really(&path)] {
        assert!(matches!(refusal(options), OpenError::NotFound { .. }));
    }
    assert!(!path.exists());
}

#[test]
fn other_file_types_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let socket = folder.path().join("socket");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, what) in [
        (folder.path(), "a directory"),
        (Path::new("/dev/null"), "a character device"),
        (&pipe, "a pipe"),
        (&socket, "a socket"),
    ] {
        for options in [OpenOptions::read_only(path), OpenOptions::read_write(path).really(path)] {
            let words = refusal(options).to_string();
            assert!(words.contains(what) && words.contains("regular file is needed"), "{words}");
        }
    }
}

#[test]
fn read_only_device_refuses_writes_and_keeps_access_time() {
    use std::os::unix::fs::MetadataExt;
    let file = scratch(1 << 16);
    let before = fs::metadata(file.path()).unwrap();
    let mut device = open(&OpenOptions::read_only(file.path()));
    for request in [Request::write(1, 0, 4096), Request::trim(2, 0, 4096)] {
        assert!(matches!(device.submit(request), Err(SubmitError::ReadOnly { .. })));
    }
    device.submit(Request::read(3, 0, 4096)).unwrap();
    device.submit(Request::flush(4)).unwrap();
    assert!(drain(&mut device, 2).iter().all(|c| c.outcome.is_ok()));
    drop(device);
    let after = fs::metadata(file.path()).unwrap();
    let times = |m: &fs::Metadata| (m.atime_nsec(), m.mtime_nsec(), m.ctime_nsec());
    assert_eq!(times(&before), times(&after));
}

#[test]
fn opening_to_write_changes_no_time_of_a_file() {
    use std::os::unix::fs::MetadataExt;
    let file = scratch(1 << 16);
    let before = fs::metadata(file.path()).unwrap();
    // Longer than a step of the kernel's clock for files.
    std::thread::sleep(std::time::Duration::from_millis(20));
    drop(open(&OpenOptions::read_write(file.path())));
    let after = fs::metadata(file.path()).unwrap();
    let times = |m: &fs::Metadata| (m.atime_nsec(), m.mtime_nsec(), m.ctime_nsec());
    assert_eq!(times(&before), times(&after));
}

#[test]
fn file_without_a_signature_needs_consent_once() {
    let file = scratch(1 << 16);
    let mut device = open(&OpenOptions::read_write(file.path()));
    device.submit(Request::write(1, 0, 4096)).unwrap();
    assert_eq!(drain(&mut device, 1)[0].outcome, Ok(()));
}

#[test]
fn file_with_a_signature_needs_its_path_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let before = fs::read(&path).unwrap();
    let error = refusal(OpenOptions::read_write(&path));
    let OpenError::Refused { findings, .. } = &error else { panic!("{error}") };
    assert!(matches!(&findings[..], [Finding::Signature(s)] if s.what == "SQLite database"), "{error}");
    let words = error.to_string();
    assert!(words.contains("SQLite database (at byte 0)") && words.contains("--really"), "{words}");
    assert_eq!(fs::read(&path).unwrap(), before);
    open(&OpenOptions::read_only(&path));
    open(&OpenOptions::read_write(&path).really(&path));
}

#[test]
fn repeated_path_must_equal_the_given_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let other = folder.path().join("other");
    fs::write(&other, vec![0; 1 << 16]).unwrap();
    for wrong in [other.clone(), folder.path().join("missing"), folder.path().into()] {
        let error = refusal(OpenOptions::read_write(&path).really(&wrong));
        assert!(matches!(error, OpenError::ReallyMismatch { .. }), "{error}");
        assert!(error.to_string().contains(&wrong.display().to_string()), "{error}");
    }
    // Refused even without findings: two different paths are likely a mistake.
    let error = refusal(OpenOptions::read_write(&other).really(&path));
    assert!(matches!(error, OpenError::ReallyMismatch { .. }), "{error}");
    // Another path to the same target may mean another device.
    let [link, hard] = ["link", "hard"].map(|name| folder.path().join(name));
    symlink(&path, &link).unwrap();
    fs::hard_link(&path, &hard).unwrap();
    for (given, repeated) in [(&link, &path), (&hard, &path), (&path, &hard), (&path, &link)] {
        let error = refusal(OpenOptions::read_write(given).really(repeated));
        assert!(matches!(error, OpenError::ReallyMismatch { .. }), "{error}");
        assert!(
            error.to_string().contains(&format!("repeat the path as it is given there, {}", given.display())),
            "{error}"
        );
    }
    // Extra slashes and single dots do not count.
    let dotted = folder.path().join(".").join(path.file_name().unwrap());
    open(&OpenOptions::read_write(&path).really(&dotted));
    open(&OpenOptions::read_write(&link).really(&link));
}

#[test]
fn refusal_names_the_target_of_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    let words = refusal(OpenOptions::read_write(&link)).to_string();
    let real = fs::canonicalize(&path).unwrap();
    assert!(words.contains(&format!("(which is '{}')", real.display())), "{words}");
}

#[test]
fn writers_lock_exclusively_and_readers_share() {
    let file = scratch(1 << 16);
    let writer = open(&OpenOptions::read_write(file.path()));
    for options in [OpenOptions::read_write(file.path()), OpenOptions::read_only(file.path())] {
        let error = refusal(options);
        assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    }
    drop(writer);
    let _one = open(&OpenOptions::read_only(file.path()));
    let _two = open(&OpenOptions::read_only(file.path()));
    assert!(matches!(refusal(OpenOptions::read_write(file.path())), OpenError::Locked { .. }));
}

/// Whoever holds the lock may store data, so that what was found before the lock was held says nothing.
#[test]
fn data_stored_while_waiting_for_the_lock_is_kept() {
    let file = scratch(1 << 20);
    let path = file.path();
    let holder = fs::File::options().write(true).open(&path).unwrap();
    holder.lock().unwrap();
    let waiting = std::thread::spawn(move || OpenOptions::read_write(path).open().map(drop));
    std::thread::sleep(std::time::Duration::from_millis(100));
    holder.write_all_at(b"SQLite format 3\0", 0).unwrap();
    drop(holder);
    let error = waiting.join().unwrap().expect_err("the file holds a database by now");
    assert!(matches!(error, OpenError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("SQLite database"), "{error}");
}

/// As a program outside a container, or a user in the kernel.
#[test]
fn file_that_an_unseen_program_has_open_is_in_use() {
    let file = scratch(1 << 16);
    let path = file.path();
    // The survey passes over the descriptors of this process.
    let holders = [fs::File::open(&path), fs::File::options().write(true).open(&path)];
    for holder in holders.map(Result::unwrap) {
        let error = refusal(OpenOptions::read_write(&path));
        let OpenError::Refused { findings, .. } = &error else { panic!("{error}") };
        assert_eq!(findings[..], [Finding::OpenUnseen]);
        assert!(error.to_string().contains("it is open"), "{error}");
        open(&OpenOptions::read_write(&path).really(&path));
        drop(holder);
    }
    open(&OpenOptions::read_write(&path));
}

#[test]
fn invalid_options_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let words = refusal(OpenOptions::read_only(&empty)).to_string();
    assert!(words.contains("is 0 B long"), "{words}");
    for depth in [0, 5000] {
        let error = refusal(OpenOptions { depth, ..OpenOptions::read_only(&empty) });
        assert!(error.to_string().contains("1 to 4096"), "{error}");
    }
}
