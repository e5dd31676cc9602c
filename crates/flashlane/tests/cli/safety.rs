//! A real drive is somebody's data.

use crate::program::{flashlane, json, refused, text};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of 1 MiB that begins with `head`, and the directory that keeps it.
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
fn nothing_is_written_that_was_not_given_up() {
    for workload in [WRITES, "mixed,requests=100", "sequential-trim,requests=10"] {
        let (_dir, path) = file(b"");
        refused(
            2,
            &["run", text(&path), workload],
            &["would overwrite", text(&path), "1 MiB", "nothing was touched", "--destroy-data"],
        );
        refused(2, &["run", &format!("faulty({})", path.display()), workload], &["--destroy-data"]);
        untouched(&path, b"");
    }
}

#[test]
fn a_probe_only_reads_and_says_what_it_cannot_find_out() {
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
    let (_dir, small) = file(b"");
    refused(2, &["probe", text(&small), "--allow-page-cache"], &["1048576 bytes", "needs at least"]);
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
    for (name, finding) in result["findings"].as_object().unwrap() {
        assert_eq!(finding["status"], "not-determined", "{name}");
    }
}

#[test]
fn what_is_given_up_is_written() {
    let (_dir, path) = file(b"");
    let result = json(&["run", text(&path), WRITES, "--destroy-data", "--allow-page-cache"]);
    assert_eq!(result["requests"], 100);
    assert!(fs::read(&path).unwrap().iter().any(|&b| b != 0x5a));
}

#[test]
fn a_known_signature_is_refused_even_then_unless_its_path_is_repeated() {
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
fn reading_needs_no_leave_and_says_what_it_doubts() {
    let (_dir, path) = file(b"");
    let arguments = ["run", text(&path), "random-read,requests=2k,depth=4", "--allow-page-cache"];
    let result = json(&arguments);
    untouched(&path, b"");
    assert_eq!(result["device"]["simulated"], false);
    assert!(result["harness_ns_per_request"].as_f64().unwrap() > 0.0, "what measuring costs is told");
    assert_eq!(result["machine"]["kind"], "file");
    assert!(result["machine"]["date"].is_string() && result["warnings"].is_array());
}

#[test]
fn a_new_file_is_made_filled_and_never_in_the_place_of_another() {
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
fn a_file_that_is_not_there_is_said_to_be_missing() {
    refused(2, &["run", "/no/such/file", WRITES], &["'/no/such/file' does not exist"]);
}
