//! Blocks are user data: commands that would overwrite them require `--really`, as for a file system; commands that
//! keep them do not.

use crate::program::{command, done, flashlane, json, refused, text};
use crate::stored::{Stored, UNIT};
use std::fs;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

const SAFE: [&str; 2] = ["--destroy-data", "--allow-page-cache"];

#[test]
fn overwriting_blocks_requires_really() {
    let store = Stored::new(3);
    let path = text(&store.path);
    let anew = store.lanes.replace(')', ",channels=2,unit=64KiB,format=yes)");
    let faulty = format!("faulty({path},delays=1%)");
    let write = "sequential-write,size=64KiB,requests=4";
    let destroying = [
        vec!["run", path, write],
        vec!["run", &faulty, write],
        vec!["run", &store.lanes, write],
        vec!["run", &anew, write],
        vec!["probe", path, "--quick"],
        vec!["sdf", "format", &store.lanes],
        vec!["sdf", "format", &anew],
        vec!["sdf", "bench", &anew, "--blocks", "1"],
    ];
    let before = store.bytes();
    for words in &destroying {
        let words = [words, &SAFE[..if words.contains(&"format") { 1 } else { 2 }]].concat();
        refused(
            2,
            &words,
            &["is not overwritten", "a signature: Flashlane lanes with 3 blocks (at byte 0)", "--really"],
        );
        assert!(store.bytes() == before, "{words:?}");
    }
    done(&["sdf", "format", &store.lanes, "--destroy-data", "--really", path]);
    assert_eq!(json(&["sdf", "status", &store.lanes])["blocks"], 0);
}

#[test]
fn commands_that_keep_blocks_require_no_really() {
    let store = Stored::new(3);
    let bench = [&["sdf", "bench", &store.lanes, "--blocks", "8"][..], &SAFE].concat();
    assert_eq!(json(&bench)["blocks"], 3);
    let id = done(&["sdf", "put", &store.lanes, text(&store.small)]);
    done(&["sdf", "rm", &store.lanes, id.trim()]);
    done(&["sdf", "fsck", &store.lanes, "--repair"]);
    // Without blocks `--really` is not required, though their bytes are still there.
    done(&["sdf", "rm", &store.lanes, "0", "1", "2"]);
    assert!(store.bytes().windows(8).any(|bytes| bytes == b"FLBLOCKS"));
    done(&["sdf", "format", &store.lanes, "--destroy-data"]);
    json(&[&["run", text(&store.path), "random-write,requests=10"][..], &SAFE].concat());
}

#[test]
fn blocks_are_recognised_without_lane_records() {
    let store = Stored::new(3);
    let length = store.bytes().len();
    store.overwrite(0, &[b'x'; 8192]);
    store.overwrite(length - 8192, &[b'x'; 8192]);
    let run = [&["run", text(&store.path), "random-write,requests=10"][..], &SAFE].concat();
    refused(2, &run, &["a signature: Flashlane blocks (at byte 8192)", "--really"]);
    // Units that may have held a block count as blocks.
    let store = Stored::new(3);
    let lists = json(&["sdf", "ls", &store.lanes]);
    for block in lists["blocks"].as_array().unwrap() {
        let [lane, unit] = ["lane", "unit"].map(|key| block[key].as_u64().unwrap() as usize);
        let at = 8192 + (unit * 4 + lane) * UNIT;
        store.overwrite(at, &[b'x'; 4096]);
        store.overwrite(at + UNIT - 4096, &[b'x'; 4096]);
    }
    let run = [&["run", text(&store.path), "random-write,requests=10"][..], &SAFE].concat();
    refused(2, &run, &["Flashlane lanes with 3 damaged units that may hold blocks", "--really"]);
}

#[test]
fn blocks_that_can_still_be_read_require_really() {
    const MIB: u64 = 1 << 20;
    let dir = tempfile::tempdir().unwrap();
    let (path, small) = (dir.path().join("device"), dir.path().join("small"));
    fs::File::create(&path).unwrap().set_len(4096 * MIB).unwrap();
    fs::write(&small, b"value").unwrap();
    let lanes = format!("lanes({},channels=4,unit=16MiB)", path.display());
    done(&["sdf", "format", &lanes, "--destroy-data"]);
    let ids: Vec<String> =
        (0..8).map(|_| done(&["sdf", "put", &lanes, text(&small)]).trim().to_owned()).collect();
    // All but the blocks at 81 MiB and behind it, with no superblock of theirs.
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&vec![0; 80 << 20], 0).unwrap();
    file.write_all_at(&[0; 65_536], 4096 * MIB - 65_536).unwrap();
    drop(file);
    let listed = json(&["sdf", "ls", &lanes]);
    let listed: Vec<u64> =
        listed["blocks"].as_array().unwrap().iter().map(|block| block["id"].as_u64().unwrap()).collect();
    let left = listed.first().expect("blocks are left").to_string();
    assert!(listed.len() < ids.len());
    let backed = format!("backed(sim:ssd-s,file={})", path.display());
    let anew = lanes.replace(')', ",format=yes)");
    let write = "sequential-write,size=64KiB,requests=4";
    for words in [vec!["run", text(&path), write], vec!["run", &backed, write], vec!["sdf", "format", &anew]]
    {
        let words = [&words, &SAFE[..if words[0] == "sdf" { 1 } else { 2 }]].concat();
        refused(2, &words, &["is not overwritten", "a signature: Flashlane blocks", "--really"]);
    }
    assert_eq!(done(&["sdf", "get", &lanes, &left]), "value");
}

