//! Features of workloads: flushes, rates, verification, preconditioning, and fio's options.

use crate::program::{done, flashlane, json, refused, text};
use serde_json::Value;
use std::fs;

const SMALL: &str = "sim:ssd-s,capacity=64MiB,flash.blocks=16";

#[test]
fn flushes_have_their_own_row() {
    let result = json(&["run", SMALL, "random-write,fsync=4,requests=100"]);
    assert_eq!((&result["requests"], &result["operations"]["flush"]["requests"]), (&100.into(), &25.into()));
    assert_eq!(result["device"]["counters"]["host_flushes"], 25);
    assert!(done(&["run", SMALL, "random-write,fsync=4,requests=100"]).contains("Flushes"));
}

/// A buffered write completes before it is on flash, a durable one after.
#[test]
fn durable_writes_take_as_long_as_flash() {
    let mean = |workload| {
        let result = json(&["run", "sim:ssd-m", workload]);
        result["latency_ns"]["mean"].as_f64().unwrap()
    };
    assert!(mean("random-write,fua,requests=200") > 2.0 * mean("random-write,requests=200"));
}

#[test]
fn missed_rate_is_reported() {
    let result = json(&["run", SMALL, "random-read,rate=10M/s,requests=5k"]);
    let codes: Vec<&str> = result["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes[0], "rate-not-kept");
    let message = result["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("from its first arrival to the end of the run, warm-up included"), "{message}");
    assert_eq!(result["offered_iops"], 1e7);
    assert!(done(&["run", SMALL, "random-read,rate=10M/s,requests=5k"]).contains("Offered"));
}

#[test]
fn verification_finds_lost_writes() {
    let workload = "sequential-write,area=64k,requests=200,verify";
    let kept = json(&["run", &format!("backed(({SMALL}))"), workload]);
    assert_eq!(kept["verified"]["read_back_bytes"], 64 << 10);
    let lossy = format!("faulty(backed(({SMALL})),lost-writes=@190)");
    let lost = flashlane(&["run", &lossy, workload]);
    assert_eq!(lost.status, 1, "{}", lost.stderr);
    assert!(lost.stderr.contains("offset") && lost.stderr.contains("superseded"), "{}", lost.stderr);
    assert!(
        lost.stdout.starts_with("Verdict: Verification failed: a unit of 4 KiB does not"),
        "{}",
        lost.stdout
    );
    assert!(!lost.stdout.contains("Partial"), "{}", lost.stdout);
    let nothing = done(&["run", &format!("backed(({SMALL}))"), "random-read,requests=2000,verify"]);
    assert!(nothing.starts_with("Verdict: Verify checked nothing"), "{nothing}");
    refused(2, &["run", SMALL, workload], &["verify", &format!("'backed(({SMALL}))'")]);
    refused(2, &["run", "sim:sdf", workload], &["verify", "erase units"]);
}

#[test]
fn preconditioning_a_real_device_requires_consent() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
    let arguments = ["run", path.to_str().unwrap(), "random-read,precondition=steady", "--allow-page-cache"];
    refused(2, &arguments, &["--destroy-data"]);
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 7));
}

#[test]
fn distributions_are_swept() {
    let sweep = ["run", SMALL, "random-read,requests=500", "--sweep", "workload.zipf=0.5,0.99,1.2"];
    let result = json(&sweep);
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(3), "{result}");
}

#[test]
fn fio_job_file_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("job.fio");
    let file = path.to_str().unwrap();
    let global = "[global]\nbs=8k\niodepth=4\nioengine=libaio\ndirect=1\ngroup_reporting\n";
    fs::write(&path, format!("{global}[reads]\nrw=randread\nsize=25%\n[writes]\nrw=write\nsize=1m\n"))
        .unwrap();
    let result = json(&["run", SMALL, file]);
    let requests: Vec<_> = result["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| (job["name"].clone(), job["requests"].clone()))
        .collect();
    assert_eq!(requests, [("reads".into(), 2048.into()), ("writes".into(), 128.into())]);
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("fio-options-left-out") && warnings.contains("group_reporting"), "{warnings}");
    let swept = json(&["run", SMALL, file, "--sweep", "workload.depth=1,2"]);
    assert_eq!(swept["rows"].as_array().map(Vec::len), Some(2), "{swept}");

    fs::write(
        &path,
        format!("{global}[fill]\nrw=write\nsize=4m\n[again]\nstonewall\nrw=randread\nsize=4m\n"),
    )
    .unwrap();
    let result = json(&["run", SMALL, file]);
    assert_eq!(result["schema"], "flashlane.runs/1");
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["requests"].as_u64().unwrap()).collect::<Vec<_>>(), [512, 512]);
    assert!(
        !result["warnings"].to_string().contains("not-written"),
        "what is read was written before: {result}"
    );
    assert!(done(&["run", SMALL, file]).contains("1: fill"));
    refused(2, &["run", SMALL, file, "--sweep", "workload.depth=1,2"], &["stonewall"]);
    assert!(!done(&["run", SMALL, file]).contains("Flush"), "there are none");
    fs::write(&path, "[fill]\nrw=write\nsize=1m\n[wal]\nstonewall\nrw=write\nbs=8k\nfsync=1\nsize=1m\n")
        .unwrap();
    assert!(done(&["run", SMALL, file]).contains("Flush"));
    fs::write(&path, "[a]\nsize=1m\nzonemode=zbd\n").unwrap();
    refused(2, &["run", SMALL, file], &[&format!("{file}:3: zonemode"), "no equivalent"]);
}

