//! The block layer on a zoned drive: a real one, all of whose zones are reset, where `FLASHLANE_ZONED_DEVICE` names it;
//! `cargo xtask zoned-drive` runs this on one that QEMU plays. Elsewhere it says that it was skipped.

use flashlane_base::{Instant, Seed};
use flashlane_block::{BlockOptions, Blocks, Outcome, Placement};
use flashlane_device::{DataDevice, Device, Lane, Request, UnitState};
use flashlane_host::{OpenOptions, ZonedDevice, ZonedOptions};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Operations between two openings.
const OPERATIONS: u64 = 60;

fn open(path: &PathBuf, write_unit_bytes: Option<u64>) -> ZonedDevice {
    let options = ZonedOptions::new(OpenOptions::read_write(path).really(path));
    let options = ZonedOptions { lanes: Some(3), write_unit_bytes, ..options };
    options.open().unwrap_or_else(|error| panic!("{error}"))
}

fn bytes_of(id: u64, length: u64) -> Vec<u8> {
    let mut random = Seed(id).derive("block").source();
    (0..length.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes()).take(length as usize).collect()
}

/// Whatever is put is got again, over openings, until the drive is full and after units were cut short.
#[test]
fn blocks_over_zones_match_a_map() {
    let Some(path) = std::env::var_os("FLASHLANE_ZONED_DEVICE").map(PathBuf::from) else {
        return println!("skipped: FLASHLANE_ZONED_DEVICE names no zoned drive that may be overwritten");
    };
    let mut model: BTreeMap<u64, u64> = BTreeMap::new();
    let mut random = Seed(5).source();
    let formatted = Blocks::format(open(&path, None), 77, BlockOptions::default());
    drop(formatted.unwrap_or_else(|error| panic!("{error}")));
    for round in 0..4 {
        let placement = if round % 2 == 0 { Placement::LeastLoaded } else { Placement::RoundRobin };
        let options = BlockOptions { placement, ..BlockOptions::default() };
        let mut blocks = Blocks::open(open(&path, None), options).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<(u64, u64)> = blocks.list().map(|info| (info.id, info.length_bytes)).collect();
        assert_eq!(found, model.iter().map(|(&id, &length)| (id, length)).collect::<Vec<_>>());
        let mut gets = BTreeMap::new();
        for _ in 0..OPERATIONS {
            let known = model.keys().nth(random.below(model.len().max(1) as u64) as usize).copied();
            match (random.below(4), known) {
                (0, Some(id)) => {
                    // A block that is being read can be deleted: its readers get it all the same.
                    blocks.delete(id).unwrap_or_else(|error| panic!("{error}"));
                    model.remove(&id);
                }
                (1, Some(id)) => {
                    let offset = random.below(model[&id]);
                    let length = random.below(model[&id] - offset) + 1;
                    let ticket = blocks.get(id, offset, length).unwrap_or_else(|error| panic!("{error}"));
                    gets.insert(ticket, (id, offset as usize, length as usize));
                }
                _ if blocks.status().blocks_free > 0 => {
                    let (id, mut payload) = (blocks.next_id(), blocks.payload());
                    let length = random.below(blocks.block_bytes()) + 1;
                    payload.set_len(length);
                    payload.as_mut_slice().copy_from_slice(&bytes_of(id, length));
                    blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
                    model.insert(id, length);
                    // Blocks are read once they are there.
                    blocks.settle();
                }
                _ => {}
            }
        }
        blocks.settle();
        let mut out = Vec::new();
        blocks.reap(Instant::FAR, &mut out);
        for finished in out {
            match finished.outcome {
                Outcome::Put(result, _) => assert_eq!(result, Ok(())),
                Outcome::Delete(result) => assert_eq!(result, Ok(())),
                Outcome::Get(result) => {
                    let (id, offset, length) = gets.remove(&finished.ticket).expect("it was submitted");
                    let data = result.unwrap_or_else(|error| panic!("{error}"));
                    assert!(
                        data.as_slice() == &bytes_of(id, (offset + length) as u64)[offset..],
                        "block {id}"
                    );
                }
            }
        }
        assert!(gets.is_empty());
        drop(blocks);
        cut_a_unit_short(&path);
    }
    assert!(model.len() > 3, "{model:?}");
    println!("blocks are those of a map: {} of them at the end", model.len());
}

/// Leaves an erased unit partly written, as a crash would.
fn cut_a_unit_short(path: &PathBuf) {
    let mut device = open(path, Some(64 << 10));
    let unit_bytes = device.info().erase_unit_bytes;
    let units = (0..device.info().capacity_bytes / unit_bytes)
        .flat_map(|index| (0..3).map(move |lane| (Lane(lane), index)));
    let erased = units
        .into_iter()
        .find(|&(lane, index)| device.unit(lane, index).is_some_and(|unit| unit.state == UnitState::ERASED));
    let Some((lane, index)) = erased else { return };
    let buffer = flashlane_device::Buffer::from_slice(&vec![9; 64 << 10]);
    let write = Request::write(1, index * unit_bytes, 64 << 10).on(lane).durable();
    device.submit_with(write, buffer).unwrap_or_else(|(error, _)| panic!("{error}"));
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    assert!(out.len() == 1 && out[0].outcome.is_ok(), "{out:?}");
}
