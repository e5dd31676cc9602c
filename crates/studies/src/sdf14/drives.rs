//! The drives and their accesses.
//!
//! Conventional drives are scaled down, otherwise unchanged: the moves of GC depend on shares (of valid pages, of spare
//! space), not on the number of blocks, and a pass over the whole scaled drive takes seconds. Bad blocks, open blocks
//! and the free reserve are taken from the over-provisioning; a small plane has a larger share of them (3.1% of 128
//! blocks, 0.8% of 2048), so its capacity is reduced accordingly.

use super::clients::{Run, Turn, run};
use crate::FigureError;
use crate::lab::Lab;
use flashlane_base::{Random, Seed};
use flashlane_device::{Device, UnitState};
use flashlane_result::{Axis, Figure, Series};
use flashlane_sim::DriveConfig;
use flashlane_sim::Geometry;
use flashlane_sim::profile::load;
use flashlane_workload::Access;

pub(super) const KIB: u64 = 1 << 10;
pub(super) const MIB: u64 = 1 << 20;
/// Channels of the SDF, each with its own thread (section 3.2).
pub(super) const CHANNELS: u32 = 44;

/// A conventional drive.
#[derive(Clone, Copy)]
pub(super) struct Conventional {
    pub(super) name: &'static str,
    pub(super) profile: &'static str,
    /// Planes.
    planes: u64,
    /// Size of an erase block.
    pub(super) block_bytes: u64,
    /// Number of pages, and of those with data; the rest hold parity.
    row: (u64, u64),
    /// Share of its bytes that it does not offer as capacity: section 3.1; of the Memblaze, table 1.
    pub(super) set_aside: f64,
    /// Requests in flight of its thread: as many as the SDF's threads have, or the drive's depth. The paper says of the
    /// conventional drives only that one thread issues requests asynchronously.
    pub(super) depth: u32,
}

pub(super) const GEN3: Conventional = Conventional {
    name: "Huawei Gen3",
    profile: "huawei-gen3",
    planes: 176,
    block_bytes: 2 * MIB,
    row: (11, 10),
    set_aside: 0.25,
    depth: CHANNELS,
};
pub(super) const INTEL: Conventional = Conventional {
    name: "Intel 320",
    profile: "intel-320",
    planes: 40,
    block_bytes: 2 * MIB,
    row: (1, 1),
    set_aside: 0.125,
    depth: 32,
};
pub(super) const MEMBLAZE: Conventional = Conventional {
    name: "Memblaze Q520",
    profile: "memblaze-q520-like",
    planes: 512,
    block_bytes: MIB,
    row: (1, 1),
    set_aside: 0.20,
    depth: CHANNELS,
};

impl Conventional {
    /// Returns the drive scaled to this number of blocks per plane. `set_aside` is the share of the bytes that the
    /// full-size drive does not offer as capacity.
    pub(super) fn with(
        self,
        lab: &mut Lab<'_>,
        blocks: u64,
        set_aside: f64,
        state: &str,
    ) -> Result<Box<dyn Device>, FigureError> {
        let raw = self.planes * blocks * self.block_bytes;
        let data = raw / self.row.0 * self.row.1;
        let whole = load(self.profile, &[])?;
        let mut small = whole.clone();
        small.flash.blocks = blocks as u32;
        let share = (1.0 - set_aside) * for_data(&small) / for_data(&whole);
        let capacity = ((data as f64 * share) as u64) / (8 * MIB) * (8 * MIB);
        let (blocks, capacity) = (blocks.to_string(), format!("{capacity}B"));
        let settings = [("flash.blocks", &*blocks), ("capacity", &*capacity), ("initial.state", state)];
        lab.device(self.profile, &settings)
    }
}

/// Returns the share of a plane's blocks that are neither bad nor open nor in the free reserve.
fn for_data(config: &DriveConfig) -> f64 {
    let Geometry { blocks_per_plane, factory_bad_per_plane, .. } = Geometry::new(config);
    f64::from(blocks_per_plane - factory_bad_per_plane - config.spare_blocks_per_plane())
        / f64::from(blocks_per_plane)
}

/// Source of the random places of one measurement. They must not repeat the order of earlier writes, which would leave
/// whole blocks invalid, and GC without moves.
pub(super) fn places() -> Random {
    Seed(1).derive("sdf14 places").source()
}

/// Runs accesses of a conventional drive at random places.
pub(super) fn random(
    lab: &mut Lab<'_>,
    device: &mut dyn Device,
    depth: u32,
    bytes: u64,
    accesses: u64,
    places: &mut Random,
    access: fn(u64, u64) -> Access,
) -> Result<Run, FigureError> {
    let count = device.info().capacity_bytes / bytes;
    Ok(run(lab, device, depth, accesses, |_, _| Turn {
        lane: 0,
        erases: false,
        access: access(places.below(count) * bytes, bytes),
    })?)
}

