//! The bend in the times at which writes complete: the buffer is full, and flash sets the pace from then on.

/// Least ratio of the slopes after and before the bend.
const STEEPER: f64 = 1.5;

/// A gap is long that exceeds a plain write by this share of the program that a durable one waits for.
const OF_PROGRAM: f64 = 0.25;
/// From this ratio on a single write after the bend shows it.
const SHARP: f64 = 3.0;
/// A completion is late from this number of standard deviations of those before it on.
const DEVIATIONS: f64 = 6.0;

/// Before this share of the time of a durable write no program has ended, as programs vary.
const BEFORE: f64 = 0.9;

/// The bend of a curve of completions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bend {
    /// Number of writes that completed before it.
    pub(crate) at: usize,
    /// Time of the last of them, in microseconds.
    pub(crate) at_us: f64,
    /// Time from one completion to the next after the bend; `None` where the first write waits before flash has
    /// programmed any.
    pub(crate) after_us: Option<f64>,
    /// Root mean square of how far the completions before the bend are from one pace, in writes.
    pub(crate) uneven: f64,
    /// The ratio of the times from one completion to the next after and before the bend.
    pub(crate) steeper: f64,
}

/// Finds the bend of the shortest prefix of the curve that has one: on a long straight curve a small buffer's bend
/// would have little weight.
///
/// A plain write and the shortest durable one take these times on an idle drive.
pub(crate) fn bend(times: &[f64], plain_us: f64, durable_us: f64) -> Option<Bend> {
    if let Some(stall) = stall(times, plain_us, durable_us) {
        return Some(stall);
    }
    let mut lengths: Vec<usize> =
        (8..).map(|power| 1 << power).take_while(|length| *length < times.len()).collect();
    lengths.push(times.len());
    lengths.into_iter().find_map(|length| bend_of(&times[..length]))
}

/// Finds the first long gap before flash can have programmed a page. Such a buffer is smaller than one parallel program
/// of all dies, and the curve is a staircase rather than a bend: the writes before the gap fit.
///
/// Where only a few are in flight, the next ones may begin when these are done, and end a plain write later.
fn stall(times: &[f64], plain_us: f64, durable_us: f64) -> Option<Bend> {
    let long = plain_us + OF_PROGRAM * (durable_us - plain_us);
    let at = times.windows(2).position(|pair| pair[1] - pair[0] > long)? + 1;
    let mut earlier: Vec<f64> = times[..at].windows(2).map(|pair| pair[1] - pair[0]).collect();
    earlier.sort_unstable_by(f64::total_cmp);
    let usual = earlier.get(earlier.len() / 2)?;
    let gap = times[at] - times[at - 1];
    (times[at - 1] < BEFORE * durable_us && gap > 8.0 * usual).then_some(Bend {
        at,
        at_us: times[at - 1],
        after_us: None,
        uneven: 0.0,
        // Without a time between writes, later ones are slower by no factor.
        steeper: if *usual >= 1e-3 { gap / usual } else { f64::INFINITY },
    })
}

/// Fits two straight lines, and computes the content of the buffer where they meet.
fn bend_of(times: &[f64]) -> Option<Bend> {
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
    let at = if steeper > SHARP { sharpened(times, &lines, at, after) } else { at };
    let uneven = (lines.residual(0, at) / at as f64).sqrt() / lines.slope(0, at);
    Some(Bend { at, at_us: times[at - 1], after_us: Some(after), uneven, steeper })
}

/// Returns the number of completions before a sharp bend near `at`: two lines meet a few writes beside it, and each of
/// these takes as long as many before the bend.
fn sharpened(times: &[f64], lines: &Lines, at: usize, after_us: f64) -> usize {
    let end = first_late(times, lines, at - at / 4, after_us).unwrap_or(at);
    if end <= at + at / 4 { end } else { at }
}