#[test]
fn fio_file_that_names_the_device_by_another_path_is_no_mismatch() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("device"), vec![0; 1 << 20]).unwrap();
    let real = dir.path().join("device").canonicalize().unwrap();
    let other = dir.path().join(".").join("device");
    for (name, is_warned) in [(real.as_path(), false), (dir.path(), true)] {
        let job = format!("[job]\nfilename={}\nrw=randread\nbs=4k\nnumber_ios=8\n", name.display());
        let path = dir.path().join("job.fio");
        fs::write(&path, job).unwrap();
        let result = json(&["run", other.to_str().unwrap(), path.to_str().unwrap(), "--allow-page-cache"]);
        let warned = result["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "fio-filename");
        assert_eq!(warned, is_warned, "{}", name.display());
    }
}

#[test]
fn fio_options_are_refused_with_a_hint() {
    refused(2, &["run", SMALL, "rw=randread,bs=4k,iodepth=32"], &["'random-read,size=4k,depth=32'"]);
}

/// A full drive takes long to prepare, so that the workload is checked on a fresh one first, which leaves the file
/// alone.
#[test]
fn full_drive_keeps_its_bytes_in_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bytes");
    let spec = format!("backed(({SMALL},initial.state=full),file={})", text(&file));
    refused(2, &["run", &spec, "random-read,size=100B"], &["100"]);
    let sweep = ["--sweep", "workload.depth=1,2"];
    refused(2, &[&["run", &spec, "random-read"][..], &sweep].concat(), &["the bytes of one drive"]);
    assert!(!file.exists(), "a refused command leaves no file");
    done(&["run", &spec, "random-read,requests=10"]);
    assert_eq!(fs::metadata(&file).unwrap().len(), 64 << 20);
}

#[test]
fn preconditioned_file_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    let workload = "random-write,size=64KiB,requests=20,precondition=steady";
    let run = ["run", text(&file), workload, "--destroy-data", "--allow-page-cache", "--format", "json"];
    let ended = flashlane(&run);
    let result: Value = serde_json::from_str(&ended.stdout).expect(&ended.stderr);
    assert_eq!((ended.status, &result["requests"]), (0, &20.into()), "{}", ended.stderr);
    assert!(result["precondition"].is_object(), "{result}");
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.chunks(4096).all(|piece| piece != [1; 4096]), "the file is filled first");
}

/// One read at a time beside many large ones: in order of arrival it waits for all of them.
#[test]
fn queues_separate_jobs_and_alone_shows_their_slowdown() {
    let slowdowns = |policy: &str| {
        let device =
            format!("sim:nvme-tlc,initial.state=full,queues.count=2,queues.slots=8,queues.policy={policy}");
        let workload = "random-read,requests=2k + random-read,size=128KiB,depth=64,queue=1";
        let result = json(&["run", &device, workload, "--alone"]);
        let of = |at: usize| result["jobs"][at]["alone"]["slowdown"].as_f64().unwrap();
        assert!((result["fairness"].as_f64().unwrap() - of(1).min(of(0)) / of(1).max(of(0))).abs() < 1e-12);
        [of(0), of(1)]
    };
    let (arrival, turns) = (slowdowns("arrival"), slowdowns("round-robin"));
    assert!(arrival[0] > 5.0 * turns[0], "{arrival:?} {turns:?}");
    assert!(turns[1] < 1.2 && arrival[1] < 1.2, "the other job hardly notices: {arrival:?} {turns:?}");
    let queued = "sim:ssd-s,queues.count=2";
    let two = "random-read + random-write";
    refused(2, &["run", queued, two, "--alone", "--repeat", "2"], &["--alone", "--repeat"]);
    refused(2, &["run", SMALL, "random-read,queue=1"], &["queue is 1", "the device has one queue"]);
    refused(2, &["run", queued, "random-read,queue=2"], &["queue is 2", "0 to 1"]);
    refused(2, &["run", queued, "random-read,queue=each"], &["needs jobs=N"]);
    refused(2, &["run", queued, "random-read", "--alone"], &["two or more"]);
    refused(2, &["run", queued, "random-read,turns=1 + random-write,turns=1", "--alone"], &["'turns'"]);
}

/// A run that ends at a confidence is that of as many requests, and so is each of its jobs alone.
#[test]
fn job_alone_has_as_many_requests_as_in_the_run() {
    let drive = "sim:ssd-m,initial.state=full";
    let to_confidence = json(&["run", drive, "random-read,confidence=5% + random-write", "--alone"]);
    let counted = format!("random-read,requests={} + random-write", to_confidence["requests"]);
    assert_eq!(json(&["run", drive, &counted, "--alone"])["jobs"], to_confidence["jobs"]);
}
