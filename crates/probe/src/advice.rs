//! Advice on a load: which size and depth, chosen from a grid, and confirmed.
//!
//! Without a bound on the latency the choice is the fewest bytes in flight that give nine tenths of the best: beyond
//! them latency grows and bandwidth hardly. With a bound it is the greatest bandwidth whose 99th percentile is within
//! it. The point that is chosen and the best that it is compared with are measured once more, as `run` does it; where
//! that changes the choice, the next point is measured, until the choice stands.

use crate::confirm::Measured;
use crate::grid::{Cell, Grid};
use crate::load::Load;
use crate::rig::Rig;
use flashlane_measure::Interruption;

/// The share of the best that is good enough.
const ENOUGH: f64 = 0.9;
/// Points with a bound that differ by less are alike, and the shallower is chosen.
const ALIKE: f64 = 0.98;
/// A percentile of a short cell may be this much above that of a long measurement, and a rate of writes this much below:
/// a drive that cleans is fast and slow in turns.
const ROUGH: f64 = 1.25;
/// Confirming measurements at most.
const MOST: usize = 5;
/// The best lies beyond the edge of the grid where it exceeds its neighbour by this share.
const STILL_GROWING: f64 = 1.03;

/// A choice, and what it is compared with.
pub(crate) struct Choice {
    pub(crate) cell: Cell,
    pub(crate) measured: Measured,
    pub(crate) best_bytes_per_s: f64,
    /// The best is the deepest or the largest of the grid, and its neighbour clearly slower.
    pub(crate) deeper_may_be_better: bool,
    pub(crate) larger_may_be_better: bool,
}

/// Measures one point as `run` does.
pub(crate) type Confirm<'a> = dyn FnMut(&mut Rig<'_>, &Cell) -> Result<Measured, Interruption> + 'a;

/// Chooses the fewest bytes in flight that are good enough.
pub(crate) fn cheapest(
    rig: &mut Rig<'_>,
    grid: &mut Grid,
    confirm: &mut Confirm<'_>,
) -> Result<Choice, Interruption> {
    for _ in 0..MOST {
        let (chosen, best) = grid.cheapest(|_| true).expect("a grid has cells");
        let open = [chosen, best].into_iter().find(|&at| grid.cells[at].confirmed.is_none());
        let Some(at) = open else { return Ok(choice(grid, chosen, best)) };
        grid.confirm(rig, at, confirm)?;
    }
    let (chosen, best) = grid.cheapest(|cell| cell.confirmed.is_some()).expect("some cells were confirmed");
    Ok(choice(grid, chosen, best))
}

/// Chooses the greatest bandwidth whose 99th percentile is at most `bound_ns`; where there is none, the measurement of
/// the shortest percentile.
pub(crate) fn within(
    rig: &mut Rig<'_>,
    grid: &mut Grid,
    bound_ns: f64,
    confirm: &mut Confirm<'_>,
) -> Result<Result<Choice, (Cell, Measured)>, Interruption> {
    for _ in 0..MOST {
        let Some(at) = fastest_within(&grid.cells, bound_ns) else { break };
        if grid.cells[at].confirmed.is_none() {
            grid.confirm(rig, at, confirm)?;
            continue;
        }
        let at = deepest_within(rig, grid, at, bound_ns, confirm)?;
        return Ok(Ok(choice(grid, at, at)));
    }
    let shortest = (0..grid.cells.len())
        .min_by(|&a, &b| grid.cells[a].p99_ns.total_cmp(&grid.cells[b].p99_ns))
        .expect("a grid has cells");
    if grid.cells[shortest].confirmed.is_none() {
        grid.confirm(rig, shortest, confirm)?;
    }
    let cell = grid.cells[shortest].clone();
    if cell.p99_ns <= bound_ns {
        return Ok(Ok(choice(grid, shortest, shortest)));
    }
    let measured = cell.confirmed.clone().expect("it was confirmed");
    Ok(Err((cell, measured)))
}

