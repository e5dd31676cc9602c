//! Puts, gets and deletes keys.

use super::Level;
use super::device::{Place, failed, open, open_to_write, to_salvage};
use crate::command::sdf::counted;
use crate::failure::{Failure, Status, notify};
use crate::output::{create_new, print};
use anyhow::{Context, anyhow};
use flashlane_store::text::escape;
use flashlane_store::{ReadFailure, StoreError};
use flashlane_trace::is_standard_input;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Keys that are named one by one.
const NAMED_MAX: usize = 8;

/// Where a value is.
pub enum Value<'a> {
    Given(&'a [u8]),
    File(&'a Path),
}

/// Stores a value. Its file is read to the end before the device is opened.
pub fn put(place: &Place, key: &[u8], value: Value<'_>, level: Level) -> Result<Status, Failure> {
    let value = match value {
        Value::Given(bytes) => bytes.to_vec(),
        Value::File(path) => read(path).map_err(Failure::unusable)?,
    };
    let mut store = open_to_write(place, level)?;
    store.put(key, &value).map_err(failed)?;
    // The log is written, and merges that are due end.
    store.store().settle();
    let bytes = counted(value.len() as u64, "byte", "bytes");
    print(&format!("{}: {bytes} stored, durability: {}\n", escape(key), level.name()))?;
    Ok(Status::Done)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let name = path.display();
    if is_standard_input(path) {
        io::stdin().lock().read_to_end(&mut bytes)
    } else {
        File::open(path).with_context(|| format!("cannot open '{name}'"))?.read_to_end(&mut bytes)
    }
    .with_context(|| format!("cannot read '{name}'"))?;
    Ok(bytes)
}

/// Writes a value to `output`, or else to standard output.
pub fn get(place: &Place, key: &[u8], output: Option<&Path>) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let value = match store.get(key) {
        Err(StoreError::Read(ReadFailure::MayBeLost(loss))) => {
            let key = escape(key);
            return Err(Failure::failed(anyhow!("no key '{key}' is found, and it may be lost: {loss}")));
        }
        Err(StoreError::Read(failure @ ReadFailure::Missing { .. })) => {
            let key = escape(key);
            return Err(Failure::failed(anyhow!(
                "the value of '{key}' is lost: {failure}. {}. After that 'flashlane store put' gives the key another value, and \
                 'flashlane store rm' deletes it",
                to_salvage(place)
            )));
        }
        value => value.map_err(failed)?,
    };
    let value = value.ok_or_else(|| Failure::failed(anyhow!("no key '{}'", escape(key))))?;
    let Some(path) = output else {
        let mut out = io::stdout().lock();
        return match out.write_all(&value).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::failed(anyhow!("cannot write the value: {error}")))
            }
            _ => Ok(Status::Done),
        };
    };
    let (mut file, created) = create_new(path)?;
    file.write_all(&value).map_err(|error| {
        // A partial value must not be mistaken for a whole one. A failed removal changes nothing about the error.
        let _ = created.remove(path);
        Failure::failed(anyhow!("cannot write the value: {error}"))
    })?;
    Ok(Status::Done)
}

/// Deletes the keys that exist. If some do not, reports which, and which are deleted.
pub fn remove(place: &Place, keys: &[OsString], level: Level) -> Result<Status, Failure> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = keys.iter().find(|key| !seen.insert(*key)) {
        return Err(Failure::unusable(anyhow!(
            "key '{}' is named twice: name each key once; nothing was deleted",
            escape(twice.as_bytes())
        )));
    }
    let mut store = open_to_write(place, level)?;
    let (mut deleted, mut kept) = (Vec::new(), Vec::new());
    for key in keys {
        let key = key.as_bytes();
        let result = match store.contains(key) {
            Ok(true) => store.delete(key),
            Ok(false) => {
                kept.push(format!("{} (no such key)", escape(key)));
                continue;
            }
            Err(StoreError::Read(ReadFailure::MayBeLost(_))) => {
                kept.push(format!("{} (not found, and may be lost)", escape(key)));
                continue;
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => deleted.push(escape(key)),
            Err(error) => {
                // The next one would fail likewise.
                kept.push(format!("{} and those behind it ({error})", escape(key)));
                break;
            }
        }
    }
    store.store().settle();
    if !deleted.is_empty() {
        print(&format!(
            "{} deleted, durability: {}\n",
            counted(deleted.len() as u64, "key", "keys"),
            level.name()
        ))?;
    }
    if kept.is_empty() {
        return Ok(Status::Done);
    }
    notify(&format!("not deleted: {}; deleted: {}", listed(&kept), listed(&deleted)));
    Ok(Status::Failed)
}

/// Returns the first of some keys, and the number of the others.
fn listed(keys: &[String]) -> String {
    match keys.len().saturating_sub(NAMED_MAX) {
        _ if keys.is_empty() => "none".to_owned(),
        0 => keys.join(", "),
        more => format!("{} and {more} more", keys[..NAMED_MAX].join(", ")),
    }
}
