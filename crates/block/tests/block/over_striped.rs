//! Trials of blocks over striped lanes, whose units are torn where their parts differ, and over lanes of a disk that
//! other programs may write to.

use flashlane_base::{Duration, Instant, Seed};
use flashlane_block::{BlockOptions, Blocks, Outcome};
use flashlane_block_trial::{Health, Tally, payload_of, run_trial};
use flashlane_device::{Buffer, DataDevice, Device, Lane, Request, UnitState};
use flashlane_device_testing::{MemoryDisk, MemoryFaults, MemoryLanes};
use flashlane_layer::lanes::{Lanes, Shape};
use flashlane_layer::striped::Settings;
use flashlane_layer::{Bytes, Striped};

fn striped(memory: MemoryLanes) -> Striped<Bytes<MemoryLanes>> {
    let settings = Settings { lanes: 2, stripe_bytes: 1024 };
    Striped::new(Bytes(memory), settings).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn blocks_on_striped_lanes_survive_power_cuts() {
    let mut tally = Tally::default();
    for seed in 0..40 {
        let memory = MemoryLanes::new(4, 8, 4096, 512, Seed(seed));
        tally += run_trial(striped(memory), &|device| device, Health::Sound, Seed(seed), 200);
    }
    assert!(tally.damaged > 10 && tally.cuts > 5_000 && tally.puts > 1_000, "{tally:?}");
}

#[test]
fn blocks_on_striped_lanes_that_fail_are_kept() {
    let faults = MemoryFaults { unit_fails: 0.02, read_fails: 0.05, ..MemoryFaults::default() };
    let sound = |device: Striped<Bytes<MemoryLanes>>| {
        device.map(|Bytes(memory)| Bytes(memory.with_faults(MemoryFaults::default())))
    };
    let mut tally = Tally::default();
    for seed in 0..40 {
        let memory = MemoryLanes::new(8, 8, 4096, 512, Seed(seed)).with_faults(faults);
        tally += run_trial(striped(memory), &sound, Health::Failing, Seed(seed), 200);
    }
    assert!(tally.failures > 20 && tally.cuts > 5_000, "{tally:?}");
}

/// Lanes on a disk that other programs may write to, with units for the blocks of trials. The disk writes the head of a
/// unit at once: one of which a power cut leaves only later sectors is taken for other data.
fn lanes_on_disk(lanes: u32, unit_bytes: u64, seed: u64) -> Lanes<MemoryDisk> {
    let disk = MemoryDisk::new(320 << 10, SECTOR, Seed(seed)).shared_with_others().with_atomic_sectors();
    let shape = Shape { lanes, unit_bytes, read_unit_bytes: SECTOR, write_unit_bytes: unit_bytes };
    let format = if lanes == LANES { Lanes::format_checked_parts } else { Lanes::format_checked };
    format(disk, shape, Seed(seed)).unwrap_or_else(|error| panic!("{error}"))
}

/// Striped lanes of a disk that other programs may write to, and the bytes of a part of their units.
const LANES: u32 = 4;
const PART: u64 = 8192;
const SECTOR: u64 = 4096;

fn striped_on_disk(lanes: Lanes<MemoryDisk>) -> Striped<Bytes<Lanes<MemoryDisk>>> {
    let settings = Settings { lanes: 2, stripe_bytes: SECTOR };
    Striped::new(Bytes(lanes), settings).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn blocks_on_lanes_of_a_disk_survive_power_cuts() {
    let mut tally = Tally::default();
    for seed in 0..20 {
        tally +=
            run_trial(lanes_on_disk(2, 2 * PART, seed), &|device| device, Health::Sound, Seed(seed), 150);
    }
    assert!(tally.cuts > 2_000 && tally.puts > 400, "{tally:?}");
}

/// What a cut left of the parts of a unit is not taken for other data, nor for a block.
#[test]
fn blocks_on_striped_lanes_of_a_disk_survive_power_cuts() {
    let mut tally = Tally::default();
    for seed in 0..20 {
        let striped = striped_on_disk(lanes_on_disk(LANES, PART, seed));
        tally += run_trial(striped, &|device| device, Health::Sound, Seed(seed), 150);
    }
    assert!(tally.cuts > 2_000 && tally.puts > 400, "{tally:?}");
}

fn ended<D: DataDevice>(device: &mut D) {
    let mut out = Vec::new();
    while out.is_empty() {
        device.reap(Instant::FAR, &mut out);
    }
    assert!(out.iter().all(|completion| completion.outcome.is_ok()), "{out:?}");
}

/// Puts blocks until there is no room, deletes them, and does so again.
fn use_all_units<D: DataDevice>(blocks: &mut Blocks<D>) {
    for _ in 0..3 {
        let mut ids = Vec::new();
        loop {
            let (id, payload) = (blocks.next_id(), payload_of(blocks, &[7; 3000]));
            let Ok(ticket) = blocks.put(id, payload) else { break };
            match blocks.wait(ticket).expect("it was taken").outcome {
                Outcome::Put(Ok(()), _) => ids.push(id),
                Outcome::Put(Err(_), _) => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(ids.len() > 5, "{} blocks are put", ids.len());
        for id in ids {
            let ticket = blocks.delete(id).expect("it is stored");
            assert!(matches!(blocks.wait(ticket).expect("it was taken").outcome, Outcome::Delete(Ok(()))));
        }
    }
}

/// Of a unit only one part was written, as where power was cut. It is erased before the next put, and the other data
/// that came into either part meanwhile is kept, over any number of openings, until it is given up.
#[test]
fn torn_unit_keeps_other_data_in_a_part() {
    let open = |disk| {
        let lanes = Lanes::open_checked_parts(disk).unwrap_or_else(|error| panic!("{error}"));
        let blocks = Blocks::open(striped_on_disk(lanes), BlockOptions::default());
        blocks.unwrap_or_else(|error| panic!("{error}"))
    };
    let into_disk = |mut blocks: Blocks<Striped<Bytes<Lanes<MemoryDisk>>>>| {
        blocks.settle();
        let mut lanes = blocks.into_device().into_inner().0;
        // Records are written in the background.
        let soon = lanes.now() + Duration::from_s(1);
        lanes.reap(soon, &mut Vec::new());
        lanes.into_inner()
    };
    let lanes = lanes_on_disk(LANES, PART, 5);
    let blocks = Blocks::format(striped_on_disk(lanes), 1, BlockOptions::default());
    let mut formatted = blocks.unwrap_or_else(|error| panic!("{error}"));
    // So that units hold remains of blocks.
    use_all_units(&mut formatted);
    let formatted = into_disk(formatted);
    for (part, from, length) in [0, 1]
        .into_iter()
        .flat_map(|part| [(part, 0, 40), (part, 600, 40), (part, PART - 1, 1), (part, 0, 4096)])
    {
        let mut lanes =
            Lanes::open_checked_parts(formatted.clone()).unwrap_or_else(|error| panic!("{error}"));
        let unit = (0..10).find(|&unit| lanes.unit(Lane(0), unit).unwrap().state == UnitState::ERASED);
        let unit = unit.expect("a unit is erased");
        let places = [0, 1].map(|lane| lanes.unit_range(Lane(lane), unit));
        let write = Request::write(1, unit * PART, PART).on(Lane(0));
        lanes.submit_with(write, Buffer::from_slice(&[9; PART as usize])).expect("it is erased");
        ended(&mut lanes);
        let soon = lanes.now() + Duration::from_s(1);
        lanes.reap(soon, &mut Vec::new());
        let mut disk = lanes.into_inner();
        let at = (places[part].start + from) as usize;
        disk.bytes_mut()[at..at + length].fill(b'~');
        let case = format!("{length} bytes at {from} of part {part}");
        for _ in 0..3 {
            let mut blocks = open(disk);
            use_all_units(&mut blocks);
            assert_eq!(blocks.damaged().count(), 1, "{case}");
            disk = into_disk(blocks);
            assert_eq!(disk.bytes_mut()[at..at + length], vec![b'~'; length], "{case}");
        }
        let mut blocks = open(disk);
        assert_eq!((blocks.damaged().count(), blocks.discard_damaged().ok()), (1, Some(1)), "{case}");
        use_all_units(&mut blocks);
        assert_eq!(blocks.damaged().count(), 0, "{case}");
        let mut disk = into_disk(blocks);
        assert_ne!(disk.bytes_mut()[at..at + length], vec![b'~'; length], "{case} is given up");
    }
}
