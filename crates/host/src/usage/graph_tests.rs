//! Compares the graph with a model of every byte: two devices interfere where they share a byte.

use super::super::machine::{FileId, MountUse, SwapUse};
use super::*;
use flashlane_base::{Random, Seed};
use std::collections::BTreeMap;

/// A byte of a drive or file that has no storage below it.
type Byte = (Storage, u64);

/// A machine, and the bytes of each storage in order.
struct Model {
    machine: Machine,
    bytes: BTreeMap<Storage, Vec<Byte>>,
    mapped: bool,
}

const DRIVE_BYTES: u64 = 24;

impl Model {
    /// Creates two drives and two files; on them up to eight partitions, loop devices and mapped devices; up to two
    /// mounts and a swap space.
    fn random(source: &mut Random, mapped: bool) -> Self {
        let mut model = Self { machine: Machine::default(), bytes: BTreeMap::new(), mapped: false };
        for n in 0..2 {
            let drive =
                BlockDevice { name: format!("sd{n}"), length_bytes: DRIVE_BYTES, ..Default::default() };
            model.machine.devices.insert((8, n), drive);
            let file = Storage::File(FileId { file_system: (9, 9), inode: u64::from(n) });
            for base in [Storage::Block((8, n)), file] {
                model.bytes.insert(base, (0..DRIVE_BYTES).map(|at| (base, at)).collect());
            }
        }
        for minor in 0..source.below(9) as u32 {
            let under = model.any(source);
            let length = model.bytes[&under].len() as u64;
            let start = source.below(length);
            let end = start + 1 + source.below(length - start);
            match source.below(if mapped { 3 } else { 2 }) {
                0 => model.add_partition(minor, under, start..end),
                1 => model.add_loop(minor, under, start..end),
                _ => model.add_mapped(minor, under, start..end),
            }
        }
        for _ in 0..source.below(3) {
            let on = vec![model.any(source)];
            model.machine.mounts.push(MountUse { on, at: "/mnt".into() });
        }
        if source.below(2) == 0 {
            let on = model.any(source);
            model.machine.swaps.push(SwapUse { on, name: "swap".into() });
        }
        model
    }

    fn any(&self, source: &mut Random) -> Storage {
        *self.bytes.keys().nth(source.below(self.bytes.len() as u64) as usize).unwrap()
    }

    fn add(&mut self, number: Number, device: BlockDevice, bytes: Vec<Byte>) {
        let device = BlockDevice { length_bytes: bytes.len() as u64, ..device };
        self.machine.devices.insert(number, device);
        self.bytes.insert(Storage::Block(number), bytes);
    }

    fn part(&self, of: Storage, range: &Range<u64>) -> Vec<Byte> {
        self.bytes[&of][range.start as usize..range.end as usize].to_vec()
    }

    fn add_partition(&mut self, minor: u32, of: Storage, range: Range<u64>) {
        let Storage::Block(drive) = of else { return };
        // Partitions have no partitions.
        if self.machine.devices[&drive].partition_of.is_some() {
            return;
        }
        let device = BlockDevice {
            name: format!("part{minor}"),
            partition_of: Some((drive, range.start)),
            ..Default::default()
        };
        let bytes = self.part(of, &range);
        self.add((10, minor), device, bytes);
    }

    fn add_loop(&mut self, minor: u32, of: Storage, range: Range<u64>) {
        let bytes = self.part(of, &range);
        let backing =
            Backing { storage: vec![of], file_system: (9, 9), range, file: None, name: "file".into() };
        let device =
            BlockDevice { name: format!("loop{minor}"), backing: Some(backing), ..Default::default() };
        self.add((7, minor), device, bytes);
    }

    fn add_mapped(&mut self, minor: u32, of: Storage, range: Range<u64>) {
        let Storage::Block(slave) = of else { return };
        let bytes = self.part(of, &range);
        // Volumes on one slave use different bytes.
        let holders = &self.machine.devices[&slave].holders;
        let shares = |holder: &Number| self.bytes[&Storage::Block(*holder)].iter().any(|b| bytes.contains(b));
        if holders.iter().filter_map(|(_, holder)| holder.as_ref()).any(shares) {
            return;
        }
        let name = format!("dm-{minor}");
        let holder = (name.clone(), Some((253, minor)));
        self.machine.devices.get_mut(&slave).unwrap().holders.push(holder);
        self.add((253, minor), BlockDevice { name, slaves: vec![slave], ..Default::default() }, bytes);
        self.mapped = true;
    }

    fn share(&self, a: Storage, b: Storage) -> bool {
        self.bytes[&a].iter().any(|byte| self.bytes[&b].contains(byte))
    }

    /// Returns a storage and everything below it.
    fn lower(&self, of: Storage) -> BTreeSet<Storage> {
        let mut lower = BTreeSet::from([of]);
        if let Storage::Block(number) = of {
            let device = &self.machine.devices[&number];
            let drive = device.partition_of.map(|(drive, _)| Storage::Block(drive));
            let backing = device.backing.iter().flat_map(|backing| backing.storage.iter().copied());
            let slaves = device.slaves.iter().map(|&slave| Storage::Block(slave));
            for under in drive.into_iter().chain(backing).chain(slaves) {
                lower.extend(self.lower(under));
            }
        }
        lower
    }

