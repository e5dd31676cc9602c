//! A file tree as a map from paths, and random changes of it.

use flashlane_base::Random;
use std::collections::BTreeMap;

/// Bytes of files by path; `None` for directories.
pub type Tree = BTreeMap<String, Option<Vec<u8>>>;

/// A change of the tree.
#[derive(Clone, Debug)]
pub enum Change {
    Directory(String),
    Create(String),
    Write(String, u64, Vec<u8>),
    Length(String, u64),
    Put(String, Vec<u8>),
    Remove(String),
    RemoveAll(String),
    Rename(String, String),
}

fn path(random: &mut Random) -> String {
    let depth = [1, 1, 2, 2, 3][random.below(5) as usize];
    (0..depth).map(|_| format!("/{}", ["a", "b", "c"][random.below(3) as usize])).collect()
}

fn bytes(random: &mut Random) -> Vec<u8> {
    let length = [random.below(40), random.below(600), random.below(4000)][random.below(3) as usize];
    let first = random.bits() as u8;
    (0..length).map(|nth| first.wrapping_add(nth as u8)).collect()
}

impl Change {
    pub fn random(random: &mut Random) -> Self {
        let own = path(random);
        match random.below(16) {
            0..3 => Self::Directory(own),
            3..5 => Self::Create(own),
            5..8 => Self::Write(own, random.below(3000), bytes(random)),
            8 => Self::Length(own, random.below(4000)),
            9..11 => Self::Put(own, bytes(random)),
            11 => Self::Remove(own),
            12 => Self::RemoveAll(own),
            _ => Self::Rename(own, path(random)),
        }
    }
}

/// The tree, changed as a simple file system would.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub tree: Tree,
}

type Outcome = Result<(), &'static str>;

impl Model {
    /// Checks that a path's directory is there.
    fn check_place(&self, path: &str) -> Outcome {
        for (at, _) in path.match_indices('/').skip(1) {
            match self.tree.get(&path[..at]) {
                None => return Err("missing"),
                Some(Some(_)) => return Err("no directory"),
                Some(None) => {}
            }
        }
        Ok(())
    }

    fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        self.tree.keys().filter(|key| key.starts_with(&prefix)).cloned().collect()
    }

    fn file(&mut self, path: &str) -> Result<&mut Vec<u8>, &'static str> {
        self.check_place(path)?;
        match self.tree.get_mut(path) {
            None => Err("missing"),
            Some(None) => Err("directory"),
            Some(Some(bytes)) => Ok(bytes),
        }
    }

    pub fn apply(&mut self, change: &Change) -> Outcome {
        match change {
            Change::Directory(path) | Change::Create(path) => {
                self.check_place(path)?;
                if self.tree.contains_key(path) {
                    return Err("exists");
                }
                let is_file = matches!(change, Change::Create(_));
                self.tree.insert(path.clone(), is_file.then(Vec::new));
            }
            Change::Write(path, offset, bytes) => {
                let file = self.file(path)?;
                if !bytes.is_empty() {
                    let (start, end) = (*offset as usize, *offset as usize + bytes.len());
                    file.resize(file.len().max(end), 0);
                    file[start..end].copy_from_slice(bytes);
                }
            }
            Change::Length(path, length) => self.file(path)?.resize(*length as usize, 0),
            Change::Put(path, bytes) => {
                self.check_place(path)?;
                if self.tree.get(path) == Some(&None) {
                    return Err("directory");
                }
                self.tree.insert(path.clone(), Some(bytes.clone()));
            }
            Change::Remove(path) | Change::RemoveAll(path) => {
                self.check_place(path)?;
                if !self.tree.contains_key(path) {
                    return Err("missing");
                }
                let below = self.below(path);
                if !below.is_empty() && matches!(change, Change::Remove(_)) {
                    return Err("not empty");
                }
                below.iter().chain([path]).for_each(|path| drop(self.tree.remove(path)));
            }
            Change::Rename(from, to) => return self.rename(from, to),
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Outcome {
        self.check_place(from)?;
        self.check_place(to)?;
        let is_directory = self.tree.get(from).ok_or("missing")?.is_none();
        if from == to {
            return Ok(());
        }
        if is_directory && to.starts_with(&format!("{from}/")) {
            return Err("into itself");
        }
        match self.tree.get(to) {
            Some(None) if !is_directory => return Err("directory"),
            Some(Some(_)) if is_directory => return Err("no directory"),
            Some(None) if !self.below(to).is_empty() => return Err("not empty"),
            _ => {}
        }
        for path in self.below(from).into_iter().chain([from.to_owned()]) {
            let moved = self.tree.remove(&path).expect("it was found");
            self.tree.insert(format!("{to}{}", &path[from.len()..]), moved);
        }
        Ok(())
    }
}
