//! A file of 4 MiB with blocks on its lanes.

use crate::program::{done, text};
use std::fs;
use std::path::PathBuf;

pub const LANES: usize = 4;
pub const UNIT: usize = 64 << 10;
/// Offset of the units: after the lanes' superblock and the single sector of their table.
pub const DATA: usize = 2 * 4096;

pub struct Stored {
    pub dir: tempfile::TempDir,
    pub path: PathBuf,
    /// A file of 50,000 bytes, the content of every block.
    pub small: PathBuf,
    /// Spec with the shape of the lanes.
    pub spec: String,
    /// Spec without it.
    pub lanes: String,
    /// The bytes after the first puts.
    pub original: Vec<u8>,
}

impl Stored {
    /// Blocks with ids from 0 on.
    pub fn new(blocks: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (path, small) = (dir.path().join("flash"), dir.path().join("small"));
        fs::write(&small, [7; 50_000]).unwrap();
        let lanes = format!("lanes({})", path.display());
        let spec = lanes.replace(')', &format!(",channels={LANES},unit=64KiB,read-unit=4KiB)"));
        done(&["sdf", "format", &spec, "--create", "4MiB", "--allow-page-cache"]);
        done(&[&["sdf", "put", &spec][..], &vec![text(&small); blocks]].concat());
        let original = fs::read(&path).unwrap();
        Self { dir, path, small, spec, lanes, original }
    }

    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    pub fn overwrite(&self, at: usize, bytes: &[u8]) {
        let mut all = self.bytes();
        all[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&self.path, all).unwrap();
    }
}
