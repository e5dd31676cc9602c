//! The first line of `ls`, `status` and `fsck`: whether the device is sound, and otherwise what to do.
//!
//! What to do is said here and nowhere else, and each step changes the verdict. So a step is named only where it can be
//! taken: while the records of the device make it read-only, what comes after their repair is left for the next look.

use super::unreadable::{Unreadable, unreadable_ends};
use crate::suggest::{quoted, store_named, to_destroy};
use flashlane_block::{DamagedEnd, End, LaneStatus, UnitAddress};
use flashlane_device::Device;
use flashlane_open::{AnyBlocks, Consent, Target, belongs_to_store};

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
pub fn unit_named(blocks: &AnyBlocks, address: UnitAddress) -> String {
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

/// What is wrong, and the step that changes it.
struct Finding {
    what: String,
    /// What can be read all the same.
    reading: Option<String>,
    remedy: String,
}

impl Finding {
    /// A finding of which nothing need be said about reading.
    fn new(what: String, remedy: String) -> Self {
        Self { what, reading: None, remedy }
    }

    /// Returns it as text, without the remedy where another one has to come `first`.
    fn text(self, first: bool) -> String {
        let remedy = if first { "see again what to do once that is done".to_owned() } else { self.remedy };
        let parts: Vec<String> = self.reading.into_iter().chain([remedy]).collect();
        format!("{}: {}", self.what, parts.join("; "))
    }
}

/// A device that is judged.
struct Judged<'a> {
    target: &'a Target,
    blocks: &'a AnyBlocks,
    /// How the store is named that the blocks belong to.
    store: Option<String>,
}

impl Judged<'_> {
    fn named(&self) -> String {
        quoted(&self.target.to_string())
    }

    /// Returns the step for damage of a store.
    fn salvage(&self) -> Option<String> {
        let store = self.store.as_ref()?;
        Some(format!(
            "the store goes back to a copy of the device and of its log; if there is none, 'flashlane store salvage {store}' \
             shows which keys are lost, and gives them up with --destroy-data"
        ))
    }

    /// Returns the options that a repair needs to overwrite other data.
    fn destroy(&self) -> String {
        to_destroy(self.target, &Consent::KeepBlocks)
    }
}

impl Verdict {
    /// Judges a device, and its blocks if they were read. Otherwise those of which an end is damaged are read.
    pub fn new(target: &Target, blocks: &mut AnyBlocks, checked: Option<&Checked>) -> Self {
        let store = belongs_to_store(blocks).then(|| store_named(target));
        let of_ends = if checked.is_none() { unreadable_ends(blocks) } else { Vec::new() };
        let unreadable = checked.map_or(&of_ends[..], |checked| &checked.unreadable);
        Self::of(&Judged { target, blocks, store }, checked, unreadable)
    }

    /// Judges the device of a store, which is named so.
    pub fn of_store(target: &Target, store: String, blocks: &AnyBlocks) -> Self {
        Self::of(&Judged { target, blocks, store: Some(store) }, None, &[])
    }

    fn of(judged: &Judged<'_>, checked: Option<&Checked>, unreadable: &[Unreadable]) -> Self {
        let records = read_only_records(judged);
        let is_read_only = records.is_some();
        let rest = [
            damaged_blocks(judged, unreadable),
            unreadable_blocks(judged, unreadable),
            damaged_units(judged),
            damaged_records(judged).filter(|_| !is_read_only),
            damaged_ends(judged, unreadable),
        ];
        let rest = rest.into_iter().flatten().map(|finding| finding.text(is_read_only));
        let mut findings: Vec<String> =
            records.map(|finding| finding.text(false)).into_iter().chain(rest).collect();
        let is_sound = findings.is_empty() && !checked.is_some_and(|checked| checked.is_partial);
        if findings.is_empty() {
            findings.push(sound(judged, checked));
        }
        Self { is_sound, text: findings.join(". Also ") }
    }

    /// Adds a finding that is not one of the blocks.
    pub fn add(&mut self, finding: String) {
        self.text = if self.is_sound { finding } else { format!("{}. Also {finding}", self.text) };
        self.is_sound = false;
    }
}

