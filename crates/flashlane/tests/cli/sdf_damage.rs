//! Damaged units and superblocks: reports name each with its position and a command as remedy.

use crate::program::{done, flashlane, json, refused, text};
use crate::stored::{DATA, LANES, Stored, UNIT};
use serde_json::Value;
use std::fs;
use std::process::Command;

impl Stored {
    /// Offsets in the file of the units with a copy of the superblock.
    pub fn superblocks(&self) -> Vec<usize> {
        let bytes = self.bytes();
        let is_superblock = |at: &usize| bytes[*at..].starts_with(b"FLBLOCKS\x01\0\0\0\x02");
        (DATA..bytes.len() - UNIT).step_by(UNIT).filter(is_superblock).collect()
    }

    fn fill(&self, places: &[(usize, usize)], byte: u8) {
        let mut bytes = self.bytes();
        for &(at, length) in places {
            bytes[at..at + length].fill(byte);
        }
        fs::write(&self.path, bytes).unwrap();
    }

    fn verdict(&self, action: &str) -> (i32, String) {
        let ended = flashlane(&["sdf", action, &self.spec]);
        let report = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        (ended.status, report)
    }
}

#[test]
fn repair_rewrites_superblocks_from_headers() {
    let device = Stored::new(10);
    let spec = device.spec.as_str();
    let copies = device.superblocks();
    assert!(copies.len() == 2 && copies[1] - copies[0] > 1 << 20, "{copies:?}");
    device.fill(&copies.iter().map(|&at| (at, UNIT)).collect::<Vec<_>>(), b'x');
    let bytes = device.bytes();
    for action in ["ls", "status", "fsck"] {
        let (status, report) = device.verdict(action);
        assert!(status == i32::from(action == "fsck"), "{action}: {report}");
        assert!(report.contains("no copy of the superblock is left"), "{action}: {report}");
        assert!(report.contains("--repair --destroy-data"), "{action}: {report}");
    }
    assert_eq!(json(&["sdf", "ls", spec])["blocks"].as_array().unwrap().len(), 10);
    done(&["sdf", "get", spec, "4", "--output", text(&device.dir.path().join("4"))]);
    assert_eq!(fs::read(device.dir.path().join("4")).unwrap(), [7; 50_000]);
    let small = &device.small;
    let changes = [
        &["put", spec, text(small)][..],
        &["rm", spec, "0"],
        &["rm", spec, "--damaged", "--destroy-data"],
        &["fsck", spec, "--repair"],
    ];
    for change in changes {
        let refusal = refused(
            2,
            &[&["sdf"], change].concat(),
            &["Do not format", &format!("fsck \"{spec}\" --repair --destroy-data")],
        );
        assert!(!refusal.stderr.contains("format it first"), "{}", refusal.stderr);
        assert!(device.bytes() == bytes, "{change:?}");
    }
    let repaired = flashlane(&["sdf", "fsck", spec, "--repair", "--destroy-data", "--format", "json"]);
    let result: Value = serde_json::from_str(&repaired.stdout).unwrap();
    assert_eq!((&result["superblock_copies"], &result["blocks"]), (&2.into(), &10.into()), "{result}");
    // The units that held the copies are damaged; `rm --damaged` discards them.
    assert_eq!(result["units_damaged"], 2);
    assert_eq!(flashlane(&["sdf", "rm", spec, "--damaged", "--destroy-data"]).status, 0);
    let id = done(&["sdf", "put", spec, text(small)]);
    assert!(id.trim().parse::<u64>().unwrap() >= 1 << 32, "{id}");
    assert_eq!(device.verdict("fsck").0, 0);
}

