//! Choice of the request size and depth for a load, from a grid, with confirming measurements.
//!
//! Without a bound on the latency the choice is the fewest bytes in flight that reach 90% of the best bandwidth: with
//! more, latency grows and bandwidth hardly does. With a bound it is the greatest bandwidth, within 2%, whose 99th
//! percentile is within it. The chosen point is measured again, as `run` does, and the best point where that may
//! decide; where it changes the choice, the next point is measured, until the choice stands.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::grid::{DEPTH_STEP, Grid, GridCell, SIZE_STEP};
use crate::load::Load;
use crate::point_measurement::PointMeasurement;

/// Share of the best bandwidth that is good enough.
const BEST_SHARE_MIN: f64 = 0.9;
/// With a bound, points at this share of the fastest count as equally fast, and the one with the fewest bytes in flight
/// is chosen.
const FASTEST_SHARE_MIN: f64 = 0.98;
/// Tolerance for a short measurement: its percentile may be this much above that of a long one, and its rate of writes
/// this much below, since a drive with GC is fast and slow in turns.
const SHORT_MEASUREMENT_SLACK: f64 = 1.25;
/// The best point may be faster than its short measurement by this factor.
const BEST_UNDERRATED: f64 = 1.05;
/// Maximum number of confirming measurements.
const CONFIRMATIONS_MAX: usize = 5;
/// The best may lie beyond the edge of the grid where the edge exceeds its neighbour by this factor.
const GROWTH_MIN: f64 = 1.03;

/// A chosen point, or the nearest one where none meets the bound, and the best one.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) cell: GridCell,
    pub(crate) measured: PointMeasurement,
    pub(crate) best_bytes_per_s: f64,
    /// The best point is the deepest of the grid, or the largest, and its neighbour is clearly slower.
    pub(crate) deeper_may_be_better: bool,
    pub(crate) larger_may_be_better: bool,
}

/// Measures a point as `run` does.
pub(crate) type Confirm<'a> = dyn FnMut(&mut Bench<'_>, &GridCell) -> Result<PointMeasurement, EarlyEnd> + 'a;

/// Chooses the fewest bytes in flight that are good enough.
pub(crate) fn cheapest(
    bench: &mut Bench<'_>,
    grid: &mut Grid,
    confirm: &mut Confirm<'_>,
) -> Result<Choice, EarlyEnd> {
    for confirmed in 0..CONFIRMATIONS_MAX {
        let (chosen, best) = grid.cheapest(|_| true).expect("a grid has cells");
        // Where the first choice did not stand, the best is next: without it, no other is known to be good enough.
        let order = if confirmed == 1 { [best, chosen] } else { [chosen, best] };
        let open = order.into_iter().find(|&at| grid.cells[at].confirmed.is_none());
        let Some(at) = open.filter(|_| !grid.is_settled(chosen, best)) else {
            return Ok(choice(grid, chosen, best));
        };
        grid.confirm(bench, at, confirm)?;
    }
    let (chosen, best) = grid.cheapest(|cell| cell.confirmed.is_some()).expect("some cells were confirmed");
    Ok(choice(grid, chosen, best))
}

/// Chooses the greatest bandwidth, within 2%, whose 99th percentile is at most `bound_ns`; where there is none, the
/// point with the shortest percentile.
pub(crate) fn within_bound(
    bench: &mut Bench<'_>,
    grid: &mut Grid,
    bound_ns: f64,
    confirm: &mut Confirm<'_>,
) -> Result<Choice, EarlyEnd> {
    let at = match confirmed_within(bench, grid, bound_ns, confirm)? {
        Some(at) => deepest_within(bench, grid, at, bound_ns, confirm)?,
        None => shortest(bench, grid, confirm)?,
    };
    Ok(choice(grid, at, at))
}

/// Chooses again after choices of [`within_bound`] whose further measurements miss the bound, or show that the short
/// ones were far too fast; `tried` are these, each with its further measurements. Latencies vary where one misses it: a
/// point beside it would be as late, so that only points of the grid are chosen, which need not be the one that they
/// were chosen from. The last choice is a single request in flight, which waits for no other: where this one is late,
/// too, no point keeps the bound. Short measurements do not tell that point where GC runs in turns, between which
/// requests of any number are fast. May return one of those tried.
pub(crate) fn within_bound_again(
    bench: &mut Bench<'_>,
    grid: &mut Grid,
    tried: &[Choice],
    bound_ns: f64,
    is_last: bool,
    confirm: &mut Confirm<'_>,
) -> Result<Choice, EarlyEnd> {
    for Choice { cell: known, measured, .. } in tried {
        if let Some(cell) = grid.cells.iter_mut().find(|cell| cell.is_at(known)) {
            cell.take(measured.clone());
        }
    }
    let found = if is_last { None } else { confirmed_within(bench, grid, bound_ns, confirm)? };
    let at = match found {
        Some(at) => at,
        None => fewest(bench, grid, confirm)?,
    };
    Ok(choice(grid, at, at))
}

