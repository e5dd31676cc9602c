//! Units that are damaged at both ends, and headers with numbers near their end: from where on ids are given out then.

use flashlane_base::Seed;
use flashlane_block::{
    BlockOptions, Blocks, CHOSEN_ID_MAX, Content, DeleteError, Header, ID_MAX, Outcome, PutError,
};
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

/// The same device with another header and footer of the block `id`, whose checksums are right.
fn rewritten(blocks: Blocks<MemoryLanes>, id: u64, change: impl Fn(&mut Header)) -> Blocks<MemoryLanes> {
    let (place, layout) = (blocks.info(id).expect("it was put").address, blocks.status().layout);
    let mut device = blocks.into_device();
    let unit = &mut device.lane_mut(Lane(place.lane))[place.unit as usize * UNIT_BYTES..][..UNIT_BYTES];
    for at in [0, UNIT_BYTES - layout.header_bytes as usize] {
        let mut header = Header::decode(&unit[at..], &layout).expect("it was written");
        change(&mut header);
        header.encode(&mut unit[at..at + layout.header_bytes as usize]);
    }
    Blocks::open(device, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The same device with `given` as the id of the block `id`, as an earlier version would have stored it.
fn with_id(blocks: Blocks<MemoryLanes>, id: u64, given: u64) -> Blocks<MemoryLanes> {
    rewritten(blocks, id, |header| match &mut header.content {
        Content::Block { id, .. } => *id = given,
        Content::Superblock(_) => panic!("it holds a block"),
    })
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
    put(&mut blocks, 1).unwrap();
    let blocks = with_id(blocks, 1, known);
    // The id of the damaged block is unknown, so none above is given out.
    let mut blocks = damaged(&blocks, 0);
    let fresh = blocks.next_id();
    assert!(fresh > ID_MAX, "{fresh}");
    let refused = put(&mut blocks, fresh).unwrap_err();
    assert_eq!(refused, PutError::IdsUsedUp);
    assert!(refused.to_string().contains("Choose a lower one that is free"), "{refused}");
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
fn chosen_id_near_the_end_is_refused_and_leaves_fresh_ids() {
    let mut blocks = formatted(1);
    for id in [CHOSEN_ID_MAX + 1, ID_MAX, u64::MAX] {
        assert_eq!(put(&mut blocks, id), Err(PutError::IdTooHigh { id, max: CHOSEN_ID_MAX }));
    }
    put(&mut blocks, CHOSEN_ID_MAX).unwrap();
    let fresh = blocks.next_id();
    put(&mut blocks, fresh).unwrap();
    let blocks = Blocks::open(blocks.into_device(), BlockOptions::default());
    let mut blocks = blocks.unwrap_or_else(|error| panic!("{error}"));
    let ids: Vec<u64> = blocks.list().map(|info| info.id).collect();
    assert_eq!((ids, blocks.next_id()), (vec![CHOSEN_ID_MAX, fresh], fresh + 1));
}

#[test]
fn sequence_number_that_no_write_reaches_makes_a_unit_damaged() {
    for sequence in [1 << 63, u64::MAX - (1 << 32), u64::MAX - 1, u64::MAX] {
        let mut blocks = formatted(1);
        put(&mut blocks, 0).unwrap();
        put(&mut blocks, 1).unwrap();
        let place = blocks.info(1).expect("it was put").address;
        let mut blocks = rewritten(blocks, 1, |header| header.sequence = sequence);
        assert_eq!(blocks.damaged().collect::<Vec<_>>(), [place], "sequence {sequence}");
        let id = blocks.next_id();
        put(&mut blocks, id).unwrap();
        assert_eq!(blocks.list().map(|info| info.id).collect::<Vec<_>>(), [0, id]);
    }
}

#[test]
fn highest_sequence_number_leaves_blocks_that_are_read() {
    let mut blocks = formatted(1);
    put(&mut blocks, 0).unwrap();
    let mut blocks = rewritten(blocks, 0, |header| header.sequence = (1 << 63) - 1);
    assert_eq!(put(&mut blocks, 1), Err(PutError::SequencesUsedUp));
    assert_eq!(blocks.delete(0), Err(DeleteError::SequencesUsedUp));
    assert_eq!(blocks.discard_damaged(), Err(DeleteError::SequencesUsedUp));
    assert_eq!(blocks.list().map(|info| info.id).collect::<Vec<_>>(), [0]);
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
