//! The first line of `ls`, `status` and `fsck`: whether the device is sound, and otherwise what to do.

use crate::suggest::{quoted, to_destroy};
use flashlane_block::{BlockInfo, DamagedEnd, End, LaneStatus, UnitAddress};
use flashlane_device::Device;
use flashlane_open::{AnyBlocks, Consent, Target};
use std::ops::Range;

/// The findings as text.
pub struct Verdict {
    pub is_sound: bool,
    pub text: String,
}

/// Result of reading every block.
pub struct Checked {
    pub blocks: u64,
    pub unreadable: Vec<Unreadable>,
    pub is_partial: bool,
}

/// A block that cannot be read as a whole.
pub struct Unreadable {
    pub info: BlockInfo,
    /// Byte ranges of the block that cannot be read, if known.
    pub damaged: Vec<Range<u64>>,
    /// Whether the data fails its checksum; otherwise the device fails to read it.
    pub is_damaged: bool,
}

impl Unreadable {
    /// Describes the damaged range, and where readable data begins again.
    pub fn places(&self) -> Option<String> {
        let (first, last) = (self.damaged.first()?, self.damaged.last()?);
        let places = match self.damaged.len() {
            1 => String::new(),
            several => format!(" in {several} places"),
        };
        let (from, to) = (first.start, last.end);
        Some(match to < self.info.length_bytes {
            true => format!(
                "damaged{places} from byte {from} to {} of the block, sound from byte {to} on",
                to - 1
            ),
            false => format!("damaged{places} from byte {from} of the block to its end"),
        })
    }

    /// Returns whether a part of the block may be readable.
    fn has_sound_part(&self) -> bool {
        let damaged_bytes: u64 = self.damaged.iter().map(|range| range.end - range.start).sum();
        damaged_bytes < self.info.length_bytes
    }

    fn named(&self, blocks: &AnyBlocks) -> String {
        let places = self.places().map_or_else(String::new, |places| format!(", {places}"));
        format!("id {}: {}{places}", self.info.id, unit_named(blocks, self.info.address))
    }
}

/// Limit of blocks and units listed by name.
const NAMED_MAX: usize = 8;

fn listed(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.take(NAMED_MAX + 1).collect();
    if items.len() > NAMED_MAX {
        items[NAMED_MAX] = "…".to_owned();
    }
    items.join("; ")
}

/// Names a unit by lane, number and byte range.
fn unit_named(blocks: &AnyBlocks, address: UnitAddress) -> String {
    let bytes = blocks.unit_bytes(address);
    format!(
        "lane {}, unit {}, bytes {} to {} of the lane",
        address.lane,
        address.unit,
        bytes.start,
        bytes.end - 1
    )
}

/// Names a damaged header or footer and the contents of its unit.
pub fn end_named(blocks: &AnyBlocks, end: &DamagedEnd) -> String {
    let what = end.id.map_or_else(|| "the superblock".to_owned(), |id| format!("block {id}"));
    let which = match end.end {
        End::Header => "header",
        End::Footer => "footer",
    };
    format!("the {which} of {what}: {}", unit_named(blocks, end.address))
}

/// Formats a count with the singular or plural.
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Returns a counter of the device; 0 where it has none of this name.
pub fn counter(blocks: &AnyBlocks, name: &str) -> u64 {
    blocks.device().counters().get(name).unwrap_or(0)
}

/// Damaged units, and the reason for or against discarding their contents.
pub struct DamagedUnits {
    pub count: u64,
    pub contents: Contents,
}

/// Knowledge of the contents of damaged units.
pub enum Contents {
    /// Lost: the units can be erased.
    Lost,
    /// They may be sound: which units were erased is lost with a part of the lanes' table.
    Unknown,
    /// The device could not read this number of them, which may be sound.
    Unreadable(u64),
}

impl DamagedUnits {
    /// Returns `None` where no unit is damaged.
    pub fn of(blocks: &AnyBlocks) -> Option<Self> {
        let status = blocks.status();
        let count = status.lanes.iter().map(|lane: &LaneStatus| lane.damaged).sum();
        let contents = match status.counts.unreadable_units {
            0 if counter(blocks, "table_sectors_lost") > 0 => Contents::Unknown,
            0 => Contents::Lost,
            units => Contents::Unreadable(units),
        };
        (count > 0).then_some(Self { count, contents })
    }
}

