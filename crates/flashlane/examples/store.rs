//! Keeps keys and values in a store on a file, opens it again, and reads them.
//!
//! ```sh
//! cargo run --release --example store            # files in the folder for temporary files, removed at the end
//! cargo run --release --example store -- ./flash # new files that stay: ./flash, and its log ./flash.log
//! ```

use flashlane::store::{Durability, StoreOptions, end_of_prefix};
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
    let name = format!("flashlane-example-store-{}", std::process::id());
    let path = given.unwrap_or_else(|| std::env::temp_dir().join(name));
    let log = format!("{}.log", path.display());

    // A new file of 32 MiB with four lanes, and a new file for the log. Existing files are never replaced.
    let spec = format!("lanes({},channels=4,unit=256KiB)", path.display());
    let created = OpenOptions::new().create(32 << 20).create_store(&spec, &log, NewStore::default())?;
    let mut store = AnyKeyValueStore::from(created);

    // When put returns, no power cut takes the value.
    store.put(b"fruit/apple", b"red")?;
    store.put(b"fruit/lemon", b"yellow")?;
    store.put(b"fruit/apple", b"green")?;
    store.delete(b"fruit/lemon")?;

    // Many at once: the loader keeps writes in flight, here ones that a power cut may take.
    let mut store = store.with_durability(Durability::System);
    let mut loader = store.loader();
    for nth in 0..1000 {
        while !loader.offer(format!("number/{nth:04}").as_bytes(), nth.to_string().as_bytes())? {
            loader.wait(flashlane::Duration::from_s(1))?;
        }
    }
    assert_eq!(loader.finish()?, 1000);
    // Now these are durable, too, and the next opening would notice where any is missing.
    store.close()?;
    drop(store);

    // The file records its own shape. Opening refuses devices without a store, and changes nothing.
    let spec = format!("lanes({})", path.display());
    let opened = OpenOptions::new().open_store(&spec, &log, AccessMode::ReadOnly, StoreOptions::default())?;
    let mut store = AnyKeyValueStore::from(opened);
    assert_eq!(store.get(b"fruit/apple")?, Some(b"green".to_vec()));
    assert_eq!(store.get(b"fruit/lemon")?, None);
    let prefix = b"number/09";
    let mut count = 0;
    for entry in store.entries(prefix, end_of_prefix(prefix).as_deref(), true) {
        let value = entry?.value.ok_or("values were asked for")?;
        assert_eq!(String::from_utf8(value)?, (900 + count).to_string());
        count += 1;
    }
    println!("{count} keys begin with '{}'", String::from_utf8_lossy(prefix));
    assert_eq!(count, 100);

    drop(store);
    if is_temporary {
        std::fs::remove_file(path)?;
        std::fs::remove_file(log)?;
    }
    Ok(())
}