/// Returns the number of the choice to report of those that were measured fully, of which there MUST be at least one:
/// of those that keep the bound the fastest, of equally fast ones the one with the fewest bytes in flight; where none
/// does, the nearest one that may keep it, and otherwise the nearest one.
pub(crate) fn nearest(tried: &[Choice], bound_ns: f64) -> usize {
    let keeps = |choice: &&Choice| choice.measured.longest_p99_ns() <= bound_ns;
    let rate = |choice: &Choice| choice.measured.bandwidth_bytes_per_s;
    let fastest = tried.iter().filter(keeps).map(rate).fold(0.0, f64::max);
    let bytes = |choice: &Choice| choice.cell.request_bytes * u64::from(choice.cell.depth);
    let rank = |choice: &Choice| {
        let [_, longest_measured_ns] = choice.measured.latencies.p99_range_ns();
        if keeps(&choice) {
            let is_slower = rate(choice) < FASTEST_SHARE_MIN * fastest;
            return (u8::from(is_slower), bytes(choice) as f64);
        }
        let rank = match () {
            () if longest_measured_ns <= bound_ns => 2,
            () if choice.measured.shortest_p99_ns() <= bound_ns => 3,
            () => 4,
        };
        (rank, choice.measured.longest_p99_ns())
    };
    let by = |a: &Choice, b: &Choice| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let (nth, _) = tried.iter().enumerate().min_by(|(_, a), (_, b)| by(a, b)).expect("at least one choice");
    nth
}

/// Returns the fastest cell that meets the bound in a confirming measurement.
fn confirmed_within(
    bench: &mut Bench<'_>,
    grid: &mut Grid,
    bound_ns: f64,
    confirm: &mut Confirm<'_>,
) -> Result<Option<usize>, EarlyEnd> {
    for _ in 0..CONFIRMATIONS_MAX {
        let Some(at) = fastest_within(&grid.cells, bound_ns) else { break };
        if grid.cells[at].confirmed.is_some() {
            return Ok(Some(at));
        }
        grid.confirm(bench, at, confirm)?;
    }
    Ok(None)
}

/// Returns the cell with the shortest 99th percentile, confirmed, beside which no other may have a shorter one: short
/// measurements overrate a percentile, too.
fn shortest(bench: &mut Bench<'_>, grid: &mut Grid, confirm: &mut Confirm<'_>) -> Result<usize, EarlyEnd> {
    for _ in 0..CONFIRMATIONS_MAX {
        let at = grid.shortest(|_| true).expect("a grid has cells");
        if grid.cells[at].confirmed.is_some() {
            return Ok(at);
        }
        grid.confirm(bench, at, confirm)?;
    }
    Ok(grid.shortest(|cell| cell.confirmed.is_some()).expect("some cells were confirmed"))
}

/// Returns the cell with the fewest requests in flight, confirmed; of several sizes that with the shortest percentile.
fn fewest(bench: &mut Bench<'_>, grid: &mut Grid, confirm: &mut Confirm<'_>) -> Result<usize, EarlyEnd> {
    let fewest = grid.cells.iter().map(|cell| cell.depth).min();
    let at = grid.shortest(|cell| Some(cell.depth) == fewest).expect("a grid has cells");
    if grid.cells[at].confirmed.is_none() {
        grid.confirm(bench, at, confirm)?;
    }
    Ok(at)
}

/// Returns the fastest cell that seems to meet the bound; of equally fast ones the one with the fewest bytes in flight.
fn fastest_within(cells: &[GridCell], bound_ns: f64) -> Option<usize> {
    let all = || cells.iter().enumerate().filter(|(_, cell)| cell.least_p99_ns() <= bound_ns);
    let fastest = all().map(|(_, cell)| cell.bytes_per_s).fold(0.0, f64::max);
    let alike = all().filter(|(_, cell)| cell.bytes_per_s >= FASTEST_SHARE_MIN * fastest);
    alike.min_by_key(|(_, cell)| (cell.request_bytes * u64::from(cell.depth), cell.depth)).map(|(at, _)| at)
}

