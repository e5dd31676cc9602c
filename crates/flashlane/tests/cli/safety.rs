//! A real drive is somebody's data.

use crate::program::{command, done, flashlane, json, refused, text};
use crate::store::Kept;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of 1 MiB that begins with `head`, and its directory.
fn file(head: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    let mut bytes = vec![0x5a; 1 << 20];
    bytes[..head.len()].copy_from_slice(head);
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

fn untouched(path: &Path, head: &[u8]) {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(head) && bytes[head.len()..].iter().all(|&b| b == 0x5a), "it was written to");
}

const WRITES: &str = "random-write,requests=100";

#[test]
fn writes_require_destroy_data() {
    for workload in [WRITES, "mixed,requests=100", "sequential-trim,requests=10"] {
        let (_dir, path) = file(b"");
        refused(
            2,
            &["run", text(&path), workload],
            &["would overwrite", text(&path), "1 MiB", "nothing was touched", "--destroy-data"],
        );
        refused(2, &["run", &format!("faulty({})", path.display()), workload], &["--destroy-data"]);
        let lanes = format!("lanes({},channels=2,unit=64KiB,format=yes)", path.display());
        refused(2, &["run", &lanes, "random-read,size=64KiB"], &["--destroy-data is required: 'format=yes'"]);
        let replicated = format!("replicated({},partitions=4)", path.display());
        refused(2, &["run", &replicated, workload], &["'replicated' takes all of it", "nothing was touched"]);
        untouched(&path, b"");
    }
}

#[test]
fn probe_of_a_real_device_only_reads() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    fs::write(&path, vec![0x5a; 32 << 20]).unwrap();
    let result = json(&["probe", text(&path), "--quick", "--allow-page-cache"]);
    untouched(&path, b"");
    assert_eq!(result["device"]["read_only"], true);
    assert_eq!(result["findings"]["mapping_policy"]["status"], "not-determined");
    assert_eq!(result["findings"]["chunk_size_bytes"]["status"], "not-determined", "a file has no chunks");
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("nothing was written") && warnings.contains("--destroy-data"), "{warnings}");
    assert_eq!(result["device"]["medium"], "file");
    let first = result["advice"][0]["text"].as_str().unwrap();
    assert!(first.starts_with("No flash structure is visible through this file"), "{first}");
    let command = result["recommendation"]["random_read"]["command"].as_str().unwrap();
    assert!(command.ends_with(" --allow-page-cache") && !command.contains("--destroy-data"), "{command}");
    let (_dir, small) = file(b"");
    refused(2, &["probe", text(&small), "--allow-page-cache"], &["has 1 MiB", "needs at least 20 MiB"]);
}

#[test]
fn holes_of_a_file_are_not_probed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("holes");
    fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
    let result = json(&["probe", text(&path), "--quick", "--allow-page-cache"]);
    assert_eq!(result["device"]["never_written_share"], 1.0);
    assert!(result["warnings"].to_string().contains("not-written"), "{result}");
    assert_eq!(result["recommendation"], serde_json::json!({}));
    let shown = done(&["probe", text(&path), "--quick", "--allow-page-cache"]);
    let at = |part: &str| shown.find(part).expect(part);
    assert!(at("100% of the device has never been written") < at("Findings"), "{shown}");
    for (name, finding) in result["findings"].as_object().unwrap() {
        assert_eq!(finding["status"], "not-determined", "{name}");
    }
}

#[test]
fn destroy_data_allows_writes() {
    let (_dir, path) = file(b"");
    let result = json(&["run", text(&path), WRITES, "--destroy-data", "--allow-page-cache"]);
    assert_eq!(result["requests"], 100);
    assert!(fs::read(&path).unwrap().iter().any(|&b| b != 0x5a));
}