    /// Returns whether anything uses a byte of `target`.
    fn used(&self, target: Storage) -> bool {
        let lower = self.lower(target);
        let stands_on_it = |(&number, device): (&Number, &BlockDevice)| {
            let itself = Storage::Block(number);
            let of_target = device.partition_of.is_some_and(|(drive, _)| Storage::Block(drive) == target);
            let driver = device.backing.is_some() || !device.slaves.is_empty();
            !lower.contains(&itself) && (of_target || driver && self.share(itself, target))
        };
        self.machine.devices.iter().any(stands_on_it)
            || self.machine.mounts.iter().any(|mount| self.share(mount.on[0], target))
            || self.machine.swaps.iter().any(|swap| self.share(swap.on, target))
    }
}

#[test]
fn uses_finds_exactly_the_users_of_shared_bytes() {
    let mut source = Seed(15).derive("machines").source();
    let (mut used, mut free) = (0, 0);
    for round in 0..4000 {
        let model = Model::random(&mut source, round % 2 == 0);
        for &target in model.bytes.keys() {
            let found = uses(&model.machine, &[target]);
            let expected = model.used(target);
            assert!(!expected || !found.is_empty(), "missed on {target:?}: {:#?}", model.machine);
            // A mapped device may use any bytes of its slaves, so everything on the slave counts.
            if !model.mapped {
                assert!(expected || found.is_empty(), "{found:?} on {target:?}: {:#?}", model.machine);
            }
            *if expected { &mut used } else { &mut free } += 1;
        }
    }
    assert!(used > 5000 && free > 5000, "{used} {free}");
}

#[test]
fn targets_share_what_they_have_in_common() {
    let mut source = Seed(16).derive("machines").source();
    let (mut shared, mut apart) = (0, 0);
    for _ in 0..1000 {
        let model = Model::random(&mut source, false);
        for (&one, &other) in model.bytes.keys().flat_map(|one| model.bytes.keys().map(move |two| (one, two)))
        {
            let expected = model.share(one, other);
            let found = share_bytes(&model.machine, &[one], &[other]);
            assert_eq!(found, expected, "{one:?} and {other:?}: {:#?}", model.machine);
            *if expected { &mut shared } else { &mut apart } += 1;
        }
    }
    assert!(shared > 5000 && apart > 5000, "{shared} {apart}");
}

#[test]
fn volumes_on_one_slave_do_not_count_for_each_other() {
    let mut model = Model { machine: Machine::default(), bytes: BTreeMap::new(), mapped: false };
    model.add((8, 0), BlockDevice { name: "sda".into(), ..Default::default() }, {
        (0..24).map(|at| (Storage::Block((8, 0)), at)).collect()
    });
    model.add_partition(0, Storage::Block((8, 0)), 4..24);
    model.add_mapped(0, Storage::Block((10, 0)), 0..8);
    model.add_mapped(1, Storage::Block((10, 0)), 8..16);
    let root = Storage::Block((253, 0));
    assert!(!share_bytes(&model.machine, &[root], &[Storage::Block((253, 1))]));
    assert!(share_bytes(&model.machine, &[root], &[Storage::Block((8, 0))]));
    model.machine.mounts.push(MountUse { on: vec![root], at: "/".into() });
    assert_eq!(uses(&model.machine, &[Storage::Block((253, 1))]), []);
    let found = uses(&model.machine, &[Storage::Block((8, 0))]);
    assert!(found.contains(&Finding::Mounted { device: "dm-0".into(), at: "/".into() }), "{found:?}");
    assert!(found.contains(&Finding::Held { device: "part0".into(), by: "dm-1".into() }), "{found:?}");
}

#[test]
fn device_with_a_backing_file_is_in_use_without_a_mount() {
    let mut machine = Machine::default();
    let drive = BlockDevice { name: "sda".into(), length_bytes: 100, ..Default::default() };
    machine.devices.insert((8, 0), drive);
    let file = Storage::File(FileId { file_system: (8, 0), inode: 12 });
    let backing = Backing {
        storage: vec![file],
        file_system: (8, 0),
        range: 0..10,
        file: None,
        name: "/old/image".into(),
    };
    let device = BlockDevice { name: "loop0".into(), backing: Some(backing), ..Default::default() };
    machine.devices.insert((7, 0), device);
    let found = uses(&machine, &[Storage::Block((8, 0))]);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].to_string(),
        "sda holds a file system with the file /old/image, which loop0 presents as a drive"
    );
}

#[test]
fn partition_is_a_part_of_its_drive_and_of_the_file_below() {
    let file = Storage::File(FileId { file_system: (9, 9), inode: 0 });
    let mut model = Model { machine: Machine::default(), bytes: BTreeMap::new(), mapped: false };
    model.bytes.insert(file, (0..DRIVE_BYTES).map(|at| (file, at)).collect());
    model.add_loop(0, file, 4..24);
    for (minor, range) in [(0, 2..10), (1, 10..12)] {
        model.add_partition(minor, Storage::Block((7, 0)), range);
    }
    let whole = |on, path: &str, is_drive, partitions| Whole {
        storage: vec![on],
        path: path.into(),
        is_inside: true,
        is_drive,
        partitions,
    };
    let expected = [
        whole(Storage::Block((7, 0)), "/dev/loop0", true, vec![2..10, 10..12]),
        whole(file, "file", false, vec![6..14, 14..16]),
    ];
    assert_eq!(wholes_below(&model.machine, (10, 1)), expected);
    // A mapped device uses the file too, whoever has it open.
    model.add_mapped(0, Storage::Block((10, 1)), 0..2);
    let below = files_below(&model.machine, &[Storage::Block((253, 0))]);
    assert_eq!(below.iter().map(|backing| &backing.storage[..]).collect::<Vec<_>>(), [[file]]);
}
