//! Keeps files in directories of a store on a file: writes, changes, moves and reads them.
//!
//! ```sh
//! cargo run --release --example files            # files in the folder for temporary files, removed at the end
//! cargo run --release --example files -- ./flash # new files that stay: ./flash, and its log ./flash.log
//! ```

use flashlane::files::{Files, Inode};
use flashlane::store::StoreOptions;
use flashlane::{AccessMode, AnyKeyValueStore, NewStore, OpenOptions};
use std::error::Error;
use std::path::PathBuf;

/// Runs the example on the path that is given.
pub fn main() -> Result<(), Box<dyn Error>> {
    run(std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).map(PathBuf::from))
}

/// Runs the example on this path, or on temporary files.
pub fn run(given: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let is_temporary = given.is_none();
    let name = format!("flashlane-example-files-{}", std::process::id());
    let path = given.unwrap_or_else(|| std::env::temp_dir().join(name));
    let log = format!("{}.log", path.display());

    let spec = format!("lanes({},channels=4,unit=256KiB)", path.display());
    let created = OpenOptions::new().create(32 << 20).create_store(&spec, &log, NewStore::default())?;
    let mut store = AnyKeyValueStore::from(created);

    // A file of 4 MiB in pieces of 64 KiB. It appears when it is finished, as a whole.
    let mut files = Files::open(&mut store)?;
    let photos = files.make_directories("/photos/2026")?;
    let mut writer = files.writer()?;
    for nth in 0..64 {
        writer.write(&[nth; 64 << 10])?;
    }
    let lake = writer.finish(photos, b"lake")?;

    // Bytes are changed anywhere, and a hole takes no space.
    files.write(lake, 100, b"changed")?;
    let notes = files.create(Inode::ROOT, b"notes")?;
    files.write(notes, 1 << 40, b"far behind")?;
    files.set_length(notes, (1 << 40) + 3)?;

    // A directory is moved with all that it holds.
    let ((from, from_name), (to, to_name)) = (files.place("/photos")?, files.place("/pictures")?);
    files.rename(from, &from_name, to, &to_name)?;
    drop(store);

    let spec = format!("lanes({})", path.display());
    let opened = OpenOptions::new().open_store(&spec, &log, AccessMode::ReadOnly, StoreOptions::default())?;
    let mut store = AnyKeyValueStore::from(opened);
    let mut files = Files::open(&mut store)?;
    let lake = files.find("/pictures/2026/lake")?;
    assert_eq!(lake.length_bytes, 4 << 20);
    assert_eq!(files.read(lake.inode, 98, 11)?, b"\0\0changed\0\0");
    assert_eq!(files.read(lake.inode, (4 << 20) - 2, 100)?, [63, 63]);
    let notes = files.find("/notes")?;
    assert_eq!(files.read(notes.inode, 1 << 40, 100)?, b"far");
    let names = files.list(Inode::ROOT, None, 100)?;
    let names: Vec<_> = names.iter().map(|entry| String::from_utf8_lossy(&entry.name)).collect();
    println!("/ holds {}", names.join(" and "));
    assert_eq!(names, ["notes", "pictures"]);

    drop(store);
    if is_temporary {
        std::fs::remove_file(path)?;
        std::fs::remove_file(log)?;
    }
    Ok(())
}
