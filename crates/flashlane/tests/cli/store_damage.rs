//! A store of which a part is damaged: what can be read is shown, and what cannot is named.

use crate::program::{command, done, flashlane, refused, text};
use crate::store::Kept;
use crate::stored::{DATA, LANES};
use std::fs;

const UNIT: usize = 64 << 10;
const KEYS: usize = 12_000;

/// Returns a store with keys in several blocks, and the offset of the unit of one of them in the file, with its id.
fn filled() -> (Kept, usize, String) {
    let kept = Kept::new("8MiB");
    let lines: Vec<String> = (0..KEYS).map(|nth| format!("key{nth:06}\tvalue {nth}")).collect();
    let pairs = kept.file("pairs", lines.join("\n"));
    kept.store("import", &[text(&pairs)]);
    let (at, id) = units(&kept).swap_remove(0);
    (kept, at, id)
}

/// Returns the offsets of the units that hold blocks, with the ids of these.
fn units(kept: &Kept) -> Vec<(usize, String)> {
    let blocks = done(&["sdf", "ls", &kept.spec, "--format", "csv"]);
    let head: Vec<&str> = blocks.lines().next().unwrap().split(',').collect();
    let of_row = |row: &str| {
        let row: Vec<&str> = row.split(',').collect();
        let column = |name: &str| row[head.iter().position(|column| *column == name).unwrap()];
        let (lane, unit): (usize, usize) = (column("lane").parse().unwrap(), column("unit").parse().unwrap());
        (DATA + (unit * LANES + lane) * UNIT, column("id").to_owned())
    };
    blocks.lines().skip(1).map(of_row).collect()
}

fn damage(kept: &Kept, at: usize, length: usize) {
    let path = kept.dir.path().join("flash");
    let mut bytes = fs::read(&path).unwrap();
    bytes[at..at + length].fill(0x5a);
    fs::write(&path, bytes).unwrap();
}

/// The lines of a scan, and what is said on standard error.
fn scan(kept: &Kept) -> (usize, String) {
    let ended = flashlane(&["store", "scan", &kept.spec]);
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    (ended.stdout.lines().count(), ended.stderr)
}

#[test]
fn scan_leaves_out_only_what_is_damaged() {
    let (kept, unit, _) = filled();
    damage(&kept, unit + 20_000, 2);
    let (lines, said) = scan(&kept);
    assert!((KEYS - 600..KEYS).contains(&lines), "{lines} of {KEYS} keys: {said}");
    for part in ["left out: from 'key", "on and below 'key", "unreadable: the bytes from", "store get"] {
        assert!(said.contains(part), "{said}");
    }
    let counted = flashlane(&["store", "stat", &kept.spec, "--count"]);
    assert_eq!(counted.status, 1);
    assert!(counted.stdout.contains(&lines.to_string()) && counted.stderr.contains("left out: from 'key"));
    // Behind the gap all is there, and what is written into it is found.
    assert!(done(&["store", "scan", &kept.spec, "--from", "key011999"]) == "key011999\n");
}

#[test]
fn lost_blocks_and_units_are_told_wherever_keys_may_be_missing() {
    let (kept, unit, id) = filled();
    // The end of the block, by which the store recognises it.
    let blocks = done(&["sdf", "ls", &kept.spec]);
    let length: usize = blocks
        .lines()
        .find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.first() == Some(&&*id)).then(|| words[1].parse().unwrap())
        })
        .unwrap();
    damage(&kept, unit + 4096 + length - 30, 2);
    for part in ["damaged block", &id, "keys are missing or have older values"] {
        let (lines, said) = scan(&kept);
        assert!(lines < KEYS && said.contains(part), "{said}");
        kept.refused(1, "get", &["nokey"], &["no key 'nokey' is found, and it may be lost", part]);
    }
    assert!(kept.store("stat", &[]).starts_with("Verdict: 1 damaged block"));
    kept.refused(1, "put", &["key", "--value", "x"], &[&format!("block {id}"), "store salvage"]);
    // A block that is not there at all.
    done(&["sdf", "rm", &kept.spec, &id]);
    let (lines, said) = scan(&kept);
    assert!(lines < KEYS && said.contains("writes would be lost"), "{said}");
    kept.refused(2, "put", &["key", "--value", "x"], &["writes would be lost", "store salvage"]);
    // A whole unit: what discards it would only hide the loss.
    let (kept, unit, _) = filled();
    damage(&kept, unit, UNIT);
    let verdict = kept.store("stat", &[]);
    assert!(verdict.contains("1 damaged unit") && !verdict.contains("--damaged"), "{verdict}");
    let (lines, said) = scan(&kept);
    assert!(
        lines < KEYS
            && said.contains("1 damaged unit may have held keys: keys are missing or have older values"),
        "{said}"
    );
    refused(1, &["store", "get", &kept.spec, "nokey"], &["it may be lost: 1 damaged unit"]);
}

