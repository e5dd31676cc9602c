//! Foreign data over a device with blocks: no command changes it without `--destroy-data`, and damage to one part of
//! the lane records loses no block.

use crate::program::{Ended, command, done, flashlane, json, refused, text};
use crate::stored::{DATA, Stored, UNIT};
use flashlane_base::Seed;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

const LENGTH: usize = 4 << 20;

impl Stored {
    /// Restores the device, with these bytes at this offset.
    fn with(&self, at: usize, foreign: &[u8]) -> Vec<u8> {
        let mut bytes = self.original.clone();
        bytes[at..at + foreign.len()].copy_from_slice(foreign);
        fs::write(&self.path, &bytes).unwrap();
        bytes
    }

    /// All commands without `--destroy-data`, but for that of damaged units.
    fn commands(&self) -> Vec<Vec<&str>> {
        let missing = "/no/such/file";
        let asked = [
            &["ls"][..],
            &["status"],
            &["fsck"],
            &["get", "0"],
            &["rm", "99"],
            &["rm", "99", "--damaged", "--destroy-data"],
            &["put", missing],
            &["put", text(&self.small), "--id", "0"],
            &["put", text(&self.small), missing],
            &["bench"],
            &["format"],
        ];
        asked.iter().map(|words| [&["sdf", words[0], self.spec.as_str()], &words[1..]].concat()).collect()
    }

    /// The commands that change the device if accepted.
    fn changes(&self) -> [Vec<&str>; 4] {
        let s = self.spec.as_str();
        [
            vec!["sdf", "fsck", s, "--repair"],
            vec!["sdf", "put", s, text(&self.small)],
            vec!["sdf", "rm", s, "0"],
            vec!["sdf", "rm", s, "--damaged", "--destroy-data"],
        ]
    }
}

/// An archive of one file, as tar writes it.
fn archive(length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8 | 1).collect();
    bytes[..512].fill(0);
    bytes[..9].copy_from_slice(b"photo.jpg");
    bytes[257..265].copy_from_slice(b"ustar  \0");
    bytes
}

#[test]
fn no_command_changes_foreign_data() {
    let device = Stored::new(2);
    let letter = b"Dear diary, nothing happened today. ".repeat(20);
    let tail = LENGTH - 2 * 4096;
    for (at, foreign) in [
        (0, archive(20_000)),
        (0, archive(1 << 20)),
        (0, letter.clone()),
        (1024, letter.clone()),
        (4096, letter.clone()),
        (tail, letter.clone()),
        (LENGTH - 4096, letter.clone()),
        (LENGTH - letter.len(), letter.clone()),
    ] {
        let bytes = device.with(at, &foreign);
        let unchanged = |words: &[&str]| assert!(device.bytes() == bytes, "{words:?}, {at}");
        for words in device.commands() {
            flashlane(&words);
            unchanged(&words);
        }
        // Long enough to cover the superblocks of the blocks.
        let is_long = foreign.len() > 4 * UNIT;
        for words in device.changes() {
            let ended = refused(2, &words, &["--destroy-data"]);
            let is_known = bytes[257..].starts_with(b"ustar") && ended.stderr.contains("tar archive");
            let is_told = ended.stderr.contains("--repair")
                && (is_known || ended.stderr.contains("overwritten with other data"));
            assert!(is_told || is_long && ended.stderr.contains("holds no blocks"), "{}", ended.stderr);
            unchanged(&words);
        }
        if is_long {
            continue;
        }
        let found = flashlane(&["sdf", "status", &device.spec]).stdout;
        let verdict = found.lines().next().unwrap_or_default();
        assert!(verdict.starts_with("Verdict: ") && found.contains("overwritten"), "{found}");
        // The command has the consent that it needs.
        let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
        let needs_path = foreign != letter;
        let really = if needs_path { format!(" --really {}", text(&device.path)) } else { String::new() };
        assert!(found.contains(&format!("--repair --destroy-data{really}'")), "{found}");
        // With --destroy-data all blocks are there again.
        let repair = ["sdf", "fsck", &device.spec, "--repair", "--destroy-data", "--format", "json"];
        let repaired = flashlane(&[&repair[..], &["--really", text(&device.path)]].concat());
        let found: Value = serde_json::from_str(&repaired.stdout).unwrap();
        assert_eq!(
            (&found["blocks_checked"], &found["unreadable"]),
            (&2.into(), &Value::Array(vec![])),
            "{at}"
        );
        assert!(device.bytes()[..4096] == device.original[..4096]);
        done(&["sdf", "put", &device.spec, text(&device.small)]);
    }
}

