//! Files on devices in memory, compared with a simple model of a file tree; also after power cuts within each change.

mod cuts;
mod lossy;
mod model;

use crate::records::{entry_key, extent_place, inode_key, unfinished_key};
use crate::{Check, FileError, Files, Inode, Kind};
use flashlane_base::{Random, Seed};
use flashlane_device::DataDevice;
use flashlane_device_testing::{MemoryDisk, MemoryLanes};
use flashlane_store::space::Space;
use flashlane_store::{KeyValueStore, Slices, end_of_prefix};
use model::{Change, Model, Tree};

type TestStore = KeyValueStore<MemoryLanes, MemoryDisk>;

/// Bytes of an extent in most tests.
const EXTENT: u64 = 512;

fn devices(units: u64) -> (MemoryLanes, MemoryDisk) {
    (MemoryLanes::new(4, units, 8192, 512, Seed(1)), MemoryDisk::new(256 << 10, 512, Seed(1)))
}

/// One slice, or one whose bound parts the bytes of files.
fn slices(are_parted: bool) -> Slices {
    let mut bounds = vec![Vec::new()];
    if are_parted {
        bounds.push(crate::records::extent_key(Inode(6), 2));
    }
    Slices { bounds }
}

fn store(units: u64, are_parted: bool) -> TestStore {
    let (device, log) = devices(units);
    KeyValueStore::create(device, log, 1, slices(are_parted)).expect("the devices suit")
}

/// Returns all files and directories below the root.
fn tree<D: DataDevice, L: DataDevice>(files: &mut Files<'_, D, L>) -> Tree {
    let mut found = Tree::new();
    let mut left = vec![(String::new(), Inode::ROOT)];
    while let Some((path, inode)) = left.pop() {
        let mut after = None;
        while let Some(entry) = files.list(inode, after.as_deref(), 2).expect("it is sound").first() {
            let own = format!("{path}/{}", String::from_utf8_lossy(&entry.name));
            let attributes = files.attributes(entry.inode).expect("an entry has an inode");
            assert_eq!(attributes.kind, entry.kind, "{own}");
            let bytes = (entry.kind == Kind::File)
                .then(|| files.read(entry.inode, 0, u64::MAX).expect("its bytes are there"));
            assert_eq!(attributes.length_bytes, bytes.as_ref().map_or(0, |bytes| bytes.len() as u64));
            if entry.kind == Kind::Directory {
                assert_eq!(attributes.parent, inode, "{own}");
                left.push((own.clone(), entry.inode));
            }
            found.insert(own, bytes);
            after = Some(entry.name.clone());
        }
    }
    found
}

/// Checks that no inode is unfinished, and that all extents are within the length of a file.
fn check_space<D: DataDevice, L: DataDevice>(store: &mut KeyValueStore<D, L>) {
    let unfinished = unfinished_key(None);
    assert_eq!(store.entries(&unfinished, end_of_prefix(&unfinished).as_deref(), false).count(), 0);
    let end = Space::Files.records()[0].clone();
    let extents: Vec<_> = store.entries(&Space::Files.bulk(b""), Some(&end), false).collect();
    let mut files = Files::open(store).expect("they are sound");
    let check = files.check(false).expect("all can be read");
    assert!(check.is_sound(), "{check:?}");
    for extent in extents {
        let extent = extent.expect("it can be read");
        let (inode, index) = extent_place(&extent.key);
        let file = files.attributes(inode).unwrap_or_else(|_| panic!("extent {index} of no file {inode}"));
        let end = index * files.extent_bytes() + extent.value_bytes;
        assert!(end <= file.length_bytes, "extent {index} of inode {inode} goes to {end}: {file:?}");
    }
}

/// Returns the kind of an error, for comparison with the model.
fn kind_of(error: &FileError) -> &'static str {
    match error {
        FileError::Missing { .. } => "missing",
        FileError::Exists { .. } => "exists",
        FileError::NoDirectory { .. } => "no directory",
        FileError::Directory { .. } => "directory",
        FileError::NotEmpty { .. } => "not empty",
        FileError::IntoItself { .. } => "into itself",
        other => panic!("{other}"),
    }
}

