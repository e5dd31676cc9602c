//! The first line of `ls`, `status` and `fsck`: whether the device is sound, and what to do where it is not.

use super::device::AnyBlocks;
use flashlane_block::LaneStatus;
use flashlane_device::Device;
use flashlane_device::spec::Spec;

/// What was found, in a sentence.
pub struct Verdict {
    pub is_sound: bool,
    pub text: String,
}

/// What reading every block found.
pub struct Checked {
    pub blocks: u64,
    /// The ids of blocks that cannot be read.
    pub unreadable: Vec<u64>,
    pub is_partial: bool,
}

/// Ids that are named; of more the number says enough.
const IDS_NAMED: usize = 8;

/// A count of them, in words.
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

impl Verdict {
    /// The verdict on a device as it was opened, and on its blocks where they were read.
    pub fn new(spec: &Spec, blocks: &AnyBlocks, checked: Option<&Checked>) -> Self {
        let status = blocks.status();
        let counter = |name| blocks.device().counters().get(name).unwrap_or(0);
        let damaged: u64 = status.lanes.iter().map(|lane: &LaneStatus| lane.damaged).sum();
        let foreign = counter("records_overwritten");
        let records = counter("superblocks_damaged") + counter("table_sectors_damaged");
        let mut findings = Vec::new();
        if let Some(Checked { unreadable, .. }) = checked.filter(|checked| !checked.unreadable.is_empty()) {
            let named: Vec<String> = unreadable.iter().take(IDS_NAMED).map(u64::to_string).collect();
            let more = if unreadable.len() > IDS_NAMED { ", …" } else { "" };
            findings.push(format!(
                "{} (id {}{more}): what can be read of them is given by 'get --offset'; delete them ('flashlane sdf rm \
                 \"{spec}\" {}') and put them anew from elsewhere",
                counted(unreadable.len() as u64, "damaged block", "damaged blocks"),
                named.join(", "),
                named.join(" "),
            ));
        }
        if damaged > 0 {
            findings.push(format!(
                "{}, which may have held blocks; 'flashlane sdf rm \"{spec}\" --damaged' gives that up and erases {}",
                counted(damaged, "damaged unit", "damaged units"),
                if damaged == 1 { "it" } else { "them" },
            ));
        }
        if foreign > 0 {
            findings.push(format!(
                "{} overwritten with other data, so that the device can be read only; 'flashlane sdf fsck \"{spec}\" \
                 --repair --destroy-data' writes them anew, and that data is lost",
                counted(foreign, "record of the lanes is", "records of the lanes are"),
            ));
        } else if counter("table_sectors_lost") > 0 {
            findings.push(
                "a part of the lanes' table of units is lost, and with it which of its units were erased"
                    .to_owned(),
            );
        } else if records > 0 || status.superblock_copies < 2 {
            findings.push(format!(
                "one copy of {} is damaged, and the other is used; the next put or rm, or 'flashlane sdf fsck \"{spec}\" \
                 --repair', writes it anew",
                if records > 0 { "some of the lanes' records" } else { "the superblock" },
            ));
        }
        if status.counts.one_ended > 0 {
            findings.push(format!(
                "{} a damaged header or footer; get such blocks and put them anew while the other is sound",
                counted(status.counts.one_ended, "unit has", "units have"),
            ));
        }
        let stored = counted(status.blocks, "block", "blocks");
        let is_partial = checked.is_some_and(|checked| checked.is_partial);
        let is_sound = findings.is_empty() && !is_partial;
        if findings.is_empty() {
            findings.push(match checked {
                Some(Checked { blocks, is_partial: true, .. }) => {
                    format!("unknown: stopped after {blocks} of {stored}, which are sound")
                }
                Some(_) => format!("sound: {stored}, all read"),
                None => {
                    format!("sound as far as headers tell: {stored}; 'flashlane sdf fsck' reads their bytes")
                }
            });
        }
        Self { is_sound, text: findings.join(". Also ") }
    }
}
