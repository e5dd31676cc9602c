//! Invalid input: each refusal names the value given and the allowed ones, with status 2, and prints no result.

use crate::program::{done, refused, text};
use std::fs;

fn unusable(arguments: &[&str], parts: &[&str]) {
    let ended = refused(2, arguments, parts);
    assert_eq!(ended.stdout, "", "{arguments:?} printed something");
}

#[test]
fn devices() {
    for (device, parts) in [
        ("sim:ssd-z", &["'ssd-z'", "ssd-s, ssd-m"][..]),
        ("sim:sssd-m", &["'sssd-m'", "did you mean 'ssd-m'?"]),
        ("ssd-s", &["'ssd-s' does not exist", "'sim:ssd-s'"]),
        ("ssd_m,channels=4", &["'sim:ssd-m,channels=4'"]),
        ("nowhere", &["'nowhere' does not exist", "flashlane profile list"]),
        ("/no/such/thing", &["'/no/such/thing' does not exist", "--create"]),
        ("/dev/null", &["/dev/null", "a block device or a regular file is needed"]),
        ("sim:", &["character 5", "profile"]),
        ("sim:ssd-s,channels", &["KEY=VALUE"]),
        ("sim:ssd-s#3", &["no lane 3", "lane 0 only"]),
        ("sim:sdf#44", &["lane 44 does not exist", "lanes 0 to 43"]),
        ("sim:sdf,cleaning.low=5%", &["cleaning", "beside [lanes]"]),
        ("faulty(sim:ssd-s", &["')'"]),
        ("fault(sim:ssd-s)", &["'fault'", "backed, faulty"]),
        ("faulty(sim:ssd-s,read-errors=3)", &["'read-errors=3'", "'1%'"]),
        ("sim:no-such-file.toml", &["cannot read", "'no-such-file.toml'"]),
    ] {
        unusable(&["run", device, "random-read"], parts);
        if device != "ssd_m,channels=4" {
            unusable(&["probe", device], parts);
        }
    }
}

#[test]
fn fio_style_workloads_are_refused_with_hints() {
    for (words, parts) in [
        (&["rw=randread", "bs=4k", "iodepth=32"][..], &["commas", "'random-read,size=4k,depth=32'"][..]),
        (&["random-read", "depth=4"], &["'random-read,depth=4'"]),
        (
            &["random-read", "--depth=4"],
            &["'depth' is a key of the workload", "random-read,size=4k,depth=32"],
        ),
        (&["--rw=randread"], &["fio's rw=randread is 'random-read' here"]),
        (&["random-read,size=4kb"], &["4000 B", "did you mean 4 KiB?"]),
        (&["random-read,zipf=-1"], &["zipf", "above 0"]),
        (&["random-read", "--repeat=3"], &["add --sweep KEY=VALUES", "'--sweep workload.depth=4'"]),
    ] {
        unusable(&[&["run", "sim:ssd-s"], words].concat(), parts);
    }
    let ended = refused(2, &["replay", "sim:ssd-s", "x.trace", "--quick"], &["'--quick'"]);
    assert!(!ended.stderr.contains("-- --quick"), "{}", ended.stderr);
    unusable(
        &["run", "backed(sim:ssd-s,capacity=1GiB)", "random-read"],
        &["'capacity' is a setting of the drive below", "'backed((sim:NAME,capacity=…))'"],
    );
}