/// Of the cells that meet the bound, as far as is known, the fastest; of those alike, the shallowest.
fn fastest_within(cells: &[Cell], bound_ns: f64) -> Option<usize> {
    let meets = |cell: &Cell| {
        let slack = if cell.confirmed.is_some() { 1.0 } else { ROUGH };
        cell.p99_ns <= bound_ns * slack
    };
    let all = || cells.iter().enumerate().filter(|(_, cell)| meets(cell));
    let fastest = all().map(|(_, cell)| cell.rate).fold(0.0, f64::max);
    let alike = all().filter(|(_, cell)| cell.rate >= ALIKE * fastest);
    alike.min_by_key(|(_, cell)| (cell.size * u64::from(cell.depth), cell.depth)).map(|(at, _)| at)
}

/// Between a depth that meets the bound and the next of the grid, which does not: the deepest that does and is faster.
fn deepest_within(
    rig: &mut Rig<'_>,
    grid: &mut Grid,
    at: usize,
    bound_ns: f64,
    confirm: &mut Confirm<'_>,
) -> Result<usize, Interruption> {
    let Cell { size, mut depth, .. } = grid.cells[at];
    let next =
        grid.cells.iter().filter(|cell| cell.size == size && cell.depth > depth).map(|c| c.depth).min();
    let Some(mut beyond) = next else { return Ok(at) };
    let mut best = at;
    while beyond - depth > (depth / 8).max(1) {
        let middle = u32::midpoint(depth, beyond);
        let known = Cell { size, depth: middle, confirmed: None, ..grid.cells[best] };
        grid.cells.push(known);
        let tried = grid.cells.len() - 1;
        grid.confirm(rig, tried, confirm)?;
        let cell = &grid.cells[tried];
        if cell.p99_ns <= bound_ns {
            if cell.rate * ALIKE > grid.cells[best].rate {
                best = tried;
            }
            depth = middle;
        } else {
            beyond = middle;
        }
    }
    Ok(best)
}

fn choice(grid: &Grid, chosen: usize, best: usize) -> Choice {
    let cell = grid.cells[chosen].clone();
    let top = &grid.cells[best];
    let rate = |size, depth| {
        let mut same = grid.cells.iter().filter(|cell| cell.size == size && cell.depth == depth);
        same.next().map(|cell| cell.rate)
    };
    let grows = |neighbour: Option<f64>| neighbour.is_some_and(|rate| top.rate > STILL_GROWING * rate);
    Choice {
        measured: cell.confirmed.clone().expect("a choice is confirmed"),
        best_bytes_per_s: top.rate,
        deeper_may_be_better: top.depth == grid.deepest && grows(rate(top.size, top.depth / 2)),
        larger_may_be_better: top.size == grid.largest && grows(rate(top.size / 4, top.depth)),
        cell,
    }
}

impl Grid {
    /// Of the eligible cells the one with the fewest bytes in flight that is good enough, as far as is known, and the best.
    fn cheapest(&self, eligible: impl Fn(&Cell) -> bool) -> Option<(usize, usize)> {
        let all = || self.cells.iter().enumerate().filter(|(_, cell)| eligible(cell));
        let (best, fastest) = all().max_by(|a, b| a.1.rate.total_cmp(&b.1.rate))?;
        let enough = ENOUGH * fastest.rate;
        let slack = |cell: &Cell| match (self.load, &cell.confirmed) {
            (Load::RandomWrite, None) => ROUGH,
            _ => 1.0,
        };
        let good = all().filter(|(_, cell)| cell.rate * slack(cell) >= enough);
        let (chosen, _) = good.min_by_key(|(_, cell)| (cell.size * u64::from(cell.depth), cell.depth))?;
        Some((chosen, best))
    }

    /// Replaces the estimate of a cell by a measurement.
    fn confirm(
        &mut self,
        rig: &mut Rig<'_>,
        at: usize,
        confirm: &mut Confirm<'_>,
    ) -> Result<(), Interruption> {
        let measured = confirm(rig, &self.cells[at])?;
        let cell = &mut self.cells[at];
        (cell.rate, cell.p99_ns) = (measured.bandwidth_bytes_per_s, measured.p99_ns);
        cell.confirmed = Some(measured);
        Ok(())
    }
}