/// Returns the first completion, behind the first ones, that does not keep their pace.
fn first_late(times: &[f64], lines: &Lines, first: usize, after_us: f64) -> Option<usize> {
    let (pace, mean) = (lines.slope(0, first), lines.mean(0, first));
    let deviation_us = (lines.residual(0, first) / first as f64).sqrt();
    let slack_us = (DEVIATIONS * deviation_us).max(0.5 * after_us);
    let middle = (first - 1) as f64 / 2.0;
    let is_late = |nth: &usize| times[*nth] > mean + pace * (*nth as f64 - middle) + slack_us;
    (first..times.len()).find(is_late)
}

impl Bend {
    /// Returns the number of completions that keep the pace of the first ones on a curve of slower writes, and the time
    /// of the last of them in microseconds; `None` where all keep it.
    pub(crate) fn of_slower(&self, slower: &[f64]) -> Option<(usize, f64)> {
        let first = self.at - self.at / 4;
        let after_us = self.after_us.filter(|_| first >= 2 && first < slower.len())?;
        let end = first_late(slower, &Lines::new(slower), first, after_us)?;
        Some((end, slower[end - 1]))
    }
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

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.sums[to].0 - self.sums[from].0) / (to - from) as f64
    }

    fn residual(&self, from: usize, to: usize) -> f64 {
        let (xx, xy, yy) = self.moments(from, to);
        (yy - xy * xy / xx).max(0.0)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Times of writes to a buffer of 300 pages: a write arrives every 10 us, flash takes one every `flash_us`, the
    /// first after 400 us.
    pub(crate) fn filling(flash_us: f64) -> Vec<f64> {
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
        let bend = bend(&filling(100.0), 10.0, 400.0).unwrap();
        assert!((bend.at as f64 / 300.0 - 1.0).abs() < 0.15, "{bend:?}");
        assert!((bend.after_us.unwrap() - 100.0).abs() < 1.0, "{bend:?}");
    }

    #[test]
    fn sharp_bend_is_exact() {
        for size in [37, 64, 90] {
            let late = |n: usize| 0.0_f64.max(3000.0 * (n as f64 + 1.0 - size as f64));
            let times: Vec<f64> = (0..128).map(|n| 60.0 * (n + 1) as f64 + late(n)).collect();
            let bend = bend(&times, 60.0, 500.0).unwrap();
            assert_eq!(bend.at, size, "{bend:?}");
            assert!(bend.uneven < 0.01, "{bend:?}");
        }
    }

    /// As of ssd-s: 32 writes at a time over a fast link, and flash a quarter as fast.
    #[test]
    fn bend_between_few_writes_is_not_late() {
        for size in [64, 80, 100] {
            let late = |n: usize| 21.0 * (n as f64 + 1.0 - size as f64).max(0.0);
            let times: Vec<f64> = (0..2048).map(|n| 8.0 * (n + 1) as f64 + late(n)).collect();
            let bend = bend(&times, 45.0, 530.0).unwrap();
            assert!((size..=size + 1).contains(&bend.at) && bend.uneven < 0.2, "{size}: {bend:?}");
        }
    }

    #[test]
    fn buffer_smaller_than_a_parallel_program_is_measured() {
        let times: Vec<f64> =
            (0..1000).map(|n| 50.0 + f64::from(n % 16) + 600.0 * f64::from(n / 16)).collect();
        let bend = bend(&times, 50.0, 600.0).unwrap();
        assert_eq!((bend.at, bend.after_us), (16, None));
    }

    /// Three at a time, of 51 µs each; flash takes 210 µs.
    #[test]
    fn writes_that_begin_when_others_end_show_no_stall() {
        let times: Vec<f64> =
            (0..1000).map(|n| 2.5 * f64::from(n % 3 + 1) + 53.0 * f64::from(n / 3 + 1)).collect();
        assert_eq!(bend(&times, 51.0, 210.0), None);
    }

    #[test]
    fn straight_line_has_no_bend() {
        let times: Vec<f64> = (0..4000).map(|n| 10.0 * n as f64 + (n % 7) as f64).collect();
        assert!(bend(&times, 10.0, 400.0).is_none());
    }
}
