//! `flashlane uflip`.

use crate::program::{command, done, flashlane, json, refused, text, wait_until};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// A small drive, which is quickly brought into a known state.
const DRIVE: &str = "sim:ssd-s,capacity=256MiB,flash.blocks=64";

#[test]
fn uflip_result_is_saved_exported_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    let (out, page) = (dir.path().join("out"), dir.path().join("page"));
    let shown = done(&["uflip", DRIVE, "--quick", "--only", "order", "--out", text(&out)]);
    for part in ["Key characteristics", "Design hints", "Reverse", "Start-up"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(!out.join("uflip.journal").exists() && out.join("samples.parquet").exists());
    let exported = done(&["uflip", "export", text(&out)]);
    let file = dir.path().join("exported.json");
    fs::write(&file, &exported).unwrap();
    done(&["uflip", "import", text(&file), text(&file), "--out", text(&page)]);
    assert!(page.join("report.html").exists());
    fs::write(&file, exported.replace("flashlane.uflip/1", "flashlane.run/1")).unwrap();
    refused(2, &["uflip", "import", text(&file)], &["cannot be imported", "flashlane.run/1"]);
}

#[test]
fn plan_reports_writes_without_writing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    fs::write(&path, vec![0x5a; 128 << 20]).unwrap();
    let plan = json(&["uflip", text(&path), "--full", "--plan", "--allow-page-cache"]);
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 0x5a));
    let total = &plan["total"];
    assert!(total["written_bytes"].as_u64().unwrap() > 128 << 20, "{total}");
    assert!(plan["device_writes"].as_f64().unwrap() > 1.0 && plan["expected_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn uflip_of_a_real_device_only_reads() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    fs::write(&path, vec![0x5a; 64 << 20]).unwrap();
    let arguments = ["uflip", text(&path), "--quick", "--only", "order", "--allow-page-cache"];
    let result = json(&arguments);
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 0x5a), "it was written to");
    assert!(result["warnings"].to_string().contains("--destroy-data"));
    assert!(result["harness_ns_per_request"].as_f64().is_some());
    refused(
        2,
        &[&arguments[..], &["--sweep", "seed=1,2"]].concat(),
        &["would overwrite", "nothing was touched"],
    );
}

#[test]
fn killed_uflip_of_a_file_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("drive"), dir.path().join("out"));
    fs::write(&path, vec![0x5a; 64 << 20]).unwrap();
    let arguments = [
        "uflip",
        text(&path),
        "--quick",
        "--only",
        "order",
        "--destroy-data",
        "--allow-page-cache",
        "--out",
        text(&out),
    ];
    let steps = || fs::read_to_string(out.join("uflip.journal")).map_or(0, |journal| journal.lines().count());
    let mut child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be killed");
        steps() >= 12
    });
    child.kill().unwrap();
    child.wait().unwrap();
    // The last line may be truncated; the first is not a step.
    let kept = steps() - 2;
    let ended = flashlane(&[&arguments[..], &["--format", "json"]].concat());
    assert!(ended.status == 0 && ended.stderr.contains("resuming after"), "{}", ended.stderr);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(result["resumed_steps"].as_u64().unwrap() >= kept as u64, "{}", result["resumed_steps"]);
    assert!(!out.join("uflip.journal").exists());
    // The result has the runs of an uninterrupted benchmark, which are the same on any device, in order.
    let ids = |result: &Value| {
        let runs = result["runs"].as_array().unwrap().iter();
        runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&result), ids(&json(&["uflip", DRIVE, "--quick", "--only", "order"])));
}

#[test]
fn uflip_sweeps_drives() {
    let sweep = ["uflip", DRIVE, "--quick", "--only", "order", "--sweep", "flash.planes=1,2"];
    let result = json(&sweep);
    let rows = result["rows"].as_array().unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row["rw_ms"].as_f64().is_some()), "{rows:?}");
    let one = flashlane(&[&sweep[..], &["--jobs", "1", "--format", "json"]].concat());
    assert_eq!(serde_json::from_str::<Value>(&one.stdout).unwrap(), result);
}

#[test]
fn invalid_uflip_arguments_are_refused() {
    refused(2, &["uflip", DRIVE, "--only", "granularty"], &["granularity, alignment"]);
    refused(2, &["uflip", "sim:ssd-s,capacity=32MiB,flash.blocks=16"], &["64 MiB at least"]);
    refused(2, &["uflip", "export", "/nowhere"], &["cannot read"]);
    refused(2, &["uflip", DRIVE, "--sweep", "uflip.effort=quick,full"], &["unknown key 'uflip.effort'"]);
}

#[test]
fn uflip_never_overwrites_its_device() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["result.json", "uflip.journal"] {
        let path = dir.path().join(name);
        fs::write(&path, vec![0; 64 << 20]).unwrap();
        let read = [
            "uflip",
            text(&path),
            "--quick",
            "--only",
            "order",
            "--allow-page-cache",
            "--out",
            text(dir.path()),
        ];
        refused(2, &read, &["is in the directory of --out", "nothing was touched"]);
        assert_eq!(fs::metadata(&path).unwrap().len(), 64 << 20);
    }
    // A foreign file with the name of the journal is kept too.
    let (device, out) = (dir.path().join("drive"), dir.path().join("out"));
    fs::write(&device, vec![0x5a; 64 << 20]).unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("uflip.journal"), vec![0; 4096]).unwrap();
    let read =
        ["uflip", text(&device), "--quick", "--only", "order", "--allow-page-cache", "--out", text(&out)];
    refused(2, &read, &["'uflip.journal', which is not part of a result"]);
    assert_eq!(fs::metadata(out.join("uflip.journal")).unwrap().len(), 4096);
    for capacity in ["512B", "16KiB"] {
        let device = format!("sim:mtron-like,capacity={capacity},buffer.policy=none");
        refused(2, &["uflip", &device, "--plan"], &["64 MiB at least"]);
    }
}
