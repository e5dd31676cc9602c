//! The write buffer: is a write done before it is on flash, and how much fits in between?
//!
//! Presence: a write that must be on flash takes longer than one that need not. Size: many small writes to distinct
//! pages come faster than flash can take them; while the buffer fills they complete at the link's pace, then at
//! flash's. The bend is where it is full, and what flash took until then is subtracted.

use crate::chunk::Area;
use crate::pattern::point;
use crate::rig::Rig;
use flashlane_base::Duration;
use flashlane_measure::Interruption;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Mark, Series};
use flashlane_workload::Access;

/// How much later flash must take a write, against the buffer, for there to be one.
const LATER: f64 = 1.25;
/// How much steeper the curve must be behind the bend.
const STEEPER: f64 = 1.5;
/// The share of what was written before the bend that may have left the buffer again: how much did is a rough estimate.
const LEFT: f64 = 0.15;
/// Two measurements must agree within this share.
const AGREE: f64 = 0.1;

/// The bend of a curve of completions.
struct Bend {
    pages: f64,
    at: usize,
    steeper: f64,
}

/// Finds the buffer and its size; the figure shows pages against time.
pub(crate) fn find(
    rig: &mut Rig<'_>,
    area: Area,
    page: Option<u64>,
    page_or_usual: u64,
    most_pages: usize,
) -> Result<(Finding, Option<Figure>), Interruption> {
    let (plain, durable) = latencies(rig, area)?;
    if durable < LATER * plain {
        let evidence = format!(
            "a write takes {plain:.1} µs, and {durable:.1} µs where it must be on flash: no sooner without"
        );
        return Ok((Finding::absent(0.95, evidence), None));
    }
    let present =
        format!("a write is done in {plain:.1} µs, but in {durable:.1} µs where it must be on flash");
    let Some(page) = page else {
        let curve = completions(rig, area, page_or_usual, 2048.min(most_pages))?;
        let evidence = format!(
            "{present}: there is a buffer, but its size is counted in pages, and how large one is was not found"
        );
        return Ok((Finding::not_determined(evidence), Some(figure(&curve, 0))));
    };
    let mut pages = 2048.min(most_pages);
    loop {
        let curve = completions(rig, area, page, pages)?;
        let first = bend(&curve, durable);
        let again = completions(rig, area, page, pages)?;
        let agreed =
            first.zip(bend(&again, durable)).filter(|(a, b)| (a.pages / b.pages - 1.0).abs() < AGREE);
        if let Some((a, b)) = agreed {
            let bytes = ((a.pages + b.pages) / 2.0).round() as u64 * page;
            let evidence = format!(
                "{present}; after {} small writes to distinct pages each takes {:.1} times as long",
                a.at, a.steeper
            );
            return Ok((Finding::found(bytes, 0.8, evidence), Some(figure(&curve, a.at))));
        }
        if pages == most_pages {
            let evidence = format!(
                "{present}: there is a buffer, but {pages} writes to distinct pages showed no clear bend from which to tell its size"
            );
            return Ok((Finding::not_determined(evidence), Some(figure(&curve, 0))));
        }
        pages = (pages * 4).min(most_pages);
    }
}

/// Median latencies of a plain write and of one that must be on flash, each on a drive at rest.
fn latencies(rig: &mut Rig<'_>, area: Area) -> Result<(f64, f64), Interruption> {
    let sector = rig.sector_bytes();
    let rest = Duration::from_ms(2);
    let (mut plain, mut durable) = (Vec::new(), Vec::new());
    for _ in 0..24 {
        let mut place = || area.offset_bytes + rig.random().below(area.length_bytes / sector) * sector;
        let (a, b) = (place(), place());
        plain.push(rig.one(Access::write(a, sector))?.as_us_f64());
        rig.pause(rest);
        durable.push(rig.durable_write(b, sector)?.as_us_f64());
        rig.pause(rest);
    }
    Ok((point(&mut plain).value, point(&mut durable).value))
}

/// When each of many writes to distinct pages completed, in microseconds, in order.
fn completions(rig: &mut Rig<'_>, area: Area, page: u64, pages: usize) -> Result<Vec<f64>, Interruption> {
    rig.settle()?;
    let sector = rig.sector_bytes();
    let mut places: Vec<u64> = (0..area.length_bytes / page).map(|i| area.offset_bytes + i * page).collect();
    rig.random().shuffle(&mut places);
    places.truncate(pages);
    let depth = rig.depth();
    let mut times = Vec::with_capacity(pages);
    let start = rig.device().now();
    rig.stream_each(places.into_iter().map(|at| Access::write(at, sector)), depth, |_, completion| {
        times.push(completion.completed.since(start).as_us_f64());
    })?;
    rig.settle()?;
    Ok(times)
}

/// The bend of the shortest beginning of the curve that has one: beside a long straight stretch a small buffer's
/// bend would count for little.
fn bend(times: &[f64], durable_us: f64) -> Option<Bend> {
    if let Some(stall) = stall(times, durable_us) {
        return Some(stall);
    }
    let mut lengths: Vec<usize> =
        (8..).map(|power| 1 << power).take_while(|length| *length < times.len()).collect();
    lengths.push(times.len());
    lengths.into_iter().find_map(|length| bend_of(&times[..length], durable_us))
}

