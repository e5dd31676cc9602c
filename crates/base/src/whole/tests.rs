use super::*;

fn begun(place: &Path, text: &str) -> WholeFile {
    let mut file = WholeFile::begin(place).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// The same where the file system has no files without names.
fn begun_named(place: &Path, text: &str) -> WholeFile {
    let (mut file, part) = named(place.parent().unwrap(), |part| File::create_new(part)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    WholeFile { file, part: Some(part), place: place.to_owned() }
}

const WAYS: [fn(&Path, &str) -> WholeFile; 2] = [begun, begun_named];

fn count(dir: &tempfile::TempDir) -> usize {
    fs::read_dir(dir.path()).unwrap().count()
}

#[test]
fn of_several_at_one_place_each_is_whole_and_the_last_one_stays() {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        let (mut first, second) = (way(&place, "first"), way(&place, "second"));
        second.put().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "second");
        first.write_all(b" to the end").unwrap();
        first.put().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "first to the end");
        assert_eq!(count(&dir), 1);
    }
}

#[test]
fn what_is_dropped_or_finds_its_place_taken_leaves_all_as_it_was() {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        let late = way(&place, "late");
        drop(way(&place, "half"));
        way(&place, "early").put_new().unwrap();
        assert_eq!(late.put_new().unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&place).unwrap(), "early");
        assert_eq!(count(&dir), 1);
    }
}

#[test]
fn nothing_is_there_for_a_kill_to_leave_where_files_need_no_name() {
    let dir = tempfile::tempdir().unwrap();
    if nameless(dir.path(), File::options().write(true)).is_none() {
        eprintln!("skipped: the file system has no files without names");
        return;
    }
    let (place, old) = (dir.path().join("place"), dir.path().join("old"));
    fs::write(&old, "old").unwrap();
    let (new, replacing) = (begun(&place, "new"), begun(&old, "new"));
    assert_eq!(count(&dir), 1);
    new.put_new().unwrap();
    replacing.put().unwrap();
    assert_eq!(
        (fs::read_to_string(place).unwrap(), fs::read_to_string(old).unwrap()),
        ("new".into(), "new".into())
    );
}

#[test]
fn a_place_can_be_taken_without_links_and_renames_that_overwrite_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("place");
    let part = |text| begun_named(&place, text).part.unwrap();
    take(part("early"), &place).unwrap();
    assert_eq!(take(part("late"), &place).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!((fs::read_to_string(&place).unwrap(), count(&dir)), ("early".into(), 1));
    fs::remove_file(&place).unwrap();
    // What cannot be moved there does not leave the place taken.
    let gone = part("gone");
    fs::remove_file(&gone).unwrap();
    assert_eq!(take(gone, &place).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(count(&dir), 0);
}

#[test]
fn the_longest_name_has_room_beside_it_and_a_longer_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("n".repeat(255));
    begun(&place, "text").put().unwrap();
    assert_eq!(fs::read_to_string(&place).unwrap(), "text");
    let longer = WholeFile::begin(&dir.path().join("n".repeat(256))).unwrap_err();
    assert_eq!(longer.kind(), ErrorKind::InvalidFilename, "before anything is written");
}

#[test]
fn what_is_no_place_for_a_file_is_refused_at_once_in_words_that_do_not_name_another() {
    let dir = tempfile::tempdir().unwrap();
    let (inside, file) = (dir.path().join("inside"), dir.path().join("file"));
    fs::create_dir(&inside).unwrap();
    fs::write(&file, "text").unwrap();
    let text = dir.path().to_str().unwrap();
    for (place, words) in [
        ("", "named as one"),
        ("/", "named as one"),
        ("..", "named as one"),
        (text, "that is a directory"),
        (&format!("{text}/inside"), "that is a directory"),
        (&format!("{text}/inside/"), "that is a directory"),
        (&format!("{text}/new/"), "named as one"),
        (&format!("{text}/new/."), "named as one"),
        (&format!("{text}/new/.."), "named as one"),
        (&format!("{text}/file/"), "named as one"),
        (&format!("{text}/none/place"), &format!("there is no directory '{text}/none'")),
        (&format!("{text}/file/place"), &format!("there is no directory '{text}/file'")),
        ("/proc/place", "No such file or directory"),
    ] {
        let error = WholeFile::begin(Path::new(place)).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains(".part"), "{place}: {error}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    assert_eq!(count(&dir), 2);
}

#[test]
fn a_device_is_not_replaced_not_even_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    assert!(
        WholeFile::begin(&link).unwrap_err().to_string().contains("a character device, and no plain file")
    );
}