/// Describes a device of which nothing is found to be damaged.
fn sound(judged: &Judged<'_>, checked: Option<&Checked>) -> String {
    let stored = counted(judged.blocks.status().blocks, "block", "blocks");
    match (checked, &judged.store) {
        (Some(Checked { blocks, is_partial: true, .. }), _) => {
            format!("unknown: stopped after {blocks} of {stored}, which are sound")
        }
        // The log is another file or device.
        (Some(_), Some(store)) => {
            format!("sound: {stored}, all read; 'flashlane store stat {store}' looks at the log of the store")
        }
        (Some(_), None) => format!("sound: {stored}, all read"),
        (None, _) => {
            format!(
                "sound by the headers: {stored}; 'flashlane sdf fsck {}' reads their bytes",
                judged.named()
            )
        }
    }
}

/// Judges blocks whose data fails its checksum.
fn damaged_blocks(judged: &Judged<'_>, unreadable: &[Unreadable]) -> Option<Finding> {
    let damaged: Vec<_> = unreadable.iter().filter(|block| block.is_damaged).collect();
    let ids: Vec<String> = damaged.iter().map(|block| block.info.id.to_string()).collect();
    let delete = || {
        format!(
            "delete {} ('flashlane sdf rm {} {}') and put {} again from another copy",
            them(damaged.len()),
            judged.named(),
            ids.join(" "),
            them(damaged.len())
        )
    };
    let has_sound_part = damaged.iter().any(|block| block.has_sound_part());
    (!damaged.is_empty()).then(|| Finding {
        what: format!(
            "{} ({})",
            counted(damaged.len() as u64, "damaged block", "damaged blocks"),
            listed(damaged.iter().map(|block| block.named(judged.blocks))),
        ),
        reading: has_sound_part.then(|| "'get --offset' and '--length' read the sound parts".to_owned()),
        remedy: judged.salvage().unwrap_or_else(delete),
    })
}

fn them(count: usize) -> &'static str {
    if count == 1 { "it" } else { "them" }
}

/// Judges blocks that the device fails to read.
fn unreadable_blocks(judged: &Judged<'_>, unreadable: &[Unreadable]) -> Option<Finding> {
    let failed: Vec<_> = unreadable.iter().filter(|block| !block.is_damaged).collect();
    (!failed.is_empty()).then(|| Finding {
        what: format!(
            "{} ({})",
            counted(failed.len() as u64, "block could not be read", "blocks could not be read"),
            listed(failed.iter().map(|block| block.named(judged.blocks))),
        ),
        reading: Some("'get --offset' and '--length' read the parts that the device reads now".to_owned()),
        remedy: "try again once the device reads them".to_owned(),
    })
}

/// Judges units whose contents are unknown.
fn damaged_units(judged: &Judged<'_>) -> Option<Finding> {
    let blocks = judged.blocks;
    let DamagedUnits { count, contents } = DamagedUnits::of(blocks)?;
    let with_blocks = blocks.damaged_since_written().count() as u64;
    let held = match count - with_blocks {
        0 => "which may hold blocks".to_owned(),
        foreign if foreign < count => {
            format!("which may hold blocks, {foreign} of them erased units overwritten with other data")
        }
        _ => "erased when other data was written there: no block is lost".to_owned(),
    };
    let discard = || {
        format!(
            "'flashlane sdf rm {} --damaged --destroy-data' discards the contents and erases {}",
            judged.named(),
            them(count as usize)
        )
    };
    let remedy = match contents {
        Contents::Unknown => "they are left as they are".to_owned(),
        // A unit that was erased held nothing of a store.
        Contents::Lost if with_blocks > 0 => judged.salvage().unwrap_or_else(discard),
        Contents::Lost => discard(),
        Contents::Unreadable(units) => {
            format!(
                "{units} of them could not be read: try again once the device reads {}",
                them(units as usize)
            )
        }
    };
    Some(Finding::new(
        format!(
            "{} ({}), {held}",
            counted(count, "damaged unit", "damaged units"),
            listed(blocks.damaged().map(|address| unit_named(blocks, address))),
        ),
        remedy,
    ))
}

