//! Snapshots of help texts and refusals, in `snapshots/`. After intended changes,
//! `INSTA_UPDATE=always cargo test -p flashlane --test cli snapshots` rewrites them.

use crate::program::{command, done};
use crate::transactions::pages;
use std::fmt::Write;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["probe"],
    &["uflip"],
    &["uflip", "export"],
    &["uflip", "import"],
    &["run"],
    &["replay"],
    &["transactions"],
    &["advise"],
    &["advise", "postgresql"],
    &["advise", "rocksdb"],
    &["advise", "fio"],
    &["advise", "plan"],
    &["sdf"],
    &["sdf", "format"],
    &["sdf", "status"],
    &["sdf", "put"],
    &["sdf", "get"],
    &["sdf", "ls"],
    &["sdf", "rm"],
    &["sdf", "fsck"],
    &["sdf", "bench"],
    &["store"],
    &["store", "create"],
    &["store", "put"],
    &["store", "get"],
    &["store", "rm"],
    &["store", "scan"],
    &["store", "import"],
    &["store", "table"],
    &["store", "table", "create"],
    &["store", "table", "drop"],
    &["store", "table", "ls"],
    &["store", "table", "describe"],
    &["store", "table", "add-column"],
    &["store", "table", "insert"],
    &["store", "table", "get"],
    &["store", "table", "rm"],
    &["store", "table", "scan"],
    &["store", "table", "import"],
    &["store", "file"],
    &["store", "file", "put"],
    &["store", "file", "get"],
    &["store", "file", "cat"],
    &["store", "file", "ls"],
    &["store", "file", "stat"],
    &["store", "file", "mkdir"],
    &["store", "file", "mv"],
    &["store", "file", "rm"],
    &["store", "file", "truncate"],
    &["store", "file", "mount"],
    &["store", "file", "fsck"],
    &["store", "serve"],
    &["store", "bench"],
    &["store", "stat"],
    &["serve"],
    &["serve", "nbd"],
    &["serve", "fuse"],
    &["calibrate"],
    &["study"],
    &["trace"],
    &["trace", "info"],
    &["trace", "convert"],
    &["trace", "record"],
    &["trace", "excerpt"],
    &["profile"],
    &["profile", "list"],
    &["profile", "show"],
    &["profile", "check"],
    &["report"],
    &["completions"],
    &["man"],
];

#[test]
fn help() {
    for command in COMMANDS {
        let name = if command.is_empty() { "flashlane".to_owned() } else { command.join("-") };
        insta::assert_snapshot!(format!("help-{name}"), done(&[*command, &["--help"][..]].concat()));
    }
}

/// Devices, each given to `run` with a workload that only reads.
const DEVICES: &[&str] = &[
    "sim:ssd-z",
    "sim:sssd-m",
    "ssd-s",
    "ssd_m,channels=4",
    "nowhere",
    "/no/such/thing",
    "/dev/null",
    "sim:",
    "sim:ssd-s,channels",
    "sim:ssd-s#x",
    "sim:ssd-s#3",
    "sim:sdf#44",
    "sim:sdf,cleaning.low=5%",
    "sim:ssd-s,channels=0",
    "sim:ssd-s,chanels=4",
    "sim:ssd-s,flash.read=25",
    "sim:no-such-file.toml",
    "faulty(sim:ssd-s",
    "fault(sim:ssd-s)",
    "faulty(sim:ssd-s,read-errors=3)",
    "faulty(sim:ssd-s,torn-writes=1%)",
    "backed(backed(sim:ssd-s))",
    "backed(sim:ssd-s,capacity=1GiB)",
    "lanes(./file)",
    "lanes(./file,channels=many)",
    "lanes(./file,format=perhaps)",
    "lanes(sim:ssd-s)",
    "zoned(./file)",
    "zoned(sim:ssd-s)",
    "zoned(./file,channels=3)",
];

