//! Bytes of files: stored and written out piece by piece.

use super::super::Level;
use super::super::device::{Place, open, open_to_write};
use super::super::entries::ended;
use super::{failed, not_placed};
use crate::command::sdf::counted;
use crate::failure::{Failure, Status};
use crate::output::{create_new, print};
use anyhow::{Context, anyhow};
use flashlane_base::units::exact_bytes;
use flashlane_device::DataDevice;
use flashlane_store::text::escape;
use flashlane_store_files::{Attributes, FileError, Files, Inode, Kind};
use flashlane_trace::is_standard_input;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Stores a file.
pub fn put(place: &Place, path: &OsStr, file: &Path, appends: bool, level: Level) -> Result<Status, Failure> {
    let mut input: Box<dyn Read> = match is_standard_input(file) {
        true => Box::new(io::stdin().lock()),
        false => {
            let opened = File::open(file).with_context(|| format!("cannot open '{}'", file.display()));
            Box::new(opened.map_err(Failure::unusable)?)
        }
    };
    let mut store = open_to_write(place, level)?;
    let mut files = Files::open(&mut store).map_err(failed)?;
    files.set_time(flashlane_host::calendar_ms());
    let placed = files.place(path.as_bytes());
    let (directory, name) = placed.map_err(|error| not_placed(place, path, error))?;
    let mut buffer = vec![0; files.extent_bytes() as usize];
    let mut next = |buffer: &mut Vec<u8>| {
        let bytes = filled(&mut input, buffer);
        bytes.with_context(|| format!("cannot read '{}'", file.display())).map_err(Failure::failed)
    };
    let mut stored = 0;
    if appends {
        let inode = match files.lookup(directory, &name).map_err(failed)? {
            Some(entry) => entry.inode,
            None => files.create(directory, &name).map_err(failed)?,
        };
        let begin = files.find(path.as_bytes()).map_err(failed)?;
        if begin.kind == Kind::Directory {
            return Err(failed(FileError::Directory { name: shown(path) }));
        }
        loop {
            let bytes = next(&mut buffer)?;
            files.write(inode, begin.length_bytes + stored, &buffer[..bytes]).map_err(failed)?;
            stored += bytes as u64;
            if bytes < buffer.len() {
                break;
            }
        }
    } else {
        let mut writer = files.writer().map_err(failed)?;
        loop {
            let bytes = next(&mut buffer)?;
            writer.write(&buffer[..bytes]).map_err(failed)?;
            if bytes < buffer.len() {
                break;
            }
        }
        stored = writer.length_bytes();
        writer.finish(directory, &name).map_err(|error| failed(error.of_path(path.as_bytes())))?;
    }
    store.store().settle();
    let bytes = counted(stored, "byte", "bytes");
    let verb = if appends { "added" } else { "stored" };
    print(&format!("{}: {bytes} {verb}, durability: {}\n", shown(path), level.name()))?;
    Ok(Status::Done)
}