/// Commands that would overwrite any device, without consent.
fn refused_commands<'a>(file: &'a str, lanes: &'a str, small: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["run", file, "random-write,requests=10", "--allow-page-cache"],
        vec!["uflip", file, "--quick", "--allow-page-cache"],
        vec!["replay", file, "tests/no-such-trace"],
        vec!["sdf", "format", lanes],
        vec!["sdf", "bench", lanes],
        vec!["sdf", "put", lanes, small],
        vec!["sdf", "rm", lanes, "0"],
        vec!["sdf", "fsck", lanes, "--repair"],
        vec!["store", "create", lanes],
        vec!["store", "put", lanes, "key", "--value", "value"],
        vec!["store", "file", "put", lanes, "/file", small],
        vec!["store", "serve", lanes],
    ]
}

/// Nothing of the other data changes without consent, wherever it lies. `cargo xtask figures` runs more rounds.
#[test]
fn foreign_data_anywhere_is_kept() {
    let device = Stored::new(2);
    let rounds =
        std::env::var("FLASHLANE_GUARD_ROUNDS").map_or(40, |rounds| rounds.parse().expect("a number"));
    let mut ways = Vec::new();
    let mut random = Seed(15).derive("foreign data").source();
    let units = (LENGTH - DATA - 2 * 4096) / (4 * UNIT) * 4;
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..rounds {
        let length = 16 + random.below(if round % 2 == 0 { 8192 } else { 1 << 20 }) as usize;
        let near = [0, LENGTH - 3 * 4096][round / 2 % 2];
        let at = if round % 4 < 3 {
            near + random.below(3 * 4096) as usize
        } else {
            random.below(LENGTH as u64) as usize
        };
        let foreign: Vec<u8> = (0..length.min(LENGTH - at)).map(|_| random.bits() as u8 | 1).collect();
        let bytes = device.with(at, &foreign);
        let mut expect = |is_kept: bool, words: &[&str]| {
            if !is_kept {
                ways.push(format!("{words:?}, {} bytes at {at}", foreign.len()));
            }
        };
        for words in device.commands().iter().filter(|words| !words.contains(&"--id")) {
            flashlane(words);
            expect(device.bytes() == bytes, words);
        }
        let [repair, put, remove, discard] = device.changes();
        for words in [&repair, &put, &remove, &put, &discard] {
            let ended = flashlane(words);
            let after = device.bytes();
            if ended.stderr.contains("is not written to") {
                expect(after == bytes, words);
                refused += 1;
                continue;
            }
            accepted += 1;
            // `discard` has consent for what is in the units.
            let units = if words == &discard { DATA..DATA + units * UNIT } else { 0..0 };
            let is_kept = |(nth, byte): (usize, &u8)| units.contains(&(at + nth)) || after[at + nth] == *byte;
            expect(foreign.iter().enumerate().all(is_kept), words);
        }
        if round % 8 == 0 {
            // The same bytes as a file that never was a device of ours.
            fs::write(&device.path, &foreign).unwrap();
            for words in refused_commands(text(&device.path), &device.lanes, text(&device.small)) {
                flashlane(&words);
                expect(fs::read(&device.path).unwrap() == foreign, &words);
            }
        }
    }
    println!("ways past the guards: {} in {rounds} rounds", ways.len());
    assert!(ways.is_empty(), "{ways:#?}");
    assert!(refused > rounds / 2 && accepted > rounds / 4, "{refused} refused, {accepted} accepted");
}

