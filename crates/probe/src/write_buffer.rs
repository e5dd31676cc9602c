//! The write buffer: whether writes complete before they are on flash, and the size of the buffer.
//!
//! Presence: a durable write takes longer than another. Size: many small writes to distinct pages arrive faster than
//! flash can program them; they complete at the rate of the link while the buffer fills, then at the rate of flash. The
//! buffer is full at the bend; the pages that flash had taken by then are subtracted.

use crate::area::Area;
use crate::bench::Bench;
use crate::error::Interruption;
use crate::pattern::point;
use flashlane_base::Duration;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Mark, Series};
use flashlane_workload::Access;

/// Least ratio of the latencies of durable and plain writes that shows a buffer.
const LATER: f64 = 1.25;
/// Least ratio of the slopes after and before the bend.
const STEEPER: f64 = 1.5;
/// Largest share of the writes before the bend that may have left the buffer: their number is a rough estimate, which may
/// be wrong by as much as it is.
const LEFT: f64 = 0.1;
/// Two measurements must agree within this share.
const AGREE: f64 = 0.1;

/// The bend of a curve of completions.
struct Bend {
    pages: f64,
    at: usize,
    steeper: f64,
}

/// Finds the buffer and its size, and draws pages against time.
pub(crate) fn find(
    bench: &mut Bench<'_>,
    area: Area,
    page: Option<u64>,
    page_or_usual: u64,
    most_pages: usize,
) -> Result<(Finding, Option<Figure>), Interruption> {
    let (plain, durable) = latencies(bench, area)?;
    if durable < LATER * plain {
        let evidence = format!(
            "a write takes {plain:.1} µs, and {durable:.1} µs where it must be on flash: no sooner without"
        );
        return Ok((Finding::absent(0.95, evidence), None));
    }
    let present =
        format!("a write is done in {plain:.1} µs, but in {durable:.1} µs where it must be on flash");
    let Some(page) = page else {
        let curve = completions(bench, area, page_or_usual, 2048.min(most_pages))?;
        let evidence = format!(
            "{present}: there is a buffer, but its size is counted in pages, and how large one is was not found"
        );
        return Ok((Finding::not_determined(evidence), Some(figure(&curve, 0))));
    };
    let (finding, figure) = find_size(bench, area, page, most_pages, durable, &present)?;
    Ok((finding, Some(figure)))
}

/// Finds the size of a buffer by the bend in the times of writes of single pages, of up to `most_pages`.
fn find_size(
    bench: &mut Bench<'_>,
    area: Area,
    page: u64,
    most_pages: usize,
    durable: f64,
    present: &str,
) -> Result<(Finding, Figure), Interruption> {
    let mut pages = 2048.min(most_pages);
    loop {
        let curve = completions(bench, area, page, pages)?;
        let first = bend(&curve, durable);
        let again = completions(bench, area, page, pages)?;
        let agreed =
            first.zip(bend(&again, durable)).filter(|(a, b)| (a.pages / b.pages - 1.0).abs() < AGREE);
        if let Some((a, b)) = agreed {
            let bytes = ((a.pages + b.pages) / 2.0).round() as u64 * page;
            let evidence = match a.steeper.is_finite() {
                true => format!(
                    "{present}; after {} small writes to distinct pages each takes {:.1} times as long",
                    a.at, a.steeper
                ),
                false => format!(
                    "{present}; {} small writes to distinct pages are done faster than can be timed, and later ones are not",
                    a.at
                ),
            };
            return Ok((Finding::found(bytes, 0.8, evidence), figure(&curve, a.at)));
        }
        if pages == most_pages {
            let evidence = format!(
                "{present}: there is a buffer, but {pages} writes to distinct pages showed no clear bend from which to tell its size"
            );
            return Ok((Finding::not_determined(evidence), figure(&curve, 0)));
        }
        pages = (pages * 4).min(most_pages);
    }
}

