//! A key-value store on a file that is divided into lanes, with its log in a file beside it.

use crate::endings::{interrupt, mounted};
use crate::program::{command, done, flashlane, json, refused, text};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

/// A file with lanes and a store on it, and its spec.
pub struct Kept {
    pub dir: tempfile::TempDir,
    pub spec: String,
}

impl Kept {
    /// One with blocks of 48 KiB or a little less.
    pub fn new(size: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spec = format!("lanes({})", dir.path().join("flash").display());
        let shape = spec.replace(')', ",channels=4,unit=64KiB,read-unit=4KiB)");
        let shown = done(&["store", "create", &shape, "--create", size]);
        assert!(shown.starts_with("Verdict: sound"), "{shown}");
        Self { dir, spec }
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    pub fn store(&self, action: &str, more: &[&str]) -> String {
        done(&[&["store", action, &self.spec], more].concat())
    }

    pub fn refused(&self, status: i32, action: &str, more: &[&str], parts: &[&str]) {
        refused(status, &[&["store", action, &self.spec], more].concat(), parts);
    }

    fn value(&self, key: &str) -> Vec<u8> {
        let output = command(&["store", "get", &self.spec, key]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    pub fn bytes(&self) -> [Vec<u8>; 2] {
        ["flash", "flash.log"].map(|name| fs::read(self.dir.path().join(name)).unwrap())
    }

    /// Keys and values of a scan, as lines.
    fn lines(&self) -> Vec<String> {
        self.store("scan", &["--values"]).lines().map(str::to_owned).collect()
    }
}

fn pair(nth: usize) -> String {
    format!("key{nth:06}\tvalue {nth}")
}

#[test]
fn store_keeps_data_for_its_whole_life() {
    let kept = Kept::new("8MiB");
    assert_eq!(
        kept.store("put", &["greeting", "--value", "hello"]),
        "greeting: 5 bytes stored, durability: device\n"
    );
    assert_eq!(kept.value("greeting"), b"hello");
    kept.store("put", &["greeting", "--value", "good day", "--durability", "memory"]);
    assert_eq!(kept.value("greeting"), b"good day");
    // A value of several blocks, and bytes of any kind.
    let large: Vec<u8> = (0..300_000_u32).map(|nth| (nth % 251) as u8).collect();
    let path = kept.file("large", &large);
    kept.store("put", &["large\t\u{1b}[2J", text(&path)]);
    assert_eq!(kept.value("large\t\u{1b}[2J"), large);
    let lines: Vec<String> = (0..10_000).map(pair).collect();
    let pairs = kept.file("pairs", lines.join("\n"));
    let stored = kept.store("import", &[text(&pairs)]);
    assert!(stored.starts_with("10000 lines stored, durability: device; "), "{stored}");
    assert_eq!(kept.store("scan", &["--prefix", "key", "--values"]).lines().collect::<Vec<_>>(), lines);
    let some = kept.store("scan", &["--from", "key000009", "--to", "key000020", "--limit", "3"]);
    assert_eq!(some, "key000009\nkey000010\nkey000011\n");
    // Control characters do not reach the terminal, and can be read back.
    assert_eq!(kept.store("scan", &["--prefix", "large"]), "large\\t\\u001b[2J\n");
    let stat = json(&["store", "stat", &kept.spec, "--count"]);
    assert_eq!((&stat["schema"], &stat["keys"]), (&"flashlane.store/1".into(), &10_002.into()));
    assert_eq!(kept.store("rm", &["greeting", "key000000"]), "2 keys deleted, durability: device\n");
    kept.refused(1, "get", &["greeting"], &["no key 'greeting'"]);
    kept.refused(
        1,
        "rm",
        &["greeting", "key000001"],
        &["not deleted: greeting (no such key); deleted: key000001"],
    );
    assert_eq!(kept.lines().len(), 9_999);
    // A scan is the input of an import.
    let other = Kept::new("8MiB");
    let all = other.file("all", kept.lines().join("\n"));
    other.store("import", &[text(&all)]);
    assert_eq!(other.lines(), kept.lines());
    assert_eq!(other.value("large\t\u{1b}[2J"), large);
    let out = kept.dir.path().join("out");
    kept.store("get", &["key000002", "--output", text(&out)]);
    assert_eq!(fs::read(&out).unwrap(), b"value 2");
    kept.refused(
        2,
        "get",
        &["key000002", "--output", text(&out)],
        &["cannot create", "exists already, and is not replaced"],
    );
}

#[test]
fn backup_is_restored_with_tables_and_files() {
    let kept = Kept::new("8MiB");
    let lines: Vec<String> = (0..3000).map(pair).collect();
    kept.store("import", &[text(&kept.file("pairs", lines.join("\n")))]);
    let large: Vec<u8> = (0..300_000_u32).map(|nth| (nth % 251) as u8).collect();
    let path = kept.file("large", &large);
    kept.store("put", &["large", text(&path)]);
    let of = |kept: &Kept, face: &str, action: &str, more: &[&str]| {
        done(&[&["store", face, action, &kept.spec], more].concat())
    };
    of(&kept, "table", "create", &["census", "city:text", "people:integer", "--key", "city"]);
    of(&kept, "table", "insert", &["census", "city=Bern", "people=134794"]);
    of(&kept, "file", "put", &["/large", text(&path)]);
    let file = kept.dir.path().join("backup");
    let shown = kept.store("backup", &[text(&file)]);
    assert!(shown.contains(" entries in "), "{shown}");
    kept.refused(2, "backup", &[text(&file)], &["exists already"]);

    let other = Kept::new("8MiB");
    let streamed = command(&["store", "backup", &kept.spec, "-"]).output().unwrap();
    assert!(streamed.status.success() && streamed.stdout == fs::read(&file).unwrap());
    let mut child = command(&["store", "import", &other.spec, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&streamed.stdout).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(other.lines(), kept.lines());
    assert_eq!(other.value("large"), large);
    assert_eq!(of(&other, "table", "scan", &["census"]), of(&kept, "table", "scan", &["census"]));
    let copy = other.dir.path().join("copy");
    of(&other, "file", "get", &["/large", "--output", text(&copy)]);
    assert_eq!(fs::read(&copy).unwrap(), large);
    assert!(of(&other, "file", "fsck", &[]).contains("sound"));
    other.refused(2, "import", &[text(&file)], &["without keys"]);

    // A part of a backup is said to be none.
    let mut cut = streamed.stdout;
    cut.truncate(cut.len() - 9);
    let (cut, empty) = (kept.file("cut", &cut), Kept::new("8MiB"));
    empty.refused(1, "import", &[text(&cut)], &["not complete", "stored before it: "]);
}

#[test]
fn import_of_an_empty_file_fails() {
    let kept = Kept::new("4MiB");
    let file = kept.file("empty.backup", "");
    kept.refused(1, "import", &[text(&file)], &["empty.backup' is empty", "nothing is stored"]);
    refused(1, &["store", "import", "backed(sim:sdf)", text(&file)], &["empty.backup' is empty"]);
    // A program that has no lines to give is not a failed backup.
    let piped = command(&["store", "import", &kept.spec, "-"]).stdin(Stdio::null()).output().unwrap();
    assert!(piped.status.success() && piped.stdout.starts_with(b"0 lines stored"), "{piped:?}");
}

#[test]
fn reading_a_store_changes_nothing() {
    let kept = Kept::new("4MiB");
    kept.store("put", &["key", "--value", "value"]);
    let before = kept.bytes();
    kept.store("get", &["key"]);
    kept.store("scan", &[]);
    kept.store("stat", &["--count"]);
    kept.refused(1, "get", &["other"], &["no key"]);
    kept.refused(1, "rm", &["other"], &["no such key"]);
    let long = "k".repeat(5000);
    kept.refused(2, "put", &[&long, "--value", "x"], &["the key has", "at most"]);
    assert!(kept.bytes() == before, "the store was written");
}

#[test]
fn blocks_of_a_store_are_not_deleted_as_blocks() {
    let kept = Kept::new("4MiB");
    let lines: String = (0..3000).map(|nth| pair(nth) + "\n").collect();
    kept.store("import", &[text(&kept.file("lines", lines))]);
    let listed = json(&["sdf", "ls", &kept.spec]);
    let ids: Vec<String> =
        listed["blocks"].as_array().unwrap().iter().map(|block| block["id"].to_string()).collect();
    assert!(!ids.is_empty(), "no container became a patch");
    let before = kept.bytes();
    for id in &ids {
        let format = format!(
            "'flashlane sdf format \"{}\" --destroy-data --really {}'",
            kept.spec,
            text(&kept.dir.path().join("flash"))
        );
        let said = ["belongs to a store", "nothing was deleted", &format];
        refused(1, &["sdf", "rm", &kept.spec, "999999", id], &said);
    }
    assert!(kept.bytes() == before);
    assert_eq!(kept.lines().len(), 3000);
}

#[test]
fn other_blocks_are_not_put_among_those_of_a_store() {
    let kept = Kept::new("16MiB");
    kept.store("put", &["key", "--value", "value"]);
    let file = kept.file("file", "no pair");
    let before = kept.bytes();
    refused(2, &["sdf", "put", &kept.spec, text(&file)], &["are those of a store"]);
    refused(2, &["sdf", "bench", &kept.spec, "--destroy-data"], &["are those of a store"]);
    assert!(kept.bytes() == before, "a refused command wrote");
    assert_eq!(kept.lines().len(), 1);
}

#[test]
fn foreign_log_is_overwritten_only_where_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (device, log) = (dir.path().join("data"), dir.path().join("data.log"));
    fs::write(&device, vec![7; 16 << 20]).unwrap();
    fs::write(&log, "my own log line\n".repeat(1 << 20)).unwrap();
    let before = fs::read(&log).unwrap();
    let spec = format!("lanes({},channels=2,unit=256KiB,format=yes)", text(&device));
    for command in ["create", "bench"] {
        let words = ["is no log of a store, and is kept", "--log"];
        refused(2, &["store", command, &spec, "--destroy-data"], &words);
    }
    assert!(fs::read(&log).unwrap() == before && fs::read(&device).unwrap() == vec![7; 16 << 20]);
    let named = ["store", "create", &spec, "--destroy-data", "--log", text(&log)];
    done(&named);
    // A log of ours is replaced with its store.
    done(&[&named[..4], &["--really", text(&device), "--really-log", text(&log)]].concat());
    // What was given up is gone, and not taken for other data later.
    let spec = format!("lanes({})", text(&device));
    done(&["store", "put", &spec, "key", "--value", "value"]);
}

#[test]
fn cut_log_is_refused_by_every_command() {
    let kept = Kept::new("16MiB");
    for nth in 0..5 {
        kept.store("put", &[&format!("key {nth}"), "--value", &"x".repeat(100_000)]);
    }
    let log = kept.dir.path().join("flash.log");
    let length = log.metadata().unwrap().len();
    for left in [8 << 10, 300 << 10, length - 4096] {
        fs::File::options().write(true).open(&log).unwrap().set_len(left).unwrap();
        kept.refused(1, "scan", &[], &["its log reaches to", "was cut"]);
        kept.refused(1, "put", &["another", "--value", "value"], &["was cut"]);
    }
}

#[test]
fn lines_that_were_acknowledged_survive_a_kill() {
    let kept = Kept::new("16MiB");
    for round in 0..3 {
        let lines: String = (0..200_000).map(|nth| format!("r{round}{}\n", pair(nth))).collect();
        let input = fs::File::open(kept.file("pairs", lines)).unwrap();
        let mut import = command(&["store", "import", &kept.spec, "-", "--acknowledge"])
            .stdin(input)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(import.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        for line in lines {
            acknowledged = line.unwrap().parse::<usize>().unwrap();
            if acknowledged > 3000 {
                import.kill().unwrap();
            }
        }
        let killed = import.wait().unwrap();
        assert!(!killed.success(), "it ended before it could be killed");
        let found = kept.store("scan", &["--prefix", &format!("r{round}"), "--values"]);
        let found: Vec<&str> = found.lines().collect();
        assert!(found.len() >= acknowledged && acknowledged > 3000, "{acknowledged}, found {}", found.len());
        for (nth, line) in found.iter().enumerate() {
            assert_eq!(*line, format!("r{round}{}", pair(nth)));
        }
    }
}

#[test]
fn ctrl_c_ends_an_import_that_waits_for_input() {
    let kept = Kept::new("4MiB");
    let mut import = command(&["store", "import", &kept.spec, "-", "--acknowledge"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = import.stdin.take().unwrap();
    input.write_all(b"a\t1\nb\t2\n").unwrap();
    let mut lines = BufReader::new(import.stdout.take().unwrap()).lines();
    while lines.next().unwrap().unwrap() != "2" {}
    interrupt(&import);
    let ended = import.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert_eq!(said, "flashlane: stopped; 2 lines stored from the first on, durability: device\n");
    drop(input);
    assert_eq!(kept.lines(), ["a\t1", "b\t2"]);
}

#[test]
fn malformed_line_is_named_and_those_before_it_are_stored() {
    let kept = Kept::new("4MiB");
    let file = kept.file("pairs", "a\t1\nb\t2\nc:\\dir\t3\nd\t4\n");
    kept.refused(
        1,
        "import",
        &[text(&file)],
        &["line 3 of", "'\\d' at byte 3 is no escape", "stored before it: 2 lines"],
    );
    assert_eq!(kept.lines(), ["a\t1", "b\t2"]);
    let file = kept.file("pairs", "\\x00FLtd\t1\n");
    kept.refused(2, "import", &[text(&file)], &["line 1 of", "as those of tables and files do"]);
    let file = kept.file("pairs", "nothing");
    kept.refused(2, "import", &[text(&file)], &["line 1 of", "no tab ends the key"]);
}

#[test]
fn import_over_a_full_file_system_says_how_many_lines_are_stored() {
    let Some(mount) = mounted("size=6m") else {
        eprintln!("skipped: mounting a small file system is not allowed here");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (device, log, lines) =
        (mount.0.path().join("device"), dir.path().join("log"), dir.path().join("lines"));
    fs::File::create(&device).unwrap().set_len(64 << 20).unwrap();
    let spec = format!("lanes({},channels=2,unit=256KiB)", device.display());
    let with_log = ["--log", text(&log)];
    let create = ["store", "create", &spec, "--log-size", "4MiB", "--destroy-data"];
    done(&[&create[..], &with_log].concat());
    let pairs: Vec<String> = (0..200).map(|nth| format!("{nth:04}\t{}\n", "x".repeat(100_000))).collect();
    fs::write(&lines, pairs.concat()).unwrap();
    let ended = flashlane(&[&["store", "import", &spec, text(&lines)][..], &with_log].concat());
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    let said = ended.stderr.split("stored: ").nth(1).expect("the number is said");
    let numbers: Vec<u64> = said
        .split([' ', ','])
        .map_while(|word| match word {
            "to" => Some(None),
            word => word.parse().ok().map(Some),
        })
        .flatten()
        .collect();
    let found =
        json(&[&["store", "stat", &spec, "--count"][..], &with_log].concat())["keys"].as_u64().unwrap();
    let (least, most) = (numbers[0], *numbers.last().unwrap());
    assert!(least > 0 && (least..=most).contains(&found), "{found} are found: {}", ended.stderr);
}

#[test]
fn full_store_stays_readable_and_rm_gives_space_back() {
    let kept = Kept::new("4MiB");
    let value = kept.file("value", vec![7; 20_000]);
    let mut model = BTreeMap::new();
    let full = (0..1000).find_map(|nth| {
        let key = format!("key{nth:04}");
        let ended = flashlane(&["store", "put", &kept.spec, &key, text(&value)]);
        match ended.status {
            0 => drop(model.insert(key, nth)),
            _ => return Some(ended),
        }
        None
    });
    let full = full.expect("the device fills up");
    assert_eq!(full.status, 1, "{}", full.stderr);
    assert!(
        full.stderr.contains("the device is full")
            && full.stderr.contains("delete keys, or use a larger device")
    );
    let keys: Vec<String> = kept.store("scan", &[]).lines().map(str::to_owned).collect();
    assert_eq!(keys, model.keys().cloned().collect::<Vec<_>>());
    assert!(keys.len() > 20, "{} keys", keys.len());
    for key in &keys {
        assert_eq!(kept.value(key), vec![7; 20_000], "{key}");
    }
    let gone: Vec<&str> = keys.iter().step_by(2).map(String::as_str).collect();
    kept.store("rm", &gone);
    // How much comes back at once depends on the merges that have room.
    let again = gone
        .iter()
        .take_while(|key| flashlane(&["store", "put", &kept.spec, key, text(&value)]).status == 0)
        .count();
    assert!(again > 0, "no value is taken after {} of {} keys were deleted", gone.len(), keys.len());
    assert_eq!(kept.store("scan", &[]).lines().count(), keys.len() - gone.len() + again);
}

#[test]
fn foreign_data_is_refused_and_unchanged() {
    let kept = Kept::new("4MiB");
    kept.store("put", &["key", "--value", "value"]);
    let log = kept.dir.path().join("flash.log");
    let before = kept.bytes();
    // The log is somebody's data.
    let run = ["run", text(&log), "random-write,requests=10", "--destroy-data", "--allow-page-cache"];
    refused(2, &run, &["log of a Flashlane store (at byte 0)", "--really"]);
    kept.refused(2, "create", &[], &["--destroy-data"]);
    // So is the device, though the pair is only in the log.
    let device = kept.dir.path().join("flash");
    let run = ["run", text(&device), "random-write,requests=10", "--destroy-data", "--allow-page-cache"];
    refused(2, &run, &["Flashlane lanes of a store, whose pairs may still be in its log", "--really"]);
    kept.refused(2, "create", &["--destroy-data"], &["lanes of a store", "--really"]);
    let really = ["--destroy-data", "--really", text(&device)];
    kept.refused(2, "create", &really, &["log of a Flashlane store", "--really-log"]);
    kept.refused(
        2,
        "create",
        &["--create", "4MiB"],
        &["exists already", "so does its log", "--destroy-data"],
    );
    // A foreign log, and the log of another store.
    let archive = kept.file("archive", [vec![0; 257], b"ustar\0".to_vec(), vec![0; 1 << 20]].concat());
    let length = fs::metadata(&archive).unwrap().len() / 4096 * 4096;
    fs::File::options().write(true).open(&archive).unwrap().set_len(length).unwrap();
    let content = fs::read(&archive).unwrap();
    let put = ["key", "--value", "x", "--log"];
    kept.refused(
        2,
        "put",
        &[&put[..], &[text(&archive)]].concat(),
        &["tar archive", "not opened as the log"],
    );
    assert!(fs::read(&archive).unwrap() == content);
    let other = Kept::new("4MiB");
    let others = other.dir.path().join("flash.log");
    kept.refused(
        2,
        "put",
        &[&put[..], &[text(&others)]].concat(),
        &["the log is that of store", "belong together"],
    );
    kept.refused(2, "put", &[&put[..], &[text(&device)]].concat(), &["needs another device or file"]);
    // Blocks without a store.
    let blocks = kept.dir.path().join("blocks");
    let spec = format!("lanes({},channels=4,unit=64KiB)", text(&blocks));
    done(&["sdf", "format", &spec, "--create", "4MiB", "--allow-page-cache"]);
    refused(
        2,
        &["store", "get", &spec, "key"],
        &["holds no store (it has 0 blocks of 'flashlane sdf'", "store create"],
    );
    // Lanes that are named as a plain file.
    for command in [&["sdf", "ls", text(&blocks)][..], &["store", "get", text(&device), "key"]] {
        refused(2, command, &["has lanes of erase units", "name it \"lanes("]);
    }
    assert!(kept.bytes() == before, "the store was written");
    assert_eq!(kept.value("key"), b"value");
    kept.store("create", &[&really[..], &["--really-log", text(&log)]].concat());
    assert_eq!(kept.store("scan", &[]), "");
}

#[test]
fn page_cache_needs_no_permission() {
    let hint = ["--allow-page-cache is for measurements", "no direct I/O", "leave the option out"];
    for action in [&["get", "./data", "key"][..], &["create", "./data"], &["serve", "./data"]] {
        refused(2, &[&["store"], action, &["--allow-page-cache"]].concat(), &hint);
    }
    refused(2, &["sdf", "get", "./data", "1", "--allow-page-cache"], &hint);
    refused(2, &["store", "get", "./data", "key", "--allow-page-caches"], &["unexpected argument"]);
}

#[test]
fn refused_creation_leaves_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let spec = format!("lanes({},channels=1,unit=64KiB)", dir.path().join("flash").display());
    refused(2, &["store", "create", &spec, "--create", "1MiB"], &["room for 11 blocks", "at least 26"]);
    let remove = || {
        fs::remove_file(dir.path().join("flash")).unwrap();
        _ = fs::remove_file(dir.path().join("flash.log"));
    };
    // Lanes that cannot be, and a store that cannot be in them.
    for (shape, length) in [("channels=4,unit=64KiB", "512KiB"), ("channels=8,unit=1MiB", "2MiB")] {
        let shaped = spec.replace("channels=1,unit=64KiB", shape);
        for command in ["store create", "sdf format"] {
            let words = [&command.split(' ').collect::<Vec<_>>()[..], &[&shaped]].concat();
            let ended = refused(2, &[&words[..], &["--create", length]].concat(), &["is long enough"]);
            let (_, named) = ended.stderr.split_once("A file of ").unwrap();
            let least: u64 = named.split(' ').next().unwrap().parse().unwrap();
            let length = format!("{}MiB", least - 1);
            refused(2, &[&words[..], &["--create", &length]].concat(), &["is long enough"]);
            // One that is there already, as well.
            let make = |mebibytes: u64| {
                fs::File::create(dir.path().join("flash")).unwrap().set_len(mebibytes << 20).unwrap();
            };
            make(least - 1);
            let parts = [format!("A file of {least} MiB is long enough")];
            refused(2, &[&words[..], &["--destroy-data"]].concat(), &parts.each_ref().map(String::as_str));
            make(least);
            done(&[&words[..], &["--destroy-data"]].concat());
            remove();
            done(&[&words[..], &["--create", &format!("{least}MiB")]].concat());
            remove();
        }
    }
    let log = ["--create", "4MiB", "--log-size", "64KiB"];
    refused(2, &[&["store", "create", &spec][..], &log].concat(), &["64 KiB", "needs at least"]);
    // No file is filled before what cannot be is refused: one of this size would be refused for its room.
    let huge = ["--create", "1024TiB"];
    for (settings, parts) in [
        (",channels=0,unit=64KiB)", ["channels=0", "at least one"]),
        (",channels=1,unit=100TiB)", ["erase units of 100 TiB", "nothing for a block"]),
    ] {
        let impossible = spec.replace(",channels=1,unit=64KiB)", settings);
        refused(2, &[&["store", "create", &impossible][..], &huge].concat(), &parts);
    }
    refused(2, &["sdf", "format", &spec.replace("=1", "=0"), huge[0], huge[1]], &["channels=0"]);
    let log = dir.path().join("none").join("log");
    let log = ["--create", "4MiB", "--log", text(&log)];
    refused(2, &[&["store", "create", &spec][..], &log].concat(), &["no folder", "create that first"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "files are left behind");
}

#[test]
fn simulated_store_is_tried_by_an_import() {
    let dir = tempfile::tempdir().unwrap();
    let pairs = dir.path().join("pairs");
    fs::write(&pairs, (0..1000).map(|nth| pair(nth) + "\n").collect::<String>()).unwrap();
    let stored = done(&["store", "import", "backed(sim:sdf)", text(&pairs)]);
    assert!(stored.starts_with("1000 lines stored, durability: device"), "{stored}");
    refused(2, &["store", "put", "sim:sdf", "key", "--value", "x"], &["keeps nothing", "store import"]);
    refused(2, &["store", "create", "backed(sim:sdf)"], &["keeps nothing", "store import"]);
    refused(2, &["store", "serve", "sim:sdf", "--request-size", "0"], &["--request-size", "at least 1 KiB"]);
    let log = dir.path().join("log");
    fs::write(&log, "mine").unwrap();
    let onto = ["store", "import", "backed(sim:sdf)", text(&pairs), "--log", text(&log)];
    let refusal = refused(2, &onto, &["exists already", "name a new file with --log"]);
    assert!(!refusal.stderr.contains("NewStore"), "{}", refusal.stderr);
    assert_eq!(fs::read(&log).unwrap(), b"mine");
}

#[test]
fn ycsb_runs_on_a_simulated_store_and_on_a_file() {
    let small = ["--records", "200", "--operations", "300", "--value-size", "200B"];
    let bench = ["store", "bench", "backed((sim:sdf,flash.channels=4,capacity=1GiB))", "--ycsb", "a,e"];
    let arguments = [&bench[..], &small, &["--slices", "2"]].concat();
    let shown = done(&arguments);
    for part in ["Workload a (update heavy)", "Workload e (short ranges)", "  update ", "  scan "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(shown, done(&arguments), "a simulated run repeats");
    let kept = Kept::new("4MiB");
    let other = format!("lanes({},channels=4,unit=64KiB)", kept.dir.path().join("other").display());
    refused(2, &[&["store", "bench", &other][..], &small].concat(), &["other"]);
    let json = json(&[&["store", "bench", &other, "--create", "8MiB", "--ycsb", "f"][..], &small].concat());
    let latencies = json["workloads"][0]["latencies"].as_array().unwrap();
    assert_eq!(latencies.iter().map(|of| of["count"].as_u64().unwrap()).sum::<u64>(), 300, "{json}");
    refused(2, &["store", "bench", "sim:sdf", "--ycsb", "g"], &["a, b, c, d, e and f"]);
}
