//! Puts, gets, lists and deletes blocks.

use super::device::open;
use super::status::unit_row;
use super::verdict::Verdict;
use crate::failure::{Failure, Status, notify};
use crate::options::Format;
use crate::output::{self, json, print};
use crate::suggest::{quoted, to_destroy};
use anyhow::{Context, anyhow};
use flashlane_base::units::exact_bytes;
use flashlane_block::{Outcome, Payload, PutError};
use flashlane_open::{AccessMode, AnyBlocks, Consent, Target, is_of_store, refuse_store};
use flashlane_report::csv_line;
use flashlane_trace::is_standard_input;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Bytes of a block per read.
const PIECE_BYTES: u64 = 1 << 20;

/// Stores files, one per block.
pub fn put(target: &Target, files: &[PathBuf], first: Option<u64>) -> Result<Status, Failure> {
    if files.iter().filter(|file| is_standard_input(file)).count() > 1 {
        return Err(Failure::unusable(anyhow!(
            "standard input (-) can be stored only once: it is read to its end"
        )));
    }
    // Check all files before the first put changes the device.
    for file in files.iter().filter(|file| !is_stream(file)) {
        File::open(file)
            .with_context(|| format!("cannot open '{}'", file.display()))
            .map_err(Failure::unusable)?;
    }
    let mut streams = read_streams(target, files)?;
    let mut blocks = open(target, AccessMode::ReadWrite)?;
    refuse_store(&mut blocks).map_err(Failure::unusable)?;
    let block_bytes = blocks.block_bytes();
    let is_too_long = |file: &&PathBuf| file.metadata().is_ok_and(|data| data.len() > block_bytes);
    if let Some(file) = files.iter().find(is_too_long) {
        return Err(Failure::unusable(longer_than_a_block(file, block_bytes)));
    }
    for (nth, file) in (0..).zip(files) {
        // Earlier blocks stay, and their ids are printed.
        let unusable =
            |error: anyhow::Error| if nth == 0 { Failure::unusable(error) } else { Failure::failed(error) };
        let payload = match streams.remove(&nth) {
            Some(payload) => payload,
            None => read(&blocks, file).map_err(unusable)?,
        };
        let id = match first {
            Some(first) => {
                first.checked_add(nth).ok_or_else(|| unusable(anyhow!("no id comes after {first}")))?
            }
            None => blocks.next_id(),
        };
        let ticket = blocks.put(id, payload).map_err(|(error, _)| match error {
            PutError::IdTooHigh { .. } => unusable(error.into()),
            error => Failure::failed(error),
        })?;
        match blocks.wait(ticket).map(|finished| finished.outcome) {
            Some(Outcome::Put(Ok(()), _)) => print_id(id, &files[nth as usize + 1..])?,
            Some(Outcome::Put(Err(failure), _)) => return Err(Failure::failed(failure)),
            _ => unreachable!("an accepted put has an outcome"),
        }
    }
    // Finish pending repairs and erases.
    blocks.settle();
    warn_of_damaged_units(target, &mut blocks);
    Ok(Status::Done)
}

/// Warns of units that were damaged before, or in which a put found other data.
fn warn_of_damaged_units(target: &Target, blocks: &mut AnyBlocks) {
    if blocks.damaged().next().is_some() {
        notify(&format!("warning: {}", Verdict::new(target, blocks, None).text));
    }
}

/// Prints the id of a stored block. If that fails, the error names the id, which is recorded nowhere else.
fn print_id(id: u64, others: &[PathBuf]) -> Result<(), Failure> {
    output::write_out(&format!("{id}\n")).map_err(|error| {
        let others = match others {
            [] => String::new(),
            [first, ..] => format!("; '{}' and later files are not stored", first.display()),
        };
        Failure::failed(anyhow!(
            "block {id} is stored, but its id cannot be written to standard output: {error}{others}"
        ))
    })
}

/// Returns whether another program produces the file, possibly slowly.
fn is_stream(file: &Path) -> bool {
    let comes_from_elsewhere = |kind: std::fs::FileType| kind.is_fifo() || kind.is_char_device();
    is_standard_input(file) || file.metadata().is_ok_and(|data| comes_from_elsewhere(data.file_type()))
}