#[test]
fn single_damage_to_lane_records_loses_no_block() {
    let dir = tempfile::tempdir().unwrap();
    let (path, small) = (dir.path().join("flash"), dir.path().join("small"));
    fs::write(&small, [7; 50_000]).unwrap();
    let spec = format!("lanes({},channels=2,unit=1MiB)", path.display());
    done(&["sdf", "format", &spec, "--create", "12MiB", "--allow-page-cache"]);
    done(&["sdf", "put", &spec, text(&small), text(&small), text(&small)]);
    let whole = fs::read(&path).unwrap();
    // Before the units, which begin at the first whole MiB, and after them.
    let behind = (1 << 20) + 10 * (1 << 20);
    let (kib_8, mib) = (8 << 10, 1 << 20);
    let mut places = vec![(0, mib), (whole.len() - (1 << 20), mib)];
    places.extend([0, 512, 4096, 8192].map(|at| (at, kib_8)));
    places.extend([8192, 8704, 12_288].map(|before| (whole.len() - before, kib_8)));
    for (at, length) in places {
        let end = whole.len().min(at + length);
        let at = if at > 4 << 20 { at.max(behind) } else { at };
        for byte in [0, 0x5a] {
            let mut bytes = whole.clone();
            bytes[at..end].fill(byte);
            fs::write(&path, &bytes).unwrap();
            let list = json(&["sdf", "ls", &spec]);
            assert_eq!(list["blocks"].as_array().unwrap().len(), 3, "{length} bytes of {byte:#x} at {at}");
            let checked = flashlane(&["sdf", "fsck", &spec, "--format", "json"]);
            let found: Value = serde_json::from_str(&checked.stdout).unwrap();
            assert_eq!((&found["blocks_checked"], &found["units_damaged"]), (&3.into(), &0.into()), "{at}");
            // The repair restores the records.
            let mut repair = vec!["sdf", "fsck", &spec, "--repair"];
            repair.extend((byte != 0).then_some("--destroy-data"));
            done(&repair);
            assert_eq!(json(&["sdf", "fsck", &spec])["blocks_checked"], 3);
        }
    }
}

/// What cannot be run on the lanes that `format=yes` would make leaves the device as it is.
#[test]
fn unusable_commands_format_nothing() {
    let device = Stored::new(2);
    let format = device.spec.replace(')', ",format=yes)");
    let faulty = format!("faulty({format})");
    let consent = ["--destroy-data", "--really", text(&device.path), "--allow-page-cache"];
    for words in [
        &["run", &format, "random-write,requests=3"][..],
        &["run", &faulty, "random-write,requests=3"],
        &["run", &format, "sequential-write,size=64k,offset=1GiB"],
        &["run", &format, "sequential-write,size=64k,queue=7"],
    ] {
        let ended = refused(2, &[words, &consent].concat(), &[]);
        assert!(device.bytes() == device.original, "{words:?}: {}", ended.stderr);
    }
    // Nor is a store made whose options are refused.
    let log = device.dir.path().join("log");
    for words in [
        &["store", "bench", &device.spec, "--memory", "4KiB"][..],
        &["store", "bench", &device.spec, "--value-size", "1TiB"],
        &["store", "bench", &device.spec, "--slices", "4096"],
        &["store", "create", &device.spec, "--slices", "4096"],
        &["store", "create", &device.spec, "--log-size", "4KiB"],
    ] {
        let to_log = ["--log", text(&log), "--destroy-data", "--really", text(&device.path)];
        let ended = refused(2, &[words, &to_log].concat(), &[]);
        assert!(device.bytes() == device.original, "{words:?}: {}", ended.stderr);
        assert!(!log.exists(), "{words:?}: {}", ended.stderr);
    }
    // The file of a layered device is not made for a workload that does not fit it.
    let new = device.dir.path().join("new");
    let lanes = format!("lanes({},channels=2,unit=64KiB)", new.display());
    for spec in [lanes.clone(), format!("faulty({lanes})")] {
        let words = ["run", &spec, "sequential-write,size=64k,queue=7", "--create", "4MiB"];
        refused(2, &words, &[]);
        assert!(!new.exists(), "{words:?}");
    }
    // Text of one block trace is of 4 KiB, too.
    let trace = device.dir.path().join("trace.csv");
    fs::write(&trace, "128166372003061629,usr,0,Write,4096,4096,100\n").unwrap();
    for words in [
        &["run", &format, "sequential-write,requests=3", "--sweep", "size=4k,8k"][..],
        &["replay", &format, text(&trace), "--unaligned", "refuse"],
        &[
            "replay",
            &format,
            text(&trace),
            "--unaligned",
            "refuse",
            "--sweep",
            "replay.depth=1,2",
            "--pace",
            "closed",
        ],
    ] {
        let ended = flashlane(&[words, &consent[..]].concat());
        assert!(ended.status != 0, "{words:?}");
        assert!(device.bytes() == device.original, "{words:?}: {}", ended.stderr);
    }
    // A trace from a pipe cannot be checked first.
    let replay = [&["replay", &format, "-"][..], &consent].concat();
    let ended = Ended::from(command(&replay).stdin(Stdio::piped()).output().unwrap());
    assert!(ended.status == 2 && ended.stderr.contains("not a regular file"), "{}", ended.stderr);
    assert!(device.bytes() == device.original, "{replay:?}");
    for (spec, setting) in [
        (format.clone(), "format=yes"),
        (format.replace("format=yes", "repair=overwrite"), "repair=overwrite"),
    ] {
        let words = ["run", &spec, "random-read,size=64k,requests=3"];
        refused(2, &[&words[..], &consent].concat(), &[setting, "leave the setting out"]);
        assert!(device.bytes() == device.original, "{words:?}");
    }
    let words = ["run", &format, "sequential-write,size=64k,requests=3"];
    done(&[&words[..], &consent].concat());
    assert!(device.bytes() != device.original);
}

