//! Samples of single requests in bounded memory: all of a short run, an even sample of a long one.
//!
//! The run is cut into windows of equal length and one random request of each is kept: a drive's behaviour is periodic
//! in its channels and stripes, and a fixed step would alias with it. When the memory is full, one of each two
//! neighbours is dropped at random, and the windows double. Compared to a reservoir (Vitter 1985) this spreads the
//! samples evenly over time, and costs one comparison per request instead of two logarithms per replacement.

use flashlane_base::{Operation, Random};
use flashlane_device::TimeSplit;

/// One measured request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When its latency began, in nanoseconds since measuring began (zero for one already in flight).
    pub submitted_ns: u64,
    /// Latency in nanoseconds.
    pub latency_ns: u64,
    /// Offset on the device.
    pub offset_bytes: u64,
    /// Index of its job in the workload.
    pub job: u32,
    /// Operation of the request.
    pub operation: Operation,
    /// Where its time went, if the device recorded it.
    pub split: Option<Box<TimeSplit>>,
}

/// Keeps all requests while there is room, then an even sample.
#[derive(Clone, Debug)]
pub struct Samples {
    kept: Vec<Sample>,
    room: usize,
    seen: u64,
    /// The number of the next request to keep.
    next: u64,
    /// Number of the first request beyond the window of `next`.
    window_end: u64,
    window: u64,
    random: Random,
}

impl Samples {
    /// Creates a collector of up to `room` samples (for an odd number, one fewer).
    pub fn new(room: usize, random: Random) -> Self {
        let room = room & !1;
        let next = if room == 0 { u64::MAX } else { 0 };
        Self { kept: Vec::new(), room, seen: 0, next, window_end: 1, window: 1, random }
    }

    /// Offers the next request.
    #[inline]
    pub fn offer(&mut self, sample: impl FnOnce() -> Sample) {
        if self.seen == self.next {
            self.keep(sample());
        }
        self.seen += 1;
    }

    fn keep(&mut self, sample: Sample) {
        if self.kept.len() == self.room {
            let half = self.window;
            self.halve();
            // The window of this request has doubled: with probability 1/2 its second half supplies the sample.
            let is_kept = self.random.below(2) == 0;
            self.next = self.window_end + self.random.below(half);
            self.window_end += half;
            if !is_kept {
                return;
            }
        }
        self.kept.push(sample);
        self.next = self.window_end + self.random.below(self.window);
        self.window_end += self.window;
    }

    fn halve(&mut self) {
        for pair in 0..self.room / 2 {
            self.kept.swap(pair, 2 * pair + self.random.below(2) as usize);
        }
        self.kept.truncate(self.room / 2);
        self.window *= 2;
    }

    /// Number of requests offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the samples kept, in the order of their submission.
    pub fn into_samples(mut self) -> Vec<Sample> {
        self.kept.sort_by_key(|s| (s.submitted_ns, s.latency_ns, s.job, s.offset_bytes));
        self.kept
    }
}