impl Verdict {
    /// Judges an open device, and its blocks if they were read.
    pub fn new(target: &Target, blocks: &AnyBlocks, checked: Option<&Checked>) -> Self {
        // Looked for where a command is suggested that needs it.
        let destroy = || to_destroy(target, &Consent::KeepBlocks);
        let target = quoted(&target.to_string());
        let unreadable = checked.map_or(&[][..], |checked| &checked.unreadable);
        let findings = [
            damaged_blocks(&target, blocks, unreadable),
            unreadable_blocks(blocks, unreadable),
            damaged_units(&target, blocks),
            damaged_records(&target, &destroy, blocks),
            damaged_ends(&target, blocks, unreadable),
        ];
        let mut findings: Vec<String> = findings.into_iter().flatten().collect();
        let is_sound = findings.is_empty() && !checked.is_some_and(|checked| checked.is_partial);
        if findings.is_empty() {
            let (stored, has_log) = (counted(blocks.status().blocks, "block", "blocks"), blocks.has_log());
            findings.push(match checked {
                Some(Checked { blocks, is_partial: true, .. }) => {
                    format!("unknown: stopped after {blocks} of {stored}, which are sound")
                }
                // The log is another file or device.
                Some(_) if has_log => {
                    format!("sound: {stored}, all read; 'flashlane store stat' looks at the log of the store")
                }
                Some(_) => format!("sound: {stored}, all read"),
                None => {
                    format!("sound by the headers: {stored}; 'flashlane sdf fsck' reads their bytes")
                }
            });
        }
        Self { is_sound, text: findings.join(". Also ") }
    }
}

impl Verdict {
    /// Adds a finding that is not one of the blocks.
    pub fn add(&mut self, finding: String) {
        self.text = if self.is_sound { finding } else { format!("{}. Also {finding}", self.text) };
        self.is_sound = false;
    }
}

/// Judges blocks whose data fails its checksum.
fn damaged_blocks(target: &str, blocks: &AnyBlocks, unreadable: &[Unreadable]) -> Option<String> {
    let damaged: Vec<_> = unreadable.iter().filter(|block| block.is_damaged).collect();
    let ids: Vec<String> = damaged.iter().take(NAMED_MAX).map(|block| block.info.id.to_string()).collect();
    let remedy = match blocks.has_log() {
        true => "they belong to a store, which cannot do without them: 'flashlane store get' still reads the keys that do \
                 not lie in them; go back to a copy of the device and of its log, or move what can be read to a new store"
            .into(),
        false => format!(
            "delete them ('flashlane sdf rm {target} {}') and put them again from another copy",
            ids.join(" ")
        ),
    };
    let sound_parts = match damaged.iter().any(|block| block.has_sound_part()) {
        true => "'get --offset' and '--length' read the sound parts; ",
        false => "",
    };
    (!damaged.is_empty()).then(|| {
        format!(
            "{} ({}): {sound_parts}{remedy}",
            counted(damaged.len() as u64, "damaged block", "damaged blocks"),
            listed(damaged.iter().map(|block| block.named(blocks))),
        )
    })
}

/// Judges blocks that the device fails to read.
fn unreadable_blocks(blocks: &AnyBlocks, unreadable: &[Unreadable]) -> Option<String> {
    let failed: Vec<_> = unreadable.iter().filter(|block| !block.is_damaged).collect();
    (!failed.is_empty()).then(|| {
        format!(
            "{} ({}): try again once the device reads them; 'get --offset' and '--length' read the parts that it \
             reads now",
            counted(failed.len() as u64, "block could not be read", "blocks could not be read"),
            listed(failed.iter().map(|block| block.named(blocks))),
        )
    })
}

