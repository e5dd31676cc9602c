//! Blocks stay evenly spread over the lanes while random ones are replaced.

use flashlane_base::Seed;
use flashlane_block::{BlockOptions, Blocks};
use flashlane_device_testing::MemoryLanes;

#[test]
fn replaced_blocks_stay_spread_over_lanes() {
    let device = MemoryLanes::new(8, 64, 4096, 512, Seed(1));
    let mut blocks = Blocks::format(device, 1, BlockOptions::default()).expect("a fresh device is formatted");
    let mut random = Seed(2).source();
    let mut ids = Vec::new();
    let put = |blocks: &mut Blocks<MemoryLanes>| {
        let (id, payload) = (blocks.next_id(), blocks.payload());
        let ticket = blocks.put(id, payload).map_err(|(error, _)| error).expect("there is room");
        blocks.wait(ticket).expect("a put completes");
        id
    };
    (0..80).for_each(|_| ids.push(put(&mut blocks)));
    for _ in 0..400 {
        let nth = random.below(ids.len() as u64) as usize;
        let ticket = blocks.delete(ids[nth]).expect("the block is stored");
        blocks.wait(ticket).expect("a delete completes");
        ids[nth] = put(&mut blocks);
    }
    let lanes: Vec<u64> = blocks.status().lanes.iter().map(|lane| lane.blocks).collect();
    let (fewest, most) = (lanes.iter().min().expect("a lane"), lanes.iter().max().expect("a lane"));
    // A random delete may leave a lane one short for some puts, since each goes where there are fewest.
    assert!(most - fewest <= 2, "80 blocks on eight lanes: {lanes:?}");
}

#[test]
fn blocks_that_expire_do_not_count_for_the_spread() {
    let device = MemoryLanes::new(4, 64, 4096, 512, Seed(1));
    let mut blocks = Blocks::format(device, 1, BlockOptions::default()).expect("a fresh device is formatted");
    let put = |blocks: &mut Blocks<MemoryLanes>| {
        let (id, payload) = (blocks.next_id(), blocks.payload());
        let ticket = blocks.put(id, payload).map_err(|(error, _)| error).expect("there is room");
        blocks.wait(ticket).expect("a put completes");
        id
    };
    for _ in 0..40 {
        put(&mut blocks);
    }
    // As in a merge: the blocks of two lanes are replaced, and deleted only when the new ones are stored.
    let of_lanes = blocks.list().filter(|info| info.address.lane < 2).map(|info| info.id);
    let inputs: Vec<u64> = of_lanes.collect();
    inputs.iter().for_each(|&id| blocks.set_expiring(id, true));
    for _ in &inputs {
        put(&mut blocks);
    }
    for id in inputs {
        let ticket = blocks.delete(id).expect("the block is stored");
        blocks.wait(ticket).expect("a delete completes");
    }
    let lanes: Vec<u64> = blocks.status().lanes.iter().map(|lane| lane.blocks).collect();
    assert_eq!(lanes, [10, 10, 10, 10]);
}
