//! The verdict of a damaged device names a step, and the step changes the verdict, until nothing is damaged.

use crate::program::{flashlane, text};
use crate::store::Kept;
use crate::stored::{DATA, Stored, UNIT};
use serde_json::Value;
use std::process::Command;

/// Steps after which a device is sound, at most.
const STEPS_MAX: usize = 4;

/// The verdict of a command, and whether it is that of a sound device.
fn verdict(action: &str, spec: &str) -> (String, bool) {
    let shown = flashlane(&["sdf", action, spec, "--format", "json"]);
    let result: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{}", shown.stderr));
    (result["verdict"].as_str().unwrap().to_owned(), result["sound"] == true)
}

/// The commands in a verdict that change something, to be run by a shell. One that shows what would be given up gives
/// it up.
fn steps(verdict: &str) -> Vec<String> {
    let quoted = verdict.split("'flashlane ").skip(1).filter_map(|rest| rest.split('\'').next());
    let changes = |command: &&str| {
        ["sdf rm ", "store salvage "].iter().any(|word| command.starts_with(word))
            || command.contains("--repair")
    };
    let complete = |command: &str| match command.starts_with("store salvage") {
        true => format!("{command} --destroy-data"),
        false => command.to_owned(),
    };
    quoted.filter(changes).map(complete).collect()
}

/// Follows the advice of `action` until the device is sound: each step is taken, and changes the verdict.
fn follow(what: &str, action: &str, spec: &str) {
    let mut taken = Vec::new();
    loop {
        let (before, is_sound) = verdict(action, spec);
        if is_sound {
            assert!(!taken.is_empty(), "{what}: nothing was damaged by {action}");
            return;
        }
        let steps = steps(&before);
        assert!(!steps.is_empty(), "{what}: {action} names no step: {before}");
        assert!(taken.len() < STEPS_MAX, "{what}: {taken:?} do not help, and {action} says: {before}");
        for step in steps {
            let run = format!("'{}' {step}", env!("CARGO_BIN_EXE_flashlane"));
            let ended = Command::new("sh").args(["-c", &run]).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            // A check that finds something else ends with 1.
            assert!(matches!(ended.status.code(), Some(0 | 1)), "{what}: {step}: {said}\n{before}");
            taken.push(step);
        }
        assert_ne!(verdict(action, spec).0, before, "{what}: {taken:?} change nothing");
    }
}

/// Places in a device with ten blocks: of the units of some of these, of the copies of the superblock, and its length.
struct Places {
    units: Vec<usize>,
    superblocks: Vec<usize>,
    length: usize,
}