#[test]
fn known_signature_requires_really() {
    let head = b"LUKS\xba\xbe";
    let (dir, path) = file(head);
    refused(
        2,
        &["run", text(&path), WRITES, "--destroy-data", "--allow-page-cache"],
        &["is not overwritten", "LUKS", "--really"],
    );
    untouched(&path, head);
    let other = dir.path().join("other");
    fs::write(&other, "").unwrap();
    refused(
        2,
        &["run", text(&path), WRITES, "--destroy-data", "--really", text(&other), "--allow-page-cache"],
        &["--really names", "repeat the path as it is given there"],
    );
    untouched(&path, head);
    let arguments =
        ["run", text(&path), WRITES, "--destroy-data", "--really", text(&path), "--allow-page-cache"];
    assert_eq!(flashlane(&arguments).status, 0);
}

#[test]
fn reading_requires_no_consent() {
    let (_dir, path) = file(b"");
    let arguments = ["run", text(&path), "random-read,requests=2k,depth=4", "--allow-page-cache"];
    let result = json(&arguments);
    untouched(&path, b"");
    assert_eq!(result["device"]["simulated"], false);
    assert!(result["harness_ns_per_request"].as_f64().unwrap() > 0.0, "the harness overhead is reported");
    assert_eq!(result["machine"]["kind"], "file");
    assert!(result["machine"]["date"].is_string() && result["warnings"].is_array());
}

#[test]
fn create_fills_a_new_file_and_replaces_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scratch");
    let arguments = ["run", text(&path), WRITES, "--create", "1MiB", "--allow-page-cache"];
    assert_eq!(json(&arguments)["requests"], 100);
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20);
    let (_dir, path) = file(b"");
    refused(2, &["run", text(&path), WRITES, "--create", "1MiB"], &["exists already and is not replaced"]);
    untouched(&path, b"");
}

#[test]
fn missing_file_is_reported() {
    refused(2, &["run", "/no/such/file", WRITES], &["'/no/such/file' does not exist"]);
}

#[test]
fn device_that_is_an_input_of_the_command_is_refused() {
    let (dir, path) = file(b"");
    for (name, command) in [("job.fio", "run"), ("a.trace", "replay"), ("a.pages", "transactions")] {
        let input = dir.path().join(name);
        fs::hard_link(&path, &input).unwrap();
        for device in [text(&path), text(&input), &format!("backed(sim:ssd-s,file={})", path.display())] {
            let arguments = [command, device, text(&input), "--destroy-data"];
            refused(2, &arguments, &["is the file of DEVICE", text(&input), "give another of the two"]);
        }
        fs::remove_file(&input).unwrap();
    }
    untouched(&path, b"");
}

#[test]
fn no_command_reads_or_writes_its_own_device_as_a_file() {
    let (dir, path) = file(b"");
    let link = dir.path().join("link.fio");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let lanes = format!("lanes({})", path.display());
    let (device, same) = (text(&path), text(&link));
    let log = dir.path().join("drive.log");
    fs::write(&log, "kept").unwrap();
    for (arguments, label) in [
        (&["run", device, same, "--destroy-data"][..], "the job file"),
        (&["run", device, "random-read", "--out", same], "--out"),
        (&["replay", device, same], "TRACE"),
        (&["transactions", device, same, "--destroy-data"], "RECORDING"),
        (&["sdf", "put", &lanes, "other", same], "FILE"),
        (&["sdf", "get", &lanes, "0", "--output", same], "--output"),
        (&["store", "put", &lanes, "key", same], "FILE"),
        (&["store", "get", &lanes, "key", "--output", same], "--output"),
        (&["store", "import", &lanes, same], "FILE"),
        (&["store", "import", &lanes, text(&log)], "FILE"),
        (&["store", "import", "lanes(other)", same, "--log", device], "FILE"),
        (&["store", "table", "import", &lanes, "table", same], "FILE"),
        (&["store", "file", "put", &lanes, "name", same], "FILE"),
        (&["store", "serve", &lanes, "--password-file", same], "--password-file"),
        (
            &["serve", "nbd", device, "--destroy-data", "--socket", "s", "--record", same, "--force"],
            "--record",
        ),
        (&["serve", "nbd", device, "--destroy-data", "--socket", same], "--socket"),
        (&["probe", device, "--destroy-data", "--out", same], "--out"),
    ] {
        refused(2, arguments, &[label, "give another of the two"]);
    }
    untouched(&path, b"");
    assert_eq!(fs::read(&log).unwrap(), b"kept");
}

