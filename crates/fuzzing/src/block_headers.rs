//! The reader of the block layer's metadata on a device: headers, footers, superblocks. Opening any content must give
//! usable blocks or an error with a reason, and must not panic.
//!
//! An input is a list of changes to a small device with blocks: a unit (the lowest four bits; 16 selects its footer, 32
//! makes its checksum valid afterwards), an offset (two bytes), a count, and that number of bytes.

use crate::Target;
use flashlane_base::{Instant, Seed};
use flashlane_block::{BlockOptions, Blocks, Layout, Outcome, seal_header};
use flashlane_block_trial::payload_of;
use flashlane_device::{Device, Lane};
use flashlane_device_testing::MemoryLanes;
use std::sync::LazyLock;

pub(crate) const TARGET: Target = Target {
    name: "block_headers",
    body,
    seeds: &[
        // Another version, kind, format, position; an invalid length, count and positions of retired units.
        "\x20\x08\x00\x01\x02\x30\x08\x00\x01\x02",
        "\x22\x0c\x00\x01\x02\x23\x0c\x00\x01\x07",
        "\x21\x10\x00\x04\x01\x01\x01\x01\x25\x28\x00\x01\x07",
        "\x24\x40\x00\x08\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f",
        "\x20\x58\x00\x04\x7f\x7f\x7f\x7f\x21\x60\x00\x10\x01\x01\x01\x01\x01\x01\x01\x01\x02\x02\x02\x02\x02\x02\x02\x02",
        // Colliding ids, the highest id, a sequence that ends; damage in headers and footers.
        "\x22\x38\x00\x01\x01\x23\x38\x00\x01\x01\x24\x20\x00\x08\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f",
        "\x02\x00\x00\x01\x01\x12\x00\x00\x01\x01\x03\x34\x00\x01\x01\x13\x34\x00\x01\x01",
    ],
};

const LANES: u32 = 2;
const UNITS: u64 = 6;
const UNIT_BYTES: u64 = 4096;

/// The device before any change, created once.
static SOUND: LazyLock<MemoryLanes> = LazyLock::new(|| {
    let device = MemoryLanes::new(LANES, UNITS, UNIT_BYTES, 512, Seed(1));
    let mut blocks =
        Blocks::format(device, 7, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    for id in 0..5_u64 {
        let payload = payload_of(&blocks, &[id as u8; 700]);
        let ticket = blocks.put(id, payload).unwrap_or_else(|(error, _)| panic!("{error}"));
        blocks.wait(ticket).expect("a put ends");
    }
    blocks.into_device()
});

fn body(data: &[u8]) {
    let mut device = SOUND.clone();
    change(&mut device, data);
    match Blocks::open(device, BlockOptions::default()) {
        Ok(blocks) => exercise(blocks),
        Err(error) => assert!(error.to_string().contains(' '), "{error:?} gives no reason"),
    }
}

fn change(device: &mut MemoryLanes, mut data: &[u8]) {
    let layout = Layout::new(device.info()).unwrap_or_else(|error| panic!("{error}"));
    while let [which, low, high, count, rest @ ..] = data {
        let unit = u64::from(which % 16) % (UNITS * u64::from(LANES));
        let (lane, unit) = (Lane((unit / UNITS) as u32), unit % UNITS);
        let end = if which & 16 == 0 { 0 } else { layout.footer_offset() };
        let header =
            &mut device.lane_mut(lane)[(unit * UNIT_BYTES + end) as usize..][..layout.header_bytes as usize];
        let at = usize::from(u16::from_le_bytes([*low, *high])) % header.len();
        let count = usize::from(*count).min(rest.len()).min(header.len() - at);
        header[at..at + count].copy_from_slice(&rest[..count]);
        if which & 32 != 0 {
            seal_header(header);
        }
        data = &rest[count..];
    }
}

/// Reads each listed block or reports it as unreadable; after reopening, a new block is there and a deleted one is not.
fn exercise(mut blocks: Blocks<MemoryLanes>) {
    let listed: Vec<_> = blocks.list().collect();
    for info in &listed {
        let ticket = blocks.get(info.id, 0, info.length_bytes).unwrap_or_else(|error| panic!("{error}"));
        match blocks.wait(ticket).map(|finished| finished.outcome) {
            Some(Outcome::Get(Ok(data))) => assert_eq!(data.as_slice().len() as u64, info.length_bytes),
            Some(Outcome::Get(Err(error))) => assert!(error.to_string().contains("unreadable"), "{error}"),
            other => panic!("{other:?}"),
        }
    }
    if let Some(first) = listed.first() {
        let ticket = blocks.delete(first.id).unwrap_or_else(|error| panic!("{error}"));
        blocks.wait(ticket).expect("a delete ends");
    }
    let id = 1000;
    let payload = payload_of(&blocks, b"another");
    let put = blocks.put(id, payload).map_err(|(error, _)| error);
    let ended = put.ok().and_then(|ticket| blocks.wait(ticket));
    let stored = matches!(ended.map(|finished| finished.outcome), Some(Outcome::Put(Ok(()), _)));
    let left: Vec<_> = blocks.list().map(|info| info.id).collect();
    assert!(!stored || left.contains(&id));
    let device = blocks.into_device();
    assert!(device.now() < Instant::FAR);
    let blocks = Blocks::open(device, BlockOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(blocks.list().map(|info| info.id).collect::<Vec<_>>(), left);
}