/// A shell that opens the file for the command leaves it in use by the command itself.
#[test]
fn descriptor_of_the_command_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plain");
    let bytes = vec![b'~'; 1 << 20];
    fs::write(&path, &bytes).unwrap();
    for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let run =
            "exec \"$0\" run \"$1\" random-write,requests=3 --destroy-data --allow-page-cache <> \"$2\"";
        let ended = std::process::Command::new("sh")
            .args(["-c", run, env!("CARGO_BIN_EXE_flashlane"), name, text(&path)])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(2) && stderr.contains("as its descriptor 0"), "{name}: {stderr}");
        assert!(fs::read(&path).unwrap() == bytes);
    }
}

/// The first bytes of a unit show foreign data when the device is opened.
#[test]
fn put_keeps_foreign_data_in_erased_units() {
    let device = Stored::new(2);
    let archive = archive(2 * UNIT);
    let last = (LENGTH - DATA - 2 * 4096) / (4 * UNIT) * 4 - 1;
    // Units that were never used, and one whose block was deleted.
    done(&["sdf", "rm", &device.spec, "1"]);
    let bytes = device.bytes();
    let deleted = (DATA..DATA + last * UNIT)
        .step_by(UNIT)
        .find(|&at| bytes[at..].starts_with(b"FLBLOCKS") && bytes[at + 56..at + 64] == 1_u64.to_le_bytes())
        .expect("an erase moves no bytes");
    for (at, units) in [(DATA + 20 * UNIT, 2), (DATA + 24 * UNIT, 1), (deleted, 1)] {
        let length = (2 * UNIT).min(units * UNIT);
        let mut bytes = bytes.clone();
        bytes[at..at + length].copy_from_slice(&archive[..length]);
        fs::write(&device.path, &bytes).unwrap();
        let kept = || device.bytes()[at..at + length] == archive[..length];
        let report = flashlane(&["sdf", "fsck", &device.spec]);
        let text_of = report.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = if units == 1 { "1 damaged unit (" } else { "2 damaged units (" };
        for part in [named, "erased when other data was written there: no block is lost"] {
            assert!(report.status == 1 && text_of.contains(part), "{text_of}");
        }
        // Put until the device is full.
        let mut puts = 0;
        while flashlane(&["sdf", "put", &device.spec, text(&device.small)]).status == 0 {
            puts += 1;
        }
        assert!(puts > 30 && kept(), "{puts} puts, {units} units at {at}");
        flashlane(&["sdf", "bench", &device.spec, "--destroy-data", "--blocks", "8"]);
        flashlane(&["sdf", "fsck", &device.spec, "--repair"]);
        assert!(kept(), "{units} units at {at}");
        let damaged = ["sdf", "rm", &device.spec, "--damaged"];
        refused(2, &damaged, &["--destroy-data"]);
        assert!(kept(), "{units} units at {at}");
        assert_eq!(flashlane(&[&damaged[..], &["--destroy-data"]].concat()).status, 0);
        let report = flashlane(&["sdf", "fsck", &device.spec]);
        assert_eq!(report.status, 0, "{}", report.stdout);
        done(&["sdf", "put", &device.spec, text(&device.small)]);
    }
}