#[test]
fn verdict_names_damage_and_a_remedy() {
    let device = Stored::new(10);
    let of = |id: u64| {
        let list = json(&["sdf", "ls", &device.spec]);
        let block =
            list["blocks"].as_array().unwrap().iter().find(|block| block["id"] == id).unwrap().clone();
        let [lane, unit] = ["lane", "unit"].map(|key| block[key].as_u64().unwrap() as usize);
        let first = unit * UNIT;
        let named = format!("lane {lane}, unit {unit}, bytes {first} to {} of the lane", first + UNIT - 1);
        (DATA + (unit * LANES + lane) * UNIT, named)
    };
    // One block has lost its header, one its footer, one some of its bytes, one both ends.
    let places = [1, 3, 5, 7].map(of);
    let [header, footer, payload, both] = places.each_ref().map(|(at, _)| *at);
    let end = UNIT - 4096;
    device
        .fill(&[(header, 64), (footer + end, 64), (payload + 8192, 64), (both, 64), (both + end, 64)], b'x');
    let (status, report) = device.verdict("ls");
    assert_eq!(status, 0);
    assert!(report.contains(&format!("1 damaged unit ({})", places[3].1)), "{report}");
    assert!(report.contains(&format!("the header of block 1: {}", places[0].1)), "{report}");
    let (status, report) = device.verdict("fsck");
    assert_eq!(status, 1);
    assert!(report.contains(&format!("the footer of block 3: {}", places[1].1)), "{report}");
    let damaged = format!(
        "(id 5: {}, damaged from byte 4096 to 8191 of the block, sound from byte 8192 on)",
        places[2].1
    );
    assert!(report.contains(&damaged), "{report}");
    let rest = flashlane(&["sdf", "get", &device.spec, "5", "--offset", "8192"]);
    assert!(rest.status == 0 && rest.stdout.len() == 50_000 - 8192, "{}", rest.stderr);
    assert_eq!(flashlane(&["sdf", "get", &device.spec, "5", "--offset", "8191"]).status, 1);
    assert!(report.contains("rm \"") && report.contains("\" 5')"), "{report}");
    // A repair rewrites units with a sound end; the commands in the verdict discard the rest.
    let repaired = flashlane(&["sdf", "fsck", &device.spec, "--repair", "--format", "json"]);
    let result: Value = serde_json::from_str(&repaired.stdout).unwrap();
    let codes: Vec<&Value> =
        result["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]).collect();
    assert_eq!((repaired.status, codes), (1, vec![&Value::from("damaged-units")]), "{result}");
    assert_eq!(flashlane(&["sdf", "rm", &device.spec, "5", "--damaged", "--destroy-data"]).status, 0);
    let (status, report) = device.verdict("fsck");
    assert!(status == 0 && report.contains("sound: 8 blocks, all read"), "{report}");
}

/// Damages two places of one block, then one up to its end.
#[test]
fn fsck_names_every_damaged_place_of_a_block() {
    let device = Stored::new(10);
    let bytes = device.bytes();
    let runs: Vec<usize> = (DATA..bytes.len() - UNIT)
        .step_by(UNIT)
        .filter(|&at| bytes[at..].starts_with(b"FLBLOCKS\x01\0\0\0\x01"))
        .collect();
    device.fill(&[(runs[0] + 4096, 1), (runs[0] + 3 * 4096, 5000), (runs[1] + 4096 + 49_999, 1)], b'x');
    let (status, report) = device.verdict("fsck");
    assert_eq!(status, 1);
    let several = "damaged in 2 places from byte 0 to 16383 of the block, sound from byte 16384 on";
    assert!(report.contains(several), "{report}");
    assert!(report.contains("damaged from byte 49152 of the block to its end"), "{report}");
}

/// A block that lost its header and some of its bytes cannot be rewritten, and one that lost all has no sound part.
#[test]
fn verdict_advises_only_what_can_succeed() {
    let device = Stored::new(4);
    let runs: Vec<usize> = (DATA..4 << 20)
        .step_by(UNIT)
        .filter(|&at| device.original[at..].starts_with(b"FLBLOCKS\x01\0\0\0\x01"))
        .take(2)
        .collect();
    device.fill(&[(runs[0], 9000)], b'x');
    let (status, report) = device.verdict("fsck");
    assert!(status == 1 && report.contains("read the sound parts"), "{report}");
    assert!(!report.split("Blocks:").next().unwrap().contains("--repair"), "{report}");
    device.fill(&[(runs[0], 9000), (runs[0] + 4096, 50_000)], b'x');
    let (status, report) = device.verdict("fsck");
    assert!(
        status == 1 && report.contains("of the block to its end") && report.contains("sdf rm"),
        "{report}"
    );
    assert!(!report.contains("read the sound parts"), "{report}");
}

/// Units that a device fails to read may be sound: no command discards them or advises to.
#[test]
fn unreadable_units_are_not_called_empty() {
    let device = Stored::new(10);
    let before = device.bytes();
    let below = format!("lanes(faulty({},read-errors=100%))", text(&device.path));
    let above = format!("faulty({},read-errors=100%)", device.spec);
    let small = &device.small;
    let commands = |spec: &str| -> Vec<Vec<String>> {
        let words = [
            vec!["ls", spec],
            vec!["status", spec],
            vec!["fsck", spec],
            vec!["fsck", spec, "--repair", "--destroy-data"],
            vec!["get", spec, "0"],
            vec!["put", spec, text(small)],
            vec!["rm", spec, "--damaged", "--destroy-data"],
            vec!["bench", spec, "--destroy-data", "--allow-page-cache"],
        ];
        words.iter().map(|words| words.iter().map(|&word| word.to_owned()).collect()).collect()
    };
    for (spec, said) in [(&above, "12 units could not be read"), (&below, "cannot be read")] {
        for words in commands(spec) {
            let words: Vec<&str> = ["sdf"].into_iter().chain(words.iter().map(String::as_str)).collect();
            let ended = refused(1, &words, &[said]);
            for loss in ["format", "--destroy-data", "rm "] {
                assert!(!ended.stderr.contains(loss), "{words:?} advises {loss}: {}", ended.stderr);
            }
            assert!(device.bytes() == before, "{words:?}");
        }
    }
    // With only some unreadable, the other blocks are there.
    let some = format!("faulty({},read-errors=60%)", device.spec);
    let ended = flashlane(&["sdf", "fsck", &some]);
    let report = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ended.status == 1 && report.contains("could not be read"), "{report}{}", ended.stderr);
    assert!(!report.contains("sdf rm") && !report.contains("sdf format"), "{report}");
}

