//! Where the rate of writes falls for good, in a row of measured segments.
//!
//! Nearly all segments before the fall are faster than halfway, on a scale of ratios, between the rates before and
//! after it, and all longer parts behind it are slower: a pause for GC is no fall, and a fast segment behind it, while
//! a cache that was emptied fills again, is no end of it.

use std::ops::Range;

/// One segment of a row of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

impl Segment {
    pub(crate) fn rate(self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// A fall of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fall {
    /// Bytes written before it, and between which numbers of bytes it lies.
    pub(crate) at_bytes: u64,
    pub(crate) range_bytes: [u64; 2],
    /// Rates before and after it, in bytes per second.
    pub(crate) before: f64,
    pub(crate) after: f64,
}

impl Fall {
    /// Returns the same fall in a row that begins after other bytes.
    pub(crate) fn behind(self, bytes: u64) -> Self {
        let Self { at_bytes, range_bytes, .. } = self;
        Self { at_bytes: at_bytes + bytes, range_bytes: range_bytes.map(|range| range + bytes), ..self }
    }

    /// Returns by which factor the rate falls.
    pub(crate) fn factor(&self) -> f64 {
        self.before / self.after
    }

    /// Returns whether a segment is nearer to the rate before the fall than to that after it.
    pub(crate) fn is_before(&self, segment: Segment) -> bool {
        segment.rate() > (self.before * self.after).sqrt()
    }
}

/// Least factor of a fall.
const FACTOR_MIN: f64 = 1.15;
/// Segments that have to be slow behind the fall, and fast before it.
const SLOW_MIN: usize = 8;
const FAST_MIN: usize = 4;
/// Bytes behind the fall, as a share of those before it.
const SLOW_SHARE: f64 = 0.15;
/// Share of the segments before the fall that are fast.
const FAST_SHARE: f64 = 0.9;
/// A segment is fast as a whole from this share of the rate before the fall on.
const NEARLY: f64 = 0.95;
/// Segments in which the fall may lie.
const BETWEEN: usize = 2;
/// Part of the bytes before the fall whose rate counts: the first ones may fill up lanes one by one.
const STARTING: f64 = 1.0 / 3.0;

/// Returns the fall, where it is certain. Of several places, the one with the largest factor.
pub(crate) fn fall(segments: &[Segment]) -> Option<Fall> {
    let sums = Sums::new(segments);
    let last = segments.len().checked_sub(SLOW_MIN + BETWEEN).filter(|&last| last >= FAST_MIN)?;
    let falls = (FAST_MIN..=last).filter_map(|at| fall_at(segments, &sums, at));
    falls.max_by(|one, other| one.factor().total_cmp(&other.factor()))
}

/// Returns the fall at the segment `at` or the next ones, if it is one.
fn fall_at(segments: &[Segment], sums: &Sums, at: usize) -> Option<Fall> {
    let (fast_bytes, behind) = (sums.bytes(0..at), at + BETWEEN);
    if sums.bytes(behind..segments.len()) < SLOW_SHARE * fast_bytes {
        return None;
    }
    let start = (0..at).find(|&start| sums.bytes(0..start) >= STARTING * fast_bytes)?;
    let (before, after) = (sums.rate(start..at), sums.rate(behind..segments.len()));
    let halfway = (before * after).sqrt();
    let is_fast = |segment: &&Segment| segment.rate() > halfway;
    let fast_count = segments[start..at].iter().filter(is_fast).count();
    let is_fall = before > FACTOR_MIN * after
        && segments[at].rate() < halfway
        && fast_count as f64 >= FAST_SHARE * (at - start) as f64
        && sums.are_slow(behind, SLOW_SHARE * fast_bytes, halfway);
    if !is_fall {
        return None;
    }
    // The last segment before may be slow in part, too.
    let is_partly_slow = segments[at - 1].rate() < NEARLY * before;
    let first = if is_partly_slow { at - 1 } else { at };
    let between = first..behind;
    let (between_bytes, seconds) = (sums.bytes(between.clone()), sums.seconds(between.clone()));
    let part_bytes = (seconds - between_bytes / after) / (1.0 / before - 1.0 / after);
    let at_bytes = (sums.bytes(0..first) + part_bytes.clamp(0.0, between_bytes)) as u64;
    let widest = segments[between].iter().map(|segment| segment.bytes).max().unwrap_or_default();
    let range_bytes = [at_bytes.saturating_sub(widest), at_bytes + widest];
    Some(Fall { at_bytes, range_bytes, before, after })
}

/// Bytes and seconds of all segments before each.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(segments: &[Segment]) -> Self {
        let mut sums = vec![(0.0, 0.0)];
        for (nth, segment) in segments.iter().enumerate() {
            let (bytes, seconds) = sums[nth];
            sums.push((bytes + segment.bytes as f64, seconds + segment.seconds));
        }
        Self(sums)
    }

    fn bytes(&self, of: Range<usize>) -> f64 {
        self.0[of.end].0 - self.0[of.start].0
    }

    fn seconds(&self, of: Range<usize>) -> f64 {
        self.0[of.end].1 - self.0[of.start].1
    }

    fn rate(&self, of: Range<usize>) -> f64 {
        self.bytes(of.clone()) / self.seconds(of)
    }

    /// Returns whether all parts from `from` on, of so many bytes and segments at least, are slower than `halfway`.
    fn are_slow(&self, from: usize, bytes: f64, halfway: f64) -> bool {
        let mut end = from;
        for start in from.. {
            end = end.max(start + SLOW_MIN);
            while end < self.0.len() && self.bytes(start..end) < bytes {
                end += 1;
            }
            if end >= self.0.len() {
                return true;
            }
            if self.rate(start..end) > halfway {
                return false;
            }
        }
        true
    }
}