/// Reads the streams among `files`, by index, before the device is opened for writing, so that others can use it until
/// the streams end.
fn read_streams(target: &Target, files: &[PathBuf]) -> Result<BTreeMap<u64, Payload>, Failure> {
    let mut payloads = BTreeMap::new();
    let streams: Vec<_> = (0..).zip(files).filter(|(_, file)| is_stream(file)).collect();
    if streams.is_empty() {
        return Ok(payloads);
    }
    let blocks = open(target, AccessMode::ReadOnly)?;
    let mut room: Vec<Payload> = streams.iter().map(|_| blocks.payload()).collect();
    drop(blocks);
    for (nth, file) in streams {
        let payload = room.pop().expect("a buffer for each");
        payloads.insert(nth, read_into(payload, file).map_err(Failure::unusable)?);
    }
    Ok(payloads)
}

fn read(blocks: &AnyBlocks, file: &Path) -> anyhow::Result<Payload> {
    read_into(blocks.payload(), file)
}

/// Reads a file into a buffer of the maximum block length.
fn read_into(mut payload: Payload, file: &Path) -> anyhow::Result<Payload> {
    let name = file.display();
    let mut source: Box<dyn Read> = if is_standard_input(file) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).with_context(|| format!("cannot open '{name}'"))?)
    };
    let block_bytes = payload.len();
    let mut length = 0;
    loop {
        let room = &mut payload.as_mut_slice()[length..];
        let more = match room.is_empty() {
            true => source.read(&mut [0])?,
            false => source.read(room).with_context(|| format!("cannot read '{name}'"))?,
        };
        if more == 0 {
            break;
        }
        length += more;
        if length as u64 > block_bytes {
            return Err(longer_than_a_block(file, block_bytes));
        }
    }
    payload.set_len(length as u64);
    Ok(payload)
}

fn longer_than_a_block(file: &Path, block_bytes: u64) -> anyhow::Error {
    anyhow!("'{}' is longer than a block, which holds {}", file.display(), exact_bytes(block_bytes))
}

/// Writes a block or a part of it to `output`, or else to standard output.
pub fn get(
    target: &Target,
    id: u64,
    offset: u64,
    length: Option<u64>,
    output: Option<&Path>,
) -> Result<Status, Failure> {
    let mut blocks = open(target, AccessMode::ReadOnly)?;
    let whole = blocks.info(id).map_or(0, |info| info.length_bytes);
    let length = length.unwrap_or(whole.saturating_sub(offset));
    // Check the whole range before the first byte is written.
    blocks.check_range(id, offset, length).map_err(Failure::failed)?;
    let Some(path) = output else {
        return write_out(&mut blocks, id, offset, length, &mut io::stdout().lock());
    };
    let (mut file, created) = output::create_new(path)?;
    let result = write_out(&mut blocks, id, offset, length, &mut file);
    if result.is_err() {
        // A partial block must not be mistaken for a whole one. A failed removal changes nothing about the error.
        let _ = created.remove(path);
    }
    result
}

fn write_out(
    blocks: &mut AnyBlocks,
    id: u64,
    offset: u64,
    length: u64,
    out: &mut dyn Write,
) -> Result<Status, Failure> {
    let mut from = offset;
    while from < offset + length {
        if flashlane_host::interrupted() {
            return Err(Failure::failed(anyhow!("interrupted")));
        }
        let piece = PIECE_BYTES.min(offset + length - from);
        let ticket = blocks.get(id, from, piece).map_err(Failure::failed)?;
        let data = match blocks.wait(ticket).map(|finished| finished.outcome) {
            Some(Outcome::Get(result)) => result.map_err(Failure::failed)?,
            _ => unreachable!("an accepted get has an outcome"),
        };
        match out.write_all(data.as_slice()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Status::Done),
            result => result.map_err(|error| Failure::failed(anyhow!("cannot write the block: {error}")))?,
        }
        from += piece;
    }
    match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(anyhow!("cannot write the block: {error}")))
        }
        _ => Ok(Status::Done),
    }
}

