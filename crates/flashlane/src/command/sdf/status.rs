//! How the device stands: after formatting, on request, and after reading everything.

use super::device::{format as format_device, open, open_repaired, open_with};
use super::verdict::{Checked, Unreadable, Verdict, counted, end_named};
use crate::failure::{Failure, Status};
use crate::options::{OutputOptions, SafetyOptions};
use crate::output;
use crate::progress::Meter;
use flashlane_base::units::exact_bytes;
use flashlane_block::{BlockOptions, GetFailure, LaneStatus, Outcome, UnitAddress};
use flashlane_device::Device;
use flashlane_open::{AnyBlocks, BlockAccess, Division, Target};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Gets in flight a lane while everything is read.
const GETS_PER_LANE: usize = 2;

/// Formats, and shows what was made.
pub fn format(target: &Target, output: &OutputOptions, safety: &SafetyOptions) -> Result<Status, Failure> {
    output::prepare_beside(output, target)?;
    let (blocks, _, division) = format_device(target, safety, None, BlockOptions::default(), &|_, _| Ok(()))?;
    let mut value = described(&blocks);
    let (lanes, unit_bytes) = (&value["device"]["lanes"], blocks.status().layout.unit_bytes);
    let shape = format!("{lanes} lanes, units of {}", exact_bytes(unit_bytes));
    value["division"] = match division {
        Division::Kept => format!("kept as it was: {shape}"),
        Division::New => format!("new: {shape}"),
    }
    .into();
    output::deliver(output, &output::value(&value, target)?, None)?;
    Ok(Status::Done)
}

/// Shows how it stands.
pub fn status(target: &Target, output: &OutputOptions) -> Result<Status, Failure> {
    output::prepare_beside(output, target)?;
    let blocks = open(target, BlockAccess::Read)?;
    let mut value = described(&blocks);
    judge(&mut value, &Verdict::new(target, &blocks, None));
    output::deliver(output, &output::value(&value, target)?, None)?;
    Ok(Status::Done)
}

fn judge(value: &mut Value, verdict: &Verdict) {
    value["verdict"] = verdict.text.clone().into();
    value["sound"] = verdict.is_sound.into();
}

/// Reads every block, after a repair where `repair` says whether that may overwrite other data.
pub fn fsck(target: &Target, repair: Option<bool>, output: &OutputOptions) -> Result<Status, Failure> {
    output::prepare_beside(output, target)?;
    if let Some(overwrite) = repair {
        let mut blocks = open_repaired(target, overwrite)?;
        blocks.repair(overwrite).map_err(Failure::failed)?;
    }
    let options = BlockOptions { verify_footers: true, without_superblock: true, ..BlockOptions::default() };
    let mut blocks = open_with(target, BlockAccess::Read, options)?;
    let meter = Meter::new(format!("reading the blocks of {target}"));
    let all: Vec<_> = blocks.list().collect();
    let most = GETS_PER_LANE * blocks.device().profile().lanes as usize;
    let (mut waiting, mut reading) = (all.iter(), BTreeMap::new());
    let (mut unreadable, mut damaged_blocks) = (Vec::new(), Vec::new());
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
                let offset_bytes = match failure {
                    GetFailure::Damaged { offset_bytes, .. } => Some(offset_bytes),
                    _ => None,
                };
                damaged_blocks.push(Unreadable { id: info.id, address: info.address, offset_bytes });
                let mut value = located(&blocks, info.address);
                value["id"] = info.id.into();
                value["reason"] = failure.to_string().into();
                unreadable.push(value);
            }
        }
        meter.set(Some(checked as f64 / all.len().max(1) as f64));
        if flashlane_host::interrupted() {
            partial = Some("stopped");
        }
    }
    drop(meter);
    let mut value = described(&blocks);
    // A unit whose block cannot be read is damaged too.
    for block in &unreadable {
        let lane = block["lane"].as_u64().unwrap_or(0) as usize;
        add_one(&mut value["units_damaged"]);
        add_one(&mut value["lanes"][lane]["units_damaged"]);
    }
    unreadable.extend(blocks.damaged().map(|address| {
        let mut value = located(&blocks, address);
        value["id"] = Value::Null;
        value["reason"] = "what the unit holds cannot be told".into();
        value
    }));
    let read = Checked { blocks: checked, unreadable: damaged_blocks, is_partial: partial.is_some() };
    let verdict = Verdict::new(target, &blocks, Some(&read));
    judge(&mut value, &verdict);
    value["blocks_checked"] = checked.into();
    value["unreadable"] = unreadable.into();
    value["partial"] = partial.into();
    output::deliver(output, &output::value(&value, target)?, None)?;
    Ok(if verdict.is_sound { Status::Done } else { Status::Failed })
}

fn add_one(count: &mut Value) {
    *count = (count.as_u64().unwrap_or(0) + 1).into();
}