#[test]
fn a_link_stays_and_its_target_is_replaced_and_one_to_nowhere_is_refused() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (target, link) = (other.path().join("target"), dir.path().join("link"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let error = WholeFile::begin(&link).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), format!("it is a link to '{}', which leads nowhere", target.display()));
    // Of a chain the first is there all the same.
    let chain = dir.path().join("chain");
    std::os::unix::fs::symlink(&link, &chain).unwrap();
    let error = WholeFile::begin(&chain).unwrap_err().to_string();
    assert_eq!(error, format!("it is a link to '{}', which leads nowhere", link.display()));
    fs::write(&target, "old").unwrap();
    begun(&link, "new").put().unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
}

#[test]
fn it_may_be_read_by_whom_other_new_files_may_be_and_one_that_is_replaced_by_whom_it_might() {
    let dir = tempfile::tempdir().unwrap();
    let (place, plain) = (dir.path().join("place"), dir.path().join("plain"));
    begun(&place, "text").put().unwrap();
    fs::write(&plain, "text").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&place), mode(&plain));
    for given in [0o600, 0o444, 0o664, 0o777, 0o000] {
        fs::set_permissions(&place, Permissions::from_mode(given)).unwrap();
        let half = begun(&place, "other");
        assert_eq!(half.file.metadata().unwrap().mode() & 0o7777, given, "while it is written");
        half.put().unwrap();
        assert_eq!(mode(&place) & 0o7777, given);
    }
    // A program that others run as its owner is none any more, as when they write to it.
    fs::set_permissions(&place, Permissions::from_mode(0o4755)).unwrap();
    begun(&place, "other").put().unwrap();
    assert_eq!(mode(&place) & 0o7777, 0o755);
}

#[test]
fn one_that_is_replaced_keeps_its_owner_where_we_may_give_it_away() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("place");
    fs::write(&place, "text").unwrap();
    if std::os::unix::fs::chown(&place, Some(65_534), Some(65_533)).is_err() {
        eprintln!("skipped: only root gives files away");
        return;
    }
    begun(&place, "other").put().unwrap();
    let meta = place.metadata().unwrap();
    assert_eq!((meta.uid(), meta.gid()), (65_534, 65_533));
}

#[test]
fn what_the_group_might_goes_where_the_bits_would_mean_other_people() {
    assert_eq!(access(0o100_640, true), 0o640);
    assert_eq!(access(0o100_664, false), 0o604);
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("place");
    fs::write(&place, "text").unwrap();
    fs::set_permissions(&place, Permissions::from_mode(0o600)).unwrap();
    // The owner rw, user 65534 r, the group nothing, the bound r, others nothing: the mode shows 0640.
    let (nobody, none) = (65_534_u32, u32::MAX);
    let entries =
        [(0x01_u16, 6_u16, none), (0x02, 4, nobody), (0x04, 0, none), (0x10, 4, none), (0x20, 0, none)];
    let entry = |(tag, may, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let acl: Vec<u8> = [2, 0, 0, 0].into_iter().chain(entries.into_iter().flat_map(entry)).collect();
    let set =
        |path: &Path, name: &str| rustix::fs::setxattr(path, name, &acl, rustix::fs::XattrFlags::empty());
    if set(&place, ACL).is_err() {
        eprintln!("skipped: the file system has no ACLs");
        return;
    }
    let mode = || fs::metadata(&place).unwrap().mode() & 0o7777;
    assert_eq!(mode(), 0o640);
    begun(&place, "other").put().unwrap();
    assert!(!has_acl(&place));
    assert_eq!(mode(), 0o600);
    // What a directory would give to new files is not given to one that is replaced.
    fs::set_permissions(&place, Permissions::from_mode(0o640)).unwrap();
    set(dir.path(), "system.posix_acl_default").unwrap();
    begun(&place, "other").put().unwrap();
    assert_eq!((mode(), has_acl(&place)), (0o640, false));
}
