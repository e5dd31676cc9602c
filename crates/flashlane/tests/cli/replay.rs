//! Replaying recorded traces.

use crate::endings::interrupt;
use crate::program::{Ended, command, done, json, refused, text};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A trace in DiskSim's format: (time in ms, sector, sectors, whether it reads).
fn trace(requests: impl IntoIterator<Item = (f64, u64, u64, bool)>) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("some.trace");
    let mut lines = String::new();
    for (at_ms, sector, sectors, reads) in requests {
        let _ = writeln!(lines, "{at_ms:.6} 0 {sector} {sectors} {}", u8::from(reads));
    }
    fs::write(&path, lines).unwrap();
    (dir, path)
}

/// Reads and writes of 4 KiB, one per 1.001 ms.
fn mixed(n: u64) -> (tempfile::TempDir, PathBuf) {
    trace((0..n).map(|i| (i as f64 * 1.001, (i * 7919) % 100_000 * 8, 8, i % 3 > 0)))
}

const DRIVE: &str = "sim:ssd-s,initial.state=full";

fn codes(result: &Value) -> Vec<&str> {
    result["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect()
}

#[test]
fn open_replay_follows_time_stamps() {
    let (_dir, path) = mixed(2000);
    let result = json(&["replay", DRIVE, text(&path)]);
    assert_eq!((&result["schema"], &result["pace"]), (&"flashlane.replay/1".into(), &"open".into()));
    assert_eq!((&result["requests"], &result["fitted"]["records"]), (&2000.into(), &2000.into()));
    assert_eq!(result["trace"]["format"], "disksim");
    assert_eq!(
        (&result["speed"], &result["in_flight"], &result["lateness_ns"]),
        (&1.0.into(), &Value::Null, &Value::Null)
    );
    let span_s = result["recorded_span_s"].as_f64().unwrap();
    assert!((span_s - 1999.0 * 1.001e-3).abs() < 1e-9, "{span_s}");
    assert!((span_s..span_s + 0.1).contains(&result["elapsed_s"].as_f64().unwrap()));
    assert_eq!(result["operations"]["read"]["requests"], 1333);
    assert_eq!(result["device"]["counters"]["host_writes"], 667);
    assert!(result.get("figures").is_none(), "it is lean");
    assert_eq!(codes(&result), ["nothing-cleaned"], "a few writes need no cleaning");
    assert_eq!(json(&["replay", DRIVE, text(&path)]), result, "it can be repeated");
    let twice = json(&["replay", DRIVE, text(&path), "--speed", "2"]);
    assert!((twice["elapsed_s"].as_f64().unwrap() - span_s / 2.0).abs() < 0.1);
}

#[test]
fn closed_replay_depth_defaults_to_the_device_limit() {
    let (_dir, path) = mixed(2000);
    let closed = ["sim:msr-32g,initial.state=full", text(&path), "--pace", "closed"];
    let replayed = |more: &[&str]| json(&[&["replay"][..], &closed, more].concat());
    let result = replayed(&[]);
    assert_eq!((&result["in_flight"], &result["device"]["depth"]), (&20.into(), &20.into()));
    assert_eq!(codes(&result), ["nothing-cleaned"]);
    let told = replayed(&["--depth", "32"]);
    assert_eq!((&told["in_flight"], codes(&told)), (&32.into(), vec!["device-full", "nothing-cleaned"]));
    let on_more = json(&["replay", DRIVE, text(&path), "--pace", "closed"]);
    assert_eq!((&on_more["in_flight"], &on_more["device"]["depth"]), (&32.into(), &32.into()));
    // In a sweep, the limit of the device of each point.
    let swept = replayed(&["--sweep", "link.depth=4,1000"]);
    let alone = |depth| {
        json(&["replay", &format!("{},link.depth={depth}", closed[0]), closed[1], "--pace", "closed"])
    };
    for (row, depth) in [(0, 4), (1, 1000)] {
        assert_eq!(swept["rows"][row]["mean_ns"], alone(depth)["latency_ns"]["mean"]);
    }
    assert_eq!(alone(4)["in_flight"], 4);
}

#[test]
fn closed_and_think_replays_report_their_pace() {
    let (_dir, path) = mixed(2000);
    let closed = json(&["replay", DRIVE, text(&path), "--pace", "closed", "--depth", "4", "--limit", "1k"]);
    assert_eq!(
        (&closed["in_flight"], &closed["speed"], &closed["requests"]),
        (&4.into(), &Value::Null, &1000.into())
    );
    let think = json(&["replay", DRIVE, text(&path), "--pace", "think"]);
    assert_eq!((&think["pace"], &think["fitted"]["untimed"]), (&"think".into(), &2000.into()));
    assert_eq!(codes(&think), ["untimed", "nothing-cleaned"]);
    assert!(think["elapsed_s"].as_f64() > closed["elapsed_s"].as_f64());
}

#[test]
fn misfit_requests_are_reported() {
    // 32 GB are 62,500,000 sectors of the trace; the drive has sectors of 4 KiB.
    let (dir, path) =
        trace((0..2000).map(|i| (i as f64, [0, 8, 3, 62_500_000 + 8][i as usize % 4], 8, true)));
    let profile = dir.path().join("large-sectors.toml");
    let ours = done(&["profile", "show", "ssd-s"]);
    fs::write(&profile, ours.replacen("\ncapacity", "\nsector = \"4KiB\"\ncapacity", 1)).unwrap();
    let drive = &format!("sim:{},initial.state=full", profile.display())[..];
    let result = json(&["replay", drive, text(&path)]);
    assert_eq!((&result["requests"], &result["fitted"]["widened"]), (&1500.into(), &500.into()));
    assert_eq!(codes(&result)[..2], ["left-out", "widened"]);
    let first = result["fitted"]["first_left_out"][0].as_str().unwrap();
    assert!(first.starts_with("request 4, the read of 4 KiB at offset 31250004 KiB"), "{first}");
    let result = json(&["replay", drive, text(&path), "--beyond", "fold", "--unaligned", "refuse"]);
    assert_eq!((&result["requests"], &result["fitted"]["folded"]), (&1500.into(), &500.into()));
    assert_eq!(codes(&result)[..2], ["left-out", "folded"]);
}

#[test]
fn replay_output_is_saved_and_drawn() {
    let (dir, path) = mixed(2000);
    let out = dir.path().join("out");
    let shown = done(&["replay", DRIVE, text(&path), "--out", text(&out)]);
    for part in
        ["Replay: sim:ssd-s", "at its time stamps", "p99.99", "Slowest requests", "Over time", "Host writes"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    for file in [
        "result.json",
        "samples.parquet",
        "latency-over-time.svg",
        "throughput-over-time.svg",
        "latency-distribution.svg",
    ] {
        assert!(out.join(file).exists(), "{file}");
    }
    assert_eq!(done(&["report", text(&out)]), shown);
    let csv = done(&["replay", DRIVE, text(&path), "--format", "csv"]);
    assert!(csv.starts_with("statistic,latency_ns,read_ns,write_ns\r\n"), "{csv}");
}

/// `replay DEVICE <(zcat …)`: bytes read to detect the format must not be lost.
#[test]
fn piped_trace_is_replayed_from_its_first_request() {
    let (dir, path) = mixed(20_000);
    let pipe = dir.path().join("pipe.disksim");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let feed = format!("cat {} > {}", text(&path), text(&pipe));
    let mut feeder = Command::new("sh").args(["-c", &feed]).spawn().unwrap();
    let replayed = |path: &Path| {
        let mut result = json(&["replay", DRIVE, text(path), "--trace-format", "disksim"]);
        result["trace"]["name"] = Value::Null;
        result
    };
    assert_eq!(replayed(&pipe), replayed(&path));
    assert!(feeder.wait().unwrap().success());
}

#[test]
fn standard_input_is_replayed_in_one_pass_only() {
    let (_dir, path) = mixed(2000);
    let given = |arguments: &[&str]| {
        let input = fs::File::open(&path).unwrap();
        Ended::from(command(&[&["replay"], arguments].concat()).stdin(input).output().unwrap())
    };
    let ended = given(&[DRIVE, "-", "--format", "json"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let mut result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["trace"]["name"], "standard input");
    result["trace"]["name"] = text(&path).into();
    assert_eq!(result, json(&["replay", DRIVE, text(&path)]));

    let swept = given(&[DRIVE, "-", "--sweep", "seed=1,2"]);
    assert_eq!((swept.status, swept.stdout.as_str()), (2, ""));
    for part in ["more than once", "the trace 'standard input'", "not a regular file", "save it to one first"]
    {
        assert!(swept.stderr.contains(part), "{}", swept.stderr);
    }
    // Standard input cannot be scanned for writes first.
    let (_drive_dir, drive) = drive();
    let real = given(&[text(&drive), "-", "--allow-page-cache", "--limit", "1"]);
    assert_eq!(real.status, 2);
    for part in ["the trace 'standard input' would overwrite", "nothing was touched", "from a regular file"] {
        assert!(real.stderr.contains(part), "{}", real.stderr);
    }
}

#[test]
fn unusable_replays_are_refused() {
    let (dir, path) = mixed(10);
    let path = text(&path);
    for (arguments, parts) in [
        (&[DRIVE, "/no/such/trace"][..], &["/no/such/trace"][..]),
        (&[DRIVE, path, "--speed", "0"], &["--speed", "above 0"]),
        (&[DRIVE, path, "--speed", "fast"], &["fast", "above 0"]),
        (&[DRIVE, path, "--pace", "closed", "--speed", "2"], &["--speed 2", "--pace closed"]),
        (&[DRIVE, path, "--depth", "4"], &["--depth 4", "--pace closed"]),
        (&[DRIVE, path, "--pace", "closed", "--depth", "0"], &["--depth", "1 to 65536"]),
        (&[DRIVE, path, "--pace", "fast"], &["fast", "open, closed, think"]),
        (&[DRIVE, path, "--trace-format", "dream"], &["dream", "disksim"]),
        (&[DRIVE, path, "--trace-device", "7"], &["device 7"]),
        (&[DRIVE, path, "--limit", "0"], &["allowed: at least 1"]),
        (&[DRIVE, path, "--sweep", "workload.depth=1,2"], &["'workload.depth' is a key of 'flashlane run'"]),
        (&[DRIVE, path, "--sweep", "seed=1,2", "--jobs", "0"], &["at least 1"]),
        (&["sim:ssd-z", path], &["'ssd-z'"]),
    ] {
        let ended = refused(2, &[&["replay"], arguments].concat(), parts);
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    let beyond = dir.path().join("beyond.trace");
    fs::write(&beyond, "0.0 0 99999999999 8 1\n").unwrap();
    refused(
        2,
        &["replay", DRIVE, text(&beyond)],
        &["of the 1 requests", "none can be replayed", "do not lie within"],
    );
}

#[test]
fn bad_lines_are_reported_and_early_ends_partial() {
    let (dir, path) = mixed(3000);
    let mut lines = fs::read_to_string(&path).unwrap();
    lines.insert_str(lines.find('\n').unwrap() + 1, "what is this\n");
    fs::write(&path, &lines).unwrap();
    let result = json(&["replay", DRIVE, text(&path)]);
    assert_eq!((&result["requests"], &result["trace"]["lines_refused"]), (&3000.into(), &1.into()));
    assert!(result["warnings"][1]["message"].as_str().unwrap().contains("line 2"), "{}", result["warnings"]);
    assert_eq!(codes(&result), ["nothing-cleaned", "lines-refused"]);

    // One warning names the effect on the replay and the line; a closed loop ignores time stamps.
    let (_back_dir, back) = trace((0..2000).map(|i| (if i == 4 { 0.0 } else { i as f64 }, i * 8, 8, true)));
    let result = json(&["replay", DRIVE, text(&back)]);
    assert_eq!(codes(&result), ["time-runs-backwards"]);
    let message = result["warnings"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("replayed together") && message.ends_with("the first in the trace is line 5"),
        "{message}"
    );
    assert_eq!(codes(&json(&["replay", DRIVE, text(&back), "--pace", "closed"])), [""; 0]);
    let before = json(&["replay", DRIVE, text(&back), "--limit", "4"]);
    assert!(!codes(&before).contains(&"time-runs-backwards"), "{before}");

    // The line is one of the replayed device: what stands before it is late only among all.
    let two = dir.path().join("two.trace");
    fs::write(&two, "5.0 3 8 8 1\n1.0 5 8 8 1\n3.0 5 8 8 1\n2.0 5 8 8 1\n").unwrap();
    let result = json(&["replay", DRIVE, text(&two), "--trace-device", "5"]);
    assert_eq!(result["fitted"]["backwards"], 1);
    let told = codes(&result).iter().position(|&code| code == "time-runs-backwards").unwrap();
    let message = result["warnings"][told]["message"].as_str().unwrap();
    assert!(message.ends_with("the first in the trace is line 4"), "{message}");

    let packed = dir.path().join("cut.trace.gz");
    let gzip = Command::new("gzip").arg("-c").arg(&path).output();
    let Ok(whole) = gzip.map(|output| output.stdout).map(|bytes| bytes[..bytes.len() / 2].to_vec()) else {
        eprintln!("skipped: there is no gzip here");
        return;
    };
    fs::write(&packed, whole).unwrap();
    let ended = refused(1, &["replay", DRIVE, text(&packed), "--format", "json"], &["ends early", "partial"]);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(result["warnings"][0]["code"], "trace-incomplete");
    assert!(result["partial"].as_str().unwrap().contains("ends early"));
    assert!((100..3000).contains(&result["requests"].as_u64().unwrap()), "{}", result["requests"]);
}

/// A file to replay on, of 1 MiB.
fn drive() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    fs::write(&path, vec![0x5a; 1 << 20]).unwrap();
    (dir, path)
}

#[test]
fn replay_writes_require_destroy_data() {
    let (_dir, drive) = drive();
    let whole = |path: &PathBuf| fs::read(path).unwrap().iter().all(|&byte| byte == 0x5a);
    let (_reads_dir, reads) = trace((0..500).map(|i| (i as f64 / 10.0, i % 256 * 8, 8, true)));
    let result = json(&["replay", text(&drive), text(&reads), "--allow-page-cache"]);
    assert_eq!((&result["requests"], &result["device"]["simulated"]), (&500.into(), &false.into()));
    assert!(result["lateness_ns"]["p99"].is_number() && result["machine"].is_object());
    // A write at the very end requires consent.
    let (_writes_dir, writes) = trace((0..500).map(|i| (i as f64 / 10.0, i % 256 * 8, 8, i < 499)));
    let arguments = ["replay", text(&drive), text(&writes), "--allow-page-cache"];
    refused(2, &arguments, &["the trace", "would overwrite", "nothing was touched", "--destroy-data"]);
    assert!(whole(&drive));
    // Without the write the trace only reads.
    assert_eq!(json(&[&arguments[..], &["--limit", "499"]].concat())["requests"], 499);
    assert!(whole(&drive));
    // In a sweep the requests of its points count.
    let swept = |limits| [&arguments[..], &["--limit", "499", "--sweep", limits]].concat();
    assert_eq!(json(&swept("replay.limit=400,499"))["rows"][1]["status"], "measured");
    assert_eq!(
        json(&[&arguments[..], &["--sweep", "replay.limit=400,499"]].concat())["rows"][1]["requests"],
        499
    );
    refused(2, &swept("replay.limit=400,500"), &["the trace", "would overwrite", "nothing was touched"]);
    assert!(whole(&drive));
    assert_eq!(json(&[&arguments[..], &["--destroy-data"]].concat())["requests"], 500);
    assert!(!whole(&drive));
}

#[test]
fn vanished_device_and_ctrl_c_give_partial_replays() {
    let (_dir, path) = mixed(2000);
    let arguments = ["replay", "faulty(sim:ssd-s,vanish-after=500)", text(&path), "--format", "json"];
    let ended = refused(1, &arguments, &["vanished", "500 requests were measured"]);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&result["requests"], &result["warnings"][0]["code"]), (&500.into(), &"partial".into()));

    let (_drive_dir, drive) = drive();
    let (_gap_dir, gap) = trace([(0.0, 0, 8, true), (3_600_000.0, 8, 8, true)]);
    let child = command(&["replay", text(&drive), text(&gap), "--allow-page-cache", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopped on request"));
}

#[test]
fn overload_is_reported_first() {
    let (_dir, path) = trace((0..3000).map(|i| (i as f64 * 0.005, (i * 7919) % 100_000 * 8, 8, true)));
    let shown = done(&["replay", DRIVE, text(&path)]);
    let (first, rest) = shown.split_once("Requests a second").unwrap();
    let said = first.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("The drive cannot keep up: the trace asks 819 MB/s"), "{first}");
    assert!(said.contains("--speed 0.") && rest.contains("[overloaded]"), "{shown}");
    let result = json(&["replay", DRIVE, text(&path)]);
    assert_eq!(codes(&result)[0], "overloaded");
    assert!(result["asked_iops"].as_f64().unwrap() > 2.0 * result["iops"].as_f64().unwrap());
    // The suggested options exist and help.
    let speed = said.split_once("--speed ").unwrap().1.split([',', ' ']).next().unwrap();
    for more in [&["--speed", speed][..], &["--pace", "think"], &["--pace", "closed"]] {
        let result = json(&[&["replay", DRIVE, text(&path)], more].concat());
        assert!(!codes(&result).contains(&"overloaded"), "{more:?}");
    }
}

#[test]
fn device_all_places_devices_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("two.trace");
    let mut lines = String::new();
    for i in 0..200 {
        let _ = writeln!(lines, "{:.6} {} {} 8 1", f64::from(i) * 1.001, 3 + 4 * (i % 2), i * 8);
    }
    fs::write(&path, &lines).unwrap();
    refused(2, &["replay", DRIVE, text(&path)], &["several devices", "all, laid side by side"]);
    let result = json(&["replay", DRIVE, text(&path), "--device", "all"]);
    assert_eq!(result["requests"], 200);
    let places = result["trace"]["side_by_side"].as_array().unwrap();
    let place =
        |at: usize| ["number", "begin_bytes", "length_bytes"].map(|key| places[at][key].as_u64().unwrap());
    assert_eq!([place(0), place(1)], [[3, 0, 1 << 20], [7, 1 << 20, 1 << 20]]);
    // The conversion is a trace of one device with the same replay.
    let one = dir.path().join("one.msr");
    done(&["trace", "convert", text(&path), text(&one), "--device", "all"]);
    let converted = json(&["replay", DRIVE, text(&one)]);
    assert_eq!(converted["latency_ns"], result["latency_ns"]);
    assert_eq!(json(&["trace", "info", text(&one)])["highest_bytes"], (1 << 20) + 200 * 4096);
    // In a sweep too; but the sizes in a pipe cannot be read in advance.
    let sweep = ["--trace-device", "all", "--repeat", "1", "--sweep", "replay.speed=1,2"];
    let swept = json(&[&["replay", DRIVE, text(&path)], &sweep[..]].concat());
    assert_eq!(swept["rows"][0]["mean_ns"], result["latency_ns"]["mean"]);
    refused(
        2,
        &["replay", DRIVE, "/dev/stdin", "--device", "all"],
        &["sizes of its devices", "not a regular file"],
    );
    refused(2, &["replay", DRIVE, text(&path), "--device", "some"], &["or 'all'"]);
}
