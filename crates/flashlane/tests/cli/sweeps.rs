//! `--sweep`: a command at every point of a grid.

use crate::endings::interrupt;
use crate::program::{command, done, flashlane, json, refused, text, wait_until};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

const RUN: [&str; 3] = ["run", "sim:ssd-s", "mixed,depth=4,requests=500,area=4MiB"];
const SWEEP: [&str; 4] = ["--sweep", "workload.depth=1..8*2", "--sweep", "mapping.policy=lba,write-order"];

#[test]
fn grid_has_one_row_per_point_in_order() {
    let result = json(&[&RUN[..], &SWEEP].concat());
    assert_eq!((&result["schema"], &result["command"]), (&"flashlane.sweep/1".into(), &"run".into()));
    let rows = result["rows"].as_array().unwrap();
    let points: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row["point"]["workload.depth"], row["point"]["mapping.policy"]))
        .map(|point| point.replace('"', ""))
        .collect();
    let expected = [
        "1 lba",
        "1 write-order",
        "2 lba",
        "2 write-order",
        "4 lba",
        "4 write-order",
        "8 lba",
        "8 write-order",
    ];
    assert_eq!(points, expected);
    assert!(rows.iter().all(|row| row["status"] == "measured" && row["requests"] == 500));
    assert!(result.get("figures").is_none(), "it is lean");
}

#[test]
fn point_equals_a_single_run() {
    let swept = json(&[&RUN[..], &["--sweep", "seed=7", "--sweep", "flash.channels=8"]].concat());
    let alone = json(&["run", "sim:ssd-s,flash.channels=8", RUN[2], "--seed", "7"]);
    let row = &swept["rows"][0];
    assert_eq!(
        (&row["mean_ns"], &row["p999_ns"]),
        (&alone["latency_ns"]["mean"], &alone["latency_ns"]["p999"])
    );
    assert_eq!(row["iops"], alone["iops"]);
}