/// The refusal comes before filling the drive or creating the file: both are too large for a test.
#[test]
fn oversized_workload_is_refused_before_preparation() {
    let large = "sim:nvme-tlc,mapping.allocation=random,initial.state=full";
    for (workload, part) in [
        ("random-read,size=4kb", "size is 4000 B"),
        ("random-read,size=1000B", "size is 1000 B"),
        ("random-read,area=2TiB", "area is 2 TiB"),
    ] {
        unusable(&["run", large, workload], &[part, large]);
        unusable(&["run", &format!("backed(({large}))"), &format!("{workload},verify")], &[part]);
        refused(
            1,
            &["run", large, "random-read", "--sweep", &format!("workload.{}", &workload[12..])],
            &[part],
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    unusable(&["run", text(&file), "random-write,area=2PiB", "--create", "1PiB"], &["area is 2 PiB"]);
    assert!(!file.exists());
}

#[test]
fn report_refuses_a_device_file() {
    unusable(&["report", "/dev/zero"], &["/dev/zero", "neither a regular file"]);
}

#[test]
fn impossible_drives() {
    for (settings, parts) in [
        ("mapping.chunk=512KiB", &["mapping.chunk", "512 KiB", "larger than an erase block", "256 KiB"][..]),
        ("flash.blocks=6000", &["flash.blocks", "spare blocks", "more blocks"]),
        ("channels=0", &["flash.channels", "it is 0", "1 to 1024"]),
        ("flash.read=25", &["flash.read", "'25'", "unit"]),
        ("chanels=4", &["did you mean 'channels'?"]),
        ("initial.state=ful", &["initial.state", "'ful'", "did you mean 'full'?", "fresh, full, fragmented"]),
        ("channels=four", &["flash.channels", "'four'", "whole number"]),
        ("capacity=1EiB", &["field capacity", "1 EiB"]),
        ("flash.pages=0", &["field flash.pages", "it is 0"]),
        ("capacity=40bananas", &["capacity", "'bananas' is no unit"]),
        ("flash.colour=red", &["colour"]),
        ("cleaning.policy=gredy", &["cleaning.policy", "gredy", "greedy"]),
    ] {
        unusable(&["run", &format!("sim:ssd-s,{settings}"), "random-read"], parts);
    }
}

#[test]
fn profile_errors_name_file_line_and_field() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.toml");
    let good = done(&["profile", "show", "ssd-s"]);
    for (from, to, parts) in [
        ("read = \"25us\"", "read = 25", &["flash.read", "unit", "\"25us\""][..]),
        ("read = \"25us\"", "read = \"25 bananas\"", &["flash.read", "'bananas'", "'25us'"]),
        ("chunk = \"4KiB\"", "chunk = \"512KiB\"", &["mapping.chunk", "larger than an erase block"]),
        ("channels = 10", "channels = 0", &["flash.channels", "it is 0"]),
        ("channels = 10", "chanels = 10", &["chanels"]),
        ("[flash]", "[flash", &[]),
    ] {
        let line = good.lines().position(|line| line == from).unwrap() + 1;
        fs::write(&file, good.replace(from, to)).unwrap();
        let place = format!("profile {}, line {line}", file.display());
        let parts = [&[place.as_str()][..], parts].concat();
        unusable(&["profile", "check", text(&file)], &parts);
        unusable(&["run", &format!("sim:{}", file.display()), "random-read"], &parts);
    }
    fs::write(&file, &good).unwrap();
    assert!(done(&["profile", "check", text(&file)]).contains("good: 29.8 GiB over 20 dies"));
    let with = |settings: &str| format!("{},{settings}", text(&file));
    let wider = done(&["profile", "check", &with("flash.channels=20,flash.dies=1")]);
    assert!(wider.contains("on 20 channels"), "{wider}");
    let more = done(&["profile", "check", &with("flash.channels=20")]);
    assert!(more.contains("settings changed the flash and left the capacity"), "{more}");
    unusable(&["profile", "check", &with("flash.channels=0")], &["flash.channels", "it is 0"]);
    unusable(&["profile", "check", &with("flash.channels")], &["flash.channels"]);
}

#[test]
fn workloads() {
    for (workload, parts) in [
        ("randm-read", &["'randm-read'", "did you mean 'random-read'?"][..]),
        ("random-read,size=4096", &["size", "'4096'", "unit is missing", "'4k'"]),
        ("random-read,size=4x", &["'x' is no unit"]),
        ("random-read,siez=4k", &["'siez'", "did you mean 'size'?"]),
        ("random-read,depth=0", &["depth", "at least 1"]),
        ("random-read,time=30", &["time", "unit is missing"]),
        ("random-read,area=64GiB", &["area is 64 GiB from 0 B", "within the device's 32 GB"]),
        ("random-read,offset=30GiB", &["offset is 30 GiB; allowed: offsets within the device's 32 GB"]),
        ("random-read,size=100GiB", &["size is 100 GiB; allowed: at most the device's 32 GB"]),
        ("random-read,offset=29GiB,area=1GiB", &["area is 1 GiB from 29 GiB"]),
        ("random-read,size=1000B", &["size is 1000 B", "; allowed: multiples of 512 B"]),
        ("no-such-job.toml", &["cannot read the job file 'no-such-job.toml'"]),
    ] {
        unusable(&["run", "sim:ssd-s", workload], parts);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, [0; 1 << 16]).unwrap();
    let deep = ["run", text(file.path()), "random-read,depth=4097", "--allow-page-cache"];
    unusable(&deep, &["depth 4097", "1 to 4096 requests"]);
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new");
    let deep = ["run", text(&new), "random-read,depth=4097", "--create", "1MiB", "--allow-page-cache"];
    unusable(&deep, &["depth 4097", "1 to 4096 requests"]);
    assert!(!new.exists(), "the file of a refused run is made");
}

#[test]
fn job_file_errors_name_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job.toml");
    fs::write(&file, "requests = \"1k\"\n\n[[job]]\npattern = \"random-read\"\nsize = 4096\n").unwrap();
    let place = format!("{}:5", file.display());
    unusable(&["run", "sim:ssd-s", text(&file)], &[&place, "size", "unit is missing"]);
}

