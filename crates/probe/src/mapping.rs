//! The mapping policy: does a page's place follow from its address, or from when it was written?
//!
//! As chen11 (section 4.4): a part of the area is overwritten once, page by page, in random order. Then pairs of
//! pages whose *addresses* lie a whole number of stripes apart are read, and pairs whose *turns* in the order of
//! writing do. Whichever kind still collides on a die names the policy; both or neither, and nothing is said.

use crate::chunk::{Area, samples};
use crate::rig::Rig;
use flashlane_measure::Interruption;
use flashlane_workload::Access;

/// Mean times of the four kinds of pairs, in microseconds.
///
/// Means, not medians: of pairs that share a die by chance the share counts, which on a drive with two dies is half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collisions {
    /// Addresses a whole number of stripes apart.
    pub by_address: f64,
    /// Addresses a chunk less apart.
    pub by_address_apart: f64,
    /// Turns a whole number of stripes apart.
    pub by_turn: f64,
    /// Turns a chunk less apart.
    pub by_turn_apart: f64,
}

/// A mapping policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// By address.
    Lba,
    /// By the order of writes.
    WriteOrder,
}

impl Policy {
    /// As results name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lba => "lba",
            Self::WriteOrder => "write-order",
        }
    }
}

/// The order in which an area was overwritten.
pub struct Overwritten {
    /// Page addresses by turn.
    pub turns: Vec<u64>,
    /// Bytes of a page.
    pub page_bytes: u64,
}

/// Overwrites an area once, page by page, in random order.
///
/// # Errors
/// [`Interruption`] where the device fails.
pub fn overwrite(rig: &mut Rig<'_>, area: Area, page_bytes: u64) -> Result<Overwritten, Interruption> {
    let mut turns: Vec<u64> =
        (0..area.length_bytes / page_bytes).map(|i| area.offset_bytes + i * page_bytes).collect();
    rig.random().shuffle(&mut turns);
    rig.stream(turns.iter().map(|&at| Access::write(at, page_bytes)), 1)?;
    rig.settle()?;
    Ok(Overwritten { turns, page_bytes })
}

/// Measures the four kinds of pairs; `stripe_pages` is the distance at which pages share a die, `chunk_pages` that
/// at which they share nothing.
///
/// # Errors
/// [`Interruption`] where the device fails.
pub fn collisions(
    rig: &mut Rig<'_>,
    area: Area,
    written: &Overwritten,
    (stripe_pages, chunk_pages): (u64, u64),
    repetitions: usize,
) -> Result<Collisions, Interruption> {
    let page = written.page_bytes;
    let sector = rig.sector_bytes();
    let pages = written.turns.len() as u64;
    let stripes = (pages / stripe_pages).saturating_sub(2).clamp(1, 8);
    let kinds = samples(rig, 4, repetitions, |rig, kind| {
        let whole = stripe_pages * (1 + rig.random().below(stripes));
        let distance = if kind % 2 == 0 { whole } else { whole - chunk_pages };
        let first = rig.random().below(pages - distance);
        let at = |index: u64| match kind {
            0 | 1 => area.offset_bytes + index * page,
            _ => written.turns[index as usize],
        };
        let reads = [Access::read(at(first + distance), sector), Access::read(at(first), sector)];
        rig.burst(&reads).map(|time| time.as_us_f64())
    })?;
    let mean = |kind: usize| trimmed_mean(&kinds[kind]);
    Ok(Collisions {
        by_address: mean(0),
        by_address_apart: mean(1),
        by_turn: mean(2),
        by_turn_apart: mean(3),
    })
}

impl Collisions {
    /// The steps by address and by turn, as shares of `step_us`, the step that a shared die makes.
    pub fn shares(&self, step_us: f64) -> (f64, f64) {
        ((self.by_address - self.by_address_apart) / step_us, (self.by_turn - self.by_turn_apart) / step_us)
    }

    /// Which policy the steps name, if either.
    pub fn policy(&self, step_us: f64) -> Option<Policy> {
        let (address, turn) = self.shares(step_us);
        match (address, turn) {
            _ if address > 0.7 && turn < 0.3 => Some(Policy::Lba),
            _ if turn > 0.7 && address < 0.3 => Some(Policy::WriteOrder),
            _ => None,
        }
    }
}

/// The mean of all but the largest fiftieth, where interrupts and neighbours on the machine are.
fn trimmed_mean(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.truncate(times.len() - times.len() / 50);
    sorted.iter().sum::<f64>() / sorted.len() as f64
}