/// A partition table overwrites 34 sectors at the beginning of the device and 33 at its end.
#[test]
fn repair_rewrites_both_ends_in_the_given_shape() {
    let dir = tempfile::tempdir().unwrap();
    let (path, small) = (dir.path().join("flash"), dir.path().join("small"));
    let bare = format!("lanes({})", path.display());
    let shape = bare.replace(')', ",channels=2,unit=1MiB)");
    fs::write(&small, [7; 50_000]).unwrap();
    done(&["sdf", "format", &shape, "--create", "12MiB", "--allow-page-cache"]);
    done(&["sdf", "put", &shape, text(&small), text(&small), text(&small)]);
    let whole = fs::read(&path).unwrap();
    let (first, last) = (34 * 512, whole.len() - 33 * 512);
    let repair = ["sdf", "fsck", &shape, "--repair", "--destroy-data"];
    for is_table in [false, true] {
        let mut bytes = whole.clone();
        bytes[..first].fill(0);
        bytes[last..].fill(0);
        if is_table {
            bytes[512..520].copy_from_slice(b"EFI PART");
            let backup = bytes.len() - 512;
            bytes[backup..backup + 8].copy_from_slice(b"EFI PART");
        }
        fs::write(&path, &bytes).unwrap();
        // Without the shape, the refusal names it.
        for action in ["ls", "status", "fsck"] {
            let asked = ["sdf", action, &bare];
            let ended = refused(2, &asked, &["holds blocks of Flashlane", ",channels=2,unit=1MiB)'"]);
            assert!(!ended.stderr.contains("format=yes"), "{}", ended.stderr);
        }
        let wrong = bare.replace(')', ",channels=4,unit=1MiB)");
        refused(2, &["sdf", "ls", &wrong], &["holds blocks of Flashlane", ",channels=2,unit=1MiB)'"]);
        let list = json(&["sdf", "ls", &shape]);
        assert_eq!(list["blocks"].as_array().unwrap().len(), 3);
        assert!(
            list["verdict"].as_str().unwrap().starts_with("no superblock of the lanes is left"),
            "{list}"
        );
        let copy = dir.path().join(format!("copy-{is_table}"));
        done(&["sdf", "get", &shape, "1", "--output", text(&copy)]);
        assert_eq!(fs::read(&copy).unwrap(), [7; 50_000]);
        let said = if is_table { "GPT partition table" } else { "no superblock of its lanes is left" };
        for change in
            [&["put", &shape, text(&small)][..], &["rm", &shape, "0"], &["fsck", &shape, "--repair"]]
        {
            refused(2, &[&["sdf"], change].concat(), &[said, "--repair --destroy-data"]);
        }
        if is_table {
            refused(2, &repair, &[said, "--really"]);
        }
        assert!(fs::read(&path).unwrap() == bytes);
        let really = [&repair[..], &["--really", text(&path)]].concat();
        let repaired = json(if is_table { &really } else { &repair });
        assert_eq!(
            (&repaired["blocks_checked"], &repaired["sound"]),
            (&3.into(), &true.into()),
            "{repaired}"
        );
        done(&["sdf", "put", &bare, text(&small)]);
        assert_eq!(json(&["sdf", "fsck", &bare])["blocks_checked"], 4);
    }
}