#[test]
fn options() {
    unusable(&["run", "sim:ssd-s", "random-read", "--seed", "-1"], &["--seed"]);
    unusable(&["run", "sim:ssd-s", "random-read", "--seed=many"], &["'many'", "whole number"]);
    unusable(&["run", "sim:ssd-s", "random-read", "--quick", "--full"], &["--quick", "--full"]);
    unusable(&["run", "sim:ssd-s", "random-read", "--format", "xml"], &["xml", "text, json, csv"]);
    unusable(&["run", "sim:ssd-s", "random-read", "--create", "1MiB"], &["--create", "has none"]);
    unusable(&["run", "./x", "random-read", "--create", "4096"], &["'4096'", "unit is missing"]);
    unusable(&["run", "sim:ssd-s", "random-read", "--really", "x"], &["--destroy-data"]);
    unusable(&["run", "sim:ssd-s"], &["WORKLOAD"]);
    unusable(&["probe", "--score", "0"], &["--score", "at least 1"]);
    unusable(&["probe", "--score", "3", "sim:ssd-s"], &["--score", "DEVICE"]);
    unusable(&["probe", "sim:ssd-s", "--page", "5000B"], &["--page", "multiples of 512 B, up to 4 MiB"]);
    unusable(&["probe", "sim:ssd-s", "--page", "100MiB"], &["--page 100 MiB", "up to 4 MiB"]);
    unusable(&["probe", "sim:ssd-s", "--p99", "1"], &["--p99", "unit"]);
    unusable(&["probe", "sim:ssd-s", "--p99", "0us"], &["--p99", "a time above 0"]);
    unusable(&["advise", "fio", "sim:ssd-s", "--p99", "1ms"], &["'--p99'", "flashlane probe DEVICE --page"]);
    unusable(
        &["store", "put", "./nosuch", "a", "--value", "b"],
        &["'./nosuch' does not exist", "store create"],
    );
    unusable(&["prob", "sim:ssd-s"], &["'prob'", "'probe'"]);
    unusable(&["sdf", "get", "lanes(./f)", "abc"], &["'abc'", "allowed: a whole number", "sdf ls"]);
    unusable(&["store", "serve", "lanes(./f)", "--listen", "foo"], &["'foo'", "like 127.0.0.1:6379"]);
    for action in ["ls", "status", "fsck", "bench"] {
        unusable(&["sdf", action, "sim:ssd-s"], &["'sim:ssd-s' has no erase units"]);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = format!("{}/results", file.path().display());
    unusable(&["run", "sim:ssd-s", "random-read", "--out", &below], &["cannot create", &below]);
}

#[test]
fn results_to_report() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("result.json");
    unusable(&["report", text(dir.path())], &["result.json", "cannot read"]);
    fs::write(&file, "{").unwrap();
    unusable(&["report", text(&file)], &["result.json", "line 1"]);
    fs::write(&file, "{\"schema\": \"flashlane.run/9\"}").unwrap();
    unusable(&["report", text(&file)], &["flashlane.run/9", "flashlane.run/1"]);
    fs::write(&file, "{\"schema\": \"flashlane.run/1\"}").unwrap();
    unusable(&["report", text(&file)], &["result.json", "its field device is missing"]);
    let run = dir.path().join("run");
    done(&["run", "sim:ssd-s", "random-read,requests=100", "--out", text(&run)]);
    fs::write(run.join("samples.parquet"), "no samples").unwrap();
    let page = dir.path().join("page");
    unusable(&["report", text(&run), "--out", text(&page)], &["samples.parquet", "cannot read"]);
}

#[test]
fn studies() {
    unusable(&["study", "chen12"], &["'chen12'", "chen11"]);
    unusable(&["study", "chen11/fig33"], &["'fig33'", "fig2, fig3"]);
    unusable(&["study", "ruan12", "--traces", "/no/such/folder"], &["--traces", "/no/such/folder"]);
    unusable(&["study", "chen11/"], &["no figure ''", "fig2, fig3"]);
}

#[test]
fn profiles() {
    unusable(&["profile", "show", "msr32g"], &["did you mean 'msr-32g'?"]);
    unusable(&["profile", "check", "no-such.toml"], &["'no-such.toml'"]);
}

#[test]
fn endless_files_and_excessive_pauses_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let endless = folder.path().join("endless.toml");
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    let endless = endless.to_str().unwrap();
    refused(2, &["probe", &format!("sim:{endless}")], &["endless.toml", "not a regular file"]);
    refused(2, &["run", "sim:ssd-s", endless], &["endless.toml", "larger than 1 MiB"]);
    refused(2, &["run", "sim:ssd-s", "random-read,think=2500000h"], &["think", "2500000h", "24h"]);
}

#[test]
fn measurements_of_another_kind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("measurements");
    let twin = dir.path().join("twin.toml");
    for (bytes, parts) in [
        (&b"PAR1\xff\xfe\0"[..], &["measurements: it is no text"][..]),
        (b"{\"schema\": \"flashlane.run/1\"}", &["schema", "'flashlane.run/1'", "a probe's result.json"]),
        (b"workload,quantity,value\n", &["it has no measurements"]),
        (
            b"workload,quantity,value\nrandom-read,mean,1us\nrandom-read,p99,10s\n",
            &["cannot both be", "100000 times as long", "remove the wrong ones"],
        ),
    ] {
        fs::write(&path, bytes).unwrap();
        unusable(&["calibrate", text(&path), "--out", text(&twin)], parts);
        assert!(!twin.exists());
    }
}