#[test]
fn value_without_one_of_its_pieces_is_told_by_whatever_counts_it() {
    let kept = Kept::new("8MiB");
    let value = kept.file("value", "v".repeat(3 * UNIT));
    kept.store("put", &["big", text(&value)]);
    let (at, piece) = units(&kept).swap_remove(0);
    // So many writes that the log needs the first ones no more.
    let lines: Vec<String> = (0..KEYS).map(|nth| format!("key{nth:06}\tvalue {nth}")).collect();
    kept.store("import", &[text(&kept.file("pairs", lines.join("\n")))]);
    assert_eq!(kept.store("scan", &[]).lines().count(), KEYS + 1);
    damage(&kept, at, UNIT);
    assert_eq!(flashlane(&["sdf", "rm", &kept.spec, "--damaged", "--destroy-data"]).status, 0);
    let lost = ["left out: 'big'", &format!("block {piece} is missing")];
    let (lines, said) = scan(&kept);
    assert_eq!(lines, KEYS, "{said}");
    let counted = flashlane(&["store", "stat", &kept.spec, "--count"]);
    assert_eq!(counted.status, 1, "{}", counted.stderr);
    assert!(counted.stdout.contains(&KEYS.to_string()), "{}", counted.stdout);
    for part in lost {
        assert!(said.contains(part) && counted.stderr.contains(part), "{said} {}", counted.stderr);
    }
    kept.refused(1, "get", &["big"], &["the value of 'big' is lost", "store put", "store rm"]);
    kept.store("rm", &["big"]);
    assert_eq!(kept.store("scan", &[]).lines().count(), KEYS);
}

#[test]
fn other_data_in_an_erased_unit_loses_no_key() {
    let (kept, ..) = filled();
    let value = kept.file("value", "v".repeat(9000));
    done(&["store", "file", "put", &kept.spec, "/first", text(&value)]);
    damage(&kept, DATA + (25 * LANES + 1) * UNIT, 1);
    let verdict = kept.store("stat", &["--count"]);
    let discard = format!("'flashlane sdf rm \"{}\" --damaged --destroy-data'", kept.spec);
    for part in ["1 damaged unit", "no block is lost", &discard] {
        assert!(verdict.contains(part), "{verdict}");
    }
    assert_eq!(kept.store("scan", &[]).lines().count(), KEYS);
    kept.refused(1, "get", &["nokey"], &["no key 'nokey'"]);
    assert!(!flashlane(&["store", "get", &kept.spec, "nokey"]).stderr.contains("lost"));
    done(&["store", "file", "put", &kept.spec, "/second", text(&value)]);
    assert_eq!(flashlane(&["sdf", "rm", &kept.spec, "--damaged", "--destroy-data"]).status, 0);
    assert!(kept.store("stat", &["--count"]).starts_with("Verdict: sound"));
}