/// Reads until the buffer is full, or to the end. Returns the number of bytes.
fn filled(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut bytes = 0;
    while bytes < buffer.len() {
        match input.read(&mut buffer[bytes..]) {
            Ok(0) => break,
            Ok(more) => bytes += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Why bytes did not reach their end.
enum NotCopied {
    Files(FileError),
    Output(io::Error),
    Stopped,
}

/// Writes bytes of a file to `out`.
fn copy<D: DataDevice, L: DataDevice>(
    files: &mut Files<'_, D, L>,
    inode: Inode,
    mut range: std::ops::Range<u64>,
    out: &mut impl Write,
) -> Result<(), NotCopied> {
    while !range.is_empty() {
        if flashlane_host::interrupted() {
            return Err(NotCopied::Stopped);
        }
        // Up to the end of an extent.
        let extent_bytes = files.extent_bytes();
        let length = (extent_bytes - range.start % extent_bytes).min(range.end - range.start);
        let bytes = files.read(inode, range.start, length).map_err(NotCopied::Files)?;
        if bytes.is_empty() {
            break;
        }
        range.start += bytes.len() as u64;
        out.write_all(&bytes).map_err(NotCopied::Output)?;
    }
    out.flush().map_err(NotCopied::Output)
}

/// Returns the properties of a file.
fn file<D: DataDevice, L: DataDevice>(
    files: &mut Files<'_, D, L>,
    path: &OsStr,
) -> Result<Attributes, Failure> {
    let found = files.find(path.as_bytes()).map_err(failed)?;
    match found.kind {
        Kind::File => Ok(found),
        Kind::Directory => Err(failed(FileError::Directory { name: shown(path) })),
    }
}

/// Writes a part of a file to `output`, or else to standard output.
pub fn get(
    place: &Place,
    path: &OsStr,
    output: Option<&Path>,
    offset: u64,
    length: u64,
) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let mut files = Files::open(&mut store).map_err(failed)?;
    let Attributes { inode, length_bytes, .. } = file(&mut files, path)?;
    if offset > length_bytes {
        let [ends, given] = [length_bytes, offset].map(exact_bytes);
        return Err(Failure::failed(anyhow!(
            "'{}' has {ends}, and offset {given} is beyond its end; allowed: offsets up to {ends}",
            shown(path)
        )));
    }
    let range = offset..offset.saturating_add(length);
    let Some(output) = output else {
        return shown_bytes(copy(&mut files, inode, range, &mut io::stdout().lock()));
    };
    let (file, created) = create_new(output)?;
    let copied = copy(&mut files, inode, range, &mut BufWriter::new(file));
    copied.map(|()| Status::Done).map_err(|reason| {
        // A partial file must not be mistaken for a whole one.
        let removed = created.remove(output);
        match reason {
            NotCopied::Files(error) => failed(error),
            NotCopied::Output(error) => {
                Failure::failed(anyhow!("cannot write '{}': {error}", output.display()))
            }
            NotCopied::Stopped => {
                let removal = flashlane_host::removal(&removed);
                Failure::failed(anyhow!("stopped; '{}' {removal}", output.display()))
            }
        }
    })
}

/// Writes files to standard output.
pub fn cat(place: &Place, paths: &[OsString]) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let mut files = Files::open(&mut store).map_err(failed)?;
    // All are looked up before any is written.
    let inode = |path: &OsString| file(&mut files, path).map(|found| found.inode);
    let inodes = paths.iter().map(inode).collect::<Result<Vec<_>, _>>()?;
    let mut out = io::stdout().lock();
    shown_bytes(inodes.into_iter().try_for_each(|inode| copy(&mut files, inode, 0..u64::MAX, &mut out)))
}

fn shown_bytes(copied: Result<(), NotCopied>) -> Result<Status, Failure> {
    match copied {
        Ok(()) => Ok(Status::Done),
        Err(NotCopied::Files(error)) => Err(failed(error)),
        Err(NotCopied::Output(error)) => ended(Err(error)),
        Err(NotCopied::Stopped) => Err(Failure::failed(anyhow!("stopped"))),
    }
}

/// Sets the length of a file.
pub fn truncate(place: &Place, path: &OsStr, length: u64, level: Level) -> Result<Status, Failure> {
    let mut store = open_to_write(place, level)?;
    let mut files = Files::open(&mut store).map_err(failed)?;
    files.set_time(flashlane_host::calendar_ms());
    let Attributes { inode, .. } = file(&mut files, path)?;
    files.set_length(inode, length).map_err(failed)?;
    store.store().settle();
    let bytes = counted(length, "byte", "bytes");
    print(&format!("{}: {bytes} long, durability: {}\n", shown(path), level.name()))?;
    Ok(Status::Done)
}

/// Returns a path for people.
pub fn shown(path: &OsStr) -> String {
    escape(path.as_bytes())
}