fn apply<D: DataDevice, L: DataDevice>(
    files: &mut Files<'_, D, L>,
    change: &Change,
) -> Result<(), FileError> {
    match change {
        Change::Directory(path) => {
            let (directory, name) = files.place(path)?;
            files.make_directory(directory, &name).map(drop)
        }
        Change::Create(path) => {
            let (directory, name) = files.place(path)?;
            files.create(directory, &name).map(drop)
        }
        Change::Write(path, offset, bytes) => {
            let inode = files.find(path)?.inode;
            files.write(inode, *offset, bytes)
        }
        Change::Length(path, length) => {
            let inode = files.find(path)?.inode;
            files.set_length(inode, *length)
        }
        Change::Put(path, bytes) => {
            let (directory, name) = files.place(path)?;
            let mut writer = files.writer()?;
            for part in bytes.chunks(700) {
                writer.write(part)?;
            }
            assert_eq!(writer.length_bytes(), bytes.len() as u64);
            writer.finish(directory, &name).map(drop)
        }
        Change::Remove(path) => {
            let (directory, name) = files.place(path)?;
            files.remove(directory, &name)
        }
        Change::RemoveAll(path) => {
            let (directory, name) = files.place(path)?;
            files.remove_all(directory, &name)
        }
        Change::Rename(from, to) => {
            let ((from, from_name), (to, to_name)) = (files.place(from)?, files.place(to)?);
            files.rename(from, &from_name, to, &to_name)
        }
    }
}

#[test]
fn tree_is_that_of_the_model() {
    for seed in 0..12 {
        let mut store = store(96, seed % 2 == 1);
        let (mut model, mut random) = (Model::default(), Seed(seed).source());
        let mut done = 0;
        for _ in 0..5 {
            let mut files = Files::open_with(&mut store, EXTENT << (seed % 3)).unwrap();
            for step in 0..60 {
                let change = Change::random(&mut random);
                let expected = model.apply(&change);
                let found = apply(&mut files, &change).map_err(|error| kind_of(&error));
                assert_eq!(found, expected, "seed {seed}, step {step}: {change:?}");
                done += u64::from(found.is_ok());
                if step % 10 == 0 {
                    assert_eq!(tree(&mut files), model.tree, "seed {seed}, step {step}: {change:?}");
                }
                read_some(&mut files, &model.tree, &mut random);
            }
            assert_eq!(tree(&mut files), model.tree);
            // A change that was refused late leaves its extents to the next one.
            files.begin_change().unwrap();
            check_space(&mut store);
            let (device, log) = store.into_store().into_devices();
            store = KeyValueStore::open(device, log).unwrap();
        }
        assert!(done > 60, "seed {seed}: {done} of 300 changes were done");
    }
}

fn read_some<D: DataDevice, L: DataDevice>(files: &mut Files<'_, D, L>, tree: &Tree, random: &mut Random) {
    let all: Vec<_> = tree.iter().filter_map(|(path, bytes)| Some((path, bytes.as_ref()?))).collect();
    if all.is_empty() {
        return;
    }
    let (path, bytes) = all[random.below(all.len() as u64) as usize];
    let (offset, length) = (random.below(4000), random.below(3000));
    let inode = files.find(path).unwrap().inode;
    let expected: Vec<u8> = bytes.iter().copied().skip(offset as usize).take(length as usize).collect();
    assert_eq!(files.read(inode, offset, length).unwrap(), expected, "{path} from {offset}");
}

#[test]
fn holes_take_no_space_and_are_zeros() {
    let mut store = store(96, false);
    let mut files = Files::open_with(&mut store, EXTENT).unwrap();
    let file = files.create(Inode::ROOT, b"sparse").unwrap();
    files.write(file, 1 << 50, b"end").unwrap();
    files.write(file, 1 << 40, b"middle").unwrap();
    assert_eq!(files.attributes(file).unwrap().length_bytes, (1 << 50) + 3);
    assert_eq!(files.read(file, (1 << 40) - 2, 10).unwrap(), b"\0\0middle\0\0");
    assert_eq!(files.read(file, (1 << 50) - 1, 10).unwrap(), b"\0end");
    files.set_length(file, 1 << 45).unwrap();
    files.set_length(file, 1 << 51).unwrap();
    assert_eq!(files.read(file, 1 << 50, 3).unwrap(), [0; 3]);
    let refused = files.write(file, i64::MAX as u64, b"x");
    assert!(matches!(refused, Err(FileError::TooLong { .. })), "{refused:?}");
    check_space(&mut store);
    let mut files = Files::open(&mut store).unwrap();
    assert_eq!(files.extent_bytes(), EXTENT);
    let mut writer = files.writer().unwrap();
    writer.write(&[0; 5000]).unwrap();
    let zeros = writer.finish(Inode::ROOT, b"zeros").unwrap();
    assert_eq!(files.read(zeros, 0, 6000).unwrap(), [0; 5000]);
    files.remove(Inode::ROOT, b"sparse").unwrap();
    let end = Space::Files.records()[0].clone();
    assert_eq!(store.entries(&Space::Files.bulk(b""), Some(&end), false).count(), 0);
}