#[test]
fn damaged_copy_of_the_log_header_is_told_until_a_write_repairs_it() {
    let kept = Kept::new("4MiB");
    kept.store("put", &["key", "--value", "x"]);
    let log = kept.dir.path().join("flash.log");
    for at in [0, 4096] {
        let mut bytes = fs::read(&log).unwrap();
        bytes[at] ^= 1;
        fs::write(&log, &bytes).unwrap();
        let verdict = kept.store("stat", &[]);
        assert!(verdict.starts_with("Verdict: one copy of the header of the log"), "{verdict}");
        assert!(fs::read(&log).unwrap() == bytes, "looking changes nothing");
        kept.store("put", &["key", "--value", "y"]);
        assert!(kept.store("stat", &[]).starts_with("Verdict: sound"));
    }
}

#[test]
fn refusals_without_a_log_say_how_to_go_on() {
    let kept = Kept::new("4MiB");
    kept.store("put", &["key", "--value", "x"]);
    let log = kept.dir.path().join("flash.log");
    let whole = fs::read(&log).unwrap();
    // The end of the log holds no records yet.
    fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(128 << 10).unwrap();
    let command = format!("truncate -s {} {}", whole.len(), text(&log));
    kept.refused(
        1,
        "get",
        &["key"],
        &["the device was cut", &format!("'{command}'"), "a copy of device and log"],
    );
    assert!(std::process::Command::new("sh").args(["-c", &command]).status().unwrap().success());
    assert_eq!(kept.store("get", &["key"]), "x");
    let mut bytes = whole;
    bytes[..8192].fill(0);
    fs::write(&log, bytes).unwrap();
    let parts = ["holds the log of a store", "both copies of its header", "a copy of device and log"];
    kept.refused(1, "get", &["key"], &parts);
    // Nor is it taken for other data that --destroy-data alone gives up.
    let made = kept.spec.replace("flash", "other").replace(')', ",channels=4,unit=64KiB)");
    let create = ["store", "create", &made, "--create", "4MiB", "--log", text(&log), "--destroy-data"];
    refused(2, &create, &["log of a Flashlane store", "--really-log"]);
    fs::write(&log, [b'x'; 64 << 10]).unwrap();
    let parts = ["holds no log of a store", "has the blocks of one", "--log LOG", "a copy of device and log"];
    kept.refused(2, "get", &["key"], &parts);
}

#[test]
fn creation_over_a_file_names_its_length() {
    let kept = Kept::new("4MiB");
    let parts = ["exists already", "it is 4 MiB long", "of that length"];
    kept.refused(2, "create", &["--create", "8MiB"], &parts);
    let parts = ["exists already", "it is 4 MiB long", "or remove it"];
    let shape = kept.spec.replace(')', ",channels=4,unit=64KiB)");
    refused(2, &["sdf", "format", &shape, "--create", "8MiB"], &parts);
}

#[test]
fn store_is_read_without_the_damaged_end_of_its_log() {
    // Few, so that all stay in the log: how many pages more of them take depends on how fast the disk is, and with it
    // when they go into a patch.
    let (kept, few) = (Kept::new("8MiB"), 100);
    let lines: String = (0..few).map(|nth| format!("key{nth:06}\tvalue {nth}\n")).collect();
    let pairs = kept.file("pairs", lines);
    kept.store("import", &[text(&pairs)]);
    for (key, value) in [("late", "1"), ("later", "2"), ("latest", "3")] {
        kept.store("put", &[key, "--value", value]);
    }
    let log = kept.dir.path().join("flash.log");
    let mut bytes = fs::read(&log).unwrap();
    // The page before the last one, by their numbers: that of the second of these writes.
    let number = |page: &[u8]| u64::from_le_bytes(page[40..48].try_into().unwrap());
    let pages = bytes.chunks(4096).enumerate().filter(|(_, page)| page.starts_with(b"flashlog"));
    let mut pages: Vec<(u64, usize)> = pages.map(|(nth, page)| (number(page), nth * 4096)).collect();
    pages.sort_unstable();
    bytes[pages[pages.len() - 2].1 + 100] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let (lines, said) = scan(&kept);
    assert_eq!(lines, few + 1, "what came before the damaged page is there");
    assert!(
        said.contains("of the log on") && said.contains("keys are missing or have older values"),
        "{said}"
    );
    assert!(kept.store("stat", &[]).starts_with("Verdict: page "));
    kept.refused(1, "get", &["latest"], &["no key 'latest' is found, and it may be lost", "of the log on"]);
    kept.refused(1, "put", &["key", "--value", "x"], &["is damaged", "store scan", "--values", "import"]);
    assert!(fs::read(&log).unwrap() == bytes, "nothing is written");
}

