//! Single requests in bounded memory: all of a short run, an even draw of a long one.
//!
//! The run is cut into windows of equal length and one request of each is kept, chosen at random: a drive's behaviour
//! is periodic in its channels and stripes, and a fixed step would beat with it. When the room is full, one of each
//! two neighbours goes, by a coin, and the windows double. Against a reservoir (Vitter 1985) this spreads the samples
//! evenly over time, and costs one comparison a request instead of two logarithms a replacement.

use flashlane_base::{Operation, Random};

/// One request as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was due, in nanoseconds since measuring began (zero for one that was in flight then).
    pub submitted_ns: u64,
    /// How long it took, in nanoseconds.
    pub latency_ns: u64,
    /// First byte on the device.
    pub offset_bytes: u64,
    /// The job, by its index in the workload.
    pub job: u32,
    /// What it did.
    pub operation: Operation,
}

/// Keeps all requests while there is room, then an even draw.
#[derive(Clone, Debug)]
pub struct Samples {
    kept: Vec<Sample>,
    room: usize,
    seen: u64,
    /// The number of the next request to keep.
    next: u64,
    /// The first request beyond the window in which `next` lies.
    window_end: u64,
    window: u64,
    random: Random,
}

impl Samples {
    /// Room for `room` samples (for an odd number, one fewer).
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
            // The window that this request was to stand for has doubled too: by a coin, one of its other half does.
            let stays = self.random.below(2) == 0;
            self.next = self.window_end + self.random.below(half);
            self.window_end += half;
            if !stays {
                return;
            }
        }
        self.kept.push(sample);
        self.next = self.window_end + self.random.below(self.window);
        self.window_end += self.window;
    }

    fn halve(&mut self) {
        for pair in 0..self.room / 2 {
            self.kept[pair] = self.kept[2 * pair + self.random.below(2) as usize];
        }
        self.kept.truncate(self.room / 2);
        self.window *= 2;
    }

    /// How many requests were offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The samples kept, in the order of their submission.
    pub fn into_samples(mut self) -> Vec<Sample> {
        self.kept.sort_by_key(|s| (s.submitted_ns, s.latency_ns, s.job, s.offset_bytes));
        self.kept
    }
}
