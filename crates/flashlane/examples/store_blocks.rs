//! Stores blocks on a file that is divided into lanes, opens it again, and reads them.
//!
//! ```sh
//! cargo run --release --example store_blocks            # a file in the folder for temporary files, removed at the end
//! cargo run --release --example store_blocks -- ./flash # a new file that stays
//! ```

use flashlane::{AccessMode, OpenOptions};
use std::error::Error;
use std::path::PathBuf;

/// Runs the example on the path that is given.
pub fn main() -> Result<(), Box<dyn Error>> {
    run(std::env::args().nth(1).filter(|argument| !argument.starts_with('-')).map(PathBuf::from))
}

/// Runs the example on this path, or on temporary files.
pub fn run(given: Option<PathBuf>) -> Result<(), Box<dyn Error>> {
    let is_temporary = given.is_none();
    let name = format!("flashlane-example-{}", std::process::id());
    let path = given.unwrap_or_else(|| std::env::temp_dir().join(name));

    // A new file of 32 MiB with four lanes of erase units of 1 MiB. An existing file is never replaced.
    let spec = format!("lanes({},channels=4,unit=1MiB)", path.display());
    let mut store = OpenOptions::new().create(32 << 20).format_blocks(&spec)?;
    println!("{} holds blocks of up to {} bytes", path.display(), store.block_bytes());

    // When put returns, the block is durable.
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        ids.push(store.put(text.as_bytes())?);
    }
    // When delete returns, its erase unit is erased.
    store.delete(ids[1])?;
    drop(store);

    // The file records its own shape. Opening refuses a device without blocks, and changes nothing.
    let spec = format!("lanes({})", path.display());
    let mut store = OpenOptions::new().open_blocks(&spec, AccessMode::ReadOnly)?;
    let blocks: Vec<_> = store.list().collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let text = String::from_utf8(store.get(block.id)?)?;
        println!("block {} on lane {}: {text}", block.id, block.address.lane);
    }
    assert_eq!(store.get(ids[2])?, b"three");

    drop(store);
    if is_temporary {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