#[test]
fn blocks_are_found_where_both_copies_of_the_table_are_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (path, small) = (dir.path().join("flash"), dir.path().join("small"));
    let bare = format!("lanes({})", path.display());
    let shape = bare.replace(')', ",channels=4,unit=1MiB)");
    fs::write(&small, [7; 900_000]).unwrap();
    done(&["sdf", "format", &shape, "--create", "32MiB", "--allow-page-cache"]);
    done(&["sdf", "put", &bare, text(&small), text(&small), text(&small)]);
    let whole = fs::read(&path).unwrap();
    let slots = [4096, whole.len() - 2 * 4096];
    let noise: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let lost = [(vec![0; 4096], &bare), (vec![0xff; 4096], &shape), (noise, &bare)];
    for (nth, (lost, spec)) in lost.iter().enumerate() {
        let mut bytes = whole.clone();
        for slot in slots {
            bytes[slot..slot + 4096].copy_from_slice(lost);
        }
        fs::write(&path, &bytes).unwrap();
        for action in ["ls", "status"] {
            let report = json(&["sdf", action, spec]);
            let verdict = report["verdict"].as_str().unwrap();
            assert!(
                verdict.starts_with("1 sector of the lanes' table of units is lost in both copies"),
                "{verdict}"
            );
            assert!(!report.to_string().contains("--damaged"), "{report}");
            if action == "status" {
                assert_eq!(report["warnings"][0]["code"], "table-lost", "{report}");
            }
        }
        let ids = |list: &Value| -> Vec<u64> {
            list["blocks"].as_array().unwrap().iter().map(|block| block["id"].as_u64().unwrap()).collect()
        };
        let found = ids(&json(&["sdf", "ls", spec]));
        assert_eq!(found, [0, 1, 2]);
        let copy = dir.path().join(format!("copy-{nth}"));
        done(&["sdf", "get", spec, "1", "--output", text(&copy)]);
        assert!(fs::read(&copy).unwrap() == [7; 900_000]);
        for change in [
            &["put", spec, text(&small)][..],
            &["rm", spec, "0"],
            &["rm", spec, "--damaged", "--destroy-data"],
            &["fsck", spec, "--repair"],
        ] {
            refused(2, &[&["sdf"], change].concat(), &["is not written to", "--repair --destroy-data"]);
        }
        assert!(fs::read(&path).unwrap() == bytes);
        let repaired = json(&["sdf", "fsck", spec, "--repair", "--destroy-data"]);
        assert_eq!(
            (&repaired["blocks_checked"], &repaired["sound"]),
            (&3.into(), &true.into()),
            "{repaired}"
        );
        done(&["sdf", "put", &bare, text(&small)]);
        let now = ids(&json(&["sdf", "ls", &bare]));
        assert!(now.len() == 4 && now.starts_with(&found), "{now:?}");
        assert_eq!(json(&["sdf", "fsck", &bare])["blocks_checked"], 4);
    }
}

#[test]
fn rm_lists_deleted_and_kept_blocks() {
    let device = Stored::new(10);
    let ended = refused(1, &["sdf", "rm", &device.spec, "77", "1", "2", "88"], &[]);
    let expected = "not deleted: 77 (there is no block 77), 88 (there is no block 88); deleted: 1, 2";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    let none = refused(1, &["sdf", "rm", &device.spec, "77", "--damaged", "--destroy-data"], &[]);
    assert!(none.stderr.contains("deleted: none; damaged units are unchanged"), "{}", none.stderr);
    assert_eq!(json(&["sdf", "ls", &device.spec])["blocks"].as_array().unwrap().len(), 8);
}

#[test]
fn shifted_store_is_not_sought_in_the_shape_it_has() {
    let device = Stored::new(3);
    let shifted = [vec![0; 3 * 4096], device.original.clone()].concat();
    fs::write(&device.path, shifted).unwrap();
    refused(2, &["sdf", "ls", &device.lanes], &["can be read with the shape", ",channels=4,unit=64KiB"]);
    let ended = refused(2, &["sdf", "ls", &device.spec], &["began or ended at another place"]);
    assert!(!ended.stderr.contains("can be read with the shape"), "{}", ended.stderr);
}