/// A kind of damage: its name, what is overwritten, and whether `ls`, which reads no blocks, sees it.
type Damage = (&'static str, fn(&Places) -> Vec<(usize, usize)>, bool);

const DAMAGES: [Damage; 17] = [
    ("bytes of a block", |at| vec![(at.units[0] + 8192, 64)], false),
    ("bytes of two blocks", |at| vec![(at.units[0] + 8192, 64), (at.units[1] + 8192, 64)], false),
    ("a unit", |at| vec![(at.units[0], UNIT)], true),
    ("a header", |at| vec![(at.units[0], 64)], true),
    ("a footer", |at| vec![(at.units[0] + UNIT - 4096, 64)], false),
    ("a header and bytes", |at| vec![(at.units[0], 64), (at.units[0] + 8192, 64)], true),
    ("a footer and bytes", |at| vec![(at.units[0] + UNIT - 4096, 64), (at.units[0] + 8192, 64)], false),
    ("a header, and bytes of another block", |at| vec![(at.units[0], 64), (at.units[1] + 8192, 64)], true),
    ("a superblock", |at| vec![(at.superblocks[0], UNIT)], true),
    ("both superblocks", |at| at.superblocks.iter().map(|&at| (at, UNIT)).collect(), true),
    (
        "both superblocks and a unit",
        |at| at.superblocks.iter().chain(&at.units[..1]).map(|&at| (at, UNIT)).collect(),
        true,
    ),
    (
        "both superblocks and bytes",
        |at| {
            let superblocks = at.superblocks.iter().map(|&at| (at, UNIT));
            superblocks.chain([(at.units[0] + 8192, 64)]).collect()
        },
        true,
    ),
    ("the lanes' superblock", |_| vec![(0, 4096)], true),
    ("the lanes' table", |_| vec![(4096, 4096)], true),
    ("the lanes' table and a unit", |at| vec![(4096, 4096), (at.units[0], UNIT)], true),
    (
        "both copies of the lanes' table",
        |at| vec![(4096, 4096), (at.length - 4096, 4096), (at.length - 8192, 4096)],
        true,
    ),
    ("all records", |at| vec![(0, 8192), (at.length - 8192, 8192)], true),
];

#[test]
fn each_advice_changes_the_verdict() {
    for (what, places, is_seen_by_ls) in DAMAGES {
        for action in ["fsck", "ls"] {
            if action == "ls" && !is_seen_by_ls {
                continue;
            }
            let device = Stored::new(10);
            let bytes = device.original.clone();
            let units = (DATA..bytes.len() - UNIT).step_by(UNIT);
            let of_blocks = units.filter(|&at| bytes[at..].starts_with(b"FLBLOCKS\x01\0\0\0\x01")).collect();
            let at = Places { units: of_blocks, superblocks: device.superblocks(), length: bytes.len() };
            let mut bytes = bytes;
            for (from, length) in places(&at) {
                bytes[from..from + length].fill(b'x');
            }
            std::fs::write(&device.path, bytes).unwrap();
            follow(what, action, &device.spec);
        }
    }
}

#[test]
fn full_device_is_repaired_once_a_block_is_deleted() {
    let device = Stored::new(10);
    while flashlane(&["sdf", "put", &device.spec, text(&device.small)]).status == 0 {}
    let mut bytes = device.bytes();
    let unit =
        (DATA..bytes.len()).step_by(UNIT).find(|&at| bytes[at..].starts_with(b"FLBLOCKS\x01\0\0\0\x01"));
    bytes[unit.unwrap()..][..64].fill(b'x');
    std::fs::write(&device.path, bytes).unwrap();
    let (said, _) = verdict("ls", &device.spec);
    assert!(said.contains("delete a block first"), "{said}");
    flashlane(&["sdf", "rm", &device.spec, "9"]);
    follow("a header on a full device", "ls", &device.spec);
}

#[test]
fn advice_for_a_store_changes_the_verdict() {
    for (what, from, length, is_seen_by_ls) in [
        ("bytes of a patch", 20_000, 2, false),
        ("the end of a patch", UNIT - 12_000, 8000, false),
        ("a unit", 0, UNIT, true),
        ("a header", 0, 64, true),
        // It lies in pieces, which are blocks without keys.
        ("a large value", 30_000, 2, false),
    ] {
        for action in ["fsck", "ls"] {
            if action == "ls" && !is_seen_by_ls {
                continue;
            }
            let kept = Kept::new("8MiB");
            let lines: Vec<String> = (0..6000).map(|nth| format!("key{nth:06}\tvalue {nth}")).collect();
            kept.store("import", &[text(&kept.file("pairs", lines.join("\n")))]);
            kept.store("put", &["large", text(&kept.file("large", [0xab; 150_000]))]);
            let [mut bytes, _] = kept.bytes();
            let units = (DATA..bytes.len() - UNIT).step_by(UNIT);
            let mut of_blocks = units.filter(|&at| bytes[at..].starts_with(b"FLBLOCKS\x01\0\0\0\x01"));
            let is_piece = |at: usize| bytes[at + 30_000..at + 31_000] == [0xab; 1000];
            let at = of_blocks.find(|&at| is_piece(at) == (what == "a large value")).unwrap();
            bytes[at + from..at + from + length].fill(0x5a);
            std::fs::write(kept.dir.path().join("flash"), bytes).unwrap();
            follow(what, action, &kept.spec);
            // Only bytes that can be rewritten lose nothing.
            let counted = flashlane(&["store", "stat", &kept.spec, "--count"]);
            assert_eq!(counted.status == 0, what == "a header", "{what}: {}", counted.stderr);
        }
    }
}
