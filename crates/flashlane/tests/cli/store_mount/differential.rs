//! The same operations on two directories: results, error numbers and trees are equal.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A pseudo-random source (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % bound
    }

    fn path(&mut self) -> String {
        let depth = [1, 1, 2, 2, 3][self.below(5) as usize];
        let names: Vec<&str> = (0..depth).map(|_| ["a", "b", "c", "d"][self.below(4) as usize]).collect();
        names.join("/")
    }

    fn place(&mut self) -> u64 {
        [self.below(100), self.below(10_000), self.below(60_000)][self.below(3) as usize]
    }

    fn bytes(&mut self) -> Vec<u8> {
        let (length, first) = (self.place(), self.below(256) as u8);
        (0..length).map(|nth| first.wrapping_add((nth % 251) as u8)).collect()
    }
}

/// An operation on a path, or on a file that was opened before.
#[derive(Clone, Debug)]
enum Operation {
    Create(String),
    Directory(String),
    Write(String, u64, Vec<u8>),
    Append(String, Vec<u8>),
    Read(String, u64, u64),
    Length(String, u64),
    Remove(String),
    RemoveDirectory(String),
    Rename(String, String),
    List(String),
    Stat(String),
    Open(usize, String),
    WriteOpen(usize, u64, Vec<u8>),
    ReadOpen(usize, u64, u64),
    LengthOpen(usize, u64),
    Sync(usize),
    Close(usize),
}

/// Files that may be open at a time.
const OPEN: u64 = 4;

impl Operation {
    fn random(random: &mut Random) -> Self {
        let (path, handle) = (random.path(), random.below(OPEN) as usize);
        match random.below(34) {
            0..3 => Self::Create(path),
            3..6 => Self::Directory(path),
            6..10 => Self::Write(path, random.place(), random.bytes()),
            10 => Self::Append(path, random.bytes()),
            11..14 => Self::Read(path, random.place(), random.place()),
            14 => Self::Length(path, random.place()),
            15..17 => Self::Remove(path),
            17 => Self::RemoveDirectory(path),
            18..21 => Self::Rename(path, random.path()),
            21 => Self::List(path),
            22 => Self::Stat(path),
            23..26 => Self::Open(handle, path),
            26..28 => Self::WriteOpen(handle, random.place(), random.bytes()),
            28..30 => Self::ReadOpen(handle, random.place(), random.place()),
            30 => Self::LengthOpen(handle, random.place()),
            31 => Self::Sync(handle),
            _ => Self::Close(handle),
        }
    }

    /// Does it below a directory. Returns what it reads.
    fn apply(&self, root: &Path, open: &mut BTreeMap<usize, File>) -> io::Result<Vec<u8>> {
        let done = |result: io::Result<()>| result.map(|()| Vec::new());
        let writable = |path: &str| OpenOptions::new().write(true).open(root.join(path));
        match self {
            Self::Create(path) => {
                done(OpenOptions::new().write(true).create_new(true).open(root.join(path)).map(drop))
            }
            Self::Directory(path) => done(fs::create_dir(root.join(path))),
            Self::Write(path, at, bytes) => done(writable(path)?.write_all_at(bytes, *at)),
            Self::Append(path, bytes) => {
                done(OpenOptions::new().append(true).open(root.join(path))?.write_all(bytes))
            }
            Self::Read(path, at, length) => read(&File::open(root.join(path))?, *at, *length),
            Self::Length(path, length) => done(writable(path)?.set_len(*length)),
            Self::Remove(path) => done(fs::remove_file(root.join(path))),
            Self::RemoveDirectory(path) => done(fs::remove_dir(root.join(path))),
            Self::Rename(from, to) => done(fs::rename(root.join(from), root.join(to))),
            Self::List(path) => {
                let names = fs::read_dir(root.join(path))?.map(|entry| Ok(entry?.file_name()));
                let mut names = names.collect::<io::Result<Vec<_>>>()?;
                names.sort();
                Ok(format!("{names:?}").into_bytes())
            }
            Self::Stat(path) => {
                let found = root.join(path).metadata()?;
                let length = if found.is_file() { found.len() } else { 0 };
                Ok(format!("{} {length}", found.is_dir()).into_bytes())
            }
            Self::Open(handle, path) => {
                let file = OpenOptions::new().read(true).write(true).open(root.join(path))?;
                open.insert(*handle, file);
                Ok(Vec::new())
            }
            Self::WriteOpen(handle, at, bytes) => match open.get(handle) {
                Some(file) => done(file.write_all_at(bytes, *at)),
                None => Ok(Vec::new()),
            },
            Self::ReadOpen(handle, at, length) => match open.get(handle) {
                Some(file) => read(file, *at, *length),
                None => Ok(Vec::new()),
            },
            Self::LengthOpen(handle, length) => {
                done(open.get(handle).map_or(Ok(()), |file| file.set_len(*length)))
            }
            Self::Sync(handle) => done(open.get(handle).map_or(Ok(()), File::sync_all)),
            Self::Close(handle) => {
                open.remove(handle);
                Ok(Vec::new())
            }
        }
    }
}

/// Reads a range, up to the end of the file.
fn read(file: &File, at: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], at + done as u64)? {
            0 => break,
            more => done += more,
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

/// Two directories.
pub struct Pair {
    pub ours: PathBuf,
    pub hosts: PathBuf,
}

impl Pair {
    /// Does random operations on both, and compares what each returns.
    pub fn run(&self, random: &mut Random, operations: u64) {
        let (mut our_files, mut host_files) = (BTreeMap::new(), BTreeMap::new());
        let mut succeeded = 0;
        for nth in 0..operations {
            let operation = Operation::random(random);
            let number = |error: io::Error| error.raw_os_error();
            let hosts = operation.apply(&self.hosts, &mut host_files).map_err(number);
            let ours = operation.apply(&self.ours, &mut our_files).map_err(number);
            assert!(
                ours == hosts,
                "operation {nth}, {operation:?}: {} bytes or {:?}, on the host {} or {:?}",
                ours.as_ref().map_or(0, Vec::len),
                ours.as_ref().err(),
                hosts.as_ref().map_or(0, Vec::len),
                hosts.as_ref().err()
            );
            succeeded += u64::from(ours.is_ok());
        }
        assert!(succeeded > operations / 4, "{succeeded} of {operations} succeeded");
    }

    /// Compares both trees.
    pub fn compare(&self) {
        let (ours, hosts) = (tree(&self.ours), tree(&self.hosts));
        let names = |tree: &BTreeMap<PathBuf, Option<Vec<u8>>>| tree.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&hosts));
        for (path, bytes) in &ours {
            assert!(hosts[path] == *bytes, "{} differs", path.display());
        }
    }
}

/// Returns the bytes of files, and `None` for directories, by their paths.
fn tree(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root.join(&directory)).unwrap() {
            let path = directory.join(entry.unwrap().file_name());
            let whole = root.join(&path);
            if whole.is_dir() {
                directories.push(path.clone());
                found.insert(path, None);
            } else {
                found.insert(path, Some(fs::read(whole).unwrap()));
            }
        }
    }
    found
}
