//! Results of `format`, `status` and `fsck`.

use super::device::{format as format_device, open, open_repaired, open_with};
use super::unreadable::Unreadable;
use super::verdict::{Checked, Contents, DamagedUnits, Verdict, counted, counter, end_named};
use crate::failure::{Failure, Status, notify};
use crate::options::{OutputOptions, SafetyOptions};
use crate::output;
use crate::progress::Meter;
use flashlane_base::units::{exact_bytes, format_bytes, typed_bytes};
use flashlane_block::{BlockInfo, BlockOptions, GetFailure, LaneStatus, Layout, Outcome, UnitAddress};
use flashlane_device::Device;
use flashlane_open::{AccessMode, AnyBlocks, Change, Consent, Division, Target};
use flashlane_result::Warning;
use flashlane_result::sdf::{BlockDeviceRow, LaneRow, SDF_SCHEMA, SdfResult, UnitRow, UnreadableRow};
use std::collections::BTreeMap;

/// Gets in flight per lane during `fsck`.
const GETS_PER_LANE: usize = 2;

/// Formats a device and shows the new layout.
pub fn format(target: &Target, output: &OutputOptions, safety: &SafetyOptions) -> Result<Status, Failure> {
    output::prepare_for_device(output, target)?;
    let (blocks, _, division) = format_device(target, safety, None, BlockOptions::default(), &|_, _| Ok(()))?;
    let mut result = status_result(&blocks);
    let shape = format!("{} lanes, units of {}", result.device.lanes, exact_bytes(result.device.unit_bytes));
    result.division = Some(match division {
        Division::Kept => format!("kept as it was: {shape}"),
        Division::New => format!("new: {shape}"),
    });
    output::add_machine(&mut result, target);
    output::deliver(output, &result, None)?;
    let file_bytes = target.path().and_then(|path| path.metadata().ok()).map_or(0, |data| data.len());
    let room_bytes = result.blocks_free * result.block_bytes;
    if let Some(hint) = smaller_units(room_bytes, &result.device, file_bytes) {
        notify(&hint);
    }
    if target.is_simulated() {
        notify(&format!(
            "'{target}' is simulated, and its blocks are gone with this command: 'flashlane sdf bench' puts and gets in one"
        ));
    }
    Ok(Status::Done)
}

/// Share of a file from which its blocks leave too much unused.
const ROOM_SHARE: f64 = 0.75;
/// Share of a file that units that hold no block may take, with the unit that is suggested.
const UNUSED_SHARE: u64 = 10;

/// Smallest unit that is suggested: headers and footers take a large share of smaller ones.
const UNIT_BYTES_MIN: u64 = 1 << 20;

/// Suggests smaller units for a file of `file_bytes`, where too few of its units fit and hold blocks.
fn smaller_units(room_bytes: u64, device: &BlockDeviceRow, file_bytes: u64) -> Option<String> {
    if room_bytes as f64 >= ROOM_SHARE * file_bytes as f64 {
        return None;
    }
    // Those that are reserved, and up to one on each lane that does not fit.
    let unused = Layout::RESERVED_UNITS + u64::from(device.lanes);
    let unit_bytes = (file_bytes / UNUSED_SHARE / unused).checked_ilog2().map_or(0, |log| 1 << log);
    (UNIT_BYTES_MIN..device.unit_bytes).contains(&unit_bytes).then(|| {
        format!(
            "blocks have {} of the file's {}: smaller units leave more, as with unit={}",
            format_bytes(room_bytes),
            format_bytes(file_bytes),
            typed_bytes(unit_bytes)
        )
    })
}

/// Shows the status of a device.
pub fn status(target: &Target, output: &OutputOptions) -> Result<Status, Failure> {
    output::prepare_for_device(output, target)?;
    let mut blocks = open(target, AccessMode::ReadOnly)?;
    let mut result = status_result(&blocks);
    add_verdict(&mut result, &Verdict::new(target, &mut blocks, None));
    output::add_machine(&mut result, target);
    output::deliver(output, &result, None)?;
    Ok(Status::Done)
}

fn add_verdict(result: &mut SdfResult, verdict: &Verdict) {
    result.verdict = Some(verdict.text.clone());
    result.sound = Some(verdict.is_sound);
}