#[test]
fn names_and_sizes_that_cannot_be_are_refused() {
    let mut store = store(96, false);
    let sizes = FileError::ExtentBytes { given: 1000, least: 512, most: 1 << 20 };
    assert_eq!(Files::open_with(&mut store, 1000).err(), Some(sizes));
    let mut files = Files::open(&mut store).unwrap();
    for name in ["", ".", "..", "a/b", "a\0b", &"x".repeat(256)] {
        let refused = files.create(Inode::ROOT, name.as_bytes());
        assert!(matches!(refused, Err(FileError::Name { most: 255, .. })), "{name}: {refused:?}");
    }
    files.create(Inode::ROOT, "x".repeat(255).as_bytes()).unwrap();
    assert_eq!(files.place("//"), Err(FileError::Root));
    assert_eq!(files.find("/").unwrap().inode, Inode::ROOT);
    let missing = FileError::Missing { name: "/a/b".into() };
    assert_eq!(files.find("/a/b"), Err(missing));
    let inode = files.make_directories("a//b/").unwrap();
    assert_eq!(files.find("/a/b").unwrap().inode, inode);
    assert_eq!(files.make_directories("/a/b"), Ok(inode));
}

#[test]
fn records_in_several_slices_are_refused() {
    let (device, log) = devices(96);
    let bounds = vec![Vec::new(), Space::Files.record(b'i', b"")];
    let mut store = KeyValueStore::create(device, log, 1, Slices { bounds }).unwrap();
    assert_eq!(Files::open(&mut store).err(), Some(FileError::Parted));
}

#[test]
fn file_that_is_not_finished_leaves_nothing() {
    let mut store = store(96, true);
    let mut files = Files::open_with(&mut store, EXTENT).unwrap();
    for length in [10_000, 300] {
        let mut writer = files.writer().unwrap();
        writer.write(&vec![7; length]).unwrap();
        drop(writer);
    }
    assert_eq!(tree(&mut files), Tree::new());
    files.create(Inode::ROOT, b"file").unwrap();
    check_space(&mut store);
}

#[test]
fn full_device_removes_files_and_takes_others_again() {
    for are_parted in [false, true] {
        let mut store = store(16, are_parted);
        let mut files = Files::open_with(&mut store, EXTENT).unwrap();
        let put = |files: &mut Files<'_, _, _>, name: &str, fill: u8| -> Result<Inode, FileError> {
            let mut writer = files.writer()?;
            writer.write(&[fill; 7_000])?;
            writer.finish(Inode::ROOT, name.as_bytes())
        };
        let refused = (0..100).find_map(|nth| Some((nth, put(&mut files, &format!("f{nth}"), nth).err()?)));
        let (count, error) = refused.expect("the device fills up");
        assert!(error.is_full() && count > 5, "{count} files, then {error}");
        for nth in 0..count {
            let inode = files.find(format!("f{nth}")).unwrap().inode;
            assert_eq!(files.read(inode, 0, 8_000).unwrap(), [nth; 7_000], "file {nth}");
        }
        for nth in 0..count - 1 {
            files.remove(Inode::ROOT, format!("f{nth}").as_bytes()).unwrap();
        }
        put(&mut files, "new", 200).expect("deletes give space back");
        let names: Vec<_> = tree(&mut files).into_keys().collect();
        assert_eq!(names, [format!("/f{}", count - 1), "/new".into()]);
        check_space(&mut store);
    }
}