/// Runs a command that reads a store with a damaged unit: it says so, and fails.
fn missing(kept: &Kept, words: &[&str]) -> String {
    let ended = flashlane(&[&["store"], words, &[&*kept.spec]].concat());
    let said = ended.stderr.matches("1 damaged unit may have held keys").count();
    assert!(ended.status == 1 && said == 1, "{words:?}: {}\n{}", ended.status, ended.stderr);
    assert!(ended.stderr.contains("Go back to a copy of device and log"), "{words:?}: {}", ended.stderr);
    ended.stdout
}

#[test]
fn every_command_that_reads_reports_a_lost_unit() {
    let kept = Kept::new("8MiB");
    let spec = &*kept.spec;
    done(&["store", "table", "create", spec, "t", "id:integer", "v:text", "--key", "id"]);
    let rows: String = (0..1000).map(|id| format!("{id},value of row {id}\n")).collect();
    done(&["store", "table", "import", spec, "t", text(&kept.file("csv", format!("id,v\n{rows}")))]);
    let sources: Vec<_> = (1..4u8).map(|nth| kept.file(&format!("f{nth}"), [nth; 20_000])).collect();
    for source in &sources {
        let name = format!("/{}", text(source).rsplit('/').next().unwrap());
        done(&["store", "file", "put", spec, &name, text(source), "--durability", "memory"]);
    }
    let (at, _) = units(&kept).swap_remove(0);
    damage(&kept, at, UNIT);
    let [damaged, log] = kept.bytes();
    for command in ["ls", "fsck"] {
        missing(&kept, &["file", command]);
    }
    missing(&kept, &["table", "ls"]);
    for table in [&["scan"][..], &["get", "999"], &["rm", "-5"]] {
        let words = [&["store", "table", table[0], spec, "t"], &table[1..]].concat();
        refused(1, &words, &["1 damaged unit may have held keys", "Go back to a copy"]);
    }
    for (nth, source) in sources.iter().enumerate() {
        let name = format!("/f{}", nth + 1);
        let ended = command(&["store", "file", "get", spec, &name]).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{name}");
        let is_whole = ended.stdout == fs::read(source).unwrap();
        assert!(is_whole || ended.stdout.is_empty(), "{name} has bytes that were never in it");
    }
    let verdict = flashlane(&["store", "file", "fsck", spec]).stdout;
    assert!(verdict.is_empty() || verdict.starts_with("Verdict: the store is damaged"), "{verdict}");
    let repair = ["store", "file", "fsck", spec, "--repair"];
    refused(1, &repair, &["nothing is repaired", "Go back to a copy", "--destroy-data"]);
    refused(1, &["store", "file", "rm", spec, "/f1"], &["1 damaged unit may have held keys"]);
    refused(1, &["store", "rm", spec, "a", "b"], &["not deleted: a (not found, and may be lost), b"]);
    assert!(kept.bytes() == [damaged, log], "nothing is written");
}

#[test]
fn refusal_to_open_names_what_helps() {
    let kept = Kept::new("4MiB");
    kept.store("put", &["a", "--value", "1"]);
    let flash = kept.dir.path().join("flash");
    let sound = fs::read(&flash).unwrap();
    // Somebody's tar over the beginning: nothing uses the device, and its blocks are there.
    let mut bytes = sound.clone();
    bytes[..8192].fill(b'x');
    bytes[257..263].copy_from_slice(b"ustar\0");
    fs::write(&flash, bytes).unwrap();
    kept.refused(
        2,
        "put",
        &["b", "--value", "2"],
        &["tar archive", "blocks can be read", "sdf fsck", "--repair --destroy-data --really"],
    );
    fs::write(&flash, sound).unwrap();
    fs::write(kept.dir.path().join("flash.log"), b"").unwrap();
    kept.refused(2, "put", &["b", "--value", "2"], &["the log", "is 0 B long: it was cut"]);
}

