//! The storage node of section 3.3: the store on the SDF and on conventional drives.
//!
//! A conventional drive gets as many lanes as the SDF, by software: units of 8 MiB behind each other. Its own layer
//! stripes each of them over all channels. The network and the clients' machines, which the paper has in between, take
//! no time.

use super::drives::{CHANNELS, Conventional, GEN3, INTEL, KIB};
use crate::FigureError;
use crate::lab::Lab;
use crate::store_load::{GetClient, LoadedStore, Values};
use flashlane_base::Seed;
use flashlane_device::DataDevice;
use flashlane_layer::lanes::Shape;
use flashlane_layer::{Backed, Lanes};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Blocks of each lane with values of one size; the second in a quick study.
const BLOCKS_PER_LANE: (u64, u64) = (4, 1);
/// Size of a value, but for fig12.
pub(super) const USUAL: u64 = 512 * KIB;
/// Sizes of values in fig12.
pub(super) const SIZES: [u64; 3] = [USUAL, 128 * KIB, 32 * KIB];
/// Slices of fig10 to fig12, and gets of a batch.
pub(super) const SLICES: [u32; 3] = [1, 4, 8];
pub(super) const BATCHES: [u64; 7] = [1, 2, 4, 8, 16, 32, 44];
/// Time that a measurement of gets takes, relative to others.
pub(super) const GETS_WEIGHT: u32 = 3 * (15 + 7 + 2);

/// A device that a store can be on.
pub(super) type StoreDevice = Box<dyn DataDevice>;

#[derive(Clone, Copy)]
pub(super) enum Node {
    Sdf,
    Conventional(Conventional),
}

pub(super) const SDF: Node = Node::Sdf;
pub(super) const ON_GEN3: Node = Node::Conventional(GEN3);
pub(super) const ON_INTEL: Node = Node::Conventional(INTEL);

impl Node {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sdf => "SDF",
            Self::Conventional(drive) => drive.name,
        }
    }

    /// Returns the empty device.
    pub(super) fn device(self, lab: &mut Lab<'_>) -> Result<StoreDevice, FigureError> {
        let drive = match self {
            Self::Sdf => return Ok(Box::new(Backed::new(lab.device("sdf", &[])?))),
            Self::Conventional(drive) => drive,
        };
        let below = Backed::new(drive.with(lab, 256, drive.set_aside, "fresh")?);
        let shape = Shape { lanes: CHANNELS, ..Shape::default() };
        Ok(Box::new(Lanes::format(below, shape, Seed(1)).expect("a fresh drive takes lanes")))
    }

    /// Returns a store of this number of slices with values of each of these sizes.
    pub(super) fn loaded(
        self,
        lab: &mut Lab<'_>,
        slices: u32,
        sizes: &[u64],
        weight: u32,
    ) -> Result<LoadedStore<StoreDevice>, FigureError> {
        let device = self.device(lab)?;
        let blocks = u64::from(CHANNELS) * lab.either(BLOCKS_PER_LANE.0, BLOCKS_PER_LANE.1);
        // A block has room for fifteen values of 512 KiB.
        let count = |bytes: u64| blocks * 15 * USUAL / bytes / u64::from(slices);
        let values = sizes.iter().map(|&bytes| Values { count: count(bytes), bytes }).collect();
        let lab = lab.part(weight);
        Ok(LoadedStore::new(device, slices, values, &mut |share| lab.advance(share))?)
    }
}

/// Throughput of random gets.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Throughput {
    pub(super) slices: u32,
    pub(super) value_bytes: u64,
    pub(super) batch: u64,
    pub(super) mb_per_s: f64,
}

/// Measures the gets of fig10 to fig12.
pub(super) fn gets(lab: &mut Lab<'_>, node: Node) -> Result<Value, FigureError> {
    let mut found = Vec::new();
    for slices in SLICES {
        let mut store = node.loaded(lab, slices, &SIZES, 15)?;
        for (size, value_bytes) in SIZES.into_iter().enumerate() {
            let batches = if value_bytes == USUAL { &BATCHES[..] } else { &BATCHES[6..] };
            for &batch in batches {
                let rounds = (lab.either(1408, 352) / batch).max(1);
                let lab = lab.part(1);
                let gets =
                    store.gets(size, GetClient::Batches, batch, rounds, &mut |share| lab.advance(share))?;
                found.push(Throughput { slices, value_bytes, batch, mb_per_s: gets.bytes_per_s / 1e6 });
            }
        }
    }
    Ok(serde_json::to_value(found).expect("numbers are JSON"))
}

/// The gets of a node, by name of the shared measurement.
pub(super) struct Measured(Vec<Throughput>);

impl Measured {
    pub(super) fn of(lab: &Lab<'_>, name: &str) -> Self {
        Self(lab.shared(name))
    }

    /// Returns millions of bytes a second.
    pub(super) fn at(&self, slices: u32, value_bytes: u64, batch: u64) -> f64 {
        let is_it = |found: &&Throughput| {
            (found.slices, found.value_bytes, found.batch) == (slices, value_bytes, batch)
        };
        self.0.iter().find(is_it).expect("it was measured").mb_per_s
    }

    /// Returns batches, each with its throughput.
    pub(super) fn by_batch(&self, slices: u32) -> Vec<(f64, f64)> {
        BATCHES.iter().map(|&batch| (batch as f64, self.at(slices, USUAL, batch))).collect()
    }
}