/// Returns whether no part at the beginning, of two segments up to most of them, is faster than the rest.
pub(crate) fn is_level(segments: &[Segment]) -> bool {
    (2..=segments.len() * 7 / 8)
        .all(|end| mean_rate(&segments[..end]) < FACTOR_MIN * mean_rate(&segments[end..]))
}

/// Returns the mean rate of segments; not a number where there are none.
pub(crate) fn mean_rate(segments: &[Segment]) -> f64 {
    let sums = Sums::new(segments);
    sums.rate(0..segments.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 10 MB of a drive that writes `cached` bytes at 1 GB/s, and others at `slow` bytes a second.
    fn written(count: u64, cached: f64, slow: f64) -> Vec<Segment> {
        let time = |bytes: f64| bytes.min(cached) / 1e9 + (bytes - cached).max(0.0) / slow;
        (0..count)
            .map(|nth| {
                let from = nth as f64 * 1e7;
                Segment { bytes: 10_000_000, seconds: time(from + 1e7) - time(from) }
            })
            .collect()
    }

    #[test]
    fn fall_within_a_segment_is_found() {
        let fall = fall(&written(60, 404e6, 3e8)).unwrap();
        assert!((fall.at_bytes as f64 / 404e6 - 1.0).abs() < 0.01, "{fall:?}");
        assert!((fall.before / 1e9 - 1.0).abs() < 0.01 && (fall.after / 3e8 - 1.0).abs() < 0.01, "{fall:?}");
        assert!(fall.range_bytes[0] < 404_000_000 && 404_000_000 < fall.range_bytes[1], "{fall:?}");
    }

    #[test]
    fn fall_without_enough_behind_it_is_open() {
        assert_eq!(fall(&written(45, 404e6, 3e8)), None);
    }

    #[test]
    fn pauses_are_no_fall() {
        let mut segments = written(60, 1e12, 1.0);
        for nth in (7..60).step_by(12) {
            segments[nth].seconds *= 3.0;
        }
        assert_eq!(fall(&segments), None);
    }

    #[test]
    fn fast_segments_of_a_cache_that_is_emptied_are_behind_the_fall() {
        let mut segments = written(60, 100e6, 2e8);
        for nth in (12..60).step_by(4) {
            segments[nth].seconds = 0.01;
        }
        let fall = fall(&segments).unwrap();
        assert!((fall.at_bytes as f64 / 100e6 - 1.0).abs() < 0.1, "{fall:?}");
    }

    #[test]
    fn rate_that_rises_at_first_is_level() {
        let mut segments = written(60, 1e12, 1.0);
        segments[0].seconds *= 2.0;
        assert!(is_level(&segments));
        assert!(!is_level(&written(60, 100e6, 5e8)));
    }
}
