//! A temporary folder stands in for the kernel's lists: a drive with two partitions, one mounted, one held.

use super::*;
use crate::usage::graph;
use std::os::unix::fs::symlink;

fn machine_in_a_folder() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("sys/devices/nvme0n1/dev", "259:0\n");
    write("sys/devices/nvme0n1/nvme0n1p1/dev", "259:1\n");
    write("sys/devices/nvme0n1/nvme0n1p1/partition", "1\n");
    write("sys/devices/nvme0n1/size", "4096\n");
    write("sys/devices/nvme0n1/nvme0n1p1/start", "8\n");
    write("sys/devices/nvme0n1/nvme0n1p1/size", "1000\n");
    write("sys/devices/nvme0n1/nvme0n1p2/dev", "259:2\n");
    write("sys/devices/nvme0n1/nvme0n1p2/start", "1008\n");
    write("sys/devices/nvme0n1/nvme0n1p2/size", "1000\n");
    write("sys/devices/nvme0n1/nvme0n1p2/partition", "2\n");
    write("sys/devices/nvme0n1/nvme0n1p2/holders/dm-0/dev", "253:0\n");
    write("sys/devices/nvme0n1/queue/scheduler", "none\n");
    write("disk image.img", "x");
    let image = root.path().join("disk image.img");
    write("sys/devices/loop4000/dev", "7:4000\n");
    write("sys/devices/loop4000/size", "8\n");
    write("sys/devices/loop4000/loop/backing_file", &format!("{}\n", image.display()));
    write(
        "proc/self/mountinfo",
        "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n\
         40 22 259:1 /srv /mnt/my\\040data rw - ext4 /dev/nvme0n1p1 rw\n\
         41 22 0:5 / /tmp rw - tmpfs tmpfs rw\n",
    );
    write("proc/swaps", "Filename Type Size Used Priority\n/swap\\040file file 8 0 -2\n");
    fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
    for (number, folder) in [
        ("259:0", "nvme0n1"),
        ("259:1", "nvme0n1/nvme0n1p1"),
        ("259:2", "nvme0n1/nvme0n1p2"),
        ("7:4000", "loop4000"),
    ] {
        let link = root.path().join("sys/dev/block").join(number);
        symlink(root.path().join("sys/devices").join(folder), link).unwrap();
    }
    root
}

fn words(root: &Path, target: Storage) -> Vec<String> {
    let proc = root.join("proc");
    let machine = machine(&root.join("sys"), &Mounts::of_all(&proc));
    graph::uses(&machine, &[target]).iter().map(ToString::to_string).collect()
}

#[test]
fn whole_drive_includes_the_uses_of_its_partitions() {
    let root = machine_in_a_folder();
    let mut found = words(root.path(), Storage::Block((259, 0)));
    found.sort();
    assert_eq!(
        found,
        [
            "it is partitioned: nvme0n1p1, nvme0n1p2",
            "nvme0n1p1 is mounted at /",
            "nvme0n1p1 is mounted at /mnt/my data",
            "nvme0n1p2 is held by dm-0",
        ]
    );
}

#[test]
fn partition_includes_the_uses_of_its_drive() {
    let root = machine_in_a_folder();
    let partition = Storage::Block((259, 2));
    assert_eq!(words(root.path(), partition), ["nvme0n1p2 is held by dm-0"]);
    fs::create_dir_all(root.path().join("sys/devices/nvme0n1/holders/md0")).unwrap();
    assert_eq!(words(root.path(), partition), ["nvme0n1p2 is held by dm-0", "nvme0n1 is held by md0"]);
}

#[test]
fn file_behind_a_loop_device_is_found_under_any_name() {
    let root = machine_in_a_folder();
    let image = root.path().join("disk image.img");
    let name = root.path().join("another name");
    fs::hard_link(&image, &name).unwrap();
    let expected = format!("{} is presented as a drive by loop4000", image.display());
    assert_eq!(words(root.path(), storage_at(&name).unwrap()), [expected]);
    let other = root.path().join("other");
    fs::write(&other, "x").unwrap();
    assert_eq!(words(root.path(), storage_at(&other).unwrap()), Vec::<String>::new());
}

#[test]
fn loop_device_over_a_lost_file_presents_any_of_its_length() {
    let root = machine_in_a_folder();
    let shown = root.path().join("sys/devices/loop4000/loop/backing_file");
    fs::write(shown, "/of/another/container/image (deleted)\n").unwrap();
    let machine = machine(&root.path().join("sys"), &Mounts::of_all(&root.path().join("proc")));
    let uses = |length_bytes: usize| {
        let path = root.path().join("file");
        fs::write(&path, vec![0x5a; length_bytes]).unwrap();
        let facts = crate::usage::lookup::facts_at(&path, InOverlay::No).unwrap();
        let possible = machine.possible_identities(&facts);
        graph::uses(&machine, &[vec![storage_at(&path).unwrap()], possible].concat()).len()
    };
    // It has 8 sectors, and the file may end within the next.
    assert_eq!([4095, 4096, 4607, 4608].map(uses), [0, 1, 1, 0]);
}

#[test]
fn swap_file_is_found_under_any_name() {
    let root = machine_in_a_folder();
    let (file, name) = (root.path().join("my swap"), root.path().join("another name"));
    fs::write(&file, "x").unwrap();
    fs::hard_link(&file, &name).unwrap();
    let escaped = file.display().to_string().replace(' ', "\\040");
    fs::write(root.path().join("proc/swaps"), format!("Filename Type\n{escaped} file 8 0 -2\n")).unwrap();
    let found = words(root.path(), storage_at(&name).unwrap());
    assert!(found.len() == 1 && found[0].ends_with("is in use as swap space"), "{found:?}");
}

#[test]
fn file_is_on_all_members_of_its_file_system() {
    let root = machine_in_a_folder();
    let members = root.path().join("sys/fs/btrfs/7c1f/devices");
    fs::create_dir_all(&members).unwrap();
    for name in ["nvme0n1p1", "nvme0n1p2"] {
        symlink(root.path().join("sys/devices/nvme0n1").join(name), members.join(name)).unwrap();
    }
    let proc = root.path().join("proc");
    let machine = machine(&root.path().join("sys"), &Mounts::of_all(&proc));
    let on = |path: &str| storage_of(Path::new(path), &proc, &machine);
    for path in ["/file", "/mnt/my data/folder"] {
        let on = on(path);
        assert!(
            [(259, 1), (259, 2)].into_iter().all(|member| on.contains(&Storage::Block(member))),
            "{path}: {on:?}"
        );
    }
    assert_eq!(on("/tmp/file"), []);
}

#[test]
fn every_btrfs_member_is_mounted() {
    let root = machine_in_a_folder();
    let members = root.path().join("sys/fs/btrfs/7c1f/devices");
    fs::create_dir_all(&members).unwrap();
    symlink(root.path().join("sys/devices/nvme0n1/nvme0n1p2"), members.join("nvme0n1p2")).unwrap();
    let found = words(root.path(), Storage::Block((259, 2)));
    let expected = "nvme0n1p2 is mounted at a place of the Btrfs file system 7c1f";
    assert!(found.iter().any(|words| words == expected), "{found:?}");
}