/// The first long gap, where it comes before flash can have taken a page: the buffer was smaller than what flash
/// takes at once, and the curve is a staircase rather than a bend. What came before the gap is what fits.
fn stall(times: &[f64], durable_us: f64) -> Option<Bend> {
    let long = 0.25 * durable_us;
    let at = times.windows(2).position(|pair| pair[1] - pair[0] > long)? + 1;
    let mut earlier: Vec<f64> = times[..at].windows(2).map(|pair| pair[1] - pair[0]).collect();
    earlier.sort_unstable_by(f64::total_cmp);
    let usual = earlier.get(earlier.len() / 2)?;
    let gap = times[at] - times[at - 1];
    (times[at - 1] < durable_us && gap > 8.0 * usual).then_some(Bend {
        pages: at as f64,
        at,
        steeper: gap / usual.max(1e-3),
    })
}

/// The best fit of two straight lines, and what the buffer held where they meet.
fn bend_of(times: &[f64], durable_us: f64) -> Option<Bend> {
    let n = times.len();
    let lines = Lines::new(times);
    let margin = (n / 32).max(16);
    if n < 4 * margin {
        return None;
    }
    let at = (margin..n - margin).min_by(|&a, &b| {
        (lines.residual(0, a) + lines.residual(a, n))
            .total_cmp(&(lines.residual(0, b) + lines.residual(b, n)))
    })?;
    let (before, after) = (lines.slope(0, at), lines.slope(at, n));
    let steeper = after / before;
    // The bend must explain the curve: a single line through all of it has to be much worse.
    let better = lines.residual(0, n) / (lines.residual(0, at) + lines.residual(at, n)).max(1e-9);
    if !(before > 0.0 && steeper > STEEPER && better > 10.0 && at < n * 4 / 5) {
        return None;
    }
    // Flash takes its first page only when a first program is done; the last write that still fitted is the one
    // before the bend.
    let taken = (times[at - 1] - durable_us).max(0.0) / after;
    let pages = at as f64 - taken;
    (pages >= 1.0 && taken <= LEFT * at as f64).then_some(Bend { pages, at, steeper })
}

/// Least squares over any stretch of a curve in constant time.
struct Lines {
    /// Sums of y, x*y and y*y up to each index; those of x and x*x follow from the index.
    sums: Vec<(f64, f64, f64)>,
}

impl Lines {
    fn new(times: &[f64]) -> Self {
        let mut sums = vec![(0.0, 0.0, 0.0)];
        for (i, &y) in times.iter().enumerate() {
            let (a, b, c) = sums[i];
            sums.push((a + y, b + i as f64 * y, c + y * y));
        }
        Self { sums }
    }

    /// Means and centred moments of `from..to`: (xx, xy, yy).
    fn moments(&self, from: usize, to: usize) -> (f64, f64, f64) {
        let n = (to - from) as f64;
        let mean_x = (from + to - 1) as f64 / 2.0;
        let y = self.sums[to].0 - self.sums[from].0;
        let xy = self.sums[to].1 - self.sums[from].1;
        let yy = self.sums[to].2 - self.sums[from].2;
        (n * (n * n - 1.0) / 12.0, xy - mean_x * y, yy - y * y / n)
    }

    fn slope(&self, from: usize, to: usize) -> f64 {
        let (xx, xy, _) = self.moments(from, to);
        xy / xx
    }

    fn residual(&self, from: usize, to: usize) -> f64 {
        let (xx, xy, yy) = self.moments(from, to);
        (yy - xy * xy / xx).max(0.0)
    }
}

fn figure(curve: &[f64], bend: usize) -> Figure {
    let step = (curve.len() / 500).max(1);
    Figure {
        id: "write-buffer".into(),
        title: "Small writes to distinct pages, done against time".into(),
        x: Axis::linear("time", "ms"),
        y: Axis::linear("writes done", ""),
        series: vec![Series {
            name: "writes".into(),
            points: curve.iter().enumerate().step_by(step).map(|(i, t)| (t / 1e3, (i + 1) as f64)).collect(),
            ..Series::default()
        }],
        marks: (bend > 0)
            .then(|| Mark { x: curve[bend] / 1e3, y: None, label: "buffer full".into() })
            .into_iter()
            .collect(),
        caption: "While the buffer fills, writes complete at the link's pace; then at flash's.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 pages fit; a write comes in every 10 us, flash takes one every `flash_us`, the first after 400 us.
    fn filling(flash_us: f64) -> Vec<f64> {
        (0..4000)
            .map(|n| {
                let link = 10.0 * (n + 1) as f64;
                let room = if n < 300 { 0.0 } else { 400.0 + flash_us * (n - 299) as f64 };
                link.max(room)
            })
            .collect()
    }

    #[test]
    fn the_bend_of_a_filling_buffer_gives_its_size() {
        let bend = bend(&filling(100.0), 400.0).unwrap();
        assert!((bend.pages / 300.0 - 1.0).abs() < 0.03, "{}", bend.pages);
    }

    #[test]
    fn a_buffer_that_empties_nearly_as_fast_as_it_fills_gives_no_size() {
        assert!(bend(&filling(25.0), 400.0).is_none());
    }

    #[test]
    fn a_buffer_smaller_than_what_flash_takes_at_once_shows_as_a_staircase() {
        let times: Vec<f64> =
            (0..1000).map(|n| 50.0 + f64::from(n % 16) + 600.0 * f64::from(n / 16)).collect();
        assert_eq!(bend(&times, 600.0).unwrap().pages, 16.0);
    }

    #[test]
    fn a_straight_line_has_no_bend() {
        let times: Vec<f64> = (0..4000).map(|n| 10.0 * n as f64 + (n % 7) as f64).collect();
        assert!(bend(&times, 400.0).is_none());
    }
}
