//! Single requests in bounded memory: all of a short run, an even random draw of a long one.
//!
//! A reservoir (Li 1994, algorithm L) rather than every n-th request: a drive's behaviour is periodic in its channels
//! and stripes, and a fixed step would beat with it. Between two replacements the cost is one comparison.

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

/// An even draw from a stream of unknown length.
#[derive(Clone, Debug)]
pub struct Reservoir {
    kept: Vec<Sample>,
    room: usize,
    seen: u64,
    /// The number of the next sample to take.
    next: u64,
    /// Algorithm L's running weight.
    weight: f64,
    random: Random,
}

impl Reservoir {
    /// Room for `room` samples.
    pub fn new(room: usize, random: Random) -> Self {
        let next = if room == 0 { u64::MAX } else { 0 };
        Self { kept: Vec::new(), room, seen: 0, next, weight: 1.0, random }
    }

    /// Offers the next sample of the stream.
    #[inline]
    pub fn offer(&mut self, sample: impl FnOnce() -> Sample) {
        if self.seen == self.next {
            self.take(sample());
        }
        self.seen += 1;
    }

    fn take(&mut self, sample: Sample) {
        if self.kept.len() < self.room {
            self.kept.push(sample);
            self.next += 1;
            if self.kept.len() == self.room {
                self.skip();
            }
            return;
        }
        let place = self.random.below(self.room as u64) as usize;
        self.kept[place] = sample;
        self.next += 1;
        self.skip();
    }

    /// Draws how many samples pass before the next replacement.
    fn skip(&mut self) {
        self.weight *= ((1.0 - self.random.unit()).ln() / self.room as f64).exp();
        let skipped = (1.0 - self.random.unit()).ln() / (-self.weight).ln_1p();
        // A saturating cast: a skip beyond every run length means that nothing more is taken.
        self.next = self.next.saturating_add(skipped.abs() as u64);
    }

    /// How many samples were offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The samples kept, in the order of their submission.
    pub fn into_samples(mut self) -> Vec<Sample> {
        self.kept.sort_by_key(|s| (s.submitted_ns, s.latency_ns, s.job, s.offset_bytes));
        self.kept
    }
}
