//! Writes a backup of a store, and restores one.

use super::Level;
use super::device::{Place, failed, open, to_salvage};
use super::import::{stored_of, wait_for};
use super::opened::OpenedStore;
use crate::command::sdf::counted;
use crate::failure::{Failure, Status, notify};
use crate::output::{create_new, print};
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_base::Duration;
use flashlane_device::DataDevice;
use flashlane_store::{Backup, BackupEntry, BackupError, BackupReader, Loader, Store};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// Longest wait between two checks for Ctrl-C.
const WAIT: Duration = Duration::from_ms(50);

/// How a backup ended that has none.
enum NotMade {
    Failed(BackupError),
    Stopped,
}

impl From<BackupError> for NotMade {
    fn from(error: BackupError) -> Self {
        Self::Failed(error)
    }
}

/// Writes all keys, those of tables and files too, to a new file, or to standard output.
pub fn backup(place: &Place, output: Option<&Path>) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let meter = Meter::new("writing the backup");
    let Some(path) = output else {
        return match write(store.store(), io::stdout().lock(), &meter) {
            Ok(_) => Ok(Status::Done),
            Err(reason) => Err(not_made(place, reason, "the backup on standard output is not complete")),
        };
    };
    let (file, created) = create_new(path)?;
    let written = write(store.store(), BufWriter::new(file), &meter).and_then(|(file, entries)| {
        let file = file.into_inner().map_err(|error| BackupError::Write(error.into_error()))?;
        let bytes = file.metadata().and_then(|data| file.sync_all().map(|()| data.len()));
        Ok((bytes.map_err(BackupError::Write)?, entries))
    });
    drop(meter);
    match written {
        Ok((bytes, entries)) => {
            print(&format!("{} in {bytes} bytes\n", counted(entries, "entry", "entries")))?;
            Ok(Status::Done)
        }
        Err(reason) => {
            // A part of a backup must not be mistaken for a whole one.
            let removed = created.remove(path);
            let removal = flashlane_host::removal(&removed);
            Err(not_made(place, reason, &format!("'{}' {removal}", path.display())))
        }
    }
}

fn not_made(place: &Place, reason: NotMade, what: &str) -> Failure {
    Failure::failed(match reason {
        NotMade::Stopped => anyhow!("stopped; {what}"),
        NotMade::Failed(error @ BackupError::Write(_)) => anyhow!("{error}; {what}"),
        NotMade::Failed(error) => anyhow!("{error}; {what}. {}", to_salvage(place)),
    })
}

/// Writes a backup. Returns what was written to, and the number of entries.
fn write<D: DataDevice, L: DataDevice, W: Write>(
    store: &mut Store<D, L>,
    out: W,
    meter: &Meter,
) -> Result<(W, u64), NotMade> {
    let mut backup = Backup::begin(store, out)?;
    while !backup.is_done() {
        let waited = match meter.watch(None).is_break() {
            true => Err(NotMade::Stopped),
            false => backup.wait(store, WAIT).map_err(NotMade::from),
        };
        if let Err(reason) = waited {
            backup.abandon(store);
            return Err(reason);
        }
    }
    Ok(backup.finish(store)?)
}

/// The bytes of a backup: those that were read already, and the rest of its file.
pub struct Input {
    pub begun: Vec<u8>,
    pub file: File,
    /// Bytes of the file; `None` where another program writes them.
    pub length_bytes: Option<u64>,
}

/// What an entry is called, and more of them.
const ENTRIES: [&str; 2] = ["entry", "entries"];

/// Stores the entries of a backup in a store without keys.
pub fn restore(mut store: OpenedStore, input: Input, name: &str, level: Level) -> Result<Status, Failure> {
    if !store.scan(b"", None, 1).map_err(failed)?.items.is_empty() {
        return Err(Failure::unusable(anyhow!(
            "{name} is a backup, which is restored to a store without keys, and this one has some; 'flashlane store create' \
             makes one"
        )));
    }
    let Input { begun, file, length_bytes } = input;
    let reader = BackupReader::open(begun.chain(file)).map_err(Failure::unusable)?;
    let meter = Meter::new(format!("storing the entries of {name}"));
    let mut loader = store.loader();
    let refusal = load(&mut loader, reader, length_bytes, &meter)?;
    let is_stopped = flashlane_host::interrupted();
    while !loader.is_done() && wait(&mut loader)? {}
    let (stored, is_done, before) = (loader.stored(), loader.is_done(), stored_of(&loader, ENTRIES));
    drop(loader);
    drop(meter);
    let entries = counted(stored, "entry", "entries");
    match refusal {
        Some(error) => {
            Err(Failure::failed(error.context(format!("{name} is not restored; stored before it: {before}"))))
        }
        None if is_stopped => {
            notify(&format!("stopped; {entries} stored from the first on, durability: {}", level.name()));
            Ok(Status::Failed)
        }
        None if !is_done => Err(Failure::failed(anyhow!(
            "the device is full, and entries behind the first {stored} wait for room; stored: {before}"
        ))),
        None => {
            print(&format!("{entries} stored, durability: {}\n", level.name()))?;
            Ok(Status::Done)
        }
    }
}

/// Hands entries to the loader until the backup ends or the user stops it. Returns why an entry is refused, if one is.
fn load<D: DataDevice, L: DataDevice>(
    loader: &mut Loader<'_, D, L>,
    reader: impl Iterator<Item = Result<BackupEntry, BackupError>>,
    length_bytes: Option<u64>,
    meter: &Meter,
) -> Result<Option<anyhow::Error>, Failure> {
    let mut taken_bytes = 0;
    for (entry, number) in reader.zip(1_u64..) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Ok(Some(anyhow!("{error}"))),
        };
        loop {
            if meter.watch(length_bytes.map(|length| taken_bytes as f64 / length.max(1) as f64)).is_break() {
                return Ok(None);
            }
            match loader.offer_until(&entry.key, &entry.value, entry.expiry_ms) {
                Ok(true) => break,
                Ok(false) => drop(wait(loader)?),
                Err(error) => {
                    let refused = anyhow::Error::from(error).context(format!("entry {number} is refused"));
                    return Ok(Some(refused));
                }
            }
        }
        taken_bytes += (entry.key.len() + entry.value.len()) as u64;
        if number % 64 == 0 {
            wait_for(loader, Duration::ZERO, ENTRIES)?;
        }
    }
    Ok(None)
}

fn wait<D: DataDevice, L: DataDevice>(loader: &mut Loader<'_, D, L>) -> Result<bool, Failure> {
    wait_for(loader, WAIT, ENTRIES)
}
