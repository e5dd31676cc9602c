//! Whether two paths lead to one file or device.

use rustix::fs::{FileType, Stat, stat};
use std::ffi::OsString;
use std::path::Path;

/// What a path leads to.
#[derive(PartialEq, Eq)]
enum Place {
    /// A file or directory: file system and inode.
    File(u64, u64),
    /// A block device by its number, whichever node names it.
    BlockDevice(u64),
    /// A file that does not exist yet: its directory, and its name there.
    New((u64, u64), OsString),
}

/// Returns whether two paths lead to one file or device, through symbolic links, hard links and several nodes of one
/// device too. Paths at which there is nothing yet are the same if both name one entry of one directory.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || place(one).is_some_and(|found| place(other) == Some(found))
}

fn place(path: &Path) -> Option<Place> {
    let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
    if let Ok(stat) = stat(path) {
        if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice {
            return Some(Place::BlockDevice(stat.st_rdev));
        }
        let (file_system, inode) = identity(stat);
        return Some(Place::File(file_system, inode));
    }
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    Some(Place::New(identity(stat(parent).ok()?), path.file_name()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_other_spellings_are_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("folder")).unwrap();
        std::fs::write(path("file"), "content").unwrap();
        std::fs::write(path("copy"), "content").unwrap();
        symlink(path("file"), path("link")).unwrap();
        std::fs::hard_link(path("file"), path("folder/hard")).unwrap();
        for same in ["file", "link", "folder/hard", "folder/../file", "./file"] {
            assert!(is_same_file(&path("file"), &path(same)), "{same}");
            assert!(is_same_file(&path(same), &path("link")), "{same}");
        }
        for other in ["copy", "folder", "none", "none/file"] {
            assert!(!is_same_file(&path("file"), &path(other)), "{other}");
        }
        assert!(is_same_file(&path("new"), &path("folder/../new")));
        assert!(!is_same_file(&path("new"), &path("folder/new")));
        assert!(!is_same_file(&path("none/one"), &path("none/./two")));
        assert!(is_same_file(&path("none/one"), &path("none/one")));
    }
}