/// Reads every block, after a repair if `consent` allows to write.
pub fn fsck(target: &Target, consent: Consent, output: &OutputOptions) -> Result<Status, Failure> {
    output::prepare_for_device(output, target)?;
    if consent.allows(Change::Write) {
        let overwrite = consent.allows(Change::Destroy);
        let mut blocks = open_repaired(target, consent)?;
        blocks.repair(overwrite).map_err(Failure::failed)?;
    }
    let options = BlockOptions { verify_footers: true, without_superblock: true, ..BlockOptions::default() };
    let mut blocks = open_with(target, AccessMode::ReadOnly, options)?;
    let meter = Meter::new(format!("reading the blocks of {target}"));
    let ReadBlocks { checked, failed, partial } = read_all(&mut blocks, &meter)?;
    let (mut unreadable, mut damaged_blocks) = (Vec::new(), Vec::new());
    for (info, failure) in failed {
        meter.say(format!("reading what is left of block {} of {target}", info.id));
        let block = Unreadable::of(&mut blocks, info, &failure);
        let reason = match block.places() {
            Some(places) => format!("{failure}; {places}"),
            None => failure.to_string(),
        };
        unreadable.push(UnreadableRow { unit: unit_row(&blocks, info.address), id: Some(info.id), reason });
        damaged_blocks.push(block);
    }
    drop(meter);
    let mut result = status_result(&blocks);
    // Count units with unreadable blocks as damaged.
    for block in &unreadable {
        result.units_damaged += 1;
        result.lanes[block.unit.lane as usize].units_damaged += 1;
    }
    unreadable.extend(blocks.damaged().map(|address| UnreadableRow {
        unit: unit_row(&blocks, address),
        id: None,
        reason: "the contents of the unit are unknown".into(),
    }));
    let read = Checked { blocks: checked, unreadable: damaged_blocks, is_partial: partial.is_some() };
    let verdict = Verdict::new(target, &mut blocks, Some(&read));
    add_verdict(&mut result, &verdict);
    result.blocks_checked = Some(checked);
    result.unreadable = Some(unreadable);
    result.partial = partial.map(str::to_owned);
    output::add_machine(&mut result, target);
    output::deliver(output, &result, None)?;
    Ok(if verdict.is_sound { Status::Done } else { Status::Failed })
}

/// Blocks that were read, those of them that could not be, and why the reading ended early, if it did.
struct ReadBlocks {
    checked: u64,
    failed: Vec<(BlockInfo, GetFailure)>,
    partial: Option<&'static str>,
}

/// Reads every block, several on each lane at a time.
fn read_all(blocks: &mut AnyBlocks, meter: &Meter) -> Result<ReadBlocks, Failure> {
    let all: Vec<_> = blocks.list().collect();
    let most = GETS_PER_LANE * blocks.device().info().lanes as usize;
    let (mut waiting, mut reading) = (all.iter(), BTreeMap::new());
    let mut failed = Vec::new();
    let (mut checked, mut partial) = (0_u64, None);
    let mut out = Vec::new();
    loop {
        while reading.len() < most
            && partial.is_none()
            && let Some(info) = waiting.next()
        {
            let ticket = blocks.get(info.id, 0, info.length_bytes).map_err(Failure::failed)?;
            reading.insert(ticket, *info);
        }
        if reading.is_empty() {
            break;
        }
        blocks.reap(flashlane_base::Instant::FAR, &mut out);
        for finished in out.drain(..) {
            let Some(info) = reading.remove(&finished.ticket) else { continue };
            checked += 1;
            if let Outcome::Get(Err(failure)) = finished.outcome {
                failed.push((info, failure));
            }
        }
        meter.set(Some(checked as f64 / all.len().max(1) as f64));
        if flashlane_host::interrupted() {
            partial = Some("stopped");
        }
    }
    Ok(ReadBlocks { checked, failed, partial })
}

/// Counters of a device that keeps its own table of units, with the code and text of their warnings.
const REPAIRS: [(&str, &str, &str); 6] = [
    (
        "table_sectors_lost",
        "table-lost",
        "both copies of a sector of the lanes' table are damaged, so that the erased units in it are not known",
    ),
    (
        "table_sectors_damaged",
        "table-damaged",
        "one copy of a sector of the lanes' table is damaged (by a crash, or later)",
    ),
    (
        "table_sectors_outdated",
        "table-outdated",
        "one copy of a sector of the lanes' table lacks the last change, as after a crash between the writes of both: nothing \
         is lost, and a repair, or the next put or delete, rewrites it",
    ),
    ("superblocks_damaged", "lanes-superblock-damaged", "a copy of the lanes' superblock is damaged"),
    (
        "records_overwritten",
        "lanes-overwritten",
        "a record of the lanes is overwritten with other data; the device is read-only",
    ),
    (
        "lanes_recovered",
        "lanes-recovered",
        "records of the lanes are lost in both copies; the state of their units is read from the headers of the blocks, and \
         deleted blocks may be listed again",
    ),
];

/// Returns a unit with its byte range in the lane.
pub fn unit_row(blocks: &AnyBlocks, address: UnitAddress) -> UnitRow {
    let bytes = blocks.unit_bytes(address);
    let length_bytes = bytes.end - bytes.start;
    UnitRow { lane: address.lane, unit: address.unit, offset_bytes: bytes.start, length_bytes }
}

