//! Compares libblkid with our own table on the same images. Skipped where the library or a program is missing.

use super::*;
use crate::signature;
use std::os::unix::fs::FileExt;
use std::process::Command;

const IMAGE_BYTES: u64 = 320 << 20;

#[test]
fn libblkid_and_our_table_use_the_same_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    for (command, expected) in [
        ("mkfs.ext2 -q -L precious", "ext2 file system"),
        ("mkfs.ext3 -q -L precious", "ext3 file system"),
        ("mkfs.ext4 -q -L precious", "ext4 file system"),
        ("mkfs.xfs -q -L precious", "XFS file system"),
        ("mkfs.btrfs -q -L precious", "Btrfs file system"),
        ("mkfs.f2fs -q", "F2FS file system"),
        ("mkfs.vfat", "FAT file system"),
        ("mkfs.ntfs -q -F -Q", "NTFS file system"),
        ("mkswap -L precious", "swap space"),
        ("sgdisk -n 1:2048:20480", "GPT partition table"),
    ] {
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
        let mut words = command.split(' ');
        let program = words.next().unwrap();
        let made = Command::new(program).args(words).arg(&image).env("PATH", &path).output();
        if !made.is_ok_and(|made| made.status.success()) {
            println!("skipped: no {program} here");
            continue;
        }
        let file = File::open(&image).unwrap();
        let Some(named) = find(&file) else { return println!("skipped: no libblkid.so.1 here") };
        let own = signature::find(IMAGE_BYTES, &[], |at, buffer| file.read_at(buffer, at)).unwrap();
        let has = |found: &[Signature]| found.iter().any(|signature| signature.what == expected);
        assert!(has(&named) && has(&own), "{command}: {named:?} {own:?}");
        let first = |found: &[Signature]| found.iter().find(|s| s.what == expected).cloned().unwrap();
        let (named, own) = (first(&named), first(&own));
        if own.uuid.is_some() {
            assert_eq!((own.uuid, own.label), (named.uuid, named.label), "{command}");
        }
    }
}

#[test]
fn libblkid_finds_nothing_on_zeros() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    match find(&file) {
        None => println!("skipped: no libblkid.so.1 here"),
        Some(found) => assert_eq!(found, []),
    }
}

/// Our own table does not know the format, so only libblkid can name it.
#[test]
fn format_known_to_libblkid_alone_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let mut bytes = vec![0; 1 << 20];
    bytes[..8].copy_from_slice(b"-rom1fs-");
    std::fs::write(&image, &bytes).unwrap();
    let file = File::open(&image).unwrap();
    assert_eq!(signature::find(1 << 20, &[], |at, buffer| file.read_at(buffer, at)).unwrap(), []);
    if find(&file).is_none() {
        return println!("skipped: no libblkid.so.1 here");
    }
    let page_cache = crate::PageCache::Tolerate;
    let opened = crate::OpenOptions { page_cache, ..crate::OpenOptions::read_write(&image) }.open();
    let refusal = opened.map(|_| ()).expect_err("it has a file system").to_string();
    assert!(refusal.contains("romfs file system"), "{refusal}");
}
