//! State enforcement: brings the device into a state independent of earlier use (uflip09, section 4.1).
//!
//! *Random*: the whole area is written in pieces of random size, from the device's unit to 128 KiB, in random order,
//! every byte exactly once. The area is cut into cells of 128 KiB, each cell at random places into four pieces; the
//! pieces of all cells come in one random order, which is computed, not stored. *Sequential*: in order, in pieces of
//! 128 KiB.
//!
//! The paper's rule is one pass, but a drive with spare blocks has not begun GC by then. So the writes continue in the
//! same way, a fifth of the area at a time, until the rates of the last five fifths, at least two of them after the
//! first pass, meet the window rule of SNIA's steady state; then the state is *verified*. They end after four passes in
//! any case.

use crate::UflipError;
use crate::bench::Bench;
use flashlane_base::{Operation, Seed};
use flashlane_measure::statistics::steady_state::{ROUNDS, Window};
use flashlane_result::uflip::{Enforcement, StateMethod};
use flashlane_workload::{Access, Generator, Job, Mix, Pattern};

/// Largest piece: the erase block of the paper's time.
pub(crate) const LARGEST_PIECE_BYTES: u64 = 128 << 10;
/// Pieces per cell.
const PIECES: u64 = 4;
/// Pieces in flight, which saves time and does not change the state.
const DEPTH: u32 = 8;
/// Rounds of a fifth of the area before the rate is tested: a pass and two fifths.
const LEAST_ROUNDS: usize = ROUNDS + 2;
/// Maximum number of rounds.
const MOST_ROUNDS: usize = 4 * ROUNDS;

/// Returns the least number of bytes written by enforcing the state of an area.
pub(crate) fn least_bytes(area_bytes: u64) -> u64 {
    area_bytes / ROUNDS as u64 * LEAST_ROUNDS as u64
}

/// Writes the first `area_bytes` of the device by `method`.
pub(crate) fn enforce(
    bench: &mut Bench<'_>,
    method: StateMethod,
    area_bytes: u64,
    seed: Seed,
) -> Result<Enforcement, UflipError> {
    let unit = bench.info().write_unit_bytes;
    let depth = DEPTH.min(bench.info().depth);
    let (before_bytes, before_ios) = (bench.written_bytes, bench.ios);
    let began = bench.device().now();
    let mut rates: Vec<f64> = Vec::new();
    let mut window = None;
    let mut pieces: Box<dyn Iterator<Item = Access>> = Box::new(std::iter::empty());
    while method != StateMethod::AsIs && rates.len() < MOST_ROUNDS {
        if rates.len().is_multiple_of(ROUNDS) {
            let pass = seed.derive_nth("pass", (rates.len() / ROUNDS) as u64);
            pieces = match method {
                StateMethod::Random => Box::new(random_pieces(area_bytes, unit, pass)),
                _ => Box::new(sequential_pieces(area_bytes)),
            };
        }
        let is_last_of_pass = (rates.len() + 1).is_multiple_of(ROUNDS);
        let bytes = if is_last_of_pass { area_bytes } else { area_bytes / ROUNDS as u64 };
        let mut written_bytes = 0;
        let took = bench
            .accesses(up_to(&mut pieces, bytes), depth, |piece, _| written_bytes += piece.length_bytes)?;
        rates.push(written_bytes as f64 / took.as_ns().max(1) as f64);
        if rates.len() >= LEAST_ROUNDS {
            window = Window::of(&rates);
            if window.is_some_and(|window| window.is_steady()) {
                break;
            }
        }
    }
    let written_bytes = bench.written_bytes - before_bytes;
    Ok(Enforcement {
        method,
        area_bytes,
        written_bytes,
        ios: bench.ios - before_ios,
        took_ns: bench.device().now().since(began).as_ns(),
        verified: written_bytes >= area_bytes && window.is_some_and(|window| window.is_steady()),
        excursion: window.map_or(0.0, |window| window.excursion),
        slope: window.map_or(0.0, |window| window.slope),
    })
}

/// Takes pieces until they total `bytes`.
fn up_to(mut pieces: impl Iterator<Item = Access>, bytes: u64) -> impl Iterator<Item = Access> {
    let mut taken = 0;
    std::iter::from_fn(move || {
        if taken >= bytes {
            return None;
        }
        let piece = pieces.next()?;
        taken += piece.length_bytes;
        Some(piece)
    })
}

/// Returns pieces that tile an area, each once, in random order.
fn random_pieces(area_bytes: u64, unit_bytes: u64, seed: Seed) -> impl Iterator<Item = Access> {
    let cells = area_bytes.div_ceil(LARGEST_PIECE_BYTES);
    // A job that visits each piece number once: one byte stands for one piece.
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

/// Returns pieces that tile an area, in order.
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
    fn random_pieces_vary_in_order_and_size() {
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