/// Returns the status of the device without reading blocks.
pub fn status_result(blocks: &AnyBlocks) -> SdfResult {
    let status = blocks.status();
    let layout = status.layout;
    let info = blocks.device().info();
    let sum = |of: fn(&LaneStatus) -> u64| status.lanes.iter().map(of).sum::<u64>();
    SdfResult {
        schema: SDF_SCHEMA.into(),
        device: BlockDeviceRow {
            name: info.name.clone(),
            simulated: info.simulated,
            lanes: layout.lanes,
            units_per_lane: layout.units,
            unit_bytes: layout.unit_bytes,
            read_unit_bytes: layout.granule_bytes,
        },
        format: format!("{:032x}", status.format_id),
        block_bytes: layout.block_bytes(),
        blocks: status.blocks,
        blocks_free: status.blocks_free,
        user_bytes: (status.blocks + status.blocks_free) * layout.block_bytes(),
        next_id: status.next_id,
        units_erased: sum(|lane| lane.erased),
        units_dirty: sum(|lane| lane.to_erase),
        units_bad: sum(|lane| lane.bad),
        units_damaged: sum(|lane| lane.damaged),
        superblock_copies: status.superblock_copies as u64,
        lanes: (0..).zip(&status.lanes).map(|(lane, of)| lane_row(lane, of)).collect(),
        warnings: warnings(blocks),
        division: None,
        verdict: None,
        sound: None,
        blocks_checked: None,
        unreadable: None,
        partial: None,
        machine: None,
    }
}

/// Returns warnings about damage that is known without reading blocks. What to do about it is said by the verdict.
fn warnings(blocks: &AnyBlocks) -> Vec<Warning> {
    let status = blocks.status();
    let mut warnings = Vec::new();
    if let Some(DamagedUnits { count, contents }) = DamagedUnits::of(blocks) {
        let message = format!(
            "{} damaged at both ends, or no longer known to be erased: their contents are unknown, and they are kept{}",
            counted(count, "unit is", "units are"),
            match contents {
                Contents::Unknown =>
                    " (a part of the lanes' table of units is lost, and they may hold blocks)".to_owned(),
                Contents::Lost => String::new(),
                Contents::Unreadable(units) =>
                    format!(" (the device could not read {units} of them, which may be sound)"),
            }
        );
        warnings.push(Warning::new("damaged-units", message));
    }
    if status.counts.single_copy_units > 0 {
        let message = format!(
            "{} a damaged header or footer, and the other one identified the contents",
            counted(status.counts.single_copy_units, "unit has", "units have")
        );
        let units = blocks.damaged_ends().map(|end| end_named(blocks, &end)).collect();
        warnings.push(Warning { units, ..Warning::new("damaged-headers", message) });
    }
    if status.is_superblock_rebuilt {
        warnings.push(Warning::new(
            "no-superblock",
            "no copy of the superblock is left: blocks are found by their headers, and the device is read-only",
        ));
    } else if status.superblock_copies < 2 {
        warnings.push(Warning::new(
            "one-superblock",
            "a copy of the superblock is lost, or has other data in it",
        ));
    }
    for (name, code, what) in REPAIRS {
        let count = counter(blocks, name);
        if count > 0 {
            warnings.push(Warning::new(code, format!("{what} ({})", counted(count, "time", "times"))));
        }
    }
    warnings
}

fn lane_row(lane: u64, of: &LaneStatus) -> LaneRow {
    LaneRow {
        lane,
        blocks: of.blocks,
        units_erased: of.erased,
        units_dirty: of.to_erase,
        units_bad: of.bad,
        units_damaged: of.damaged,
        erases_least: of.erases.map(|(least, ..)| least),
        erases_mean: of.erases.map(|(_, mean, _)| mean),
        erases_most: of.erases.map(|(.., most)| most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_units_are_suggested_for_a_small_file() {
        let hint = |lanes, unit_bytes, blocks: u64| {
            let device = BlockDeviceRow {
                name: "lanes(./a)".into(),
                simulated: false,
                lanes,
                units_per_lane: 4,
                unit_bytes,
                read_unit_bytes: 4096,
            };
            smaller_units(blocks * unit_bytes, &device, 256 << 20)
        };
        let text = hint(8, 8 << 20, 20).expect("only 160 MiB hold blocks");
        assert_eq!(
            text,
            "blocks have 160 MiB of the file's 256 MiB: smaller units leave more, as with unit=2MiB"
        );
        for (lanes, unit_bytes, blocks) in [(8, 2 << 20, 116), (8, 64 << 10, 3000), (8, 1 << 20, 100)] {
            assert_eq!(hint(lanes, unit_bytes, blocks), None, "{lanes} lanes of {unit_bytes}");
        }
    }
}
