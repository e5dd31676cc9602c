//! More units that fail without the device saying so than a superblock has room to name: what is forgotten is torn,
//! found out again before a block is written to it, and nothing else is lost.

use flashlane_base::{Instant, Seed};
use flashlane_block::{BlockOptions, Blocks, Outcome};
use flashlane_block_trial::payload_of;
use flashlane_device::{
    Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Lane, Operation, Request, RequestId,
    SubmitError, Unit, UnitState,
};
use flashlane_device_testing::MemoryLanes;
use std::collections::{BTreeMap, BTreeSet};

const UNITS: u64 = 40;
const UNIT_BYTES: u64 = 4096;
/// Units that fail, in all and as far as a header of 512 bytes can name them: (512 − 96) / 8.
const WORN: u64 = 100;
const NAMED: u64 = 52;

/// Four lanes, on which some units fail whenever they are written or erased, and are torn then.
struct Worn {
    device: MemoryLanes,
    torn: BTreeSet<(Lane, u64)>,
    failed: Vec<Completion>,
    returned: BTreeMap<RequestId, Buffer>,
}

impl Worn {
    fn fails(&mut self, request: &Request) -> bool {
        let index = request.offset_bytes / UNIT_BYTES;
        let fails = request.operation != Operation::Read
            // Of each lane's units the same ones.
            && index * 4 + u64::from(request.lane.0) >= 4 * UNITS - WORN;
        if fails {
            self.torn.insert((request.lane, index));
            let (now, outcome) = (self.now(), Err(Failure::Os(5)));
            self.failed.push(Completion { id: request.id, submitted: now, completed: now, outcome });
        }
        fails
    }
}

impl Device for Worn {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn now(&self) -> Instant {
        self.device.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        if self.fails(&request) { Ok(()) } else { self.device.submit(request) }
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.failed.is_empty() {
            self.device.reap(until, out);
        }
        out.append(&mut self.failed);
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        let unit = self.device.unit(lane, index)?;
        let is_torn = self.torn.contains(&(lane, index));
        Some(if is_torn { Unit { state: UnitState::Torn, ..unit } } else { unit })
    }
}

impl DataDevice for Worn {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        if self.fails(&request) {
            self.returned.insert(request.id, buffer);
            return Ok(());
        }
        self.device.submit_with(request, buffer)
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.returned.remove(&id).or_else(|| self.device.take_buffer(id))
    }
}

fn bad(blocks: &Blocks<Worn>) -> u64 {
    blocks.status().lanes.iter().map(|lane| lane.bad).sum()
}

/// Whether it was stored.
fn put(blocks: &mut Blocks<Worn>) -> Option<u64> {
    let id = blocks.next_id();
    let payload = payload_of(blocks, &[id as u8; 900]);
    let ticket = blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
    let done = blocks.wait(ticket).expect("it was taken").outcome;
    matches!(done, Outcome::Put(Ok(()), _)).then_some(id)
}

fn delete(blocks: &mut Blocks<Worn>, id: u64) {
    let ticket = blocks.delete(id).unwrap_or_else(|error| panic!("{error}"));
    let done = blocks.wait(ticket).expect("it was taken").outcome;
    assert!(matches!(done, Outcome::Delete(Ok(()))), "{done:?}");
}

#[test]
fn retired_units_without_room_in_a_superblock_fail_again() {
    let device = MemoryLanes::new(4, UNITS, UNIT_BYTES, 512, Seed(1));
    let device = Worn { device, torn: BTreeSet::new(), failed: Vec::new(), returned: BTreeMap::new() };
    let mut blocks =
        Blocks::format(device, 1, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    // The least worn unit is taken first: each failing one has its turn.
    let mut stored = BTreeSet::new();
    for puts in 0.. {
        if bad(&blocks) >= WORN {
            break;
        }
        assert!(puts < 100_000, "{} units failed", bad(&blocks));
        stored.extend(put(&mut blocks));
        if stored.len() >= 20 {
            delete(&mut blocks, stored.pop_first().expect("there are some"));
        }
    }
    blocks.settle();
    for round in 0..3 {
        let there: Vec<u64> = blocks.list().map(|info| info.id).collect();
        let mut reopened = Blocks::open(blocks.into_device(), BlockOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(bad(&reopened), NAMED, "round {round}");
        let status = reopened.status();
        let of_lanes = status.lanes.iter().map(|lane| lane.blocks + lane.erased + lane.to_erase + lane.bad);
        let units = of_lanes.sum::<u64>() + status.superblock_copies as u64;
        assert_eq!(units, 4 * UNITS, "each unit is counted once");
        assert_eq!(reopened.list().map(|info| info.id).collect::<Vec<_>>(), there);
        for id in &there {
            let ticket = reopened.get(*id, 0, 900).unwrap_or_else(|error| panic!("{error}"));
            match reopened.wait(ticket).expect("it was taken").outcome {
                Outcome::Get(Ok(data)) => assert_eq!(data.as_slice(), [*id as u8; 900]),
                other => panic!("{other:?}"),
            }
        }
        // The others are torn: they are erased before anything is written, fail, and no block is tried on them.
        let id = put(&mut reopened).expect("a unit that works");
        assert_eq!((bad(&reopened), reopened.status().counts.rewrites), (WORN, 0), "round {round}");
        delete(&mut reopened, id);
        reopened.settle();
        blocks = reopened;
    }
}