#[test]
fn random_workloads_repeat_with_several_seeds() {
    let with = |more: &[&str]| json(&[&RUN[..], &["--sweep", "flash.channels=16,8"], more].concat());
    let swept = with(&[]);
    assert_eq!((&swept["repeat"], &swept["rows"].as_array().unwrap().len()), (&5.into(), &2));
    let row = &swept["rows"][0];
    // A repetition equals a single run with its seed, and the row is their mean.
    let repetition = &row["repetitions"][3];
    let alone = json(&["run", "sim:ssd-s,flash.channels=16", RUN[2], "--seed", "3"]);
    assert_eq!((&repetition["seed"], &repetition["mean_ns"]), (&3.into(), &alone["latency_ns"]["mean"]));
    let means = row["repetitions"].as_array().unwrap().iter().map(|r| r["mean_ns"].as_f64().unwrap());
    assert!((means.sum::<f64>() / 5.0 / row["mean_ns"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert!(row["half_widths"]["mean_ns"].as_f64().unwrap() > 0.0);

    // A point without randomness is measured once, and so is a point of a swept seed.
    let repeat = |arguments: &[&str]| json(arguments)["repeat"].as_u64().unwrap();
    let sequential = ["run", "sim:ssd-s,flash.noise=0%,host.jitter=0%", "sequential-write,requests=100"];
    let [channels, seeds] = [["--sweep", "flash.channels=16,8"], ["--sweep", "seed=1,2"]];
    let jittery = ["run", "sim:ssd-s,flash.noise=1%", "sequential-write,requests=100"];
    assert_eq!(repeat(&[&sequential[..], &channels].concat()), 1);
    assert_eq!(repeat(&[&sequential[..], &["--repeat", "3"], &channels].concat()), 3);
    assert_eq!(repeat(&[&jittery[..], &channels].concat()), 5);
    assert_eq!(repeat(&[&jittery[..], &seeds].concat()), 1);
    refused(2, &[&jittery[..], &seeds, &["--repeat", "2"]].concat(), &["'seed' is swept"]);
    refused(2, &[&jittery[..], &channels, &["--repeat", "0"]].concat(), &["at least 1"]);
}

/// A short name is a key of the workload or a field of the drive; a name of both is the workload's.
#[test]
fn short_keys_are_of_the_workload_or_the_drive() {
    let run = ["run", "sim:ssd-s", "random-read,requests=100", "--sweep"];
    let with = |sweep| [&run[..], &[sweep]].concat();
    for (sweep, parts) in [
        ("iodepth=1,2", &["fio's 'iodepth' is 'depth' here", "workload."][..]),
        ("rw=randread,randwrite", &["workload.pattern=random-read,random-write"]),
        ("zpif=1,2", &["did you mean 'workload.zipf'?"]),
        ("workload.depth=1-32", &["1..32*2"]),
        ("chanels=4,8", &["did you mean 'channels'?"]),
    ] {
        refused(2, &with(sweep), parts);
    }
    let point = |arguments: &[&str]| json(arguments)["rows"][0]["point"].clone();
    assert_eq!(point(&with("zipf=0.9,1.2"))["workload.zipf"], "0.9");
    assert_eq!(point(&with("channels=10,16"))["channels"], "10");
    assert_eq!(point(&with("depth=2..32*2"))["workload.depth"], "2");
    assert_eq!(point(&with("size=8k,16k"))["workload.size"], "8k");
    let trace = format!("{}/../../traces/pgbench.blktrace.xz", env!("CARGO_MANIFEST_DIR"));
    let replay = ["replay", "sim:ssd-s", &trace, "--limit", "50", "--sweep"];
    assert_eq!(point(&[&replay[..], &["depth=1,2", "--pace", "closed"]].concat())["replay.depth"], "1");
    assert_eq!(point(&[&replay[..], &["speed=1,2"]].concat())["replay.speed"], "1");
}

#[test]
fn equal_points_have_no_winner() {
    // Without writes the policy of the write buffer has no effect.
    let read = [
        "run",
        "sim:msr-64g,capacity=3594092544B,flash.blocks=128,initial.state=full",
        "random-read,depth=4,requests=500",
    ];
    let sweep = ["--sweep", "buffer.policy=none,fifo,lru,parallel,bplru,cflru"];
    let text = done(&[&read[..], &sweep].concat());
    assert!(text.contains("No difference between the points"), "{text}");
    assert!(!text.contains("best with"), "{text}");
    let depth = [
        "run",
        "sim:ssd-s,capacity=256MiB,flash.blocks=64,initial.state=full",
        "random-read,requests=2k",
        "--sweep",
        "workload.depth=1..64*2",
    ];
    let result = json(&depth);
    assert_eq!(result["comparison"]["metric"], "iops");
    assert!(result["knees"][0]["depth"].as_f64().unwrap() > 4.0, "{}", result["knees"]);
    let text = done(&depth);
    assert!(text.contains("The knee is at a depth of"), "{text}");
}

#[test]
fn readme_sweep_ranks_policies_and_names_flushes() {
    let trace = |name: &str| format!("{}/../../traces/{name}.blktrace.xz", env!("CARGO_MANIFEST_DIR"));
    let sweep = |device: &str, name: &str, more: &[&str]| {
        json(&[&["replay", device, &trace(name), "--sweep", "buffer.policy=fifo,parallel"], more].concat())
    };
    let device = "sim:msr-64g,initial.state=fragmented,buffer.size=128MiB";
    let cleaned = sweep(device, "word-count", &["--pace", "think", "--limit", "12k", "--repeat", "2"]);
    assert_eq!(cleaned["comparison"]["verdict"], "one-best");
    assert_eq!(cleaned["rows"][1]["compared"]["standing"], "best");
    let codes = |result: &Value| -> Vec<String> {
        let warnings = result["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!codes(&cleaned).iter().any(|code| code == "nothing-cleaned" || code.starts_with("flushes")));
    let flushed = codes(&sweep("sim:msr-64g", "pgbench", &["--limit", "2k"]));
    assert!(flushed.iter().any(|code| code == "nothing-cleaned"), "{flushed:?}");
    assert!(flushed.iter().any(|code| code == "flushes-drained-buffer"), "{flushed:?}");
}

#[test]
fn results_do_not_depend_on_jobs() {
    for format in ["json", "text", "csv"] {
        let with = |jobs| done(&[&RUN[..], &SWEEP, &["--format", format, "--jobs", jobs]].concat());
        assert_eq!(with("1"), with("3"), "{format}");
    }
    // More than the points, and more than the threads of the machine.
    let with = |jobs| done(&[&RUN[..], &SWEEP, &["--format", "csv", "--jobs", jobs]].concat());
    let csv = with("1");
    assert_eq!(with("1000000"), csv);
    assert!(csv.starts_with("standing,workload.depth,mapping.policy,iops,mean_ns,"), "{csv}");
}

#[test]
fn verdict_of_a_wide_sweep_is_within_80_columns() {
    let keys = ["workload.depth=1,2", "buffer.policy=none,lru", "cleaning.policy=greedy,cost-benefit"];
    let sweep = keys.iter().flat_map(|&key| ["--sweep", key]);
    let run = ["run", "sim:ssd-m,initial.state=full", "random-write,requests=500"];
    let text = done(&run.into_iter().chain(sweep).collect::<Vec<_>>());
    let (_, table) = text.split_once("\nPoints\n").unwrap();
    let table = table.split("\n\n").next().unwrap();
    assert!(table.starts_with("To the") && table.lines().next().unwrap().contains("Mean"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn saved_points_are_reused() {
    let dir = tempfile::tempdir().unwrap();
    let sweep =
        [&RUN[..], &SWEEP, &["--repeat", "2", "--out", text(dir.path()), "--format", "json"]].concat();
    let first = done(&sweep);
    let result = fs::read(dir.path().join("result.json")).unwrap();
    assert!(fs::read_to_string(dir.path().join("report.html")).unwrap().contains("<figure"));
    assert!(dir.path().join("sweep.svg").exists());
    let files = || {
        let mut files: Vec<_> =
            fs::read_dir(dir.path().join("points")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let points = files();
    assert_eq!(points.len(), 16);
    assert!(done(&["report", text(&points[0])]).contains("Run: sim:ssd-s,mapping.policy="));

    fs::remove_file(&points[2]).unwrap();
    fs::write(&points[5], "{").unwrap();
    let ended = flashlane(&sweep);
    assert_eq!((ended.status, ended.stdout), (0, first));
    assert!(
        ended.stderr.contains(text(&points[5])) && ended.stderr.contains("measured again"),
        "{}",
        ended.stderr
    );
    assert_eq!((files(), fs::read(dir.path().join("result.json")).unwrap()), (points, result));

    // Another seed is another point; with more values, saved points are kept.
    done(&[&sweep[..], &["--seed", "5"]].concat());
    assert_eq!(files().len(), 32);
    done(&[&sweep[..], &["--sweep", "flash.channels=10,8"]].concat());
    assert_eq!(files().len(), 64);
}

#[test]
fn changed_profile_file_is_measured_again() {
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join("my.toml");
    let out = dir.path().join("out");
    let device = format!("sim:{}", profile.display());
    let sweep = ["run", &device, RUN[2], "--sweep", "workload.depth=1,2", "--out", text(&out)];
    let original = done(&["profile", "show", "ssd-s"]);
    fs::write(&profile, &original).unwrap();
    let first = done(&sweep);
    fs::write(&profile, original.replace("\"25us\"", "\"50us\"")).unwrap();
    let second = done(&sweep);
    assert_ne!(first, second);
    // Two points under five seeds, of two profiles.
    assert_eq!(fs::read_dir(out.join("points")).unwrap().count(), 20);
}

#[test]
fn failed_point_is_reported_and_others_are_kept() {
    let arguments = [&RUN[..], &["--sweep", "flash.channels=8,70000,16", "--format", "json"]].concat();
    let ended = refused(1, &arguments, &["1 of 3 points", "flash.channels=70000", "allowed"]);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&result["rows"][1]["status"], &result["rows"][2]["status"]),
        (&"failed".into(), &"measured".into())
    );
    assert_eq!(result["rows"][1]["mean_ns"], Value::Null);

    let device = "faulty(sim:ssd-s,vanish-after=100)";
    let arguments = ["run", device, "random-read", "--sweep", "workload.requests=50,200", "--format", "json"];
    let ended = refused(1, &arguments, &["workload.requests=200", "vanished"]);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&result["rows"][1]["status"], &result["rows"][1]["requests"]),
        (&"partial".into(), &100.into())
    );
}

#[test]
fn invalid_sweeps_are_refused_before_output() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    for (sweep, part) in [
        ("workload.depth", "write KEY=VALUES"),
        ("workload.depth=1..8", "does not say how it goes on"),
        ("workload.depth=1KiB..8KiB*2", "a count is expected"),
        ("workload.siez=4k,8k", "did you mean 'size'"),
        ("no.such.field=1,2", "no"),
        ("seed=x,y", "allowed: a whole number"),
        ("seed=1..1000000+1", "more than 100000 values"),
    ] {
        refused(2, &[&RUN[..], &["--sweep", sweep, "--out", text(&out)]].concat(), &[part]);
    }
    refused(2, &[&RUN[..], &["--jobs", "2"]].concat(), &["--sweep"]);
    refused(2, &[&RUN[..], &["--sweep", "seed=1", "--sweep-y", "beauty"]].concat(), &["beauty", "p99.9"]);
    refused(2, &[&RUN[..], &["--sweep", "seed=1", "--jobs", "0"]].concat(), &["--jobs"]);
    assert!(!out.exists(), "nothing was made");
}

#[test]
fn real_device_is_swept_one_point_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    let run = ["run", text(&file), "random-read,requests=50", "--allow-page-cache", "--format", "json"];
    refused(2, &[&run[..], &["--sweep", "flash.channels=1,2"]].concat(), &["is a real device", "workload."]);
    refused(2, &[&run[..], &["--sweep", "seed=1,2", "--jobs", "2"]].concat(), &["one at a time"]);
    let writes = ["--sweep", "workload.pattern=random-read,random-write"];
    refused(2, &[&run[..], &writes].concat(), &["would overwrite data"]);
    let out = dir.path().join("out");
    let ended = flashlane(&[&run[..], &["--sweep", "workload.size=4k,8k", "--out", text(&out)]].concat());
    let result: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
    assert_eq!(result["rows"].as_array().unwrap().len(), 2);
    assert!(result["machine"].is_object() && !out.join("points").exists());
}

#[test]
fn interrupted_sweep_resumes() {
    let dir = tempfile::tempdir().unwrap();
    // The first point is short, the second endless.
    let arguments = [
        "run",
        "sim:ssd-s",
        "random-read",
        "--sweep",
        "workload.requests=100,1000000000",
        "--repeat",
        "1",
        "--jobs",
        "1",
        "--format",
        "json",
        "--out",
        text(dir.path()),
    ];
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let points = dir.path().join("points");
    let is_kept = || {
        let mut files = fs::read_dir(&points).into_iter().flatten().flatten();
        files.any(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
    };
    wait_until(is_kept);
    // SAFETY: a signal to a process of our own that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("stopped on request after 1 of 2 points; the same command resumes"), "{stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["partial"], "stopped on request after 1 of 2 points");
    assert_eq!(
        (&result["rows"][0]["requests"], &result["rows"][1]["status"]),
        (&100.into(), &"not-run".into())
    );
}

#[test]
fn interrupted_benchmark_point_is_not_failed() {
    let arguments =
        ["uflip", "sim:ssd-s", "--full", "--sweep", "seed=1,2", "--jobs", "2", "--format", "json"];
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("stopped on request after 0 of 2 points"), "{stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for row in [0, 1] {
        assert_eq!(result["rows"][row]["status"], "not-run");
    }
}

/// Two hundred requests in the format of the MSR traces.
fn trace(dir: &std::path::Path) -> std::path::PathBuf {
    let line = |n: u64| {
        let operation = if n.is_multiple_of(3) { "Write" } else { "Read" };
        format!(
            "{},host,0,{operation},{},4096,1000\n",
            128_166_372_000_000_000 + n * 5000,
            n * 7919 % 1000 * 4096
        )
    };
    let file = dir.join("trace.csv");
    fs::write(&file, (0..200).map(line).collect::<String>()).unwrap();
    file
}

#[test]
fn replay_options_can_be_swept() {
    let dir = tempfile::tempdir().unwrap();
    let (trace, out) = (trace(dir.path()), dir.path().join("out"));
    let replay = ["replay", "sim:ssd-s", text(&trace), "--format", "json"];
    let sweep = ["--repeat", "1", "--sweep", "replay.speed=1..4*2", "--sweep", "buffer.size=64KiB,128KiB"];
    let with = |jobs| done(&[&replay[..], &sweep, &["--jobs", jobs]].concat());
    let text_of = with("1");
    assert_eq!(text_of, with("3"));
    let result: Value = serde_json::from_str(&text_of).unwrap();
    assert_eq!((&result["command"], result["rows"].as_array().unwrap().len()), (&"replay".into(), 6));
    let alone = json(&["replay", "sim:ssd-s,buffer.size=128KiB", text(&trace), "--speed", "2"]);
    let row = &result["rows"][3];
    assert_eq!((&row["mean_ns"], &row["requests"]), (&alone["latency_ns"]["mean"], &200.into()));

    // Points are saved by the content of the trace, not by its name.
    let kept =
        [&replay[..], &["--repeat", "1", "--sweep", "replay.limit=50,100", "--out", text(&out)]].concat();
    let points = || fs::read_dir(out.join("points")).unwrap().count();
    done(&kept);
    done(&kept);
    assert_eq!(points(), 2);
    let longer = fs::read_to_string(&trace).unwrap().replace(",4096,1000", ",8192,1000");
    fs::write(&trace, longer).unwrap();
    done(&kept);
    assert_eq!(points(), 4);

    // A pipe can be read only once.
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let of_pipe = ["replay", "sim:ssd-s", text(&pipe), "--sweep", "replay.limit=50,100"];
    refused(2, &of_pipe, &[text(&pipe), "not a regular file"]);
    // The error names the part of a trace that is not a regular file.
    std::os::unix::fs::symlink(&trace, dir.path().join("parts.blktrace.0")).unwrap();
    let (name, part) = (dir.path().join("parts"), dir.path().join("parts.blktrace.1"));
    std::os::unix::fs::symlink(&pipe, &part).unwrap();
    let parts = ["replay", "sim:ssd-s", text(&name), "--sweep", "replay.limit=50,100"];
    refused(2, &parts, &[&format!("'{}' of the trace", text(&part)), "not a regular file"]);

    refused(2, &[&replay[..], &["--sweep", "replay.sped=1,2"]].concat(), &["replay.sped", "replay.speed"]);
    refused(2, &[&replay[..], &["--sweep", "replay.depth=1,2"]].concat(), &["--pace closed"]);
    let closed = [&replay[..], &["--pace", "closed", "--sweep", "replay.depth=1,0"]].concat();
    refused(1, &closed, &["replay.depth=0", "1 of 2 points"]);
}

#[test]
fn trace_of_several_files_is_swept_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let (name, out) = (dir.path().join("sda"), dir.path().join("out"));
    let event = |time_ns: u64, processor: u8| {
        let [magic, sequence, action] = [0x6561_7407_u32, 0, 1 << 16 | 7].map(u32::to_le_bytes);
        let (sector, bytes) = (u64::from(processor) * 8, 4096_u32);
        let [process, device, cpu] = [1, 8 << 20, u32::from(processor)].map(u32::to_le_bytes);
        let head =
            [&magic[..], &sequence, &time_ns.to_le_bytes(), &sector.to_le_bytes(), &bytes.to_le_bytes()];
        [&head.concat()[..], &action, &process, &device, &cpu, &[0; 4]].concat()
    };
    let write = |processor: u8, events: u64| {
        let events = (0..events).flat_map(|n| event(n * 1_000_000 + u64::from(processor), processor));
        fs::write(dir.path().join(format!("sda.blktrace.{processor}")), events.collect::<Vec<u8>>()).unwrap();
    };
    write(0, 30);
    write(1, 20);
    let sweep = ["replay", "sim:ssd-s", text(&name), "--sweep", "replay.limit=10,100", "--out", text(&out)];
    let requests = || {
        let result = json(&sweep);
        let rows = result["rows"].as_array().unwrap();
        rows.iter().map(|row| row["requests"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(requests(), [10, 50]);
    // The second file counts like the first: a change of it invalidates saved points.
    write(1, 25);
    assert_eq!(requests(), [10, 55]);
    let nothing = dir.path().join("nothing");
    refused(
        2,
        &["replay", "sim:ssd-s", text(&nothing), "--sweep", "seed=1"],
        &[text(&nothing), "cannot open"],
    );
}

#[test]
fn field_under_two_names_is_refused() {
    let both = ["'channels'", "'flash.channels'", "same field"];
    for (device, sweep) in [
        ("sim:ssd-s,flash.channels=4", &["channels=8,16"][..]),
        ("sim:ssd-s,channels=4", &["flash.channels=8,16"]),
        ("sim:ssd-s", &["channels=8,16", "flash.channels=8,16"]),
    ] {
        let sweep: Vec<&str> = sweep.iter().flat_map(|key| ["--sweep", key]).collect();
        refused(2, &[&["run", device, RUN[2]][..], &sweep].concat(), &both);
    }
}

#[test]
fn sweep_over_names_has_a_plot_of_distributions() {
    let dir = tempfile::tempdir().unwrap();
    let run = ["run", "sim:ssd-s", "random-read,requests=200", "--repeat", "2", "--out", text(dir.path())];
    let swept = |sweep: &str| {
        let ended = flashlane(&[&run[..], &["--sweep", sweep]].concat());
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        fs::read_to_string(dir.path().join("sweep-distribution.svg")).unwrap_or_default()
    };
    let plot = swept("buffer.policy=fifo,lru");
    assert!(plot.contains("fifo") && plot.contains("lru"), "{plot}");
    assert_eq!(swept("workload.depth=1,2"), "", "a sweep over numbers has lines");
}

/// Each point of the sweep opens the file of `--create` anew: another file that has come to its name is kept.
#[test]
#[allow(clippy::disallowed_methods, reason = "the file is moved in real time")]
fn sweep_keeps_a_file_moved_to_the_name_of_the_one_it_made() {
    let dir = tempfile::tempdir().unwrap();
    let (made, foreign) = (dir.path().join("made"), dir.path().join("foreign"));
    let bytes = vec![b'~'; 4 << 20];
    fs::write(&foreign, &bytes).unwrap();
    let run = ["run", text(&made), "random-write,time=600ms", "--create", "4MiB", "--allow-page-cache"];
    let sweep = ["--sweep", "workload.depth=1,2", "--repeat", "1"];
    let mut child =
        command(&[&run[..], &sweep].concat()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The first point is measured once the file changes after it was made. Looking must not open it, or it is in use.
    let look = || fs::metadata(&made).ok().filter(|made| made.len() == 4 << 20)?.modified().ok();
    let mut made_at = None;
    while made_at.is_none() || look() == made_at {
        made_at = made_at.or_else(look);
        assert_eq!(child.try_wait().unwrap(), None, "it ends before it measures");
        std::thread::yield_now();
    }
    fs::rename(&foreign, &made).unwrap();
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(fs::read(&made).unwrap() == bytes, "the other file is overwritten: {stderr}");
    assert!(stderr.contains("was replaced"), "{stderr}");
}

/// Where a buffer takes writes, their flushes wait: what counts is how many writes are durable in a time.
#[test]
fn sweep_with_flushes_compares_rates() {
    let drive = "sim:ssd-s,initial.state=full";
    let line = "random-write,size=8k,depth=4,fsync=1,requests=400,area=8MiB";
    let result = json(&["run", drive, line, "--sweep", "buffer.policy=none,lru", "--repeat", "1"]);
    assert_eq!(result["comparison"]["field"], "iops", "{}", result["comparison"]);
    for row in result["rows"].as_array().unwrap() {
        let [write, flush] = ["mean_ns", "flush_mean_ns"].map(|field| row[field].as_f64().unwrap());
        assert!(flush > 0.0 && row["flush_p99_ns"].as_f64().unwrap() >= flush / 2.0, "{write} {row}");
    }
    let compared = ["run", drive, line, "--sweep", "buffer.policy=none,lru", "--sweep-y", "flush"];
    assert_eq!(json(&compared)["comparison"]["field"], "flush_mean_ns");
    // Writes that arrive at a rate come at that rate on any drive.
    let paced = format!("{line},rate=100/s");
    let result = json(&["run", drive, &paced, "--sweep", "buffer.policy=none,lru", "--repeat", "1"]);
    assert_eq!(result["comparison"]["field"], "mean_ns");
}
