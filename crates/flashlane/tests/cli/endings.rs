//! Runs that end early: the partial result is printed and saved, and one paragraph gives the reason.

use crate::program::{Ended, command, flashlane, json, refused, text, wait_until};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

fn partial(ended: &Ended) -> Value {
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).expect("the partial result is printed whole")
}

#[test]
fn vanished_device_gives_a_partial_run() {
    let dir = tempfile::tempdir().unwrap();
    let ended = refused(
        1,
        &[
            "run",
            "faulty(sim:ssd-s,vanish-after=5000)",
            "random-read,requests=10k",
            "--format",
            "json",
            "--out",
            text(dir.path()),
        ],
        &["vanished", "the result is partial: 5000 requests were measured"],
    );
    let result = partial(&ended);
    assert_eq!(result["requests"], 5000);
    assert!(result["partial"].as_str().unwrap().contains("vanished"));
    assert!(result["latency_ns"]["p99"].as_f64().unwrap() > 0.0);
    assert_eq!(result["warnings"][0]["code"], "partial");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("result.json")).unwrap()).unwrap();
    assert_eq!(kept["partial"], result["partial"]);
    assert!(fs::read_to_string(dir.path().join("report.html")).unwrap().contains("vanished"));
}

#[test]
fn vanished_device_gives_a_partial_probe() {
    let ended = refused(
        1,
        &["probe", "faulty(sim:ssd-s,vanish-after=20k)", "--format", "json"],
        &["vanished", "the result is partial"],
    );
    let result = partial(&ended);
    assert!(result["partial"].as_str().unwrap().contains("vanished"));
    assert_eq!(result["findings"]["reclaim_unit_bytes"]["status"], "not-determined");
}

#[test]
fn failed_request_ends_a_run_by_name() {
    let ended = refused(
        1,
        &["run", "faulty(sim:ssd-s,write-errors=@300)", "sequential-write,requests=10k", "--format", "json"],
        &["the write of 4 KiB at offset 1196 KiB failed", "the device failed"],
    );
    assert_eq!(partial(&ended)["requests"], 299);
}

#[test]
fn uncorrectable_read_of_a_simulated_drive_is_counted() {
    let result = json(&["run", "faulty(sim:ssd-s,read-errors=@300)", "sequential-read,requests=10k"]);
    assert_eq!(result["requests"], 9999);
    assert_eq!(result["failures"][0]["requests"], 1);
    assert_eq!(result["failures"][0]["cause"], "uncorrectable");
    assert_eq!(result["warnings"][0]["code"], "reads-failed");
    assert!(result["partial"].is_null());
}

#[test]
fn closed_pipe_is_not_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(&["run", "sim:ssd-s", "random-read,requests=1k", "--out", text(dir.path())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
    assert!(dir.path().join("result.json").exists(), "the files are written all the same");
}

#[test]
fn full_standard_output_is_reported_and_files_kept() {
    let dir = tempfile::tempdir().unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&["run", "sim:ssd-s", "random-read,requests=1k", "--out", text(dir.path())])
        .stdout(full)
        .output()
        .unwrap();
    let ended = Ended::from(output);
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.contains("cannot write to standard output: No space left"), "{}", ended.stderr);
    assert!(dir.path().join("result.json").exists());
}

/// A mount, unmounted on drop.
pub struct Mount(pub tempfile::TempDir);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Mounts a file system of 32 KiB; `None` without the permission to mount.
fn tiny() -> Option<Mount> {
    mounted("size=32k")
}

/// One with these options.
pub fn mounted(options: &str) -> Option<Mount> {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(dir.path())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    mounted.then(|| Mount(dir))
}

#[test]
fn full_disk_under_out_keeps_printed_result() {
    let Some(mount) = tiny() else {
        eprintln!("skipped: mounting a small file system is not allowed here");
        return;
    };
    let out = mount.0.path().join("results");
    let ended = flashlane(&[
        "run",
        "sim:ssd-s,initial.state=full",
        "random-read,requests=100k,depth=8",
        "--format",
        "json",
        "--out",
        text(&out),
    ]);
    assert_eq!(partial(&ended)["requests"], 100_000, "the result was printed before");
    for part in [text(&out), "No space left"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    assert!(ended.stderr.contains("written"), "it says what was: {}", ended.stderr);
}

#[test]
fn ctrl_c_gives_partial_results() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(&[
        "run",
        "sim:ssd-s",
        "random-write,requests=1G",
        "--format",
        "json",
        "--out",
        text(dir.path()),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    interrupt(&child);
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let stderr: Vec<String> =
        BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{stderr:?}");
    assert!(stderr.len() == 1 && stderr[0].contains("stopped on request"), "{stderr:?}");
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(result["partial"], "stopped on request");
    assert!(result["requests"].as_u64().unwrap() > 0);
    assert!(dir.path().join("result.json").exists());
}

/// Preconditioning writes twice the terabyte, which leaves time to interrupt it.
#[test]
fn ctrl_c_during_preconditioning_measures_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let workload = "random-write,precondition=steady";
    let child = command(&["run", "sim:nvme-tlc", workload, "--out", text(dir.path())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    interrupt(&child);
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("sim:nvme-tlc") && stderr.contains("nothing was measured"), "{stderr}");
    assert!(ended.stdout.is_empty(), "{}", String::from_utf8_lossy(&ended.stdout));
    assert!(!dir.path().join("result.json").exists(), "a result of zeros");
}

/// Preparing this drive takes minutes.
#[test]
fn ctrl_c_ends_a_command_that_prepares_a_drive() {
    let slow = "sim:nvme-tlc,flash.blocks=8000,capacity=5TiB,mapping.allocation=random,initial.state=full";
    for more in [&["run", slow, "random-read"][..], &["probe", slow]] {
        let child = command(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        interrupt(&child);
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &ended.stdout[..]), (Some(1), &b""[..]), "{stderr}");
        assert!(stderr.contains("stopped while the simulated drive was being prepared"), "{stderr}");
    }
}

#[test]
fn full_device_is_named_by_its_writer() {
    let Some(mount) = tiny() else {
        eprintln!("skipped: mounting a small file system is not allowed here");
        return;
    };
    // Sparse: its size fits, its data does not.
    let path = mount.0.path().join("file");
    fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
    let file = text(&path);
    for command in [&["run", file, "sequential-write"][..], &["uflip", file, "--quick"]] {
        let more = ["--destroy-data", "--allow-page-cache"];
        refused(1, &[command, &more].concat(), &[file, "no space is left"]);
    }
}

/// Interrupts a child process once it has installed its handler.
pub fn interrupt(child: &Child) {
    interrupt_by(child, libc::SIGINT);
}

/// Sends this signal once the child has installed its handler.
pub fn interrupt_by(child: &Child, signal: i32) {
    wait_until(|| catches_interrupts(child.id()));
    // SAFETY: a signal to a process of our own that has not been waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

/// Returns whether a process has a handler for SIGINT.
fn catches_interrupts(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap_or(0);
    caught & (1 << (libc::SIGINT - 1)) != 0
}
