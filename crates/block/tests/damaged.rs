//! Units that are damaged at both ends: from where on ids are given out then.

use flashlane_base::Seed;
use flashlane_block::{BlockOptions, Blocks, DeleteError, ID_MAX, Outcome, PutError};
use flashlane_block_trial::payload_of;
use flashlane_device::{DataDevice, Device, Lane};
use flashlane_device_testing::MemoryLanes;
use flashlane_layer::faulty::{Faults, Faulty};

const UNIT_BYTES: usize = 4096;

fn put<D: DataDevice>(blocks: &mut Blocks<D>, id: u64) -> Result<(), PutError> {
    let payload = payload_of(blocks, &[1; 100]);
    let ticket = blocks.put(id, payload).map_err(|(error, _)| error)?;
    let done = blocks.wait(ticket).expect("it was taken").outcome;
    assert!(matches!(done, Outcome::Put(Ok(()), _)), "{done:?}");
    Ok(())
}

/// The same device after a power cut, with which the unit of the block `id` has lost its header and footer.
fn damaged(blocks: &Blocks<MemoryLanes>, id: u64) -> Blocks<MemoryLanes> {
    let place = blocks.info(id).expect("it was put").address;
    let mut device = blocks.device().clone();
    device.cut_power();
    device.reap(device.now(), &mut Vec::new());
    device.lane_mut(Lane(place.lane))[place.unit as usize * UNIT_BYTES..][..UNIT_BYTES].fill(9);
    let blocks = Blocks::open(device, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(blocks.damaged().any(|damaged| damaged == place));
    blocks
}

fn formatted(seed: u64) -> Blocks<MemoryLanes> {
    let device = MemoryLanes::new(4, 8, UNIT_BYTES as u64, 512, Seed(seed));
    Blocks::format(device, 1, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn id_gap_is_durable_before_a_block_has_an_id_above_it() {
    for seed in 0..16 {
        let mut blocks = formatted(seed);
        put(&mut blocks, 6).unwrap();
        let mut blocks = damaged(&blocks, 6);
        let first = blocks.next_id();
        assert!(first >= 1 << 32, "{first}");
        put(&mut blocks, first).unwrap();
        // Nothing but a superblock records the second id.
        let second = damaged(&blocks, first).next_id();
        assert!(second > first, "{second} comes after {first}");
    }
}

#[test]
fn no_fresh_ids_are_left_where_the_gap_passes_the_highest() {
    let mut blocks = formatted(1);
    let known = ID_MAX - (1 << 32) + 1;
    put(&mut blocks, 0).unwrap();
    put(&mut blocks, known).unwrap();
    // The id of the damaged block is unknown, so none above is given out.
    let mut blocks = damaged(&blocks, 0);
    let fresh = blocks.next_id();
    assert!(fresh > ID_MAX, "{fresh}");
    let refused = put(&mut blocks, fresh).unwrap_err();
    assert_eq!(refused, PutError::IdTooHigh { id: u64::MAX, max: ID_MAX });
    assert!(refused.to_string().contains("a lower one that is free can still be chosen"), "{refused}");
    // Everything else works: stored blocks are stored, ids can be chosen, and units discarded.
    put(&mut blocks, 5).unwrap();
    put(&mut blocks, ID_MAX).unwrap();
    assert_eq!(blocks.discard_damaged(), Ok(1));
    let device = blocks.into_device();
    let mut blocks = Blocks::open(device, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(blocks.list().map(|info| info.id).collect::<Vec<_>>(), [5, known, ID_MAX]);
    assert!(blocks.next_id() > ID_MAX, "that they are used up outlives the damage");
}

#[test]
fn device_lost_while_discarding_is_reported_as_lost() {
    let mut blocks = formatted(1);
    put(&mut blocks, 6).unwrap();
    let device = damaged(&blocks, 6).into_device();
    let (mut puts, mut discards) = (0, 0);
    for requests in 0..100 {
        let vanishing = || {
            let faulty =
                Faulty::over_data(device.clone(), Faults::default().vanishing_after(requests), Seed(1));
            Blocks::open(faulty, BlockOptions::default()).ok()
        };
        if let Some(mut blocks) = vanishing() {
            let id = blocks.next_id();
            match blocks.put(id, payload_of(&blocks, &[1])) {
                Err((error, _)) => assert_eq!(error, PutError::DeviceLost, "after {requests} requests"),
                Ok(_) => puts += 1,
            }
        }
        if let Some(mut blocks) = vanishing() {
            match blocks.discard_damaged() {
                Err(error) => assert_eq!(error, DeleteError::DeviceLost, "after {requests} requests"),
                Ok(_) => discards += 1,
            }
        }
    }
    assert!((1..100).contains(&puts) && (1..100).contains(&discards), "{puts} puts, {discards} discards");
}