/// What a device that keeps its own table of units counts as it is opened, and what that means.
const REPAIRS: [(&str, &str, &str); 4] = [
    (
        "table_sectors_lost",
        "table-lost",
        "both copies of a sector of the lanes' table are damaged, and which of its units were erased is not known",
    ),
    (
        "table_sectors_damaged",
        "table-damaged",
        "one copy of a sector of the lanes' table is damaged (by a crash, or later); a repair, or the next put or delete, \
         writes it anew",
    ),
    (
        "superblocks_damaged",
        "lanes-superblock-damaged",
        "a copy of the lanes' superblock is damaged; a repair, or the next put or delete, writes it anew",
    ),
    (
        "records_overwritten",
        "lanes-overwritten",
        "a record of the lanes is overwritten with other data; nothing is written to the device before that may be lost",
    ),
];

/// A unit, and the bytes of its lane that it takes.
pub fn located(blocks: &AnyBlocks, address: UnitAddress) -> Value {
    let bytes = blocks.unit_bytes(address);
    json!({
        "lane": address.lane,
        "unit": address.unit,
        "offset_bytes": bytes.start,
        "length_bytes": bytes.end - bytes.start,
    })
}

/// What can be told without reading blocks.
pub fn described(blocks: &AnyBlocks) -> Value {
    let status = blocks.status();
    let layout = status.layout;
    let profile = blocks.device().profile();
    let sum = |of: fn(&LaneStatus) -> u64| status.lanes.iter().map(of).sum::<u64>();
    let mut warnings = Vec::new();
    let damaged = sum(|lane| lane.damaged);
    if damaged > 0 {
        warnings.push(json!({
            "code": "damaged-units",
            "message": format!(
                "{} damaged at both ends, or the device has forgotten whether they were erased since: what they \
                 hold cannot be told, and they are left as they are ('flashlane sdf rm DEVICE --damaged' erases them)",
                counted(damaged, "unit is", "units are")
            ),
        }));
    }
    if status.counts.single_copy_units > 0 {
        warnings.push(json!({
            "code": "damaged-headers",
            "message": format!(
                "{} a damaged header or footer, and what is there was found by the other ('flashlane sdf fsck DEVICE \
                 --repair' writes such blocks anew while that is sound)",
                counted(status.counts.single_copy_units, "unit has", "units have")
            ),
            "units": blocks.damaged_ends().map(|end| end_named(blocks, &end)).collect::<Vec<_>>(),
        }));
    }
    if status.superblock_copies == 0 {
        warnings.push(json!({
            "code": "no-superblock",
            "message": "no copy of the superblock is left: blocks are found by their headers, and nothing is written \
                 before 'flashlane sdf fsck DEVICE --repair --destroy-data' writes it anew",
        }));
    } else if status.superblock_copies < 2 {
        warnings.push(json!({
            "code": "one-superblock",
            "message": "only one copy of the superblock is left; the next put or delete writes it anew",
        }));
    }
    for (counter, code, what) in REPAIRS {
        let count = blocks.device().counters().get(counter).unwrap_or(0);
        if count > 0 {
            let times = counted(count, "time", "times");
            warnings.push(json!({ "code": code, "message": format!("{what} ({times})") }));
        }
    }
    let lanes: Vec<Value> = (0_u64..).zip(&status.lanes).map(|(lane, of)| lane_value(lane, of)).collect();
    json!({
        "schema": "flashlane.sdf/1",
        "device": {
            "name": profile.name,
            "simulated": profile.simulated,
            "lanes": layout.lanes,
            "units_per_lane": layout.units,
            "unit_bytes": layout.unit_bytes,
            "read_unit_bytes": layout.granule_bytes,
        },
        "format": format!("{:032x}", status.format),
        "block_bytes": layout.block_bytes(),
        "blocks": status.blocks,
        "blocks_free": status.blocks_free,
        "user_bytes": (status.blocks + status.blocks_free) * layout.block_bytes(),
        "next_id": status.next_id,
        "units_erased": sum(|lane| lane.erased),
        "units_dirty": sum(|lane| lane.dirty),
        "units_bad": sum(|lane| lane.bad),
        "units_damaged": damaged,
        "superblock_copies": status.superblock_copies,
        "lanes": lanes,
        "warnings": warnings,
    })
}

fn lane_value(lane: u64, of: &LaneStatus) -> Value {
    let mut value = json!({
        "lane": lane,
        "blocks": of.blocks,
        "units_erased": of.erased,
        "units_dirty": of.dirty,
        "units_bad": of.bad,
        "units_damaged": of.damaged,
    });
    if let Some((least, mean, most)) = of.erases {
        value["erases_least"] = least.into();
        value["erases_mean"] = mean.into();
        value["erases_most"] = most.into();
    }
    value
}