/// A log that was cut and made as long as before looks like one whose last pages a power cut tore, but for its mark.
#[test]
fn loss_of_the_end_of_a_closed_log_is_told() {
    let kept = Kept::new("4MiB");
    for key in ["a", "b"] {
        kept.store("put", &[key, "--value", "1"]);
    }
    let log = kept.dir.path().join("flash.log");
    let mut bytes = fs::read(&log).unwrap();
    let pages = bytes.chunks(4096).enumerate().filter(|(_, page)| page.starts_with(b"flashlog"));
    let last = pages.map(|(nth, _)| nth).max().unwrap();
    bytes[last * 4096..].fill(0);
    fs::write(&log, &bytes).unwrap();
    kept.refused(1, "put", &["c", "--value", "2"], &["acknowledged writes are lost", "store scan"]);
    kept.refused(1, "get", &["b"], &["no key 'b' is found, and it may be lost"]);
    let ended = flashlane(&["store", "scan", &kept.spec]);
    assert_eq!((ended.status, ended.stdout.as_str()), (1, "a\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("keys are missing"), "{}", ended.stderr);
    assert!(fs::read(&log).unwrap() == bytes, "nothing is written");
}

/// A damaged byte in place of zeros is no other data. More of them refuse writes, and lose no key.
#[test]
fn damaged_byte_behind_a_mark_of_the_log_refuses_no_write() {
    let kept = Kept::new("4MiB");
    kept.store("put", &["a", "--value", "1"]);
    let log = kept.dir.path().join("flash.log");
    let change = |places: [usize; 2]| {
        let mut bytes = fs::read(&log).unwrap();
        places.into_iter().for_each(|at| bytes[at] = 0x10);
        fs::write(&log, bytes).unwrap();
    };
    // Each in one of the marks.
    change([8192 + 100, 12_288 + 4000]);
    assert!(kept.store("stat", &[]).starts_with("Verdict: sound"));
    assert_eq!(kept.store("get", &["a"]), "1");
    kept.store("put", &["b", "--value", "2"]);
    change([8192 + 100, 8192 + 101]);
    assert_eq!(kept.store("get", &["a"]), "1");
    let first = [format!("other data is in the log '{}': 4 KiB", text(&log)), "--destroy-data".into()];
    let first = first.each_ref().map(String::as_str);
    kept.refused(2, "put", &["c", "--value", "3"], &first);
    let verdict = kept.store("stat", &[]);
    assert!(first.iter().all(|part| verdict.lines().next().unwrap().contains(part)), "{verdict}");
    let shown = flashlane(&["store", "salvage", &kept.spec]);
    assert!(shown.status == 1 && shown.stdout.starts_with("Verdict: no key is lost"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("Go back to a copy"), "{}", shown.stdout);
    assert!(kept.store("salvage", &["--destroy-data"]).contains("Nothing of the store is lost"));
    kept.store("put", &["c", "--value", "3"]);
    assert_eq!(kept.store("scan", &[]), "a\nb\nc\n");
}

/// Salvages a damaged store as its messages say, and returns the keys that are left. What is lost is told until it is
/// acknowledged.
fn salvaged(kept: &Kept, lost: &str) -> usize {
    let before = kept.bytes();
    let shown = flashlane(&["store", "salvage", &kept.spec]);
    assert_eq!(shown.status, 1, "{}", shown.stderr);
    for part in ["Verdict: damaged", lost, "Nothing was changed", "--destroy-data"] {
        assert!(shown.stdout.contains(part), "{}", shown.stdout);
    }
    assert!(kept.bytes() == before, "a salvage without consent changes nothing");
    let done_with = kept.store("salvage", &["--destroy-data"]);
    assert!(done_with.starts_with("Verdict: salvaged") && done_with.contains(lost), "{done_with}");
    let (lines, said) = scan(kept);
    assert!(said.contains("a salvage gave up") && said.contains("--acknowledge"), "{said}");
    assert!(!said.contains("left out"), "{said}");
    assert!(kept.store("stat", &[]).contains("a salvage gave up"));
    done(&["sdf", "fsck", &kept.spec]);
    let put = flashlane(&["store", "put", &kept.spec, "new", "--value", "x"]);
    assert!(put.status == 0 && put.stderr.contains("a salvage gave up"), "{}", put.stderr);
    let again = flashlane(&["store", "salvage", &kept.spec]);
    assert!(again.stdout.starts_with("Verdict: everything"), "{}", again.stdout);
    kept.store("salvage", &["--acknowledge"]);
    assert!(kept.store("stat", &["--count"]).starts_with("Verdict: sound"));
    let left = kept.store("scan", &[]).lines().count();
    assert_eq!(left, lines + 1, "what is left counts as the whole");
    lines
}

#[test]
fn salvage_keeps_all_but_damaged_bytes() {
    let (kept, unit, _) = filled();
    damage(&kept, unit + 20_000, 2);
    let (before, said) = scan(&kept);
    assert!(said.contains("store salvage"), "{said}");
    let lines = salvaged(&kept, "Lost: the keys from 'key");
    assert_eq!(lines, before, "all that could be read is left");
}

#[test]
fn salvage_gives_up_blocks_that_are_not_there() {
    // The end of a block, a whole unit, and one that is erased.
    for way in 0..3 {
        let (kept, unit, _) = filled();
        match way {
            0 => damage(&kept, unit + UNIT - 12_000, 8000),
            _ => damage(&kept, unit, UNIT),
        }
        if way == 2 {
            flashlane(&["sdf", "rm", &kept.spec, "--damaged", "--destroy-data"]);
            kept.refused(2, "put", &["key", "--value", "x"], &["store salvage"]);
        }
        let lines = salvaged(&kept, "1 block whose keys are not known");
        assert!(lines > 0 && lines < KEYS, "{lines} keys are left");
    }
}

#[test]
fn text_in_the_log_is_kept_until_it_is_given_up() {
    let kept = Kept::new("8MiB");
    kept.store("put", &["key", "--value", "value"]);
    let log = kept.dir.path().join("flash.log");
    let length = log.metadata().unwrap().len() as usize;
    let pairs = kept.file("pairs", "a\t1\nb\t2\n");
    for at in [64 << 10, (length / 2) & !4095, length - (64 << 10)] {
        let mut bytes = fs::read(&log).unwrap();
        let text_of_user = b"my precious text\n".iter().cycle().take(64 << 10);
        bytes[at..at + (64 << 10)].iter_mut().zip(text_of_user).for_each(|(to, from)| *to = *from);
        fs::write(&log, &bytes).unwrap();
        let named = [&format!("64 KiB, the first at byte {at}"), "other data is in the log", "store salvage"];
        kept.refused(2, "put", &["key", "--value", "x"], &named);
        kept.refused(2, "rm", &["key"], &named);
        kept.refused(2, "import", &[text(&pairs)], &named);
        assert_eq!(kept.store("get", &["key"]), "value");
        let stated = kept.store("stat", &[]);
        assert!(!stated.starts_with("Verdict: sound") && stated.contains(named[0]), "{stated}");
        let shown = flashlane(&["store", "salvage", &kept.spec]);
        assert!(shown.status == 1 && shown.stdout.contains("Other data: 64 KiB"), "{}", shown.stdout);
        assert!(fs::read(&log).unwrap() == bytes, "the text at byte {at} is kept");
        let done_with = kept.store("salvage", &["--destroy-data"]);
        assert!(done_with.contains("Nothing of the store is lost"), "{done_with}");
        kept.store("put", &["key", "--value", "value"]);
        assert!(kept.store("stat", &[]).starts_with("Verdict: sound"));
    }
}