/// Judges units whose contents are unknown.
fn damaged_units(target: &str, blocks: &AnyBlocks) -> Option<String> {
    let DamagedUnits { count, contents } = DamagedUnits::of(blocks)?;
    let foreign_units = match counter(blocks, "units_overwritten") {
        0 => String::new(),
        n => format!(", {n} of them erased units overwritten with other data"),
    };
    let then = match contents {
        Contents::Unknown => "they are left as they are".to_owned(),
        Contents::Lost if blocks.has_log() => {
            "they belong to a store: go back to a copy of the device and of its log, or move what can be read to a new store \
             ('flashlane store scan', with values, and 'import')"
                .to_owned()
        }
        Contents::Lost => format!(
            "'flashlane sdf rm {target} --damaged --destroy-data' discards the contents and erases {}",
            if count == 1 { "it" } else { "them" }
        ),
        Contents::Unreadable(units) => format!(
            "{units} of them could not be read: try again once the device reads {}",
            if units == 1 { "it" } else { "them" }
        ),
    };
    Some(format!(
        "{} ({}), which may hold blocks{foreign_units}; {then}",
        counted(count, "damaged unit", "damaged units"),
        listed(blocks.damaged().map(|address| unit_named(blocks, address))),
    ))
}

/// Judges the records of the lanes, and the copies of the superblock.
fn damaged_records(target: &str, destroy: &dyn Fn() -> String, blocks: &AnyBlocks) -> Option<String> {
    let copies = blocks.status().superblock_copies;
    let superblocks = counter(blocks, "superblocks_damaged");
    let records = superblocks + counter(blocks, "table_sectors_damaged");
    let foreign = counter(blocks, "records_overwritten");
    let lost = counter(blocks, "table_sectors_lost");
    let is_recovered = counter(blocks, "lanes_recovered") > 0;
    Some(if is_recovered && superblocks == 2 {
        format!(
            "no superblock of the lanes is left, so that the device is read-only: it is read in the given shape, and \
             blocks are found by their headers, deleted ones too; 'flashlane sdf fsck {target} --repair{}' rewrites the \
             lanes' records, and the data that overwrote them is lost",
            destroy()
        )
    } else if is_recovered {
        format!(
            "{} of the lanes' table of units {} lost in both copies, and the device can only be read: blocks are found by \
             their headers, deleted ones too. If the device could not read the table, try again first; \
             'flashlane sdf fsck {target} --repair{}' rewrites the table, and any data that has replaced it is lost",
            counted(lost, "sector", "sectors"),
            if lost == 1 { "is" } else { "are" },
            destroy()
        )
    } else if foreign > 0 {
        format!(
            "{} overwritten with other data, so that the device is read-only; 'flashlane sdf fsck {target} --repair{}' \
             rewrites them, and that data is lost",
            counted(foreign, "record of the lanes is", "records of the lanes are"),
            destroy()
        )
    } else if copies == 0 {
        format!(
            "no copy of the superblock is left, so that the device is read-only; 'flashlane sdf fsck {target} --repair{}' \
             rewrites it from the headers of the blocks",
            destroy()
        )
    } else if lost > 0 {
        "part of the lanes' table of units is lost, so that the erased units in it are not known".to_owned()
    } else if records > 0 || copies < 2 {
        format!(
            "one copy of {} is damaged, and the other is used; {}, or 'flashlane sdf fsck {target} --repair', rewrites it",
            if records > 0 { "some of the lanes' records" } else { "the superblock" },
            // A put into a store goes to its log.
            if blocks.has_log() { "the next block that the store writes" } else { "the next put or rm" },
        )
    } else {
        return None;
    })
}

/// Judges headers and footers whose other end is sound. A block that cannot be read is judged as such: it cannot be
/// rewritten.
fn damaged_ends(target: &str, blocks: &AnyBlocks, unreadable: &[Unreadable]) -> Option<String> {
    let is_unreadable = |end: &DamagedEnd| unreadable.iter().any(|block| block.info.address == end.address);
    let ends: Vec<DamagedEnd> = blocks.damaged_ends().filter(|end| !is_unreadable(end)).collect();
    let units = ends.len() as u64;
    (units > 0).then(|| {
        format!(
            "{} a damaged header or footer ({}); 'flashlane sdf fsck {target} --repair' rewrites their contents \
             while the other one is sound",
            counted(units, "unit has", "units have"),
            listed(ends.iter().map(|end| end_named(blocks, end))),
        )
    })
}
