use super::*;
use std::os::unix::fs::symlink;

#[test]
fn file_in_an_overlay_layer_has_both_identities() {
    let root = tempfile::tempdir().unwrap();
    let lower = root.path().join("lower");
    fs::create_dir(&lower).unwrap();
    fs::write(lower.join("image"), "x").unwrap();
    let mounts = |layers: &str, process: Option<&str>| {
        let line = format!("9 1 0:77 / /merged rw - overlay none rw,{layers}");
        let mount = Mount { process: process.map(str::to_owned), ..Mount::parse(&line).unwrap() };
        let other = Mount::parse("8 1 0:79 / /merged/other rw - tmpfs none rw").unwrap();
        Mounts::new(vec![mount, other], root.path())
    };
    let whole = Layers {
        files: [(storage_at(&lower.join("image")).unwrap(), lower.join("image"))].into(),
        is_incomplete: false,
    };
    let inode = identity(&lower.join("image")).unwrap().1;
    let file = |path: &'static str, file_system, inode| {
        let (path, link) = (Path::new(path), Path::new("/none"));
        OpenFile { id: FileId { file_system, inode }, path, link }
    };
    let merged = |file_system| file("/merged/image", file_system, inode);
    let absolute = format!("lowerdir={}", lower.display());
    assert_eq!(mounts(&absolute, None).layers_of(merged((0, 77))), whole);
    assert_eq!(mounts(&absolute, None).layers_of(merged((0, 79))), Layers::default());
    // A file of an overlay over several file systems has a number that no mount has: its path decides.
    assert_eq!(mounts(&absolute, None).layers_of(merged((0, 78))), whole);
    // One of another file system without a drive may be of an overlay that is mounted nowhere.
    for elsewhere in ["/merged/other/image", "/mergedimage"] {
        let unmounted = Layers { is_incomplete: true, ..Layers::default() };
        for (number, expected) in [((0, 78), unmounted), ((8, 1), Layers::default())] {
            let found = mounts(&absolute, None).layers_of(file(elsewhere, number, inode));
            assert_eq!(found, expected, "{elsewhere}, {number:?}");
        }
    }
    // The bits above tell the file systems of layers apart.
    for (inode, is_it) in [(inode | 1 << 62, true), (inode + 1, false)] {
        let found = mounts(&absolute, None).layers_of(file("/merged/image", (0, 77), inode));
        assert_eq!((found.files == whole.files, found.is_incomplete), (true, !is_it), "{inode}");
    }
    // In another namespace the layer has another path.
    fs::create_dir_all(root.path().join("12")).unwrap();
    symlink(root.path(), root.path().join("12/root")).unwrap();
    let there = mounts("lowerdir=/lower", Some("12")).layers_of(merged((0, 77)));
    assert!(there.files.keys().eq(whole.files.keys()) && !there.is_incomplete, "{there:?}");
    for lost in
        [&format!("{absolute},upperdir=up")[..], &format!("{absolute}:/renamed/{}", line!()), "lowerdir=l"]
    {
        assert!(mounts(lost, None).layers_of(merged((0, 77))).is_incomplete, "{lost}");
    }
}
