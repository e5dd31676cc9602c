//! Blocks on software-defined flash, in a file divided into lanes.

use crate::endings::mounted;
use crate::program::{command, done, flashlane, json, refused, text};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A file with lanes of 64 KiB units, formatted for blocks, and its spec.
struct Flash {
    dir: tempfile::TempDir,
    spec: String,
}

impl Flash {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("flash");
        let spec = format!("lanes({},channels=4,unit=64KiB,read-unit=4KiB)", file.display());
        done(&["sdf", "format", &spec, "--create", "4MiB", "--allow-page-cache"]);
        Self { dir, spec }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn sdf(&self, action: &str, more: &[&str]) -> String {
        done(&[&["sdf", action, &self.spec], more].concat())
    }

    fn ids(&self) -> Vec<u64> {
        let list = json(&["sdf", "ls", &self.spec]);
        list["blocks"].as_array().unwrap().iter().map(|block| block["id"].as_u64().unwrap()).collect()
    }

    fn block(&self, id: u64) -> Vec<u8> {
        let output = command(&["sdf", "get", &self.spec, &id.to_string()]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }
}

#[test]
fn get_returns_put_data_until_rm() {
    let flash = Flash::new();
    let (first, second) = (vec![1; 10_000], vec![2; 40_000]);
    let (a, b) = (flash.file("a", &first), flash.file("b", &second));
    assert_eq!(flash.sdf("put", &[text(&a), text(&b)]), "0\n1\n");
    assert_eq!(flash.sdf("put", &[text(&a), "--id", "17"]), "17\n");
    assert_eq!((flash.block(0), flash.block(1), flash.block(17)), (first.clone(), second, first));
    assert_eq!(flash.sdf("get", &["0", "--offset", "9999"]), "\u{1}");
    flash.sdf("rm", &["0", "17"]);
    assert_eq!(flash.ids(), [1]);
    // No id is reused, not even the highest after its deletion.
    assert_eq!(flash.sdf("put", &[text(&a)]), "18\n");
    let status = json(&["sdf", "status", &flash.spec]);
    assert_eq!((&status["schema"], &status["blocks"]), (&"flashlane.sdf/1".into(), &2.into()));
    let checked = json(&["sdf", "fsck", &flash.spec]);
    assert_eq!((&checked["blocks_checked"], &checked["unreadable"]), (&2.into(), &Value::Array(vec![])));
    assert_eq!(flash.sdf("fsck", &["--format", "csv"]), "id,lane,unit,reason\r\n");
    let out = flash.dir.path().join("out");
    flash.sdf("get", &["1", "--output", text(&out)]);
    assert_eq!(fs::read(&out).unwrap(), vec![2; 40_000]);
    refused(
        2,
        &["sdf", "get", &flash.spec, "1", "--output", text(&out)],
        &["cannot create", "exists already, and is not replaced"],
    );
    let dashed = ["sdf", "get", &flash.spec, "1", "--output", "-"];
    let dashed = command(&dashed).current_dir(flash.dir.path()).output().unwrap();
    assert_eq!((dashed.status.code(), dashed.stderr), (Some(0), vec![]));
    assert!(dashed.stdout == [2; 40_000], "the block's bytes and nothing else");
    assert!(!flash.dir.path().join("-").exists(), "a file has the name of standard output");
}

#[test]
fn invalid_sdf_commands_are_refused_without_changes() {
    let flash = Flash::new();
    let (small, large) = (flash.file("small", &[1; 100]), flash.file("large", &[1; 70_000]));
    flash.sdf("put", &[text(&small)]);
    let s = flash.spec.as_str();
    refused(1, &["sdf", "put", s, text(&small), "--id", "0"], &["block 0 is there already"]);
    refused(2, &["sdf", "put", s, "-", "-"], &["standard input (-) can be stored only once"]);
    refused(2, &["sdf", "put", s, text(&large)], &["longer than a block", "56 KiB"]);
    refused(1, &["sdf", "get", s, "7"], &["no block 7"]);
    refused(1, &["sdf", "get", s, "0", "--offset", "101"], &["block 0", "has 100 B"]);
    refused(1, &["sdf", "rm", s, "7"], &["no block 7"]);
    refused(2, &["sdf", "format", s], &["would overwrite", "--destroy-data"]);
    let anew = s.replace(')', ",format=yes)");
    for action in [&["put", &anew, text(&small)][..], &["rm", &anew, "0"], &["ls", &anew]] {
        refused(2, &[&["sdf"], action].concat(), &["format=yes", "sdf format"]);
    }
    refused(2, &["sdf", "bench", "sim:sdf", "--get-bytes", "0"], &["--get-bytes", "at least 1 byte"]);
    let many = ["sdf", "bench", "sim:sdf-tlc", "--blocks", "21000", "--in-flight", "21000"];
    refused(2, &many, &["3.86 TiB of memory", "--in-flight"]);
    let most = "18446744073709551615";
    refused(2, &["sdf", "put", s, text(&small), "--id", most], &["no block", most]);
    let plain = flash.file("plain", &[0; 1 << 20]);
    refused(2, &["sdf", "status", text(&plain)], &["no erase units", "lanes(DEVICE)"]);
    refused(2, &["sdf", "put", "sim:sdf", text(&small)], &["keeps nothing between commands", "sdf bench"]);
    refused(2, &["sdf", "status", "sim:ssd-s"], &["no erase units"]);
    for command in ["probe", "uflip"] {
        refused(2, &[command, "sim:sdf"], &["erase units", "sdf bench"]);
        refused(2, &[command, &anew, "--destroy-data"], &["erase units", "sdf bench"]);
    }
    assert_eq!(flash.ids(), [0]);
}

/// A real device that cannot hold blocks, or not of the requested size, is unchanged.
#[test]
fn unsuitable_device_is_not_divided() {
    let flash = Flash::new();
    flash.sdf("put", &[text(&flash.file("a", &[7; 50_000]))]);
    let (divided, fresh) = (flash.dir.path().join("flash"), flash.file("fresh", &[0xa5; 1 << 20]));
    let few = &["erase units, and at least 5 are needed"][..];
    for path in [&divided, &fresh] {
        let (before, file) = (fs::read(path).unwrap(), text(path));
        // Four units and a remainder.
        let unit = format!("{}KiB", before.len() / 1024 / 4 - 8);
        for (spec, more, parts) in [
            (format!("lanes({file},channels=4,unit={unit},format=yes)"), "1", few),
            (format!("faulty(lanes({file},channels=1,unit={unit},format=yes),read-errors=1%)"), "1", few),
            (format!("lanes({file},unit=4KiB,format=yes)"), "1", &["leave nothing for a block"]),
            (file.into(), "1", &["no erase units", "lanes(DEVICE)"]),
            (
                format!("lanes({file},unit=64KiB,channels=1,format=yes)"),
                "64KiB",
                &["--get-bytes", "48 KiB", "nothing"],
            ),
        ] {
            let safe = ["--destroy-data", "--really", file, "--allow-page-cache"];
            let bench = ["sdf", "bench", &spec, "--get-bytes", more];
            refused(2, &[&bench[..], &safe].concat(), parts);
            if more == "1" {
                refused(2, &[&["sdf", "format", &spec], &safe[..]].concat(), parts);
            }
            assert!(fs::read(path).unwrap() == before, "{spec}: the file was changed");
        }
    }
    assert_eq!(flash.block(0), [7; 50_000]);
    let none = flash.dir.path().join("none");
    let spec = format!("lanes({},channels=4,unit=256KiB)", text(&none));
    refused(2, &["sdf", "format", &spec, "--create", "2MiB", "--allow-page-cache"], few);
    assert!(!none.exists(), "an unusable file is left behind");
}

/// The id of a division distinguishes its copies from those of earlier divisions, whichever command divided the device.
#[test]
fn formats_of_a_real_device_have_distinct_ids() {
    let flash = Flash::new();
    let file = flash.file("file", &[0; 1 << 20]);
    let spec = format!("lanes({},channels=4,unit=64KiB,format=yes)", text(&file));
    let superblock = || {
        let safe = ["--destroy-data", "--allow-page-cache"];
        done(&[&["run", &spec, "sequential-write,size=64KiB,requests=1"], &safe[..]].concat());
        fs::read(&file).unwrap()[..4096].to_vec()
    };
    assert_ne!(superblock(), superblock());
}

#[test]
fn get_refuses_a_damaged_block_by_name() {
    let flash = Flash::new();
    let file = flash.file("a", &[7; 50_000]);
    flash.sdf("put", &[text(&file)]);
    let path = flash.dir.path().join("flash");
    let mut bytes = fs::read(&path).unwrap();
    let run = bytes.windows(4096).position(|window| window == [7; 4096]).expect("the block lies there");
    bytes[run + 9000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let ended = refused(1, &["sdf", "get", &flash.spec, "0"], &["block 0 is unreadable", "unit"]);
    assert_eq!(ended.stdout, "");
    let out = flash.dir.path().join("out");
    refused(1, &["sdf", "get", &flash.spec, "0", "--output", text(&out)], &["block 0 is unreadable"]);
    assert!(!out.exists(), "half a block is left as a file");
    let table = flashlane(&["sdf", "fsck", &flash.spec, "--format", "csv"]).stdout;
    assert!(table.starts_with("id,lane,unit,reason\r\n0,"), "{table}");
    let checked = flashlane(&["sdf", "fsck", &flash.spec, "--format", "json"]);
    assert_eq!(checked.status, 1);
    let result: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!(result["unreadable"][0]["id"], 0);
}

#[test]
fn verdict_is_the_first_line_and_counts_agree() {
    let flash = Flash::new();
    flash.sdf("put", &[text(&flash.file("a", &[7; 50_000]))]);
    let first = |action: &str| {
        let ended = flashlane(&["sdf", action, &flash.spec]);
        (ended.status, ended.stdout.lines().next().unwrap_or_default().to_owned())
    };
    for action in ["ls", "status", "fsck"] {
        let (status, line) = first(action);
        assert!(status == 0 && line.starts_with("Verdict: sound"), "{action}: {line}");
    }
    let path = flash.dir.path().join("flash");
    let whole = fs::read(&path).unwrap();
    let run = whole.windows(4096).position(|window| window == [7; 4096]).expect("the block lies there");
    let mut bytes = whole.clone();
    bytes[run + 9000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (status, line) = first("fsck");
    assert!(status == 1 && line.starts_with("Verdict: 1 damaged block (id 0: lane "), "{line}");
    let checked = flashlane(&["sdf", "fsck", &flash.spec, "--format", "json"]);
    let result: Value = serde_json::from_str(&checked.stdout).unwrap();
    let lanes = result["lanes"].as_array().unwrap();
    let by_lane: u64 = lanes.iter().map(|lane| lane["units_damaged"].as_u64().unwrap()).sum();
    assert_eq!((&result["units_damaged"], by_lane, &result["sound"]), (&1.into(), 1, &false.into()));
    // Both ends of the unit, which `ls` and `status` notice.
    let mut bytes = whole;
    bytes[run - 100..run].fill(1);
    bytes[run + 57_344..run + 57_444].fill(1);
    fs::write(&path, &bytes).unwrap();
    for (action, expected) in [("ls", 0), ("status", 0), ("fsck", 1)] {
        let (status, line) = first(action);
        assert!(status == expected && line.starts_with("Verdict: 1 damaged unit (lane "), "{action}: {line}");
    }
    let list = json(&["sdf", "ls", &flash.spec]);
    assert_eq!((list["damaged"].as_array().unwrap().len(), &list["sound"]), (1, &false.into()));
    let rows = flashlane(&["sdf", "ls", &flash.spec, "--format", "csv"]);
    assert!(rows.stdout == "id,length_bytes,lane,unit\r\n" && rows.stderr.contains("1 damaged unit"));
}

#[test]
fn fsck_finds_a_damaged_footer() {
    let flash = Flash::new();
    flash.sdf("put", &[text(&flash.file("a", &[7; 57_344]))]);
    let path = flash.dir.path().join("flash");
    let mut bytes = fs::read(&path).unwrap();
    let run = bytes.windows(4096).rposition(|window| window == [7; 4096]).expect("the block lies there");
    bytes[run + 4096] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(json(&["sdf", "status", &flash.spec])["warnings"], Value::Array(vec![]));
    let checked = flashlane(&["sdf", "fsck", &flash.spec, "--format", "json"]);
    let result: Value = serde_json::from_str(&checked.stdout).unwrap();
    assert_eq!((checked.status, &result["warnings"][0]["code"]), (1, &"damaged-headers".into()), "{result}");
    assert_eq!(flash.block(0), vec![7; 57_344]);
}

#[test]
fn result_never_overwrites_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let (out, file) = (text(dir.path()), dir.path().join("result.json"));
    let spec = format!("lanes({},channels=2,unit=64KiB)", file.display());
    let format = ["sdf", "format", &spec, "--create", "4MiB", "--allow-page-cache", "--out"];
    refused(2, &[&format[..], &[out]].concat(), &["is in the directory of --out"]);
    assert!(!file.exists());
    let elsewhere = tempfile::tempdir().unwrap();
    done(&[&format[..], &[text(elsewhere.path())]].concat());
    let bytes = fs::read(&file).unwrap();
    for action in ["status", "fsck"] {
        refused(2, &["sdf", action, &spec, "--out", out], &["is in the directory of --out"]);
    }
    assert!(fs::read(&file).unwrap() == bytes);
    // Nor the file that keeps the bytes of a simulated drive.
    let kept = format!("backed(sim:ssd-s,file={})", dir.path().join("report.html").display());
    let run = ["run", &kept, "random-write,requests=1", "--out", out];
    refused(2, &run, &["report.html' is in the directory of --out"]);
}

#[test]
fn bench_of_a_simulated_device_is_repeatable() {
    let bench = ["sdf", "bench", "sim:sdf,channels=4,capacity=65216MiB", "--blocks", "8"];
    let result = json(&bench);
    assert_eq!(result["schema"], "flashlane.sdf_bench/1");
    let phases = result["phases"].as_array().unwrap();
    let rate = |at: usize| phases[at]["bandwidth_bytes_per_s"].as_f64().unwrap();
    // Four channels of 22.95 and 38 MB/s (sdf14, section 3.2).
    assert!((85e6..92e6).contains(&rate(0)) && (140e6..153e6).contains(&rate(1)), "{result}");
    let free = result["user_bytes"].as_u64().unwrap() / result["block_bytes"].as_u64().unwrap() - 8;
    assert_eq!(
        [&result["blocks"], &result["blocks_free"], &result["next_id"]],
        [&Value::from(8), &free.into(), &8.into()],
        "the device as the bench leaves it"
    );
    assert_eq!(done(&bench), done(&bench));
}

/// The blocks of the whole device are many times larger than memory.
#[test]
fn bench_of_a_simulated_device_keeps_no_block_data() {
    let bench = "ulimit -v 1500000 && exec \"$0\" sdf bench sim:sdf,channels=4,capacity=65216MiB --blocks 400 --format json";
    let output = Command::new("sh").args(["-c", bench, env!("CARGO_BIN_EXE_flashlane")]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["blocks"], 400, "3.3 GB of them within 1.5 GB");
}

/// Kills the program during puts: every block with a printed id is intact, and the device stays consistent.
#[test]
fn killed_put_keeps_all_blocks_with_printed_ids() {
    let flash = Flash::new();
    let files: Vec<PathBuf> =
        (0..40_u8).map(|nth| flash.file(&format!("file-{nth}"), &[nth; 50_000])).collect();
    let mut printed = Vec::new();
    // Killed after this number of puts, from 0 up to most of the free blocks.
    for kill_after in [0, 1, 3, 8] {
        let mut arguments = vec!["sdf", "put", flash.spec.as_str()];
        arguments.extend(files.iter().map(|path| text(path)));
        let mut child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for nth in 0..kill_after {
            let Some(Ok(line)) = lines.next() else { break };
            printed.push((line.parse::<u64>().unwrap(), nth as u8));
        }
        child.kill().unwrap();
        // Ids printed before the kill count.
        let rest = lines.map_while(Result::ok).zip(kill_after as u8..);
        printed.extend(rest.filter_map(|(line, nth)| Some((line.parse().ok()?, nth))));
        child.wait().unwrap();
        let ids = flash.ids();
        for &(id, nth) in &printed {
            assert!(ids.contains(&id), "block {id} was printed and is lost: {ids:?}");
            assert_eq!(flash.block(id), vec![nth; 50_000], "block {id}");
        }
        let checked = json(&["sdf", "fsck", &flash.spec]);
        assert_eq!(checked["blocks_checked"], ids.len() as u64);
        // Room for the next round.
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        if !ids.is_empty() {
            flash.sdf("rm", &ids.iter().map(String::as_str).collect::<Vec<_>>());
        }
        printed.clear();
    }
    assert!(Path::new(text(&files[0])).exists());
}

/// Starts a put that has begun to read standard input.
fn reading_put(flash: &Flash, bytes: &[u8]) -> Child {
    let mut child = command(&["sdf", "put", &flash.spec, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than the pipe holds, so that the write returns once the program has read some.
    // SAFETY: the pipe is open.
    let holds = unsafe { libc::fcntl(stdin.as_raw_fd(), libc::F_SETPIPE_SZ, 4096) };
    assert!((1..bytes.len() as i32).contains(&holds), "the pipe holds {holds} bytes");
    stdin.write_all(bytes).unwrap();
    child.stdin = Some(stdin);
    child
}

#[test]
fn put_leaves_the_device_free_until_standard_input_ends() {
    let flash = Flash::new();
    let child = reading_put(&flash, &[1; 20_000]);
    assert_eq!(flash.sdf("put", &[text(&flash.file("other", &[2; 100]))]), "0\n");
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), &ended.stdout[..], &ended.stderr[..]), (Some(0), &b"1\n"[..], &[][..]));
    assert_eq!(flash.block(1), [1; 20_000]);
}

#[test]
fn put_names_the_stored_block_if_output_fails() {
    let flash = Flash::new();
    let file = flash.file("a", &[1; 100]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let put = ["sdf", "put", &flash.spec, text(&file), text(&file)];
    let ended = command(&put).stdout(full).output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    for part in ["block 0 is stored", "No space left", "/a' and later files are not stored"] {
        assert!(stderr.contains(part), "{stderr}");
    }
    // The pipe has no reader.
    let mut child = reading_put(&flash, &[3; 20_000]);
    drop(child.stdout.take());
    drop(child.stdin.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{stderr}");
    assert!(stderr.contains("block 1 is stored") && stderr.contains("Broken pipe"), "{stderr}");
    assert_eq!(flash.ids(), [0, 1]);
}

#[test]
fn rm_refuses_duplicate_ids() {
    let flash = Flash::new();
    flash.sdf("put", &[text(&flash.file("a", &[1; 100]))]);
    let twice = ["sdf", "rm", &flash.spec, "0", "7", "0"];
    refused(2, &twice, &["block 0 is named twice", "nothing was deleted"]);
    assert_eq!(flash.ids(), [0]);
}

#[test]
fn hint_for_a_missing_store_names_sdf_format() {
    let dir = tempfile::tempdir().unwrap();
    let spec = format!("lanes({}/none)", dir.path().display());
    for action in [&["ls", &spec][..], &["get", &spec, "0"], &["status", &spec]] {
        let hint = format!("flashlane sdf format \"{spec}\" --create SIZE");
        let ended = refused(2, &[&["sdf"], action].concat(), &["does not exist", &hint]);
        assert!(!ended.stderr.contains("creates it as a new file"), "{}", ended.stderr);
    }
}

#[test]
fn truncated_store_opens_at_its_old_length() {
    let flash = Flash::new();
    flash.sdf("put", &[text(&flash.file("a", &[7; 50_000]))]);
    let path = flash.dir.path().join("flash");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(3 << 20).unwrap();
    let command = format!("truncate -s 4194304 {}", text(&path));
    refused(2, &["sdf", "ls", &flash.spec], &["had 4 MiB", "3 MiB now", &format!("'{command}'")]);
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
    assert_eq!(flash.block(0), vec![7; 50_000]);
}

#[test]
fn writers_refuse_a_read_only_file_system() {
    let Some(mount) = mounted("size=8m") else {
        eprintln!("skipped: mounting a small file system is not allowed here");
        return;
    };
    let path = mount.0.path().join("flash");
    let spec = format!("lanes({},channels=4,unit=64KiB)", path.display());
    let create = ["--create", "2MiB", "--allow-page-cache"];
    done(&[&["sdf", "format", &spec][..], &create].concat());
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(mount.0.path()).status().unwrap();
    assert!(remounted.success());
    let file = tempfile::NamedTempFile::new().unwrap();
    refused(2, &["sdf", "put", &spec, text(file.path())], &["cannot open", text(&path), "mounted read-only"]);
    let other = spec.replace("flash", "other");
    refused(2, &[&["sdf", "format", &other][..], &create].concat(), &["mounted read-only"]);
    done(&["sdf", "ls", &spec]);
}

#[test]
fn run_waits_at_the_limit_of_open_zones() {
    let device = "sim:zn540-1tb,zones.max_open=1,zones.capacity=48MiB,zones.size=48MiB,capacity=6GiB";
    let result = json(&["run", device, "sequential-write,size=128k,depth=4,requests=1000"]);
    assert_eq!(result["requests"], 1000);
    assert!(result["partial"].is_null());
}

#[test]
fn a_read_of_erase_units_without_data_names_a_drive_that_has_some() {
    for (device, size) in [("sim:sdf", "8KiB"), ("sim:zn540-1tb", "4KiB")] {
        let read = format!("random-read,size={size},requests=10");
        let hint = format!("all of '{device},initial.state=full' is written");
        refused(1, &["run", device, &read], &["nothing was measured", &hint]);
        done(&["run", &format!("{device},initial.state=full"), &read]);
    }
}