/// Writes a whole conventional drive in order, twice: tables 1 and 4.
///
/// The paper gives neither the state of the drives nor the amount written. Here they begin in the state of random
/// overwrites and are written once, the simplest reading: a row's value is that of the first pass alone. The pass
/// itself removes that state, so that throughput depends on the amount written. No amount is chosen to fit the answer;
/// the second pass, with little GC, is only drawn.
pub(super) fn passes(
    lab: &mut Lab<'_>,
    device: &mut dyn Device,
    depth: u32,
    bytes: u64,
    weights: [u32; 2],
) -> Result<[Run; 2], FigureError> {
    let accesses = device.info().capacity_bytes / bytes;
    let mut pass = |weight| sequential(lab.part(weight), device, depth, bytes, accesses, Access::write);
    Ok([pass(weights[0])?, pass(weights[1])?])
}

/// Draws the throughput over both passes of conventional drives.
pub(super) fn course(id: &str, title: &str, drives: &[(&str, [Run; 2])]) -> Figure {
    /// Points per pass.
    const POINTS: usize = 16;
    let line = |(name, passes): &(&str, [Run; 2])| {
        let points = passes.iter().zip([0.0, 1.0]).flat_map(|(pass, before)| {
            pass.course(POINTS).into_iter().map(move |(share, mb_per_s)| (before + share, mb_per_s))
        });
        Series { name: (*name).into(), points: points.collect(), ..Series::default() }
    };
    let each = drives.iter().map(|(name, [first, second])| {
        format!("{name} {:.0} and {:.0} MB/s", first.mb_per_s(), second.mb_per_s())
    });
    Figure {
        id: id.into(),
        title: title.into(),
        x: Axis::linear("written, of the capacity", ""),
        y: Axis::linear("throughput", "MB/s"),
        series: drives.iter().map(line).collect(),
        caption: format!(
            "Drives that were overwritten at random are written from beginning to end, and once more. The rows have the first pass alone. First and second: {}.",
            each.collect::<Vec<_>>().join(", ")
        ),
        ..Figure::default()
    }
}

/// Runs sequential accesses of a conventional drive, from its beginning, wrapping around.
pub(super) fn sequential(
    lab: &mut Lab<'_>,
    device: &mut dyn Device,
    depth: u32,
    bytes: u64,
    accesses: u64,
    access: fn(u64, u64) -> Access,
) -> Result<Run, FigureError> {
    let places = device.info().capacity_bytes / bytes;
    let mut at = 0;
    Ok(run(lab, device, depth, accesses, |_, _| {
        at += 1;
        Turn { lane: 0, erases: false, access: access((at - 1) % places * bytes, bytes) }
    })?)
}

/// The accesses of each thread to its channel.
#[derive(Clone, Copy)]
pub(super) enum OnChannel {
    /// Reads this number of bytes at random places.
    RandomReads(u64),
    /// Reads whole units in order.
    Reads,
    /// Writes erased units in order.
    Writes,
    /// Erases and writes whole units at random places.
    Rewrites,
}

/// Runs a thread on each of this number of channels of the SDF.
pub(super) fn on_channels(
    lab: &mut Lab<'_>,
    device: &mut dyn Device,
    channels: u32,
    work: OnChannel,
    accesses: u64,
) -> Result<Run, FigureError> {
    let unit_bytes = device.info().erase_unit_bytes;
    let units = device.info().capacity_bytes / unit_bytes;
    let mut randoms: Vec<Random> =
        (0..channels).map(|lane| Seed(1).derive_nth("sdf14 channel", lane.into()).source()).collect();
    let mut next_unit = vec![0; channels as usize];
    Ok(run(lab, device, channels, accesses, |client, device| {
        let random = &mut randoms[client as usize];
        let at = &mut next_unit[client as usize];
        let (erases, access) = match work {
            OnChannel::RandomReads(bytes) => {
                (false, Access::read(random.below(units * unit_bytes / bytes) * bytes, bytes))
            }
            OnChannel::Reads => {
                *at += 1;
                (false, Access::read((*at - 1) % units * unit_bytes, unit_bytes))
            }
            OnChannel::Writes => {
                let erased = |unit: &u64| {
                    let unit = device.unit(flashlane_device::Lane(client), *unit);
                    unit.is_some_and(|unit| unit.state == UnitState::ERASED)
                };
                let unit = (*at..units).find(erased).unwrap_or(0);
                *at = unit + 1;
                (false, Access::write(unit * unit_bytes, unit_bytes))
            }
            OnChannel::Rewrites => (true, Access::write(random.below(units) * unit_bytes, unit_bytes)),
        };
        Turn { lane: client, erases, access }
    })?)
}
