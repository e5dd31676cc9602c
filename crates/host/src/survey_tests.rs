//! The kernel's lists are imitated in a temporary folder: a drive with two partitions, one mounted, one held.

use super::*;
use std::os::unix::fs::symlink;

fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("sys/devices/nvme0n1/dev", "259:0\n");
    write("sys/devices/nvme0n1/nvme0n1p1/dev", "259:1\n");
    write("sys/devices/nvme0n1/nvme0n1p1/partition", "1\n");
    write("sys/devices/nvme0n1/nvme0n1p2/dev", "259:2\n");
    write("sys/devices/nvme0n1/nvme0n1p2/partition", "2\n");
    write("sys/devices/nvme0n1/nvme0n1p2/holders/dm-0/dev", "253:0\n");
    write("sys/devices/nvme0n1/queue/scheduler", "none\n");
    write("sys/block/loop3/loop/backing_file", "/srv/disk image.img\n");
    write(
        "proc/self/mountinfo",
        "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n\
         40 22 259:1 /srv /mnt/my\\040data rw - ext4 /dev/nvme0n1p1 rw\n\
         41 22 0:5 / /tmp rw - tmpfs tmpfs rw\n",
    );
    write("proc/swaps", "Filename Type Size Used Priority\n/swap\\040file file 8 0 -2\n");
    fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
    for (number, folder) in
        [("259:0", "nvme0n1"), ("259:1", "nvme0n1/nvme0n1p1"), ("259:2", "nvme0n1/nvme0n1p2")]
    {
        let link = root.path().join("sys/dev/block").join(number);
        symlink(root.path().join("sys/devices").join(folder), link).unwrap();
    }
    root
}

fn words(root: &Path, block: bool, real: &str, minor: u32) -> Vec<String> {
    let target = Target { real: real.into(), block, identity: (0, 0, rustix::fs::makedev(259, minor)) };
    uses(&target, &root.join("sys"), &root.join("proc")).iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_drive_is_judged_by_all_its_partitions() {
    let root = machine();
    assert_eq!(
        words(root.path(), true, "/dev/nvme0n1", 0),
        [
            "is partitioned: nvme0n1p1, nvme0n1p2",
            "nvme0n1p1 is mounted at /",
            "nvme0n1p1 is mounted at /mnt/my data",
            "nvme0n1p2 is held by dm-0",
        ]
    );
}

#[test]
fn a_partition_is_judged_by_itself_and_by_the_whole_drive() {
    let root = machine();
    assert_eq!(words(root.path(), true, "/dev/nvme0n1p2", 2), ["nvme0n1p2 is held by dm-0"]);
    let holders = root.path().join("sys/devices/nvme0n1/holders/md0");
    fs::create_dir_all(holders).unwrap();
    assert_eq!(
        words(root.path(), true, "/dev/nvme0n1p2", 2),
        ["nvme0n1p2 is held by dm-0", "nvme0n1 is held by md0"]
    );
}

#[test]
fn a_file_behind_a_loop_device_is_in_use() {
    let root = machine();
    let found = words(root.path(), false, "/srv/disk image.img", 0);
    assert_eq!(found, ["is presented as a drive by loop3"]);
    assert_eq!(words(root.path(), false, "/srv/other.img", 0), Vec::<String>::new());
}

#[test]
fn a_file_in_use_as_swap_is_found() {
    let root = machine();
    let file = root.path().join("my swap");
    fs::write(&file, "x").unwrap();
    let escaped = file.display().to_string().replace(' ', "\\040");
    fs::write(root.path().join("proc/swaps"), format!("Filename Type\n{escaped} file 8 0 -2\n")).unwrap();
    let real = fs::canonicalize(&file).unwrap();
    let found = words(root.path(), false, real.to_str().unwrap(), 0);
    assert!(found.len() == 1 && found[0].ends_with("is in use as swap space"), "{found:?}");
}

#[test]
fn lines_that_are_not_understood_are_passed_over() {
    for line in ["", "1 2 3", "22 1 259:1 / /", "22 1 x:y / / rw - ext4 /dev/a rw"] {
        assert_eq!(Mount::parse(line), None, "{line}");
    }
    assert_eq!(unescape("a\\0b\\"), PathBuf::from("a\\0b\\"));
}