/// A copy of the superblock is erased once it is replaced, which discards no other data.
#[test]
fn put_keeps_foreign_data_in_superblocks() {
    let device = Stored::new(2);
    let bytes = device.bytes();
    let superblocks = device.superblocks();
    for place in [0, UNIT / 2, UNIT - 5] {
        let mut changed = bytes.clone();
        let places: Vec<usize> = superblocks.iter().map(|at| at + place).collect();
        // In one copy, and in both.
        for (nth, &at) in places.iter().enumerate() {
            changed[at..at + 5].copy_from_slice(b"hello");
            fs::write(&device.path, &changed).unwrap();
            let report = flashlane(&["sdf", "status", &device.spec]).stdout;
            assert!(report.starts_with(&format!("Verdict: {} damaged unit", nth + 1)), "{report}");
            // The superblock is written anew twice.
            for _ in 0..2 {
                let put = flashlane(&["sdf", "put", &device.spec, text(&device.small)]);
                assert!(put.status == 0 && put.stderr.contains("warning: "), "{}", put.stderr);
                done(&["sdf", "rm", &device.spec, put.stdout.trim()]);
            }
            flashlane(&["sdf", "fsck", &device.spec, "--repair"]);
            flashlane(&["sdf", "bench", &device.spec, "--destroy-data", "--blocks", "8"]);
            let after = device.bytes();
            for at in &places[..=nth] {
                assert!(&after[*at..at + 5] == b"hello", "byte {place} of {} copies", nth + 1);
            }
            let discarded = flashlane(&["sdf", "rm", &device.spec, "--damaged", "--destroy-data"]);
            assert_eq!(discarded.status, 0, "{}", discarded.stderr);
            assert_eq!(flashlane(&["sdf", "fsck", &device.spec]).status, 0);
        }
    }
}

/// A block that was overwritten in part is moved or deleted, and its unit is kept with the other data.
#[test]
fn foreign_data_over_a_block_is_kept() {
    let device = Stored::new(2);
    let starts_block_1 = |at: &usize| {
        let unit = &device.original[*at..];
        unit.starts_with(b"FLBLOCKS\x01\0\0\0\x01") && unit[56..64] == 1_u64.to_le_bytes()
    };
    let at = (DATA..LENGTH - UNIT).step_by(UNIT).find(starts_block_1).expect("it is stored");
    for (from, length) in [(0, 4096), (0, 20_000), (1024, 512), (8192, 4096), (UNIT - 1024, 512)] {
        let foreign = archive(20_000)[..length].to_vec();
        for words in [&["sdf", "rm", &device.spec, "1"][..], &["sdf", "fsck", &device.spec, "--repair"]] {
            let place = at + from;
            device.with(place, &foreign);
            flashlane(words);
            let kept = |by: &str| {
                let found = &device.bytes()[place..place + length];
                assert!(found == foreign, "{by} after {words:?}: {length} bytes at {from}");
            };
            kept("the command");
            // Put until the device is full.
            while flashlane(&["sdf", "put", &device.spec, text(&device.small)]).status == 0 {}
            kept("put");
            flashlane(&["sdf", "fsck", &device.spec, "--repair"]);
            kept("repair");
            let list = json(&["sdf", "ls", &device.spec]);
            let has = |id: u64| list["blocks"].as_array().unwrap().iter().any(|block| block["id"] == id);
            assert_eq!((has(0), has(1)), (true, words[1] != "rm"), "{words:?}: {length} bytes at {from}");
            // More than the header or the footer of a block cannot be repaired.
            let is_moved = from < 4096 && length <= 4096 || from == UNIT - 1024;
            if !is_moved && words[1] != "rm" {
                continue;
            }
            if words[1] != "rm" {
                let got = device.dir.path().join("got");
                done(&["sdf", "get", &device.spec, "1", "--output", text(&got)]);
                assert!(fs::read(&got).unwrap() == [7; 50_000]);
                fs::remove_file(&got).unwrap();
            }
            let report = flashlane(&["sdf", "fsck", &device.spec]);
            let (status, report) = (report.status, report.stdout);
            assert!(status == 1 && report.starts_with("Verdict: 1 damaged unit"), "{words:?}: {report}");
            assert_eq!(flashlane(&["sdf", "rm", &device.spec, "--damaged", "--destroy-data"]).status, 0);
            assert_eq!(flashlane(&["sdf", "fsck", &device.spec]).status, 0, "{words:?}");
            done(&["sdf", "put", &device.spec, text(&device.small)]);
        }
    }
}

