//! A damaged unit whose erase fails is retired: discarding again does not bring it back into use, where a block in it
//! would be lost at the next opening.

use flashlane_base::{Instant, Seed};
use flashlane_block::{BlockOptions, Blocks, Layout, Outcome, UnitAddress};
use flashlane_block_trial::payload_of;
use flashlane_device::{
    Buffer, Completion, DataDevice, Device, DeviceInfo, Failure, Lane, Operation, Request, RequestId,
    SubmitError, Unit,
};
use flashlane_device_testing::MemoryLanes;

const UNIT_BYTES: u64 = 4096;

/// Lanes in memory on which the first erase of one unit fails, without the unit going bad.
struct FailsOnce {
    device: MemoryLanes,
    fails: Option<UnitAddress>,
    failed: Vec<Completion>,
}

impl Device for FailsOnce {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn now(&self) -> Instant {
        self.device.now()
    }
    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        let unit = (request.offset_bytes / UNIT_BYTES) as u32;
        let address = UnitAddress { lane: request.lane.0, unit };
        if request.operation != Operation::Erase || self.fails.take_if(|fails| *fails == address).is_none() {
            return self.device.submit(request);
        }
        let (now, outcome) = (self.now(), Err(Failure::Os(5)));
        self.failed.push(Completion { id: request.id, submitted: now, completed: now, outcome });
        Ok(())
    }
    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if self.failed.is_empty() {
            self.device.reap(until, out);
        }
        out.append(&mut self.failed);
    }
    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.device.unit(lane, index)
    }
}

impl DataDevice for FailsOnce {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.device.submit_with(request, buffer)
    }
    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.device.take_buffer(id)
    }
}

fn put<D: DataDevice>(blocks: &mut Blocks<D>) -> u64 {
    let id = blocks.next_id();
    let payload = payload_of(blocks, &[id as u8; 900]);
    let ticket = blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
    let outcome = blocks.wait(ticket).map(|finished| finished.outcome);
    assert!(matches!(outcome, Some(Outcome::Put(Ok(()), _))), "{outcome:?}");
    id
}

#[test]
fn unit_that_failed_to_be_discarded_stays_out_of_use() {
    let device = MemoryLanes::new(2, 8, UNIT_BYTES, 512, Seed(1));
    let mut blocks = Blocks::format(device, 1, BlockOptions::default()).expect("a sound device");
    let first = put(&mut blocks);
    let address = blocks.info(first).expect("it was put").address;
    let mut device = blocks.into_device();
    let layout = Layout::new(device.info()).expect("it was formatted");
    for end in [0, layout.footer_offset()] {
        device.lane_mut(address.device_lane())[(u64::from(address.unit) * UNIT_BYTES + end) as usize] ^= 1;
    }
    let device = FailsOnce { device, fails: Some(address), failed: Vec::new() };
    let mut blocks = Blocks::open(device, BlockOptions::default()).expect("the superblock is sound");
    for _ in 0..3 {
        assert_eq!(blocks.discard_damaged(), Ok(0));
    }
    assert_eq!(blocks.damaged().collect::<Vec<_>>(), [address], "its erase failed");
    // Rounds enough for every unit in use to take a block.
    for round in 0..4 {
        let mut stored = Vec::new();
        while blocks.status().blocks_free > 0 {
            stored.push(put(&mut blocks));
        }
        blocks.settle();
        let reopened = Blocks::open(blocks.into_device(), BlockOptions::default());
        blocks = reopened.expect("the superblock is sound");
        assert_eq!(blocks.list().map(|info| info.id).collect::<Vec<_>>(), stored, "round {round}");
        for id in stored {
            blocks.delete(id).expect("it is stored");
        }
        blocks.settle();
    }
}