/// Commands in a folder with one file of 1 MiB and one with a signature.
const REFUSED: &[&[&str]] = &[
    &["run", "sim:ssd-s"],
    &["run", "sim:ssd-s", "randm-read"],
    &["run", "sim:ssd-s", "random-read,size=4096"],
    &["run", "sim:ssd-s", "random-read,siez=4k"],
    &["run", "sim:ssd-s", "random-read,area=64GiB"],
    &["run", "sim:ssd-s", "random-read,verify"],
    &["run", "sim:ssd-s", "random-read", "depth=4"],
    &["run", "sim:ssd-s", "--depth=4"],
    &["run", "sim:ssd-s", "--rw=randread"],
    &["run", "sim:ssd-s", "no-such-job.toml"],
    &["run", "sim:ssd-s", "random-read", "--create", "1MiB"],
    &["run", "sim:ssd-s", "random-read", "--really", "x"],
    &["run", "sim:ssd-s", "random-read", "--quick", "--full"],
    &["run", "sim:ssd-s", "random-read", "--seed", "many"],
    &["run", "sim:ssd-s", "random-read", "--sweep", "channels"],
    &["run", "sim:ssd-s", "random-read", "--sweep", "replay.depth=1,2"],
    &["run", "sim:ssd-s", "random-read", "--sweep", "channels=1,2", "--sweep", "channels=1,2"],
    &["run", "sim:ssd-s", "random-read", "--sweep", "seed=1,2", "--repeat", "3"],
    &["run", "./file", "random-read", "--sweep", "channels=1,2"],
    &["run", "./file", "random-write"],
    &["run", "./file", "random-write", "--create", "1MiB"],
    &["run", "./file", "random-write", "--destroy-data", "--really", "./luks", "--allow-page-cache"],
    &["run", "./luks", "random-write", "--destroy-data", "--allow-page-cache"],
    &["run", "./missing", "random-write"],
    &["run", "./new", "random-write,area=2PiB", "--create", "1PiB"],
    &["calibrate", "drive.csv", "--start", "nvme-tl", "--out", "twin.toml"],
    &["calibrate", "drive.csv", "--start", "sdf", "--out", "twin.toml"],
    &["calibrate", "drive.csv", "--out", "drive.csv"],
    &["calibrate", "unitless.csv", "--out", "twin.toml"],
    &["calibrate", "contradictory.csv", "--out", "twin.toml"],
    &["calibrate", "file", "--out", "twin.toml"],
    &["probe", "sim:sdf"],
    &["probe", "lanes(./file)"],
    &["probe", "sim:ssd-s", "--page", "5000B"],
    &["probe", "--score", "0"],
    &["uflip", "sim:sdf"],
    &["uflip", "sim:ssd-s", "--only", "speed"],
    &["uflip", "export", "."],
    &["replay", "sim:ssd-s", "missing.csv"],
    &["replay", "sim:ssd-s", "-", "--speed", "2", "--pace", "closed"],
    &["replay", "sim:ssd-s", "-", "--depth", "2"],
    &["replay", "sim:ssd-s", "-", "--sweep", "replay.depth=1,2"],
    &["transactions", "sim:ssd-s", "missing.pages"],
    &["transactions", "sim:ssd-s", "./file"],
    &["transactions", "sim:ssd-s", "-"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--warmup", "100%"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--clients", "0"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--pool", "2", "--warmup", "1"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--buffer", "mru"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--buffer", "cflru-e,window"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--lock-wait", "0s"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--speed", "2"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--pace", "open", "--speed", "0"],
    &["transactions", "sim:sdf", "tiny.pages"],
    &["transactions", "sim:ssd-s,capacity=64MiB,flash.blocks=16", "tiny.pages"],
    &["transactions", "./file", "tiny.pages"],
    &["transactions", "sim:ssd-s", "cut.pages"],
    &["transactions", "sim:ssd-s", "tiny.pages", "--sweep", "workload.depth=1,2"],
    &["trace", "info", "tiny.pages"],
    &["sdf", "status", "sim:sdf"],
    &["sdf", "status", "./file"],
    &["sdf", "status", "lanes(./file)"],
    &["sdf", "status", "lanes(./file,format=yes)"],
    &["sdf", "status", "lanes(./file,repair=yes)"],
    &["sdf", "format", "lanes(./file)"],
    &["sdf", "format", "sim:ssd-s"],
    &["sdf", "bench", "lanes(./file)"],
    &["sdf", "get", "sim:sdf", "x"],
    &["store", "stat", "sim:sdf"],
    &["store", "get", "./file", "key"],
    &["store", "get", "lanes(./file)", "key"],
    &["store", "get", "lanes(./missing)", "key"],
    &["store", "get", "lanes(./file,format=yes)", "key", "--log", "./luks"],
    &["store", "get", "lanes(/dev/null)", "key"],
    &["store", "get", "lanes(./file)", "key", "--log", "./file"],
    &["store", "get", "lanes(./file)", "key", "--log", "backed(sim:ssd-s)"],
    &["store", "put", "lanes(./file)", "key"],
    &["store", "put", "lanes(./file)", "key", "missing"],
    &["store", "rm", "lanes(./file)", "key", "key"],
    &["store", "scan", "lanes(./file)", "--limit", "0"],
    &["store", "import", "lanes(./file)", "missing.tsv"],
    &["store", "table", "create", "lanes(./file)", "people", "id:number", "--key", "id"],
    &["store", "table", "create", "lanes(./file)", "people", "id:integer?", "--key", "id"],
    &["store", "table", "create", "lanes(./file)", "people", "id:integer", "--key", "name"],
    &["store", "table", "scan", "lanes(./missing)", "people"],
    &["store", "table", "import", "lanes(./file)", "people", "missing.csv"],
    &["store", "file", "put", "lanes(./file)", "/path"],
    &["store", "file", "put", "lanes(./file)", "/path", "missing"],
    &["store", "file", "ls", "lanes(./missing)"],
    &["store", "create", "lanes(./file)"],
    &["store", "create", "lanes(./new)", "--create", "1MiB", "--slices", "0"],
    &["store", "create", "lanes(./new,unit=64KiB,channels=1)", "--create", "1MiB"],
    &[
        "store",
        "create",
        "lanes(./new,unit=16KiB,read-unit=4KiB,channels=1)",
        "--create",
        "1MiB",
        "--split",
        "b",
        "--split",
        "a",
    ],
    &[
        "store",
        "create",
        "lanes(./new,unit=16KiB,read-unit=4KiB,channels=1)",
        "--create",
        "1MiB",
        "--log-size",
        "4KiB",
    ],
    &[
        "store",
        "create",
        "lanes(./new,unit=16KiB,read-unit=4KiB,channels=1)",
        "--create",
        "1MiB",
        "--log",
        "./luks",
    ],
    &[
        "store",
        "create",
        "lanes(./new,unit=16KiB,read-unit=4KiB,channels=1)",
        "--create",
        "1MiB",
        "--log",
        "sim:sdf",
    ],
    &[
        "store",
        "create",
        "lanes(./file,unit=16KiB,read-unit=4KiB,channels=1)",
        "--destroy-data",
        "--log",
        "./luks",
    ],
    &["serve", "nbd", "sim:ssd-s"],
    &["serve", "nbd", "sim:ssd-s,capacity=64MiB", "--socket", "./file"],
    &["serve", "nbd", "sim:ssd-s,capacity=64MiB", "--socket", "./s", "--slowdown", "0"],
    &["serve", "nbd", "sim:ssd-s", "--listen", "0.0.0.0:10809", "--memory", "1GiB"],
    &["serve", "nbd", "sim:sdf", "--socket", "./s"],
    &["serve", "nbd", "./file", "--socket", "./s"],
    &["serve", "nbd", "./luks", "--socket", "./s", "--destroy-data"],
    &["serve", "nbd", "./file", "--socket", "./s", "--read-only", "--memory", "1GiB"],
    &["serve", "fuse", "sim:ssd-s,capacity=64MiB"],
    &["serve", "fuse", "sim:ssd-s,capacity=64MiB", "./file"],
    &["serve", "fuse", "sim:sdf", "."],
    &["study", "chen12"],
    &["study", "chen11/fig33"],
    &["study", "disksim", "--traces", "/no/such/folder"],
    &["trace", "info", "missing.csv"],
    &["trace", "info", "./file"],
    &["trace", "convert", "missing.csv", "out.xyz"],
    &["trace", "record", "./file", "out.csv"],
    &["trace", "record", "--postgres", "./file", "--out", "x.pages.xz"],
    &["trace", "record", "--postgres", "./file", "--database", "x", "--out", "x.msr.xz"],
    &["trace", "record", "--postgres", "./file", "--database", "x", "--out", "x.pages.xz", "--to", "msr"],
    &["trace", "record", "--postgres", "./missing", "--database", "x", "--out", "x.pages.xz"],
    &["trace", "record", "--postgres", "./file", "--database", "x", "--out", "x.pages.xz"],
    &["trace", "record", "/dev/null", "--check-log", "--out", "x.pages.xz"],
    &["trace", "excerpt", "./file", "out.pages.xz", "--transactions", "10"],
    &["profile", "show", "msr32g"],
    &["profile", "check", "missing.toml"],
    &["report", "."],
    &["prob", "sim:ssd-s"],
    &["run", "sim:ssd-s", "random-read", "--out", "./file"],
];