/// Behind its first bytes a unit is compared before its first write.
#[test]
fn put_keeps_foreign_data_behind_the_beginning_of_erased_units() {
    let device = Stored::new(2);
    done(&["sdf", "rm", &device.spec, "1"]);
    let units = (LENGTH - DATA - 2 * 4096) / (4 * UNIT) * 4;
    let archive = archive(20_000);
    // Everything but the beginnings of some units, among them one that held a block, one from byte 4096 on, and the
    // last one.
    let bytes = device.bytes();
    let is_used = |unit: &usize| bytes[DATA + unit * UNIT..].starts_with(b"FLBLOCKS");
    let used: Vec<usize> = (0..units).filter(is_used).collect();
    let live = |unit: &&usize| {
        let at = DATA + **unit * UNIT;
        bytes[at + 12] == 1 && bytes[at + 56..at + 64] == 1_u64.to_le_bytes()
    };
    let deleted = *used.iter().find(live).expect("an erase moves no bytes");
    let places: Vec<usize> = [(deleted, 8192), (20, 4096), (31, 30_000), (units - 1, UNIT - 20_000)]
        .map(|(unit, at)| DATA + unit * UNIT + at)
        .into();
    let mut all = bytes.clone();
    places.iter().for_each(|&at| all[at..at + archive.len()].copy_from_slice(&archive));
    fs::write(&device.path, &all).unwrap();
    let kept = |by: &str| {
        let bytes = device.bytes();
        places.iter().for_each(|&at| assert!(bytes[at..at + archive.len()] == archive, "{by}: {at}"));
    };
    // Put until the device is full. What is found is reported.
    let (mut puts, mut warned) = (0, 0);
    loop {
        let ended = flashlane(&["sdf", "put", &device.spec, text(&device.small)]);
        if ended.status != 0 {
            break;
        }
        puts += 1;
        warned += usize::from(ended.stderr.contains("warning: ") && ended.stderr.contains("damaged unit"));
    }
    kept("put");
    assert!(warned > 0, "no put reports other data");
    // Beside the foreign data, the other block and the four units for records.
    assert_eq!(puts, units - places.len() - 1 - 4);
    flashlane(&["sdf", "bench", &device.spec, "--destroy-data", "--blocks", "8"]);
    flashlane(&["sdf", "fsck", &device.spec, "--repair"]);
    kept("bench and fsck");
    let report = flashlane(&["sdf", "ls", &device.spec]).stdout;
    assert!(report.starts_with("Verdict: ") && report.contains("4 damaged"), "{report}");
    let damaged = ["sdf", "rm", &device.spec, "--damaged"];
    refused(2, &damaged, &["--destroy-data"]);
    kept("rm");
    assert_eq!(flashlane(&[&damaged[..], &["--destroy-data"]].concat()).status, 0);
    done(&["sdf", "put", &device.spec, text(&device.small)]);
    assert_eq!(flashlane(&["sdf", "fsck", &device.spec]).status, 0);
}

#[test]
fn format_keeps_the_division_unless_a_shape_is_given() {
    let device = Stored::new(2);
    let bare = format!("lanes({})", device.path.display());
    // Over other data within the units, and over a record of the lanes.
    for (at, foreign) in [(DATA + 10 * UNIT, archive(5000)), (4096, archive(4096))] {
        device.with(at, &foreign);
        let made = json(&["sdf", "format", &bare, "--destroy-data", "--really", text(&device.path)]);
        assert_eq!(made["division"], "kept as it was: 4 lanes, units of 64 KiB");
        let (lanes, unit_bytes) = (&made["device"]["lanes"], &made["device"]["unit_bytes"]);
        assert_eq!((lanes, unit_bytes, &made["blocks"]), (&4.into(), &UNIT.into(), &0.into()));
        assert_eq!(flashlane(&["sdf", "fsck", &bare]).status, 0);
    }
    let other = format!("lanes({},channels=2,unit=128KiB)", device.path.display());
    let made = json(&["sdf", "format", &other, "--destroy-data"]);
    assert_eq!(made["division"], "new: 2 lanes, units of 128 KiB");
    // The records at both ends are lost, and with them the division: no command divides the device unasked.
    let mut bytes = device.bytes();
    bytes[..4096].fill(b'x');
    bytes[LENGTH - 4096..].fill(b'x');
    fs::write(&device.path, &bytes).unwrap();
    let format = ["sdf", "format", &bare, "--destroy-data"];
    refused(2, &format, &["Flashlane blocks", "--really"]);
    let really = [&format[..], &["--really", text(&device.path)]].concat();
    refused(2, &really, &["holds blocks of Flashlane", ",channels=2,unit=128KiB)'"]);
    assert!(device.bytes() == bytes);
}
