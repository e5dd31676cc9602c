//! Writes for which no space is left below: a sparse file on a full file system. No unit is at fault, so none is taken
//! out of use, and all goes on once there is space again.

use flashlane_base::Seed;
use flashlane_block::{BlockOptions, BlockStore, Blocks, FormatError, Outcome, PutFailure};
use flashlane_block_trial::payload_of;
use flashlane_device::{Device, Lane, UnitState};
use flashlane_device_testing::{MemoryFaults, MemoryLanes};

const FULL: MemoryFaults = MemoryFaults { no_space: 1.0, unit_fails: 0.0, read_fails: 0.0, flush_fails: 0.0 };

fn lanes() -> MemoryLanes {
    MemoryLanes::new(4, 12, 4096, 512, Seed(1))
}

fn put(blocks: &mut Blocks<MemoryLanes>, byte: u8) -> (u64, Result<(), PutFailure>) {
    let id = blocks.next_id();
    let payload = payload_of(blocks, &[byte; 2000]);
    let ticket = blocks.put(id, payload).map_err(|(error, _)| error).expect("there is room");
    match blocks.wait(ticket).map(|finished| finished.outcome) {
        Some(Outcome::Put(result, _)) => (id, result),
        other => panic!("a put ends as one, not as {other:?}"),
    }
}

#[test]
fn failed_puts_take_no_unit_out_of_use() {
    let mut blocks = Blocks::format(lanes(), 1, BlockOptions::default()).expect("the lanes suit");
    let (kept, result) = put(&mut blocks, 7);
    assert_eq!(result, Ok(()));
    let mut blocks =
        Blocks::open(blocks.into_device().with_faults(FULL), BlockOptions::default()).expect("it is there");
    let free = blocks.free_blocks();
    for nth in 0..100 {
        let (_, result) = put(&mut blocks, nth);
        let is_torn = |(lane, unit)| blocks.device().unit(Lane(lane), unit).map(|unit| unit.state);
        let units = (0..4).flat_map(|lane| (0..12).map(move |unit| (lane, unit)));
        assert!(
            !units.map(is_torn).any(|state| state == Some(UnitState::Torn)),
            "a failed put leaves no torn unit"
        );
        let failure = result.expect_err("no space is left");
        assert!(failure.is_out_of_space(), "{failure}");
        let verdict = failure.verdict();
        assert!(verdict.contains("os error 28") && verdict.contains("make room"), "{verdict}");
    }
    assert_eq!(blocks.free_blocks(), free);
    let device = blocks.into_device().with_faults(MemoryFaults::default());
    let mut blocks = Blocks::open(device, BlockOptions::default()).expect("it is there");
    assert_eq!(put(&mut blocks, 8).1, Ok(()));
    let ticket = blocks.get(kept, 0, 2000).expect("it is stored");
    let Some(Outcome::Get(Ok(bytes))) = blocks.wait(ticket).map(|finished| finished.outcome) else {
        panic!("block {kept} is lost")
    };
    assert_eq!(bytes.as_slice(), [7; 2000]);
}

#[test]
fn format_without_space_fails_and_names_it() {
    let error = Blocks::format(lanes().with_faults(FULL), 1, BlockOptions::default()).err();
    let Some(FormatError::Failed(failure)) = error else { panic!("it ended as {error:?}") };
    assert!(failure.is_out_of_space(), "{failure}");
}

/// A file system gives no space to units that were never written, and erased ones keep theirs.
#[test]
fn units_that_have_space_are_written_where_others_find_none() {
    for seed in 0..10 {
        let device = MemoryLanes::new(4, 32, 8192, 512, Seed(seed)).with_space_for(40);
        let mut store = BlockStore::format(device, 7).unwrap();
        let mut ids = Vec::new();
        while let Ok(id) = store.put(&[ids.len() as u8; 500]) {
            ids.push(id);
        }
        assert!((30..40).contains(&ids.len()), "{} blocks", ids.len());
        for _ in 0..3 {
            ids.drain(..12).for_each(|id| store.delete(id).unwrap());
            for nth in 0..8_u8 {
                let put = store.put(&[nth; 500]);
                ids.push(put.unwrap_or_else(|error| panic!("put {nth} of seed {seed}: {error}")));
            }
            while let Ok(id) = store.put(&[9; 500]) {
                ids.push(id);
            }
        }
    }
}
