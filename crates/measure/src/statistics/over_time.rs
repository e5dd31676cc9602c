//! Latency and throughput over time, in bounded memory for a run of unknown length.
//!
//! Time is cut into slices of equal width. When there are too many, pairs of neighbours are merged and the width
//! doubles. Quantiles of a slice come from a coarse histogram, at most 6.25% too high; all else is exact.

use flashlane_base::{Duration, Histogram};

/// Slices before neighbours are merged: a curve over half as many is still smooth.
const SLICES: usize = 256;
/// Width of the first slices.
const FIRST_WIDTH: Duration = Duration::from_ms(1);

/// Collects completions into slices of time.
#[derive(Clone, Debug)]
pub struct OverTime {
    width: Duration,
    slices: Vec<Slice>,
    /// The slice of the latest completion and its end, so that most completions need no division.
    current: usize,
    current_end_ns: u64,
}

/// Completions within one slice of time.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// Latencies, in a coarse histogram; `None` where no request completed.
    pub latencies: Option<Box<Histogram>>,
    /// Bytes that the requests transferred.
    pub bytes: u64,
}

impl OverTime {
    /// Creates an empty collector.
    pub fn new() -> Self {
        Self { width: FIRST_WIDTH, slices: Vec::new(), current: 0, current_end_ns: 0 }
    }

    /// Adds a request that completed `at` after the beginning. The caller guarantees that completions come in the order
    /// of their times.
    #[inline]
    pub fn record(&mut self, at: Duration, latency: Duration, bytes: u64) {
        if at.as_ns() >= self.current_end_ns {
            self.advance(at);
        }
        let slice = &mut self.slices[self.current];
        slice.bytes += bytes;
        slice.latencies.get_or_insert_with(|| Box::new(Histogram::coarse())).record(latency);
    }

    #[cold]
    fn advance(&mut self, at: Duration) {
        while at.as_ns() / self.width.as_ns() >= SLICES as u64 {
            self.merge_pairs();
        }
        self.current = (at.as_ns() / self.width.as_ns()) as usize;
        self.current_end_ns = (self.current as u64 + 1).saturating_mul(self.width.as_ns());
        if self.slices.len() <= self.current {
            self.slices.resize_with(self.current + 1, Slice::default);
        }
    }

    fn merge_pairs(&mut self) {
        let mut rest = std::mem::take(&mut self.slices).into_iter();
        while let Some(mut slice) = rest.next() {
            if let Some(next) = rest.next() {
                slice.merge(next);
            }
            self.slices.push(slice);
        }
        self.width = self.width * 2;
    }

    /// Width of the slices, a power of two times a millisecond.
    pub fn width(&self) -> Duration {
        self.width
    }

    /// The slices from the beginning to the latest completion.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }
}

impl Slice {
    fn merge(&mut self, next: Self) {
        self.bytes += next.bytes;
        match (&mut self.latencies, next.latencies) {
            (Some(latencies), Some(more)) => latencies.merge(&more),
            (latencies @ None, more) => *latencies = more,
            (Some(_), None) => {}
        }
    }
}

impl Default for OverTime {
    fn default() -> Self {
        Self::new()
    }
}
