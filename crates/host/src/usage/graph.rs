//! What else holds or uses the bytes of a device or file, followed to the end in both directions.
//!
//! First down: a partition lies on its drive, a loop device on its backing file or device, a mapped device on its
//! slaves. Each step carries the range of bytes that the target covers there, so that a neighbouring partition is not
//! taken for the target. Device mapper and RAID do not tell which bytes of a slave they use, so the range becomes the
//! whole slave; other volumes on the same slave have bytes of their own and do not count.
//!
//! Then up from every place found: partitions, holders, loop devices, whose ranges overlap. What is mounted or swapped
//! to on any of them speaks against writing to the target, and so does each driver that stands on its bytes.

use super::finding::Finding;
use super::machine::{Backing, BlockDevice, Machine, Number, Storage};
use std::collections::BTreeSet;
use std::ops::Range;

/// Part of a device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    on: Storage,
    range: Range<u64>,
    /// Reached through a slave's link: its other holders have bytes of their own.
    mapped: bool,
}

const ALL: Range<u64> = 0..u64::MAX;

/// Everything that uses bytes of `target` (one storage, or all identities of one file).
pub(crate) fn uses(machine: &Machine, target: &[Storage]) -> Vec<Finding> {
    let below = below(machine, target);
    let lower: BTreeSet<Storage> = below.iter().map(|place| place.on).collect();
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
        let place = queue[next].clone();
        next += 1;
        report(machine, &place, &lower, &mut findings);
        for above in above(machine, &place) {
            if !lower.contains(&above.on) && !queue.contains(&above) {
                queue.push(above);
            }
        }
    }
    // One mount or driver can be reached in several ways.
    let mut unique = Vec::new();
    for finding in findings {
        if !unique.contains(&finding) {
            unique.push(finding);
        }
    }
    unique
}

/// The target and everything under it.
fn below(machine: &Machine, target: &[Storage]) -> Vec<Place> {
    let mut places: Vec<Place> = target.iter().map(|&on| Place { on, range: ALL, mapped: false }).collect();
    let mut next = 0;
    while next < places.len() {
        let Place { on, range, .. } = places[next].clone();
        next += 1;
        let Storage::Block(number) = on else { continue };
        let Some(device) = machine.devices.get(&number) else { continue };
        let mut under = Vec::new();
        if let Some((drive, start)) = device.partition_of {
            let end = range.end.min(device.length_bytes);
            under.push(Place {
                on: Storage::Block(drive),
                range: shift(range.start..end, start),
                mapped: false,
            });
        }
        if let Some(backing) = &device.backing {
            let end = range.end.min(backing.range.end - backing.range.start);
            let range = shift(range.start..end, backing.range.start);
            under.extend(backing.storage.iter().map(|&on| Place { on, range: range.clone(), mapped: false }));
        }
        under.extend(device.slaves.iter().map(|&n| Place {
            on: Storage::Block(n),
            range: ALL,
            mapped: true,
        }));
        for place in under {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// Block devices under loop devices under the target. The loop driver does not claim them, so another user may.
pub(super) fn devices_below(machine: &Machine, target: &[Storage]) -> Vec<Number> {
    let places = below(machine, target);
    let blocks = places.iter().filter_map(|place| match place.on {
        Storage::Block(number) => machine.devices.get(&number)?.backing.as_ref(),
        Storage::File(_) => None,
    });
    let under = blocks.flat_map(|backing| &backing.storage).filter_map(|&on| match on {
        Storage::Block(number) => Some(number),
        Storage::File(_) => None,
    });
    under.collect()
}

/// What stands directly on a place, with the part of it that the place covers.
fn above(machine: &Machine, place: &Place) -> Vec<Place> {
    let mut above = Vec::new();
    let mut add = |number, range: Range<u64>| {
        above.push(Place { on: Storage::Block(number), range, mapped: false });
    };
    if let Storage::Block(number) = place.on {
        for (partition, _, range) in partitions_of(machine, number) {
            if let Some(range) = within(&place.range, &range) {
                add(partition, range);
            }
        }
        for (_, holder) in holders(machine, number, place.mapped) {
            if let Some(holder) = holder {
                add(*holder, ALL);
            }
        }
    }
    for (number, _, backing) in loops(machine) {
        if backing.storage.contains(&place.on)
            && let Some(range) = within(&place.range, &backing.range)
        {
            add(number, range);
        }
        // A file on the device's file system: where in it is unknown.
        if Storage::Block(backing.file_system) == place.on {
            add(number, ALL);
        }
    }
    above
}

/// The findings at one place. `lower` are the target and what lies under it, which do not speak against each other.
fn report(machine: &Machine, place: &Place, lower: &BTreeSet<Storage>, findings: &mut Vec<Finding>) {
    let block = match place.on {
        Storage::Block(number) => Some(number),
        Storage::File(_) => None,
    };
    for mount in machine.mounts.iter().filter(|mount| mount.on.contains(&place.on)) {
        let device = block.map_or_else(|| "it".into(), |number| machine.name(number));
        findings.push(Finding::Mounted { device, at: mount.at.clone() });
    }
    for swap in machine.swaps.iter().filter(|swap| swap.on == place.on) {
        findings.push(Finding::Swap { device: swap.name.clone() });
    }
    if let Some(number) = block {
        for (by, holder) in holders(machine, number, place.mapped) {
            if !holder.is_some_and(|holder| lower.contains(&Storage::Block(holder))) {
                findings.push(Finding::Held { device: machine.name(number), by: by.clone() });
            }
        }
    }
    for (number, device, backing) in loops(machine) {
        if lower.contains(&Storage::Block(number)) {
            continue;
        }
        let presents = backing.storage.contains(&place.on) && within(&place.range, &backing.range).is_some();
        if presents {
            findings.push(Finding::LoopDevice { device: device.name.clone(), backing: backing.name.clone() });
        } else if Storage::Block(backing.file_system) == place.on {
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

/// Drivers that stand on a device and may use the bytes of the target.
fn holders(machine: &Machine, number: Number, mapped: bool) -> &[(String, Option<Number>)] {
    match machine.devices.get(&number) {
        Some(device) if !mapped => &device.holders,
        _ => &[],
    }
}

/// The part of `outer` that lies in `range`, counted from the beginning of `outer`; none where they do not overlap.
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
