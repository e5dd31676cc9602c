//! Finds everything that holds or uses the bytes of a device or file, transitively in both directions.
//!
//! The first pass goes down: from a partition to its drive, from a loop device to its backing file or device, from a
//! mapped device to its slaves. Each step carries the range of bytes that the target covers there, to exclude
//! neighbouring partitions. Device mapper and RAID do not report which bytes of a slave they use, so the range becomes
//! the whole slave; other volumes on that slave use other bytes and do not count.
//!
//! The second pass goes up from every range found: to partitions, holders and loop devices with overlapping ranges. A
//! mount or swap space on any of them is a finding, and so is each driver that uses the target's bytes.

use super::machine::{Backing, BlockDevice, Machine, Number, Storage};
use crate::finding::Finding;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Part of a device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    on: Storage,
    range: Range<u64>,
    /// Reached through a slave's link, whose other holders use other bytes.
    mapped: bool,
    /// Whether the range is what is used, and not only known to hold it, as below a mapped device.
    exact: bool,
}

const ALL: Range<u64> = 0..u64::MAX;

/// Returns every use of the bytes of `target` (one storage, or all identities of one file).
pub(crate) fn uses(machine: &Machine, target: &[Storage]) -> Vec<Finding> {
    let below = below(machine, target);
    let lower: BTreeSet<Storage> = below.iter().map(|part| part.on).collect();
    let mut findings = Vec::new();
    if let [Storage::Block(number)] = target {
        let partitions: Vec<String> =
            partitions_of(machine, *number).map(|(_, d, _)| d.name.clone()).collect();
        if !partitions.is_empty() {
            findings.push(Finding::Partitioned { partitions });
        }
    }
    let mut queue = below;
    let mut next = 0;
    while next < queue.len() {
        let part = queue[next].clone();
        next += 1;
        report(machine, &part, &lower, &mut findings);
        for above in above(machine, &part) {
            if !lower.contains(&above.on) && !queue.contains(&above) {
                queue.push(above);
            }
        }
    }
    // A mount or driver may be reached on several paths.
    let mut unique = Vec::new();
    for finding in findings {
        if !unique.contains(&finding) {
            unique.push(finding);
        }
    }
    unique
}

/// Returns the target and everything below it.
fn below(machine: &Machine, target: &[Storage]) -> Vec<Part> {
    let mut parts: Vec<Part> =
        target.iter().map(|&on| Part { on, range: ALL, mapped: false, exact: true }).collect();
    let mut next = 0;
    while next < parts.len() {
        let Part { on, range, exact, .. } = parts[next].clone();
        next += 1;
        let Storage::Block(number) = on else { continue };
        let Some(device) = machine.devices.get(&number) else { continue };
        let mut under = Vec::new();
        if let Some((drive, start)) = device.partition_of {
            let end = range.end.min(device.length_bytes);
            under.push(Part {
                on: Storage::Block(drive),
                range: shift(range.start..end, start),
                mapped: false,
                exact,
            });
        }
        if let Some(backing) = &device.backing {
            let end = range.end.min(backing.range.end - backing.range.start);
            let range = shift(range.start..end, backing.range.start);
            let part = |&on: &Storage| Part { on, range: range.clone(), mapped: false, exact };
            under.extend(backing.storage.iter().map(part));
        }
        under.extend(device.slaves.iter().map(|&n| Part {
            on: Storage::Block(n),
            range: ALL,
            mapped: true,
            exact: false,
        }));
        for part in under {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts
}

/// Returns the target and everything below it: who has one of these open may use the target's bytes.
pub(super) fn storage_below(machine: &Machine, target: &[Storage]) -> Vec<Storage> {
    let mut all: Vec<Storage> = Vec::new();
    for part in below(machine, target) {
        if !all.contains(&part.on) {
            all.push(part.on);
        }
    }
    all
}

/// Returns whether two targets have bytes in common, on anything below them. Two mapped devices on one slave count as
/// apart.
pub(super) fn share_bytes(machine: &Machine, one: &[Storage], other: &[Storage]) -> bool {
    let others = below(machine, other);
    let meets = |part: &Part, other: &Part| {
        let begin = part.range.start.max(other.range.start);
        (part.exact || other.exact) && part.on == other.on && begin < part.range.end.min(other.range.end)
    };
    below(machine, one).iter().any(|part| others.iter().any(|other| meets(part, other)))
}

/// Returns the files below the target, as the loop devices over them show.
pub(super) fn files_below(machine: &Machine, target: &[Storage]) -> Vec<Backing> {
    let is_file = |on: &Storage| matches!(on, Storage::File(_));
    let backings = backings(machine, &below(machine, target));
    backings.into_iter().filter(|backing| backing.storage.iter().any(is_file)).cloned().collect()
}

/// Returns the block devices below loop devices below the target. The loop driver does not claim them, so another user
/// may.
pub(super) fn devices_below(machine: &Machine, target: &[Storage]) -> Vec<Number> {
    let backings = backings(machine, &below(machine, target));
    let under = backings.into_iter().flat_map(|backing| &backing.storage).filter_map(|&on| match on {
        Storage::Block(number) => Some(number),
        Storage::File(_) => None,
    });
    under.collect()
}

/// Returns the backings of those parts that are loop devices.
fn backings<'a>(machine: &'a Machine, parts: &[Part]) -> Vec<&'a Backing> {
    let backings = parts.iter().filter_map(|part| match part.on {
        Storage::Block(number) => machine.devices.get(&number)?.backing.as_ref(),
        Storage::File(_) => None,
    });
    backings.collect()
}

