//! Channels of known dies where a page is one sector, so that its time on a bus is not known: pairs of reads on
//! different dies.
//!
//! They share no array and no program. So those that wait for each other share a bus, if their wait is shorter than
//! that of pairs on a die: else what was taken for two dies may be one.

use crate::area::{Area, Chunk};
use crate::bench::Bench;
use crate::channels::{self, Channels};
use crate::dies::Dies;
use crate::error::EarlyEnd;
use crate::pair::Pair;
use crate::{pattern, stripe};

/// Pairs of random chunks of the attempts, in total.
const PAIRS: [usize; 2] = [1500, 9000];
/// Pairs on a die that show how much longer these take, and the most of it that pairs on a channel only do.
const DIE_PAIRS: usize = 200;
const OF_DIE: f64 = 0.75;

/// Looks for the channels of known dies; `None` where no pairs wait.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    chunk: &Chunk,
    dies: Dies,
) -> Result<Option<Channels>, EarlyEnd> {
    let (chunks, sizes) = (area.chunks(chunk) as usize, [bench.sector_bytes(); 2]);
    if chunks <= dies.period() {
        return Ok(None);
    }
    let mut on_die = Vec::new();
    for _ in 0..DIE_PAIRS {
        on_die.push(stripe::pair(bench, area, chunk, dies.period(), sizes)?);
    }
    let on_die_us = pattern::point(&mut on_die).value;
    let mut pairs = Vec::new();
    for count in PAIRS {
        while pairs.len() < count {
            pairs.push(Pair::measure(bench, area, chunk, sizes[0], sizes[0])?);
        }
        if let Some(found) = channels::of_pairs(&pairs, chunks, dies) {
            let mut took_us: Vec<f64> = pairs.iter().map(|pair| pair.took_us).collect();
            let apart_us = pattern::point(&mut took_us).value;
            let least_us = pattern::least_height(apart_us, 0.0);
            let may_wait = least_us..OF_DIE * (on_die_us - apart_us);
            return Ok(may_wait.contains(&found.step_us).then_some(found));
        }
    }
    Ok(None)
}