/// Lists the blocks.
pub fn list(target: &Target, format: Format) -> Result<Status, Failure> {
    let mut blocks = open(target, AccessMode::ReadOnly)?;
    let verdict = Verdict::new(target, &mut blocks, None);
    let rows = blocks
        .list()
        .map(|info| [info.id, info.length_bytes, u64::from(info.address.lane), u64::from(info.address.unit)]);
    let text = match format {
        Format::Text => {
            let line =
                |[id, bytes, lane, unit]: [u64; 4]| format!("{id:>12} {bytes:>12} {lane:>6} {unit:>8}\n");
            let head = format!("{:>12} {:>12} {:>6} {:>8}\n", "id", "bytes", "lane", "unit");
            format!("Verdict: {}\n{head}{}", verdict.text, rows.map(line).collect::<String>())
        }
        Format::Csv => rows.fold(csv_line(["id", "length_bytes", "lane", "unit"]), |text, row| {
            let cells = row.map(|number| number.to_string());
            text + &csv_line(cells.iter().map(String::as_str))
        }),
        Format::Json => {
            let rows: Vec<Value> = rows
                .map(|[id, bytes, lane, unit]| json!({ "id": id, "length_bytes": bytes, "lane": lane, "unit": unit }))
                .collect();
            let damaged = blocks.damaged().map(|address| unit_row(&blocks, address));
            json(&json!({
                "schema": "flashlane.blocks/1",
                "verdict": verdict.text,
                "sound": verdict.is_sound,
                "blocks": rows,
                "damaged": damaged.collect::<Vec<_>>(),
            }))
        }
    };
    print(&text)?;
    if format == Format::Csv && !verdict.is_sound {
        notify(&verdict.text);
    }
    Ok(Status::Done)
}

/// Refuses blocks of a store: it would lose keys, and could not say which. A block that cannot be read belongs to no
/// store.
fn refuse_blocks_of_a_store(target: &Target, blocks: &mut AnyBlocks, ids: &[u64]) -> Result<(), Failure> {
    match ids.iter().find(|&&id| is_of_store(blocks, id)) {
        Some(id) => Err(Failure::failed(anyhow!(
            "block {id} belongs to a store, which would lose keys; nothing was deleted: 'flashlane store rm {target} KEY' \
             deletes keys, and 'flashlane sdf format {target}{}' all data",
            to_destroy(target, &Consent::Destroy),
            target = quoted(&target.to_string())
        ))),
        None => Ok(()),
    }
}

/// Deletes the blocks that exist, then with `damaged` erases damaged units. If some blocks are not deleted, reports
/// which and why, and which are deleted.
pub fn remove(target: &Target, ids: &[u64], damaged: bool) -> Result<Status, Failure> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = ids.iter().find(|id| !seen.insert(**id)) {
        return Err(Failure::unusable(anyhow!(
            "block {twice} is named twice: name each block once; nothing was deleted"
        )));
    }
    let mut blocks = open(target, AccessMode::ReadWrite)?;
    refuse_blocks_of_a_store(target, &mut blocks, ids)?;
    let (mut tickets, mut deleted, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for &id in ids {
        match blocks.delete(id) {
            Ok(ticket) => tickets.push((id, ticket)),
            Err(error) => kept.push((id, error.to_string())),
        }
    }
    for (id, ticket) in tickets {
        match blocks.wait(ticket).map(|finished| finished.outcome) {
            Some(Outcome::Delete(Err(failure))) => kept.push((id, failure.to_string())),
            _ => deleted.push(id.to_string()),
        }
    }
    if !kept.is_empty() {
        let kept: Vec<String> = kept.iter().map(|(id, reason)| format!("{id} ({reason})")).collect();
        let deleted = if deleted.is_empty() { "none".to_owned() } else { deleted.join(", ") };
        let units = if damaged { "; damaged units are unchanged" } else { "" };
        notify(&format!("not deleted: {}; deleted: {deleted}{units}", kept.join(", ")));
        blocks.settle();
        return Ok(Status::Failed);
    }
    if damaged {
        let before = blocks.damaged().count();
        let discarded = blocks.discard_damaged();
        let kept = blocks.damaged().count();
        // Some may be erased even if it ended early.
        let block = blocks.list().next().map(|block| block.id);
        let store = if block.is_some_and(|id| is_of_store(&mut blocks, id)) {
            format!(
                "; the device holds a store, which may have lost keys by that: 'flashlane store stat {}' says it",
                quoted(&target.to_string())
            )
        } else {
            String::new()
        };
        notify(&format!("damaged units erased: {}{store}", before - kept));
        discarded.map_err(Failure::failed)?;
        if kept > 0 {
            return Err(Failure::failed(anyhow!("damaged units that could not be erased: {kept}")));
        }
    }
    blocks.settle();
    Ok(Status::Done)
}