#[test]
fn refusals() {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("file"), vec![0x5a; 1 << 20]).expect("it is ours");
    let mut luks = vec![0x5a; 1 << 20];
    luks[..6].copy_from_slice(b"LUKS\xba\xbe");
    std::fs::write(folder.path().join("luks"), luks).expect("it is ours");
    let tiny = pages(10, 20);
    std::fs::write(folder.path().join("tiny.pages"), &tiny).expect("it is ours");
    std::fs::write(folder.path().join("cut.pages"), &tiny[..tiny.len() - 20]).expect("it is ours");
    for (name, rows) in [
        ("drive.csv", "random-read,p50,52us\n"),
        ("unitless.csv", "random-read,p50,52us\nrandom-read,p99,60\n"),
        ("contradictory.csv", "random-read,p50,52us\nrandom-read,p99,40us\n"),
    ] {
        let text = format!("workload,quantity,value\n{rows}");
        std::fs::write(folder.path().join(name), text).expect("it is ours");
    }
    // The file system of the folder may lack direct I/O.
    let of_device = |device: &&'static str| vec!["run", *device, "random-read", "--allow-page-cache"];
    let all = DEVICES.iter().map(of_device).chain(REFUSED.iter().map(|words| words.to_vec()));
    let mut shown = String::new();
    for words in all {
        let output = command(&words).current_dir(folder.path()).output().expect("the program can be started");
        let said = String::from_utf8(output.stderr).expect("standard error is text");
        assert!(output.stdout.is_empty(), "{words:?} printed something");
        // The path of the folder differs between runs.
        let real = folder.path().canonicalize().expect("it is there");
        let said = said.replace(real.to_str().expect("temporary paths are plain"), "FOLDER");
        let said = hidden(&said);
        let _ = writeln!(
            shown,
            "$ flashlane {}\n[{}] {said}",
            words.join(" "),
            output.status.code().unwrap_or(-1)
        );
    }
    insta::assert_snapshot!("refusals", shown);
}

/// Hides drive model, file system and other properties of the machine in parentheses.
fn hidden(said: &str) -> String {
    let Some((before, rest)) = said.split_once(" (file, ") else { return said.to_owned() };
    let Some((_, after)) = rest.split_once(')') else { return said.to_owned() };
    format!("{before} (file, …){after}")
}