/// Measures the latencies of plain and of durable writes on an idle drive.
fn latencies(bench: &mut Bench<'_>, area: Area) -> Result<(f64, f64), Interruption> {
    let sector = bench.sector_bytes();
    let idle = Duration::from_ms(2);
    let (mut plain, mut durable) = (Vec::new(), Vec::new());
    for _ in 0..24 {
        let mut place = || area.offset_bytes + bench.random().below(area.length_bytes / sector) * sector;
        let (a, b) = (place(), place());
        plain.push(bench.one(Access::write(a, sector))?.as_us_f64());
        bench.pause(idle);
        durable.push(bench.durable_write(b, sector)?.as_us_f64());
        bench.pause(idle);
    }
    Ok((point(&mut plain).value, point(&mut durable).value))
}

/// Returns the completion times of many writes to distinct pages, in microseconds.
fn completions(bench: &mut Bench<'_>, area: Area, page: u64, pages: usize) -> Result<Vec<f64>, Interruption> {
    bench.flush_and_pause()?;
    let sector = bench.sector_bytes();
    let mut places: Vec<u64> = (0..area.length_bytes / page).map(|i| area.offset_bytes + i * page).collect();
    bench.random().shuffle(&mut places);
    places.truncate(pages);
    let depth = bench.depth();
    let mut times = Vec::with_capacity(pages);
    let start = bench.device().now();
    bench.stream_each(places.into_iter().map(|at| Access::write(at, sector)), depth, |_, completion| {
        times.push(completion.completed.since(start).as_us_f64());
    })?;
    bench.flush_and_pause()?;
    Ok(times)
}

/// Finds the bend of the shortest prefix of the curve that has one: on a long straight curve a small buffer's bend
/// would have little weight.
fn bend(times: &[f64], durable_us: f64) -> Option<Bend> {
    if let Some(stall) = stall(times, durable_us) {
        return Some(stall);
    }
    let mut lengths: Vec<usize> =
        (8..).map(|power| 1 << power).take_while(|length| *length < times.len()).collect();
    lengths.push(times.len());
    lengths.into_iter().find_map(|length| bend_of(&times[..length], durable_us))
}

/// Finds the first long gap before flash can have programmed a page. Such a buffer is smaller than one parallel program
/// of all dies, and the curve is a staircase rather than a bend: the writes before the gap fit.
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
        // Without a time between writes, later ones are slower by no factor.
        steeper: if *usual >= 1e-3 { gap / usual } else { f64::INFINITY },
    })
}

/// Fits two straight lines, and computes the content of the buffer where they meet.
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
    // The bend must explain the curve: a single line must fit much worse.
    let better = lines.residual(0, n) / (lines.residual(0, at) + lines.residual(at, n)).max(1e-9);
    if !(before > 0.0 && steeper > STEEPER && better > 10.0 && at < n * 4 / 5) {
        return None;
    }
    // Flash takes its first page when a first program ends; the last write that fitted is the one before the bend.
    let taken = (times[at - 1] - durable_us).max(0.0) / after;
    let pages = at as f64 - taken;
    (pages >= 1.0 && taken <= LEFT * at as f64).then_some(Bend { pages, at, steeper })
}

/// Least squares over any range of a curve in constant time.
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

    /// 300 pages fit; a write arrives every 10 us, flash takes one every `flash_us`, the first after 400 us.
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
    fn bend_gives_the_buffer_size() {
        let bend = bend(&filling(100.0), 400.0).unwrap();
        assert!((bend.pages / 300.0 - 1.0).abs() < 0.03, "{}", bend.pages);
    }

    #[test]
    fn buffer_that_drains_as_fast_as_it_fills_has_no_bend() {
        assert!(bend(&filling(25.0), 400.0).is_none());
    }

    #[test]
    fn buffer_smaller_than_a_parallel_program_is_measured() {
        let times: Vec<f64> =
            (0..1000).map(|n| 50.0 + f64::from(n % 16) + 600.0 * f64::from(n / 16)).collect();
        assert_eq!(bend(&times, 600.0).unwrap().pages, 16.0);
    }

    #[test]
    fn straight_line_has_no_bend() {
        let times: Vec<f64> = (0..4000).map(|n| 10.0 * n as f64 + (n % 7) as f64).collect();
        assert!(bend(&times, 400.0).is_none());
    }
}