/// Judges the records of the lanes, and the copies of the superblock, where they make the device read-only.
fn read_only_records(judged: &Judged<'_>) -> Option<Finding> {
    let blocks = judged.blocks;
    let superblocks = counter(blocks, "superblocks_damaged");
    let foreign = counter(blocks, "records_overwritten");
    let lost = counter(blocks, "table_sectors_lost");
    let is_recovered = counter(blocks, "lanes_recovered") > 0;
    let repair = || format!("'flashlane sdf fsck {} --repair{}'", judged.named(), judged.destroy());
    Some(if is_recovered && superblocks == 2 {
        Finding::new(
            "no superblock of the lanes is left, so that the device is read-only: it is read in the given shape, and \
             blocks are found by their headers, deleted ones too"
                .to_owned(),
            format!("{} rewrites the lanes' records, and the data that overwrote them is lost", repair()),
        )
    } else if is_recovered {
        Finding::new(
            format!(
                "{} of the lanes' table of units {} lost in both copies, and the device can only be read: blocks are found \
                 by their headers, deleted ones too",
                counted(lost, "sector", "sectors"),
                if lost == 1 { "is" } else { "are" },
            ),
            format!(
                "if the device could not read the table, try again first; {} rewrites the table, and any data that has \
                 replaced it is lost",
                repair()
            ),
        )
    } else if foreign > 0 {
        Finding::new(
            format!(
                "{} overwritten with other data, so that the device is read-only",
                counted(foreign, "record of the lanes is", "records of the lanes are")
            ),
            format!("{} rewrites {}, and that data is lost", repair(), them(foreign as usize)),
        )
    } else if blocks.status().is_superblock_rebuilt {
        Finding::new(
            "no copy of the superblock is left, so that the device is read-only".to_owned(),
            format!("{} rewrites it from the headers of the blocks", repair()),
        )
    } else {
        return None;
    })
}

/// Judges the same records where the device can be written.
fn damaged_records(judged: &Judged<'_>) -> Option<Finding> {
    let blocks = judged.blocks;
    let records = counter(blocks, "superblocks_damaged") + counter(blocks, "table_sectors_damaged");
    if counter(blocks, "table_sectors_lost") > 0 {
        return Some(Finding::new(
            "part of the lanes' table of units is lost".to_owned(),
            "the erased units in it are not known".to_owned(),
        ));
    }
    let what = if records > 0 { "some of the lanes' records" } else { "the superblock" };
    // A put into a store goes to its log.
    let writer = match judged.store {
        Some(_) => "the next block that the store writes",
        None => "the next put or rm",
    };
    let copies = blocks.status().superblock_copies;
    (records > 0 || copies < 2).then(|| {
        let used = match records == 0 && copies == 0 {
            true => format!("both copies of {what} have other data in them, and what they record is used"),
            false => format!("one copy of {what} is damaged, and the other is used"),
        };
        Finding::new(
            used,
            format!("{writer}, or 'flashlane sdf fsck {} --repair', rewrites it", judged.named()),
        )
    })
}

/// Judges headers and footers whose other end is sound. A block that cannot be read is judged as such: it cannot be
/// rewritten.
fn damaged_ends(judged: &Judged<'_>, unreadable: &[Unreadable]) -> Option<Finding> {
    let blocks = judged.blocks;
    let is_unreadable = |end: &DamagedEnd| unreadable.iter().any(|block| block.info.address == end.address);
    let ends: Vec<DamagedEnd> = blocks.damaged_ends().filter(|end| !is_unreadable(end)).collect();
    let units = ends.len() as u64;
    // A block is rewritten to another unit, a superblock as every other one.
    let needs_unit = ends.iter().any(|end| end.id.is_some());
    let room = match (needs_unit && blocks.free_blocks() == 0, &judged.store) {
        (false, _) => "",
        (true, None) => "delete a block first, as no unit is free: then ",
        (true, Some(_)) => "delete keys first, as no unit is free: then ",
    };
    (units > 0).then(|| {
        Finding::new(
            format!(
                "{} a damaged header or footer ({})",
                counted(units, "unit has", "units have"),
                listed(ends.iter().map(|end| end_named(blocks, end))),
            ),
            format!(
                "{room}'flashlane sdf fsck {} --repair' rewrites their contents while the other one is sound",
                judged.named()
            ),
        )
    })
}
