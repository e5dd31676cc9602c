//! A copy of the superblock whose units failed waits for another unit, and takes one that blocks must leave to it.

use flashlane_base::{Instant, Seed};
use flashlane_block::{BlockOptions, Blocks, Outcome};
use flashlane_block_trial::payload_of;
use flashlane_device::{
    Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Lane, Operation, Request, RequestId,
    SubmitError, Unit, UnitState,
};
use flashlane_device_testing::MemoryLanes;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

const UNIT_BYTES: u64 = 4096;
const UNITS: u64 = 6;

/// A lane in memory on which writes of some units fail, and the unit is bad then, and the write of one unit takes
/// longer than everything else.
struct Scripted {
    device: MemoryLanes,
    fails: Vec<u64>,
    bad: Vec<u64>,
    slow: Option<u64>,
    held: Option<(Request, Buffer)>,
    failed: Vec<Completion>,
    returned: BTreeMap<RequestId, Buffer>,
}

impl Scripted {
    fn sound(device: MemoryLanes) -> Self {
        let (failed, returned) = (Vec::new(), BTreeMap::new());
        Self { device, fails: Vec::new(), bad: Vec::new(), slow: None, held: None, failed, returned }
    }
}

impl Device for Scripted {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn now(&self) -> Instant {
        self.device.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.device.submit(request)
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.failed.is_empty() {
            self.device.reap(until, out);
            if out.is_empty()
                && let Some((request, buffer)) = self.held.take()
            {
                self.device.submit_with(request, buffer).expect("the device is idle");
                self.device.reap(until, out);
            }
        }
        out.append(&mut self.failed);
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        let unit = self.device.unit(lane, index)?;
        Some(if self.bad.contains(&index) { Unit { state: UnitState::Bad, ..unit } } else { unit })
    }
}

impl DataDevice for Scripted {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let index = request.offset_bytes / UNIT_BYTES;
        if request.operation == Operation::Write && self.fails.contains(&index) {
            self.bad.push(index);
            let (now, outcome) = (self.now(), Err(Failure::BadUnit));
            self.failed.push(Completion { id: request.id, submitted: now, completed: now, outcome });
            self.returned.insert(request.id, buffer);
            return Ok(());
        }
        if request.operation == Operation::Write && self.slow.take_if(|slow| *slow == index).is_some() {
            self.held = Some((request, buffer));
            return Ok(());
        }
        self.device.submit_with(request, buffer)
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.returned.remove(&id).or_else(|| self.device.take_buffer(id))
    }
}

#[test]
fn unplaced_superblock_copy_takes_a_unit_kept_for_it() {
    let options =
        BlockOptions { writes_per_lane: NonZeroU32::MIN.saturating_add(1), ..BlockOptions::default() };
    let device = Scripted::sound(MemoryLanes::new(1, UNITS, UNIT_BYTES, 512, Seed(1)));
    let mut blocks = Blocks::format(device, 1, options).expect("a sound device");
    while blocks.free_blocks() > 0 {
        let id = blocks.next_id();
        let payload = payload_of(&blocks, &[7; 900]);
        let ticket = blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
        blocks.wait(ticket);
    }
    assert_eq!(blocks.superblock_units().map(|at| at.unit).collect::<Vec<_>>(), [0, 5]);
    assert_eq!(blocks.list().map(|block| block.address.unit).collect::<Vec<_>>(), [1, 2]);
    // A copy of the superblock is lost. Of the two that replace both, the first fails on units 3 and 5, and the second
    // is slow.
    let mut device = blocks.into_device();
    device.device.submit(Request::erase(0, 5 * UNIT_BYTES, UNIT_BYTES)).expect("it is written");
    device.device.reap(Instant::FAR, &mut Vec::new());
    (device.fails, device.slow) = (vec![3, 5], Some(4));
    let mut blocks = Blocks::open(device, options).expect("a copy is left");
    let id = blocks.next_id();
    let payload = payload_of(&blocks, &[7; 900]);
    assert!(blocks.put(id, payload).is_err(), "only units for superblocks are left");
    let get = blocks.get(0, 0, 900).expect("it is stored");
    blocks.wait(get).expect("it completes");
    while blocks.device().bad.len() < 2 {
        blocks.step(blocks.now());
    }
    blocks.step(blocks.now());
    // Unit 1 becomes free while the first copy has no unit and the second is being written.
    let delete = blocks.delete(0).expect("it is stored");
    let deleted = blocks.wait(delete).map(|finished| finished.outcome);
    assert!(matches!(deleted, Some(Outcome::Delete(Ok(())))), "{deleted:?}");
    assert!(blocks.device().held.is_some(), "the second copy is still being written");
    blocks.settle();
    assert_eq!(blocks.superblock_units().map(|at| at.unit).collect::<Vec<_>>(), [1, 4]);
    let reopened = Blocks::open(blocks.into_device(), BlockOptions::default()).expect("it was written");
    assert_eq!(reopened.status().superblock_copies, 2);
}