/// Bytes that found no room are given back at once: the next write may be one of other keys.
#[test]
fn refused_bytes_leave_room_for_other_keys() {
    type Refused = fn(&mut Files<'_, MemoryLanes, MemoryDisk>) -> Option<FileError>;
    let whole: Refused = |files| {
        let mut writer = files.writer().unwrap();
        (0..1000).find_map(|_| writer.write(&[7; 5_000]).err())
    };
    let added: Refused = |files| {
        let file = files.create(Inode::ROOT, b"file").unwrap();
        files.write(file, 0, &[7; 300]).unwrap();
        files.write(file, 300, &vec![7; 2_000_000]).err()
    };
    for refused in [whole, added] {
        let mut store = store(16, true);
        let mut files = Files::open_with(&mut store, EXTENT).unwrap();
        let error = refused(&mut files).expect("the device fills up");
        assert!(error.is_full(), "{error}");
        store.put(b"key", &[7; 3_000]).expect("what was refused is deleted");
        check_space(&mut store);
    }
}

/// A file much longer than the memory that the store has goes through it.
#[test]
fn long_file_needs_the_memory_of_an_extent() {
    let device = MemoryLanes::new(4, 60, 64 << 10, 512, Seed(1));
    let log = MemoryDisk::new(1 << 20, 512, Seed(1));
    let mut store = KeyValueStore::create(device, log, 1, Slices::even(1)).unwrap();
    let mut files = Files::open_with(&mut store, 16 << 10).unwrap();
    let mut writer = files.writer().unwrap();
    let part: Vec<u8> = (0..60_000_u32).map(|nth| (nth % 251) as u8).collect();
    for _ in 0..80 {
        writer.write(&part).unwrap();
        assert!(writer.rest_capacity() <= 64 << 10);
    }
    let file = writer.finish(Inode::ROOT, b"long").unwrap();
    for nth in 0..80 {
        assert!(files.read(file, nth * 60_000, 60_000).unwrap() == part, "part {nth}");
    }
    files.remove(Inode::ROOT, b"long").unwrap();
    check_space(&mut store);
}

#[test]
fn check_finds_and_repairs_what_no_name_leads_to() {
    let mut store = store(96, true);
    let mut files = Files::open_with(&mut store, EXTENT).unwrap();
    let bytes: Vec<u8> = (0..5000_u32).map(|nth| nth as u8).collect();
    let directory = files.make_directories("/a/b").unwrap();
    for name in [&b"kept"[..], b"nameless", b"gone"] {
        let file = files.create(directory, name).unwrap();
        files.write(file, 0, &bytes).unwrap();
    }
    let [nameless, gone] = ["a/b/nameless", "a/b/gone"].map(|path| files.find(path).unwrap().inode);
    let sound = Check { files: 3, directories: 2, ..Check::default() };
    assert_eq!(files.check(false), Ok(sound));
    // As lost blocks might leave it: a file without a name, one without a record, and a directory without a name.
    let top = files.find("/a").unwrap().inode;
    store.delete(&entry_key(Some(directory), b"nameless")).unwrap();
    store.delete(&inode_key(Some(gone))).unwrap();
    store.delete(&entry_key(Some(top), b"b")).unwrap();
    let mut files = Files::open(&mut store).unwrap();
    let found = Check { files: 1, directories: 1, dangling_entries: 1, lost_inodes: 2, lost_extents: 1 };
    assert_eq!(files.check(false), Ok(found));
    assert_eq!(files.check(false), Ok(found), "a check changes nothing");
    assert_eq!(files.check(true), Ok(found));
    assert_eq!(files.check(false), Ok(Check { files: 2, directories: 3, ..Check::default() }));
    let names = ["/a", "/lost+found"].map(String::from);
    let below = [format!("/lost+found/{directory}"), format!("/lost+found/{directory}/kept")];
    let expected: Vec<String> =
        names.into_iter().chain(below).chain([format!("/lost+found/{nameless}")]).collect();
    let tree = tree(&mut files);
    assert_eq!(tree.keys().cloned().collect::<Vec<_>>(), expected);
    assert_eq!(tree[&format!("/lost+found/{nameless}")].as_ref(), Some(&bytes));
    check_space(&mut store);
}

#[test]
fn extents_by_default_fill_the_blocks_that_they_take() {
    for (unit_bytes, extent_bytes) in [(8 << 20, 512 << 10), (1 << 20, 256 << 10), (256 << 10, 512 << 10)] {
        let device = MemoryLanes::new(1, 40, unit_bytes, 8192, Seed(1));
        let log = MemoryDisk::new(40 << 20, 512, Seed(1));
        let mut store = KeyValueStore::create(device, log, 1, slices(false)).expect("the devices suit");
        let files = Files::open(&mut store).expect("there are none");
        assert_eq!(files.extent_bytes(), extent_bytes, "units of {unit_bytes} bytes");
    }
}
