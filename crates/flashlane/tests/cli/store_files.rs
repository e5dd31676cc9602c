//! Files of a store, on the command line.

use crate::endings::interrupt_by;
use crate::program::{self, command, json, text};
use crate::store::Kept;
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

fn file(kept: &Kept, action: &str, more: &[&str]) -> String {
    program::done(&[&["store", "file", action, &kept.spec], more].concat())
}

fn refused(kept: &Kept, status: i32, action: &str, more: &[&str], parts: &[&str]) {
    program::refused(status, &[&["store", "file", action, &kept.spec], more].concat(), parts);
}

fn bytes(kept: &Kept, action: &str, more: &[&str]) -> Vec<u8> {
    let output = command(&[&["store", "file", action, &kept.spec], more].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Paths of all that is there.
fn paths(kept: &Kept) -> Vec<String> {
    let listed = json(&["store", "file", "ls", &kept.spec, "--recursive"]);
    assert_eq!(listed["schema"], "flashlane.files/1");
    let entries = listed["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tree_keeps_files_for_its_whole_life() {
    let kept = Kept::new("16MiB");
    kept.store("put", &["plain", "--value", "1"]);
    assert_eq!(paths(&kept), Vec::<String>::new());
    // Several extents, and more than a block.
    let long: Vec<u8> = (0..1_500_000_u32).map(|nth| (nth % 251) as u8).collect();
    let source = kept.file("long", &long);
    assert_eq!(file(&kept, "mkdir", &["/a/b", "c"]), "/a/b, c: made, durability: device\n");
    assert_eq!(file(&kept, "mkdir", &["/a", "/d"]), "/d: made, durability: device\n/a: there already\n");
    assert_eq!(file(&kept, "rm", &["/d"]), "/d: removed, durability: device\n");
    let lost = ["store", "file", "put", &kept.spec, "/e/f/g", "-"];
    program::refused(1, &lost, &["there is no '/e/f'", "store file mkdir", " /e/f'"]);
    let stored = file(&kept, "put", &["/a/b/long", text(&source)]);
    assert_eq!(stored, "/a/b/long: 1500000 bytes stored, durability: device\n");
    assert!(bytes(&kept, "get", &["a/b/long"]) == long);
    let part = ["a/b/long", "--offset", "1MiB", "--length", "100B"];
    assert_eq!(bytes(&kept, "get", &part), long[1 << 20..][..100]);
    let small = kept.file("small", "small");
    file(&kept, "put", &["/c/small", text(&small)]);
    file(&kept, "put", &["/c/small", text(&small), "--append", "--durability", "memory"]);
    file(&kept, "put", &["/c/new", text(&small), "--append"]);
    assert_eq!(bytes(&kept, "cat", &["/c/small", "/c/new"]), b"smallsmallsmall");
    assert_eq!(paths(&kept), ["a", "a/b", "a/b/long", "c", "c/new", "c/small"]);
    let listed = file(&kept, "ls", &["/c"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("             5  20") && lines[0].ends_with("Z  new"),
        "{listed}"
    );
    // A directory is moved with all that it holds, and a file takes the place of another.
    file(&kept, "mv", &["/a", "/c/moved"]);
    file(&kept, "mv", &["/c/small", "/c/new"]);
    assert_eq!(paths(&kept), ["c", "c/moved", "c/moved/b", "c/moved/b/long", "c/new"]);
    assert!(bytes(&kept, "cat", &["/c/moved/b/long"]) == long);
    file(&kept, "truncate", &["/c/moved/b/long", "600000B"]);
    file(&kept, "truncate", &["/c/moved/b/long", "700000B"]);
    let cut = [&long[..600_000], &[0; 100_000]].concat();
    let out = kept.dir.path().join("out");
    file(&kept, "get", &["/c/moved/b/long", "--output", text(&out)]);
    assert!(fs::read(&out).unwrap() == cut);
    refused(
        &kept,
        2,
        "get",
        &["/c/new", "--output", text(&out)],
        &["cannot create", "exists already, and is not replaced"],
    );
    let stat = json(&["store", "file", "stat", &kept.spec, "/c/moved/b/long"]);
    assert_eq!((&stat["schema"], &stat["kind"]), (&"flashlane.file/1".into(), &"file".into()));
    assert_eq!((&stat["length_bytes"], &stat["extent_bytes"]), (&700_000.into(), &(512 << 10).into()));
    assert!(stat["modified_ms"].as_u64().unwrap() > 1_600_000_000_000);
    let checked = json(&["store", "file", "fsck", &kept.spec]);
    assert_eq!(
        (&checked["sound"], &checked["files"], &checked["directories"]),
        (&true.into(), &2.into(), &3.into())
    );
    assert!(file(&kept, "fsck", &["--repair"]).starts_with("Verdict: sound\n"));
    // Plain commands do not see files.
    assert_eq!(kept.store("scan", &["--values"]), "plain\t1\n");
    file(&kept, "rm", &["/c/new"]);
    file(&kept, "rm", &["/c", "--recursive"]);
    assert_eq!(paths(&kept), Vec::<String>::new());
}

/// The program is stopped while it writes, so that the file comes to the name before the program ends.
#[test]
fn interrupted_get_keeps_a_file_that_came_to_its_name() {
    let kept = Kept::new("32MiB");
    let long = kept.file("long", vec![7; 12 << 20]);
    file(&kept, "put", &["/long", text(&long)]);
    let [out, theirs] = ["out", "theirs"].map(|name| kept.dir.path().join(name));
    for _ in 0..20 {
        let get = command(&["store", "file", "get", &kept.spec, "/long", "--output", text(&out)])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let length = || fs::metadata(&out).map_or(0, |data| data.len());
        while length() == 0 {
            std::thread::yield_now();
        }
        interrupt_by(&get, libc::SIGSTOP);
        let is_partial = length() < 12 << 20;
        fs::write(&theirs, "thesis").unwrap();
        fs::rename(&theirs, &out).unwrap();
        [libc::SIGINT, libc::SIGCONT].iter().for_each(|&signal| interrupt_by(&get, signal));
        let ended = get.wait_with_output().unwrap();
        assert_eq!(fs::read(&out).unwrap(), b"thesis");
        if is_partial {
            let said = String::from_utf8(ended.stderr).unwrap();
            let expected = format!(
                "flashlane: stopped; '{}' is not removed: another file has its name by now\n",
                out.display()
            );
            assert_eq!((ended.status.code(), said), (Some(1), expected));
            return;
        }
        fs::remove_file(&out).unwrap();
    }
    panic!("the program was never stopped in time");
}

#[test]
fn what_is_in_the_way_is_named() {
    let kept = Kept::new("4MiB");
    let small = kept.file("small", "small");
    file(&kept, "mkdir", &["/d/e"]);
    file(&kept, "put", &["/d/f", text(&small)]);
    refused(&kept, 1, "get", &["/d/g"], &["there is no '/d/g'"]);
    refused(&kept, 1, "get", &["/d"], &["'/d' is a directory"]);
    let copy = kept.dir.path().join("copy");
    for offset in ["6", "1GiB"] {
        let part = ["/d/f", "--offset", offset, "--output", text(&copy)];
        refused(&kept, 1, "get", &part, &["'/d/f' has 5 B", "beyond its end", "up to 5 B"]);
        assert!(!copy.exists(), "a file of no bytes from {offset}");
    }
    for (offset, found) in [("5", ""), ("4B", "l"), ("0", "small")] {
        assert_eq!(file(&kept, "get", &["/d/f", "--offset", offset, "--length", "100"]), found);
    }
    refused(&kept, 1, "put", &["/d", text(&small)], &["'/d' is a directory"]);
    refused(&kept, 1, "put", &["/x/y", text(&small)], &["there is no '/x'"]);
    refused(&kept, 1, "put", &["/d/f/y", text(&small)], &["'/d/f' is a file"]);
    refused(&kept, 1, "mkdir", &["/d/f"], &["'/d/f' is a file"]);
    refused(&kept, 1, "rm", &["/d"], &["directory '/d' is not empty"]);
    refused(&kept, 1, "mv", &["/d", "/d/e/d"], &["cannot be moved into itself"]);
    refused(&kept, 2, "rm", &["/"], &["'/' is the root"]);
    refused(&kept, 2, "mkdir", &["/a/../b"], &["'..' cannot be a name", "1 to 255 bytes"]);
    refused(&kept, 2, "put", &["/d/f", "missing"], &["cannot open 'missing'"]);
    let removed = command(&["store", "file", "rm", &kept.spec, "/d/e", "/d/e"]).output().unwrap();
    assert_eq!(removed.status.code(), Some(1));
    assert_eq!(String::from_utf8(removed.stdout).unwrap(), "/d/e: removed, durability: device\n");
    let said = String::from_utf8(removed.stderr).unwrap();
    assert_eq!(said, "flashlane: not removed: /d/e and those behind it (there is no '/d/e')\n");
    assert_eq!(paths(&kept), ["d", "d/f"]);
}

#[test]
fn killed_put_leaves_no_file() {
    let kept = Kept::new("16MiB");
    let small = kept.file("small", "small");
    file(&kept, "put", &["/file", text(&small)]);
    let mut put = command(&["store", "file", "put", &kept.spec, "/file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The pipe takes less than what is written, so that extents are in the store by then.
    put.stdin.as_mut().unwrap().write_all(&vec![7; 3 << 20]).unwrap();
    put.kill().unwrap();
    put.wait().unwrap();
    assert_eq!(bytes(&kept, "cat", &["/file"]), b"small");
    let free = |kept: &Kept| json(&["store", "stat", &kept.spec])["free_bytes"].as_u64().unwrap();
    let before = free(&kept);
    file(&kept, "mkdir", &["/next"]);
    assert!(free(&kept) > before + (1 << 20), "{} of {before} bytes are free", free(&kept));
    assert_eq!(paths(&kept), ["file", "next"]);
}

/// Bytes of a file that differ with their place.
fn pattern(block: u64) -> Vec<u8> {
    let word = block.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..1_u64 << 17).flat_map(|nth| word.wrapping_mul(nth + 1).to_le_bytes()).collect()
}

/// Returns the peak of a running child's resident memory so far, in MiB. What `wait4` has of an ended one begins with
/// the memory of the process that started it.
fn peak_mib(child: &std::process::Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    kib.unwrap().trim().parse::<u64>().unwrap() / 1024
}

/// Puts a file of this many MiB from a pipe, and reads it back into one. Returns the peaks of memory of both in MiB.
fn stream(mib: u64, shape: &str, log_size: &str) -> (u64, u64) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("flash");
    let (spec, size) = (format!("lanes({})", path.display()), format!("{}MiB", mib + mib / 8 + 512));
    let shaped = format!("lanes({},{shape})", path.display());
    program::done(&["store", "create", &shaped, "--create", &size, "--log-size", log_size]);
    let mut put = command(&["store", "file", "put", &spec, "/large", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = put.stdin.take().unwrap();
    (0..mib).for_each(|block| input.write_all(&pattern(block)).unwrap());
    let put_mib = peak_mib(&put);
    drop(input);
    assert!(put.wait().unwrap().success());
    let mut get = command(&["store", "file", "get", &spec, "/large"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = get.stdout.take().unwrap();
    let mut bytes = vec![0; 1 << 20];
    let mut get_mib = 0;
    for block in 0..mib {
        // Before the last part is read, the command goes on.
        get_mib = peak_mib(&get);
        output.read_exact(&mut bytes).unwrap();
        assert!(bytes == pattern(block), "MiB {block} is another one");
    }
    assert_eq!(output.read(&mut bytes).unwrap(), 0, "the file ends");
    assert!(get.wait().unwrap().success());
    (put_mib, get_mib)
}

#[test]
fn file_streams_in_constant_memory() {
    let shape = "channels=4,unit=1MiB";
    let (small, large) = (stream(50, shape, "32MiB"), stream(300, shape, "32MiB"));
    println!("put {} and {} MiB, get {} and {} MiB", small.0, large.0, small.1, large.1);
    assert!(large.0 <= small.0 + 40 && large.1 <= small.1 + 20, "{small:?} grows to {large:?} MiB");
}

/// `cargo test -p flashlane --test cli file_of_10_gb -- --ignored --nocapture`
#[test]
#[ignore = "writes 10 GB"]
fn file_of_10_gb_streams_in_constant_memory() {
    let (put, get) = stream(10_000_000_000_u64.div_ceil(1 << 20), "channels=8,unit=8MiB", "256MiB");
    println!("store-stream-put: {put} MiB\nstore-stream-get: {get} MiB");
    assert!(put < 1200 && get < 400, "the put took {put} MiB of memory, the get {get} MiB");
}