/// What a device is a part of: the drive of a partition, or the file or device under a loop device.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub storage: Vec<Storage>,
    pub path: PathBuf,
    /// Whether the device may begin inside it.
    pub is_inside: bool,
    pub is_drive: bool,
    /// Partitions in it.
    pub partitions: Vec<Range<u64>>,
}

/// Returns what a device is a part of, its nearest one first. Mapped devices are not followed: the signature of a slave
/// is that of their driver.
pub(super) fn wholes_below(machine: &Machine, number: Number) -> Vec<Whole> {
    let mut found = Vec::new();
    let mut devices = vec![(number, false)];
    let mut next = 0;
    while let Some(&(number, is_inside)) = devices.get(next) {
        next += 1;
        let Some(device) = machine.devices.get(&number) else { continue };
        let partitions = |drive, start| -> Vec<Range<u64>> {
            partitions_of(machine, drive).map(|(_, _, range)| shift(range, start)).collect()
        };
        let mut under = Vec::new();
        if let Some((drive, _)) = device.partition_of {
            let name = machine.name(drive);
            found.push(Whole {
                storage: vec![Storage::Block(drive)],
                path: Path::new("/dev").join(name.replace('!', "/")),
                is_inside: true,
                is_drive: true,
                partitions: partitions(drive, 0),
            });
            under.push((drive, true));
        }
        if let Some(backing) = &device.backing {
            let is_inside = is_inside || backing.range.start > 0;
            found.push(Whole {
                storage: backing.storage.clone(),
                path: backing.name.clone().into(),
                is_inside,
                is_drive: false,
                partitions: partitions(number, backing.range.start),
            });
            under.extend(backing.storage.iter().filter_map(|&on| match on {
                Storage::Block(number) => Some((number, is_inside)),
                Storage::File(_) => None,
            }));
        }
        for device in under {
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
    }
    found
}

/// Returns the devices directly above a part, with the range of each that the part covers.
fn above(machine: &Machine, part: &Part) -> Vec<Part> {
    let mut above = Vec::new();
    let mut add = |number, range: Range<u64>| {
        above.push(Part { on: Storage::Block(number), range, mapped: false, exact: true });
    };
    if let Storage::Block(number) = part.on {
        for (partition, _, range) in partitions_of(machine, number) {
            if let Some(range) = within(&part.range, &range) {
                add(partition, range);
            }
        }
        for (_, holder) in holders(machine, number, part.mapped) {
            if let Some(holder) = holder {
                add(*holder, ALL);
            }
        }
    }
    for (number, _, backing) in loops(machine) {
        if backing.storage.contains(&part.on)
            && let Some(range) = within(&part.range, &backing.range)
        {
            add(number, range);
        }
        // The file's location on the device is unknown.
        if Storage::Block(backing.file_system) == part.on {
            add(number, ALL);
        }
    }
    above
}

/// Adds the findings at one part. `lower` holds the target and everything below it, which do not count against each
/// other.
fn report(machine: &Machine, part: &Part, lower: &BTreeSet<Storage>, findings: &mut Vec<Finding>) {
    let block = match part.on {
        Storage::Block(number) => Some(number),
        Storage::File(_) => None,
    };
    for mount in machine.mounts.iter().filter(|mount| mount.on.contains(&part.on)) {
        let device = block.map_or_else(|| "it".into(), |number| machine.name(number));
        findings.push(Finding::Mounted { device, at: mount.at.clone() });
    }
    for swap in machine.swaps.iter().filter(|swap| swap.on == part.on) {
        findings.push(Finding::Swap { device: swap.name.clone() });
    }
    if let Some(number) = block {
        for (by, holder) in holders(machine, number, part.mapped) {
            if !holder.is_some_and(|holder| lower.contains(&Storage::Block(holder))) {
                findings.push(Finding::Held { device: machine.name(number), by: by.clone() });
            }
        }
    }
    for (number, device, backing) in loops(machine) {
        if lower.contains(&Storage::Block(number)) {
            continue;
        }
        let presents = backing.storage.contains(&part.on) && within(&part.range, &backing.range).is_some();
        if presents {
            findings.push(Finding::LoopDevice { device: device.name.clone(), backing: backing.name.clone() });
        } else if Storage::Block(backing.file_system) == part.on {
            findings.push(Finding::HoldsBackingFile {
                device: machine.name(backing.file_system),
                file: backing.name.clone(),
                by: device.name.clone(),
            });
        }
    }
}

fn partitions_of(
    machine: &Machine,
    drive: Number,
) -> impl Iterator<Item = (Number, &BlockDevice, Range<u64>)> {
    machine.devices.iter().filter_map(move |(&number, device)| match device.partition_of {
        Some((of, start)) if of == drive => {
            Some((number, device, start..start.saturating_add(device.length_bytes)))
        }
        _ => None,
    })
}

fn loops(machine: &Machine) -> impl Iterator<Item = (Number, &BlockDevice, &Backing)> {
    machine.devices.iter().filter_map(|(&n, device)| Some((n, device, device.backing.as_ref()?)))
}

/// Returns the drivers on a device that may use the bytes of the target.
fn holders(machine: &Machine, number: Number, mapped: bool) -> &[(String, Option<Number>)] {
    match machine.devices.get(&number) {
        Some(device) if !mapped => &device.holders,
        _ => &[],
    }
}

/// Returns the part of `outer` that overlaps `range`, relative to the start of `outer`; `None` where they do not
/// overlap.
fn within(range: &Range<u64>, outer: &Range<u64>) -> Option<Range<u64>> {
    let (start, end) = (range.start.max(outer.start), range.end.min(outer.end));
    (start < end).then(|| start - outer.start..end - outer.start)
}

fn shift(range: Range<u64>, by: u64) -> Range<u64> {
    range.start.saturating_add(by)..range.end.saturating_add(by)
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
