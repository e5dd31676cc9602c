//! `sdf bench` on a device in use keeps its lanes and blocks.

use crate::endings::interrupt_by;
use crate::program::{command, done, flashlane, json, refused, text, wait_until};
use crate::stored::Stored;
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

const SAFE: [&str; 2] = ["--destroy-data", "--allow-page-cache"];

/// Creates eight lanes with block 7, and returns their spec.
fn device(dir: &tempfile::TempDir) -> String {
    let (path, block) = (dir.path().join("flash"), dir.path().join("block"));
    fs::write(&block, [7; 50_000]).unwrap();
    let spec = format!("lanes({})", path.display());
    let shape = spec.replace(')', ",channels=8,unit=64KiB,read-unit=4KiB)");
    done(&["sdf", "format", &shape, "--create", "8MiB", "--allow-page-cache"]);
    done(&["sdf", "put", &spec, text(&block), "--id", "7"]);
    spec
}

fn ids(spec: &str) -> Vec<u64> {
    let list = json(&["sdf", "ls", spec]);
    list["blocks"].as_array().unwrap().iter().map(|block| block["id"].as_u64().unwrap()).collect()
}

#[test]
fn bench_keeps_lanes_and_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let spec = device(&dir);
    let format = json(&["sdf", "status", &spec])["format"].clone();
    let bench = [&["sdf", "bench", &spec, "--blocks", "20"][..], &SAFE].concat();
    for _ in 0..2 {
        let result = json(&bench);
        assert_eq!((&result["device"]["lanes"], &result["device"]["unit_bytes"]), (&8.into(), &65536.into()));
        assert_eq!((&result["blocks"], &result["blocks_removed"]), (&1.into(), &20.into()), "{result}");
        assert_eq!(result["phases"][1]["requests"], 20);
        assert_eq!((ids(&spec), &json(&["sdf", "status", &spec])["format"]), (vec![7], &format));
    }
    assert_eq!(command(&["sdf", "get", &spec, "7"]).output().unwrap().stdout, [7; 50_000]);
    // A spec that contradicts the lanes is refused and divides nothing.
    let before = fs::read(dir.path().join("flash")).unwrap();
    let other = spec.replace(')', ",channels=44)");
    refused(
        2,
        &[&["sdf", "bench", &other][..], &SAFE].concat(),
        &["channels=8, not 44", "leave the setting out"],
    );
    refused(2, &["sdf", "bench", &spec], &["--destroy-data"]);
    assert!(fs::read(dir.path().join("flash")).unwrap() == before);
    // Unless the spec sets format=yes.
    let anew = spec.replace(')', ",channels=4,unit=64KiB,format=yes)");
    let path = dir.path().join("flash");
    let really = ["sdf", "bench", &anew, "--really", text(&path)];
    assert_eq!(json(&[&really[..], &SAFE].concat())["device"]["lanes"], 4);
    assert!(ids(&spec).is_empty());
}

#[test]
fn bench_of_lanes_without_blocks_keeps_lanes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flash");
    let made = format!("lanes({},channels=8,unit=64KiB)", path.display());
    done(&["run", &made, "sequential-write,size=64KiB,requests=1", "--create", "8MiB", "--allow-page-cache"]);
    let spec = format!("lanes({})", path.display());
    let result = json(&[&["sdf", "bench", &spec, "--blocks", "9"][..], &SAFE].concat());
    assert_eq!((&result["device"]["lanes"], &result["blocks_removed"]), (&8.into(), &9.into()));
    assert!(ids(&spec).is_empty());
}

#[test]
fn bench_warns_of_idle_lanes_at_its_end() {
    let codes = |result: &Value| -> Vec<String> {
        let warnings = result["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
    };
    let uneven = json(&["sdf", "bench", "sim:sdf", "--blocks", "50"]);
    assert_eq!(codes(&uneven), ["uneven-lanes"; 2], "{uneven}");
    assert!(uneven["warnings"][0]["message"].as_str().unwrap().contains("38 of the lanes"), "{uneven}");
    // A size is rounded up to the same number of blocks on every lane, here one.
    let even = json(&["sdf", "bench", "sim:sdf", "--size", "100MiB", "--gets", "88"]);
    assert_eq!((&even["phases"][0]["requests"], &even["phases"][1]["requests"]), (&44.into(), &88.into()));
    assert!(codes(&even).is_empty(), "{even}");
    refused(2, &["sdf", "bench", "sim:sdf", "--blocks", "5G"], &["--blocks", "up to 4294967295"]);
}

#[test]
fn interrupted_bench_removes_its_blocks() {
    for signal in [libc::SIGINT, libc::SIGHUP] {
        let dir = tempfile::tempdir().unwrap();
        let spec = device(&dir);
        let path = dir.path().join("flash");
        let before = fs::read(&path).unwrap();
        let gets = ["sdf", "bench", &spec, "--blocks", "20", "--gets", "100000000", "--format", "json"];
        let mut bench = command(&[&gets[..], &SAFE].concat());
        // The test itself may be run under `nohup`.
        // SAFETY: `signal` may be called between fork and exec.
        unsafe {
            bench.pre_exec(move || {
                libc::signal(signal, libc::SIG_DFL);
                Ok(())
            })
        };
        let child = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until(|| fs::read(&path).unwrap() != before);
        interrupt_by(&child, signal);
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "signal {signal}: {stderr}");
        assert_eq!(ids(&spec), [7], "signal {signal}");
    }
}

#[test]
fn size_that_has_no_room_is_refused() {
    let device = Stored::new(3);
    let bench = ["sdf", "bench", &device.lanes, "--destroy-data", "--allow-page-cache", "--size"];
    let status = json(&["sdf", "status", &device.lanes]);
    let room = status["blocks_free"].as_u64().unwrap() * status["block_bytes"].as_u64().unwrap();
    let more = format!("{}B", room + 1);
    refused(2, &[&bench[..], &["1GiB"]].concat(), &["--size 1 GiB has no room", "nothing was measured"]);
    // What has room on the empty device may have none beside its blocks.
    refused(2, &[&bench[..], &[&more]].concat(), &["has no room", "free blocks of 56 KiB"]);
    assert!(device.bytes() == device.original);
}

#[test]
fn format_of_a_simulated_device_says_that_nothing_is_kept() {
    let ended = flashlane(&["sdf", "format", "sim:sdf"]);
    assert!(ended.status == 0 && ended.stdout.contains("sim:sdf"), "{}", ended.stdout);
    assert!(ended.stderr.contains("gone with this command"), "{}", ended.stderr);
}