#[test]
fn device_is_not_read_through_standard_input() {
    let (_dir, path) = file(b"");
    for (name, more) in [("replay", &[][..]), ("transactions", &["--destroy-data"])] {
        let arguments = [&[name, text(&path), "-"], more].concat();
        let run = command(&arguments).stdin(fs::File::open(&path).unwrap()).output().unwrap();
        let words = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.code() == Some(2) && words.contains("is the file of DEVICE"), "{words}");
    }
    untouched(&path, b"");
}

#[test]
fn device_is_not_written_through_standard_output_or_error() {
    let kept = Kept::new("4MiB");
    kept.store("put", &["key", "--value", "value"]);
    let before = kept.bytes();
    for name in ["flash", "flash.log"] {
        for arguments in
            [&["store", "scan", &kept.spec, "--values"][..], &["store", "get", &kept.spec, "key"]]
        {
            for append in [true, false] {
                let path = kept.dir.path().join(name);
                let open = || fs::OpenOptions::new().write(true).append(append).open(&path).unwrap();
                let run = command(arguments).stdout(open()).output().unwrap();
                let words = String::from_utf8(run.stderr).unwrap();
                let is_refused = words.contains("standard output") && words.contains("is the file of");
                assert!(run.status.code() == Some(2) && is_refused, "{words}");
                let run = command(arguments).stderr(open()).output().unwrap();
                let words = String::from_utf8(run.stdout).unwrap();
                assert!(run.status.code() == Some(2) && words.contains("standard error"), "{words}");
                let run = command(arguments).stdout(open()).stderr(open()).output().unwrap();
                assert_eq!(run.status.code(), Some(2));
            }
        }
    }
    assert!(kept.bytes() == before, "no command wrote to its device");
}

#[test]
fn profile_does_not_become_the_bytes_of_its_drive() {
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("my.toml"), dir.path().join("link"));
    let profile = done(&["profile", "show", "ssd-s"]);
    fs::write(&path, &profile).unwrap();
    fs::hard_link(&path, &link).unwrap();
    let device = format!("backed(sim:{},file={})", path.display(), link.display());
    refused(2, &["run", &device, "random-write", "--destroy-data"], &["is the profile of the drive"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), profile);
}

#[test]
fn refused_command_leaves_no_file_of_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bytes");
    let device = format!("backed(sim:ssd-s,file={})", path.display());
    refused(2, &["probe", &device, "--page", "1000B"], &["--page"]);
    refused(2, &["run", &device, "random-read,size=1TiB"], &["size"]);
    assert!(!path.exists());
}

#[test]
fn no_file_is_made_among_devices_or_through_a_dangling_link() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).unwrap();
    let trace = dir.path().join("a.csv");
    fs::write(&trace, "128166372003061629,usr,0,Read,0,4096,100\n").unwrap();
    for (place, reason) in [("/dev/nvme9n9", "among devices"), (text(&link), "symbolic link")] {
        let device = format!("backed(sim:ssd-s,file={place})");
        refused(2, &["run", &device, "random-read,requests=10"], &[place, reason]);
        refused(2, &["run", "sim:ssd-s", "random-read,requests=10", "--out", place], &[place, reason]);
        let convert = ["trace", "convert", text(&trace), place, "--to", "spc"];
        refused(2, &convert, &[place, reason]);
        assert!(fs::symlink_metadata(place).is_err() || fs::read_link(place).is_ok(), "{place}");
    }
    assert!(!dir.path().join("nowhere").exists());
    for (out, force) in [("/dev/no/such/folder", &[][..]), ("/dev", &["--force"])] {
        let run = ["run", "sim:ssd-s", "random-read,requests=10", "--out", out];
        refused(2, &[&run, force].concat(), &["/dev", "among devices"]);
    }
    assert!(!Path::new("/dev/no").exists() && !Path::new("/dev/result.json").exists());
    refused(
        2,
        &["run", "backed(sim:ssd-s,file=/dev/null/bytes)", "random-read"],
        &["/dev/null/bytes", "Not a directory"],
    );
}
