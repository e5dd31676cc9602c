//! State enforcement: the device is brought into a state that does not depend on what was done to it before (uflip09,
//! section 4.1).
//!
//! *Random*: the whole area is written in pieces of random size, from the device's unit to 128 KiB, in random order, every
//! byte exactly once. The area is cut into cells of 128 KiB, each cell at random places into four pieces; the pieces of
//! all cells come in one random order, which is computed and not kept. *Sequential*: in order, in pieces of 128 KiB.
//!
//! *Verified* means two things: every byte was written (by construction, counted), and the rate at which the last
//! half was written no longer changed, by the window rule of SNIA's steady state over its five fifths.

use crate::rig::Rig;
use crate::{StateMethod, UflipError};
use flashlane_base::{Operation, Seed};
use flashlane_measure::statistics::steady_state::{ROUNDS, Window};
use flashlane_workload::{Access, Generator, Job, Mix, Pattern};
use serde::{Deserialize, Serialize};

/// The largest piece that is written at once: the erase block of the paper's time.
pub const LARGEST_PIECE_BYTES: u64 = 128 << 10;
/// Pieces of a cell.
const PIECES: u64 = 4;
/// Pieces in flight: the state is the same, and a device that can does it sooner.
const DEPTH: u32 = 8;

/// A state that was enforced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enforcement {
    /// How.
    pub method: StateMethod,
    /// The part of the device, from its beginning.
    pub area_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// I/Os that wrote them.
    pub ios: u64,
    /// How long it took, in nanoseconds of the device's time.
    pub took_ns: u64,
    /// Whether every byte was written and the last half went steadily.
    pub verified: bool,
    /// Highest less lowest rate over the fifths of the last half, as a share of their mean.
    pub excursion: f64,
    /// By how much the rate changed over them, as a share of their mean.
    pub slope: f64,
}

/// Writes the first `area_bytes` of the device by `method`.
pub(crate) fn enforce(
    rig: &mut Rig<'_>,
    method: StateMethod,
    area_bytes: u64,
    seed: Seed,
) -> Result<Enforcement, UflipError> {
    let unit = rig.profile().write_unit_bytes;
    let depth = DEPTH.min(rig.profile().depth);
    let (before_bytes, before_ios) = (rig.written_bytes, rig.ios);
    let half = area_bytes / 2;
    let (mut done_bytes, mut rounds) = (0, [(0.0, 0.0); ROUNDS]);
    let began = rig.device().now();
    let each = |access: &Access, latency_ns: u64| {
        if done_bytes >= half && done_bytes < area_bytes {
            let round = ((done_bytes - half) * ROUNDS as u64 / (area_bytes - half)) as usize;
            rounds[round].0 += access.length_bytes as f64;
            rounds[round].1 += latency_ns as f64;
        }
        done_bytes += access.length_bytes;
    };
    match method {
        StateMethod::Random => rig.accesses(random_pieces(area_bytes, unit, seed), depth, each)?,
        StateMethod::Sequential => rig.accesses(sequential_pieces(area_bytes), depth, each)?,
        StateMethod::AsIs => rig.accesses(std::iter::empty(), depth, each)?,
    };
    let written_bytes = rig.written_bytes - before_bytes;
    let rates = rounds.map(|(bytes, ns)| bytes / f64::max(ns, 1.0));
    let window = Window::of(&rates);
    Ok(Enforcement {
        method,
        area_bytes,
        written_bytes,
        ios: rig.ios - before_ios,
        took_ns: rig.device().now().since(began).as_ns(),
        verified: written_bytes == area_bytes && window.is_some_and(|window| window.is_steady()),
        excursion: window.map_or(0.0, |window| window.excursion),
        slope: window.map_or(0.0, |window| window.slope),
    })
}

/// The pieces that tile an area, each once, in random order.
fn random_pieces(area_bytes: u64, unit_bytes: u64, seed: Seed) -> impl Iterator<Item = Access> {
    let cells = area_bytes.div_ceil(LARGEST_PIECE_BYTES);
    // A job that visits the numbers of all pieces once each: one byte stands for one piece.
    let numbers = Job::new("pieces", Pattern::Permutation, Mix::WRITE, 1).area(0, cells * PIECES);
    let seed = seed.derive("state");
    let cuts = seed.derive("cuts");
    Generator::new(&numbers, cells * PIECES, seed).take((cells * PIECES) as usize).filter_map(move |access| {
        let (cell, piece) = (access.offset_bytes / PIECES, access.offset_bytes % PIECES);
        let start = cell * LARGEST_PIECE_BYTES;
        let units = LARGEST_PIECE_BYTES.min(area_bytes - start) / unit_bytes;
        let mut ends = [0; PIECES as usize + 1];
        let mut random = cuts.derive_nth("cell", cell).source();
        ends[1..PIECES as usize].iter_mut().for_each(|end| *end = random.below(units + 1));
        ends[PIECES as usize] = units;
        ends.sort_unstable();
        let (from, to) = (ends[piece as usize], ends[piece as usize + 1]);
        let length_bytes = (to - from) * unit_bytes;
        (length_bytes > 0).then(|| Access::write(start + from * unit_bytes, length_bytes))
    })
}

/// The pieces that tile an area, in order.
fn sequential_pieces(area_bytes: u64) -> impl Iterator<Item = Access> {
    (0..area_bytes).step_by(LARGEST_PIECE_BYTES as usize).map(move |offset_bytes| Access {
        operation: Operation::Write,
        offset_bytes,
        length_bytes: LARGEST_PIECE_BYTES.min(area_bytes - offset_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_tile_the_area(units in 1_u64..2000, unit_exponent in 9_u32..=13, seed in any::<u64>()) {
            let unit = 1 << unit_exponent;
            let area = units * unit;
            for pieces in [
                random_pieces(area, unit, Seed(seed)).collect::<Vec<_>>(),
                sequential_pieces(area).collect(),
            ] {
                let mut written = vec![0_u8; units as usize];
                for piece in &pieces {
                    prop_assert!(piece.length_bytes > 0 && piece.length_bytes <= LARGEST_PIECE_BYTES);
                    prop_assert_eq!((piece.offset_bytes % unit, piece.length_bytes % unit), (0, 0));
                    let from = (piece.offset_bytes / unit) as usize;
                    written[from..from + (piece.length_bytes / unit) as usize].iter_mut().for_each(|times| *times += 1);
                }
                prop_assert!(written.iter().all(|&times| times == 1));
            }
        }
    }

    #[test]
    fn random_pieces_are_neither_in_order_nor_alike() {
        let pieces: Vec<_> = random_pieces(64 << 20, 512, Seed(1)).collect();
        let ascending = pieces.windows(2).filter(|pair| pair[0].offset_bytes < pair[1].offset_bytes).count();
        let share = ascending as f64 / (pieces.len() - 1) as f64;
        assert!((0.4..0.6).contains(&share), "{share}");
        let small = pieces.iter().filter(|piece| piece.length_bytes <= 8192).count();
        let large = pieces.iter().filter(|piece| piece.length_bytes > 64 << 10).count();
        // Of four pieces between three uniform cuts, 1 - (15/16)^3 are that small, and (1/2)^3 so large.
        let (small, large) = (small as f64 / pieces.len() as f64, large as f64 / pieces.len() as f64);
        assert!((0.14..0.22).contains(&small) && (0.10..0.15).contains(&large), "{small} {large}");
    }
}