#[test]
fn repair_over_a_signature_requires_really() {
    let store = Stored::new(3);
    store.overwrite(4086, b"SWAPSPACE2");
    let before = store.bytes();
    let path = text(&store.path);
    let repair = format!("sdf fsck \"{}\" --repair --destroy-data --really {path}'", store.lanes);
    for words in [
        vec!["sdf", "put", &store.lanes, text(&store.small)],
        vec!["sdf", "rm", &store.lanes, "0"],
        vec!["sdf", "fsck", &store.lanes, "--repair"],
        vec!["sdf", "fsck", &store.lanes, "--repair", "--destroy-data"],
    ] {
        let ended = refused(2, &words, &["is not overwritten", "swap space", &repair]);
        assert!(!ended.stderr.contains("repeat its path"), "{}", ended.stderr);
        assert!(store.bytes() == before, "{words:?}");
    }
    let all = ["sdf", "fsck", &store.lanes, "--repair", "--destroy-data", "--really", path];
    assert_eq!(json(&all)["blocks_checked"], 3);
    done(&["sdf", "put", &store.lanes, text(&store.small)]);
}

#[test]
fn refusal_of_a_device_in_use_omits_really() {
    let store = Stored::new(3);
    // The process of this test holds the file open.
    let _open = fs::File::open(&store.path).unwrap();
    for words in [
        vec!["sdf", "put", &store.lanes, text(&store.small)],
        vec!["sdf", "rm", &store.lanes, "0"],
        vec!["sdf", "fsck", &store.lanes, "--repair"],
    ] {
        let ended = refused(2, &words, &["it is open in", "stop that use first"]);
        assert!(!ended.stderr.contains("--really"), "{}", ended.stderr);
    }
    assert_eq!(flashlane(&["sdf", "ls", &store.lanes]).status, 0);
}

#[test]
fn one_of_two_puts_at_once_succeeds() {
    let store = Stored::new(1);
    for _ in 0..6 {
        let put = || {
            let mut put = command(&["sdf", "put", &store.lanes, text(&store.small)]);
            put.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let ended = [put(), put()].map(|put| put.wait_with_output().unwrap());
        let words = ended.each_ref().map(|ended| String::from_utf8_lossy(&ended.stderr));
        assert!(ended.iter().any(|ended| ended.status.success()), "{words:?}");
    }
}

/// Signatures stand at fixed places of a device, where a unit may hold anything.
#[test]
fn stored_blocks_with_signatures_do_not_lock_their_store() {
    let dir = tempfile::tempdir().unwrap();
    let (path, payload) = (dir.path().join("store"), dir.path().join("payload"));
    let lanes = format!("lanes({})", path.display());
    let shape = lanes.replace(')', ",channels=4,unit=16KiB,read-unit=4KiB)");
    done(&["sdf", "format", &shape, "--create", "2MiB", "--allow-page-cache"]);
    // Wherever a block begins, one of its pages has the mark of ISO 9660 where that is looked for.
    let mut bytes = vec![7; 8_000];
    (0..2).for_each(|page| bytes[page * 4096 + 1..][..5].copy_from_slice(b"CD001"));
    fs::write(&payload, &bytes).unwrap();
    for id in 0..8 {
        done(&["sdf", "put", &lanes, text(&payload)]);
        let plain =
            ["run", text(&path), "sequential-write,requests=1", "--destroy-data", "--allow-page-cache"];
        refused(2, &plain, &["is not overwritten"]);
        assert_eq!(flashlane(&["sdf", "get", &lanes, &id.to_string()]).stdout.len(), bytes.len());
    }
    let found = fs::read(&path).unwrap();
    assert_eq!(&found[32769..32774], b"CD001", "the mark of ISO 9660 lies in a block");
    done(&["sdf", "rm", &lanes, "0"]);
}

#[test]
fn archive_that_never_was_a_store_is_not_advised_to_be_repaired() {
    let store = Stored::new(3);
    let plain = store.dir.path().join("plain");
    let mut bytes = vec![0; 4 << 20];
    bytes[257..263].copy_from_slice(b"ustar\0");
    fs::write(&plain, &bytes).unwrap();
    let lanes = format!("lanes({})", plain.display());
    let ended =
        refused(2, &["sdf", "rm", &lanes, "0"], &["tar archive", "no blocks of Flashlane can be read"]);
    assert!(!ended.stderr.contains("fsck"), "{}", ended.stderr);
    assert!(fs::read(&plain).unwrap() == bytes);
}
