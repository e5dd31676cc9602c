//! The scripts in `scripts/`: their command lines. Nothing is recorded here: the program that they need is named as one
//! that does not exist, so that also root's tests end before anything is made.

use crate::program::Ended;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts")
}

/// Runs a script where its files would lie, if it made any.
fn script(name: &str, arguments: &[&str]) -> Ended {
    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(folder().canonicalize().unwrap().join(name));
    command.args(arguments).current_dir(empty.path()).stdin(Stdio::null());
    let ended = command.env("FLASHLANE", "/no/such/flashlane").output().expect("bash is there").into();
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0, "{name} {arguments:?} leaves files");
    ended
}

fn refused(name: &str, arguments: &[&str], parts: &[&str]) {
    let Ended { status, stderr, .. } = script(name, arguments);
    assert_eq!(status, 2, "{name} {arguments:?}\n{stderr}");
    assert!(
        stderr.starts_with(&format!("{name}: ")) && stderr.lines().count() == 1,
        "{arguments:?}\n{stderr}"
    );
    for part in parts {
        assert!(stderr.contains(part), "{name} {arguments:?} lacks '{part}':\n{stderr}");
    }
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let names = files.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| !name.ends_with(".md")).collect()
}

#[test]
fn each_explains_itself_without_root() {
    assert!(names().len() >= 7);
    for name in names() {
        let Ended { status, stdout, stderr } = script(&name, &["--help"]);
        assert_eq!((status, stderr.as_str()), (0, ""), "{name}");
        assert!(stdout.contains("usage: "), "{name}\n{stdout}");
        refused(&name, &["--nonsense", "1"], &["--nonsense", "see --help"]);
        refused(&name, &["nonsense"], &["'nonsense' is not an option"]);
    }
}

#[test]
fn options_are_looked_at_before_anything_is_made() {
    for (name, counts) in [
        ("record-small-files", &["count", "before", "ahead", "seed"][..]),
        ("record-mp3-files", &["count", "before", "ahead", "seed"]),
        ("record-large-files", &["count", "before", "ahead", "seed"]),
        ("record-word-count", &["words", "threads", "seed"]),
        ("record-pgbench", &["scale", "clients", "seconds"]),
        ("record-kernel-build", &["jobs"]),
        ("zoned-drive", &["seconds"]),
    ] {
        for count in counts {
            let option = format!("--{count}");
            for wrong in ["abc", "-1", "1.5", "10q", "", "1 2", "99999999999999999999"] {
                refused(
                    name,
                    &[&option, wrong],
                    &[&option, &format!("'{wrong}'"), "a whole number from", " to 999999"],
                );
            }
            refused(name, &[&option], &["needs a value"]);
        }
    }
    for (name, sizes) in [
        ("record-small-files", &["least", "most", "size", "memory", "request"][..]),
        ("record-word-count", &["text", "size", "memory", "request"]),
        ("record-pgbench", &["buffers", "size", "memory", "request"]),
        ("record-kernel-build", &["size", "memory", "request"]),
    ] {
        for size in sizes {
            let option = format!("--{size}");
            refused(name, &[&option, "abc"], &[&option, "'abc'", "write 512MiB or 4GiB"]);
        }
    }
    refused("zoned-drive", &["--seconds"], &["--seconds needs a value"]);
    for wrong in ["-1", "1.5", "10q", "", "1 2", "99999999999999999999"] {
        let expected = [&format!("--count '{wrong}' is not"), "from 1 to 999999999; write 32, 10k or 1M"];
        refused("record-small-files", &["--count", wrong], &expected);
    }
    for wrong in ["-1", "1,5G", "4x", ""] {
        refused("record-small-files", &["--size", wrong], &[&format!("--size '{wrong}' is not a size")]);
    }
    for (arguments, parts) in [
        (&["--count"][..], &["--count needs a value"][..]),
        (&["--count", "0"], &["'0'", "from 1 to 999999999"]),
        (&["--count", "1000M"], &["'1000M'", "from 1 to 999999999"]),
        (&["--size", "0"], &["'0'", "more than 0"]),
        (&["--size", "1000T"], &["less than 1000T"]),
        (&["--least", "2MB"], &["--least 2000000 is more than --most 100000"]),
        (&["--count", "1M"], &["--count 1000000", "do not fit into --size 3221225472"]),
        (&["--request", "100"], &["--request 100", "4KiB"]),
        (&["--ahead", "3"], &["--ahead 3", "power of two"]),
        (&["--work", "/no/such/folder"], &["no directory '/no/such/folder'"]),
        (&["--out", "/no/such/folder/x.msr.gz"], &["no directory '/no/such/folder'"]),
        (&["--out", "/proc/version"], &["'/proc/version' is there already"]),
    ] {
        refused("record-small-files", arguments, parts);
    }
}

#[test]
fn what_is_allowed_comes_as_far_as_what_is_missing() {
    for arguments in [
        &[][..],
        &["--count", "10k"],
        &["--count", "0010", "--least", "0", "--most", "1.5KiB", "--memory", "0", "--request", "0"],
        &["--size", "1T", "--count", "9M", "--seed", "0", "--before", "0", "--ahead", "64"],
    ] {
        let Ended { status, stderr, .. } = script("record-small-files", arguments);
        assert_eq!(status, 1, "{arguments:?}\n{stderr}");
        // Without root that is told first.
        assert!(stderr.contains("needs root") || stderr.contains("needed and not to be found"), "{stderr}");
    }
}