#[test]
fn store_of_less_than_two_sectors_names_its_length() {
    let device = Stored::new(1);
    fs::write(&device.path, &device.original[..5000]).unwrap();
    let length = device.original.len().to_string();
    refused(2, &["sdf", "ls", &device.lanes], &["truncate -s", &length]);
    fs::write(&device.path, &device.original[4096..9096]).unwrap();
    refused(2, &["sdf", "ls", &device.lanes], &["too few for lanes", "make the device longer"]);
}

#[test]
fn suggested_command_runs_for_any_name() {
    let device = Stored::new(1);
    let odd = device.dir.path().join("it's \"odd\" $HOME");
    let mut bytes = device.original.clone();
    let payload = bytes.windows(64).position(|bytes| bytes == [7; 64]).unwrap();
    bytes[payload] = 8;
    fs::write(&odd, bytes).unwrap();
    let spec = format!("lanes({})", text(&odd));
    let checked = flashlane(&["sdf", "fsck", &spec, "--format", "json"]);
    let result: Value = serde_json::from_str(&checked.stdout).unwrap();
    let verdict = result["verdict"].as_str().unwrap();
    let (_, command) = verdict.split_once("('flashlane ").unwrap();
    let (command, _) = command.split_once("') and put").unwrap();
    let shell = format!("\"$0\" {command}");
    let ended = Command::new("sh").args(["-c", &shell, env!("CARGO_BIN_EXE_flashlane")]).output().unwrap();
    assert!(ended.status.success(), "{shell}: {}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(json(&["sdf", "ls", &spec])["blocks"], Value::Array(Vec::new()));
}

#[test]
fn put_names_damage_where_no_unit_is_left() {
    let device = Stored::new(1);
    let mut bytes = device.bytes();
    let first = |unit: usize| DATA + unit * UNIT;
    let units = (bytes.len() - DATA - 2 * 4096) / (LANES * UNIT) * LANES;
    // Of the written units only block and superblocks are kept.
    let erased: Vec<usize> =
        (0..units).filter(|&unit| !bytes[first(unit)..].starts_with(b"FLBLOCKS")).collect();
    for &unit in &erased {
        bytes[first(unit)..first(unit) + 4096].fill(b'x');
    }
    fs::write(&device.path, bytes).unwrap();
    // The remains of superblocks of the format can be written.
    let put = ["sdf", "put", &device.spec, text(&device.small)];
    let mut ended = flashlane(&put);
    for _ in 0..units - erased.len() {
        ended = flashlane(&put);
    }
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    let kept = format!("{} are damaged and kept as they are", erased.len());
    for part in ["of 60 units", &kept, "rm", "--damaged"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
}

/// Blocks over another layer, or over one with other settings, look damaged, and advice for damage would give them up.
#[test]
fn blocks_below_other_layers_are_not_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let over = |layer: &str| format!("lanes({layer},channels=4,unit=256KiB)");
    let right = over(&format!("replicated({},partitions=4)", file.display()));
    done(&["sdf", "format", &right, "--create", "16MiB"]);
    let value = dir.path().join("value");
    fs::write(&value, [7; 100_000]).unwrap();
    for _ in 0..5 {
        done(&["sdf", "put", &right, text(&value)]);
    }
    let before = fs::read(&file).unwrap();
    for other in [
        file.display().to_string(),
        format!("replicated({})", file.display()),
        format!("replicated({},partitions=4,space=20%)", file.display()),
    ] {
        let other = over(&other);
        for command in [
            &["sdf", "ls", &other][..],
            &["sdf", "fsck", &other],
            &["sdf", "fsck", &other, "--repair", "--destroy-data"],
            &["sdf", "rm", &other, "--damaged", "--destroy-data"],
            &["sdf", "put", &other, text(&value)],
        ] {
            let ended = flashlane(command);
            assert!(
                ended.status != 0 && ended.stderr.contains("as it was when it was divided"),
                "{command:?}: {}",
                ended.stderr
            );
        }
        assert!(fs::read(&file).unwrap() == before, "{other}");
    }
    assert_eq!(json(&["sdf", "status", &right])["blocks"], 5);
    refused(
        2,
        &["sdf", "ls", &format!("striped(striped(lanes({}),lanes=2),lanes=2)", file.display())],
        &["striped already"],
    );
}