/// Bisects between a depth that meets the bound and the next one of the grid, which does not. Returns the deepest cell
/// that meets the bound and is faster.
fn deepest_within(
    bench: &mut Bench<'_>,
    grid: &mut Grid,
    at: usize,
    bound_ns: f64,
    confirm: &mut Confirm<'_>,
) -> Result<usize, EarlyEnd> {
    let GridCell { request_bytes, mut depth, .. } = grid.cells[at];
    let next = grid
        .cells
        .iter()
        .filter(|cell| cell.request_bytes == request_bytes && cell.depth > depth)
        .map(|c| c.depth)
        .min();
    let Some(mut beyond) = next else { return Ok(at) };
    let mut best = at;
    while beyond - depth > (depth / 8).max(1) {
        let middle = u32::midpoint(depth, beyond);
        let known = GridCell { request_bytes, depth: middle, confirmed: None, ..grid.cells[best] };
        grid.cells.push(known);
        let tried = grid.cells.len() - 1;
        grid.confirm(bench, tried, confirm)?;
        let cell = &grid.cells[tried];
        if cell.p99_ns <= bound_ns {
            if cell.bytes_per_s * FASTEST_SHARE_MIN > grid.cells[best].bytes_per_s {
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
    let bytes_per_s = |request_bytes, depth| {
        let mut same =
            grid.cells.iter().filter(|cell| cell.request_bytes == request_bytes && cell.depth == depth);
        same.next().map(|cell| cell.bytes_per_s)
    };
    let grows = |neighbour: Option<f64>| {
        neighbour.is_some_and(|bytes_per_s| top.bytes_per_s > GROWTH_MIN * bytes_per_s)
    };
    Choice {
        measured: cell.confirmed.clone().expect("a choice is confirmed"),
        best_bytes_per_s: top.bytes_per_s,
        deeper_may_be_better: top.depth == grid.deepest
            && grows(bytes_per_s(top.request_bytes, top.depth / DEPTH_STEP)),
        larger_may_be_better: top.request_bytes == grid.largest_bytes
            && grows(bytes_per_s(top.request_bytes / SIZE_STEP, top.depth)),
        cell,
    }
}

impl Grid {
    /// Returns, of the eligible cells, the good enough one with the fewest bytes in flight, and the fastest.
    fn cheapest(&self, eligible: impl Fn(&GridCell) -> bool) -> Option<(usize, usize)> {
        let all = || self.cells.iter().enumerate().filter(|(_, cell)| eligible(cell));
        let (best, fastest) = all().max_by(|a, b| a.1.bytes_per_s.total_cmp(&b.1.bytes_per_s))?;
        let enough = BEST_SHARE_MIN * fastest.bytes_per_s;
        let good = all().filter(|(_, cell)| self.most_bytes_per_s(cell) >= enough);
        let (chosen, _) =
            good.min_by_key(|(_, cell)| (cell.request_bytes * u64::from(cell.depth), cell.depth))?;
        Some((chosen, best))
    }

    /// Returns, of the eligible cells, the one whose 99th percentile may be the shortest; of equal ones the one with
    /// the fewest bytes in flight.
    fn shortest(&self, eligible: impl Fn(&GridCell) -> bool) -> Option<usize> {
        let all = self.cells.iter().enumerate().filter(|(_, cell)| eligible(cell));
        let by = |cell: &GridCell| (cell.request_bytes * u64::from(cell.depth), cell.depth);
        let shortest = all.min_by(|(_, a), (_, b)| {
            a.least_p99_ns().total_cmp(&b.least_p99_ns()).then_with(|| by(a).cmp(&by(b)))
        });
        shortest.map(|(at, _)| at)
    }

    /// Returns the bytes per second that a cell may have by its measurement.
    fn most_bytes_per_s(&self, cell: &GridCell) -> f64 {
        match (self.load, &cell.confirmed) {
            (Load::RandomWrite, None) => SHORT_MEASUREMENT_SLACK * cell.bytes_per_s,
            _ => cell.bytes_per_s,
        }
    }

    /// Returns whether a confirming measurement of the best cell would not change the choice. If the best is slower
    /// than it seems, the confirmed choice is a lower bound of it, beside which no cell with fewer bytes in flight is
    /// good enough; if it is a little faster, the choice still is. Of writes it always may: a measurement of them also
    /// changes the drive.
    fn is_settled(&self, chosen: usize, best: usize) -> bool {
        let bytes = |cell: &GridCell| (cell.request_bytes * u64::from(cell.depth), cell.depth);
        let (chosen, best) = (&self.cells[chosen], &self.cells[best]);
        let enough = BEST_SHARE_MIN * chosen.bytes_per_s;
        self.load != Load::RandomWrite
            && chosen.confirmed.is_some()
            && chosen.bytes_per_s >= BEST_UNDERRATED * BEST_SHARE_MIN * best.bytes_per_s
            && self
                .cells
                .iter()
                .all(|cell| bytes(cell) >= bytes(chosen) || self.most_bytes_per_s(cell) < enough)
    }

    /// Replaces the estimate of a cell by a confirming measurement. A short scan can be served from what the drive read
    /// ahead before it: where it was overrated, so are those in requests of the same size.
    fn confirm(
        &mut self,
        bench: &mut Bench<'_>,
        at: usize,
        confirm: &mut Confirm<'_>,
    ) -> Result<(), EarlyEnd> {
        let measured = confirm(bench, &self.cells[at])?;
        let GridCell { request_bytes, bytes_per_s: estimate, .. } = self.cells[at];
        let share = measured.bandwidth_bytes_per_s / estimate;
        self.cells[at].take(measured);
        if self.load == Load::Scan && share < 1.0 {
            let is_alike =
                |cell: &&mut GridCell| cell.request_bytes == request_bytes && cell.confirmed.is_none();
            self.cells.iter_mut().filter(is_alike).for_each(|cell| cell.bytes_per_s *= share);
        }
        Ok(())
    }
}

impl GridCell {
    /// Returns whether both are of one size and depth.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        (self.request_bytes, self.depth) == (other.request_bytes, other.depth)
    }

    /// Returns the 99th percentile that a cell may have by its measurement.
    fn least_p99_ns(&self) -> f64 {
        let slack = if self.confirmed.is_some() { 1.0 } else { SHORT_MEASUREMENT_SLACK };
        self.p99_ns / slack
    }

    /// Replaces the estimate by a measurement.
    fn take(&mut self, measured: PointMeasurement) {
        (self.bytes_per_s, self.p99_ns) = (measured.bandwidth_bytes_per_s, measured.longest_p99_ns());
        self.confirmed = Some(measured);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice_text::reason;
    use crate::point_measurement::tests::measured;
    use flashlane_base::Seed;
    use flashlane_device::NullDevice;
    use std::collections::BTreeMap;

    /// Cells of one size, each with its depth and bytes per second.
    fn grid(cells: &[(u32, f64)]) -> Grid {
        let cell = |&(depth, bytes_per_s): &(u32, f64)| GridCell {
            request_bytes: 4096,
            depth,
            bytes_per_s,
            p99_ns: 2e5,
            confirmed: Some(measured(bytes_per_s)),
        };
        let cells = cells.iter().map(cell).collect();
        Grid { load: Load::RandomRead, cells, largest_bytes: 16384, deepest: 64, written: BTreeMap::new() }
    }

    #[test]
    fn best_is_confirmed_where_short_measurements_overrate_the_others() {
        // The first 12 are half as fast as they seem; in a scan they are also in smaller requests.
        for load in [Load::RandomRead, Load::Scan] {
            let cells: Vec<(u32, f64)> =
                (0..14).map(|nth| (1 << nth, 0.91e8 + f64::from(nth) * 1e6)).collect();
            let mut grid = grid(&cells);
            grid.load = load;
            for (nth, cell) in grid.cells.iter_mut().enumerate() {
                cell.confirmed = None;
                cell.request_bytes <<= if load == Load::Scan && nth >= 12 { 6 } else { 0 };
            }
            let mut device = NullDevice::new(1 << 30);
            let mut stop = || false;
            let mut bench = Bench::new(&mut device, Seed(1), &mut stop);
            let mut confirm = |_: &mut Bench<'_>, cell: &GridCell| {
                let nth = cell.depth.ilog2();
                Ok(measured((0.91e8 + f64::from(nth) * 1e6) / if nth < 12 { 2.0 } else { 1.0 }))
            };
            let choice = cheapest(&mut bench, &mut grid, &mut confirm).unwrap();
            // In a scan the cheaper of the two that are fast is found, too.
            let depth = if load == Load::Scan { 1 << 12 } else { 1 << 13 };
            assert_eq!((choice.cell.depth, choice.best_bytes_per_s), (depth, 1.04e8), "{load:?}");
        }
    }

    #[test]
    fn best_is_confirmed_only_where_it_may_decide() {
        let settled = |cells: &[(u32, f64)], is_confirmed: bool| {
            let mut grid = grid(cells);
            let best = grid.cells.len() - 1;
            grid.cells.iter_mut().for_each(|cell| cell.confirmed = None);
            grid.cells[1].confirmed = is_confirmed.then(|| measured(cells[1].1));
            grid.is_settled(1, best)
        };
        let certain = [(1, 0.8e8), (2, 0.97e8), (4, 1e8)];
        assert!(settled(&certain, true) && !settled(&certain, false));
        // If the best is a tenth slower than it seems, one request in flight is good enough.
        assert!(!settled(&[(1, 0.89e8), (2, 0.97e8), (4, 1e8)], true));
        // If it is a little faster, two are not.
        assert!(!settled(&[(1, 0.8e8), (2, 0.91e8), (4, 1e8)], true));
    }

    #[test]
    fn cell_that_may_have_a_shorter_percentile_is_confirmed_first() {
        let mut grid = grid(&[(1, 1e8), (2, 1e8)]);
        assert_eq!(grid.shortest(|_| true), Some(0), "of equal ones the one with fewer bytes in flight");
        (grid.cells[0].p99_ns, grid.cells[0].confirmed) = (2.2e5, None);
        assert_eq!(grid.shortest(|_| true), Some(0), "a short measurement may overrate it");
        grid.cells[0].p99_ns = 2.6e5;
        assert_eq!(grid.shortest(|_| true), Some(1));
    }

    /// A choice with this depth, rate in MB/s, and lowest and highest percentile in milliseconds.
    fn tried(depth: u32, mb_per_s: f64, p99_ms: [f64; 2]) -> Choice {
        let grid = grid(&[(depth, mb_per_s * 1e6)]);
        let mut choice = choice(&grid, 0, 0);
        let p99_ns = p99_ms.map(|ms| ms * 1e6);
        choice.measured.latencies.ranges_ns = Some([[1e5; 2], p99_ns]);
        choice
    }

    #[test]
    fn reported_choice_is_the_nearest_of_all_that_were_measured_fully() {
        let nearest = |all: &[(u32, f64, [f64; 2])]| {
            let all: Vec<Choice> =
                all.iter().map(|&(depth, rate, p99_ms)| tried(depth, rate, p99_ms)).collect();
            all[nearest(&all, 10e6)].cell.depth
        };
        let [kept, slower, late, later] =
            [(2, 43.0, [3.0, 4.4]), (1, 30.0, [1.5, 1.9]), (4, 43.0, [6.0, 12.0]), (64, 50.0, [31.0, 35.0])];
        assert_eq!(nearest(&[slower, later, kept]), 2, "the fastest that keeps the bound");
        assert_eq!(nearest(&[kept, (1, 42.9, [1.5, 1.9]), later]), 1, "the fewest of equally fast ones");
        assert_eq!(nearest(&[(8, 43.0, [10.5, 11.0]), late, later]), 4, "one that may keep it");
        assert_eq!(nearest(&[later, (8, 43.0, [10.5, 11.0])]), 8);
    }

    #[test]
    fn last_choice_is_one_request_in_flight() {
        let mut grid = grid(&[(1, 1e8), (2, 1e8), (64, 2e8)]);
        for (cell, p99_ns) in grid.cells.iter_mut().zip([4e6, 5e6, 1e5]) {
            (cell.p99_ns, cell.confirmed) = (p99_ns, None);
        }
        let mut device = NullDevice::new(1 << 30);
        let mut stop = || false;
        let mut bench = Bench::new(&mut device, Seed(1), &mut stop);
        let late = [tried(2, 100.0, [4.0, 12.0])];
        let mut confirm = |_: &mut Bench<'_>, cell: &GridCell| Ok(measured(cell.bytes_per_s));
        let last = within_bound_again(&mut bench, &mut grid, &late, 10e6, true, &mut confirm).unwrap();
        assert_eq!(last.cell.depth, 1);
    }

    #[test]
    fn more_may_be_better_where_the_greatest_depth_is_faster() {
        // The chosen depth has 90% of the best: the edge counts for the best, not for the choice.
        for (cells, is_open) in [
            (&[(16, 0.6e8), (32, 0.95e8), (64, 1e8)], true),
            (&[(16, 0.6e8), (32, 0.98e8), (64, 1e8)], false),
            (&[(8, 0.6e8), (16, 0.95e8), (32, 1e8)], false),
        ] {
            let grid = grid(cells);
            let (chosen, best) = grid.cheapest(|_| true).unwrap();
            assert_eq!((chosen, best), (1, 2));
            let choice = choice(&grid, chosen, best);
            assert_eq!(
                (choice.deeper_may_be_better, choice.larger_may_be_better),
                (is_open, false),
                "{cells:?}"
            );
            let said = reason(Load::RandomRead, &choice, None)
                .contains("in flight that were tried: more may be better");
            assert_eq!(said, is_open, "{cells:?}");
        }
    }
}
