//! The parts of many latencies, kept by latency: where the time of slow requests goes is not where that of most goes.
//!
//! Requests are summed in classes of latency some 3% wide, 32 an octave, so that the means of any band of latencies
//! follow exactly from whole classes, in a hundred kilobytes at most.

use flashlane_base::{Duration, requests_needed};
use flashlane_device::TimeSplit;

/// Sums of requests by class of latency.
#[derive(Clone, Debug, Default)]
pub struct TimeParts {
    classes: Vec<Class>,
    requests: u64,
}

#[derive(Clone, Debug, Default)]
struct Class {
    requests: u64,
    sum: TimeSplit,
}

/// A band of latencies with the sums of its requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The percentile that it surrounds, 0 to 1; `None` for all requests.
    pub around: Option<f64>,
    /// Requests in it.
    pub requests: u64,
    /// The sums of their parts.
    pub sum: TimeSplit,
}

/// The percentiles that have a band: half of those beyond a percentile lie in it, as many on either side.
const PERCENTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// Classes an octave, and its logarithm.
const FINE: u64 = 32;
const FINE_BITS: u32 = FINE.trailing_zeros();

impl TimeParts {
    /// Adds a request, whose latency is the sum of its parts.
    pub fn record(&mut self, latency: Duration, split: &TimeSplit) {
        debug_assert_eq!(split.total(), latency, "the parts of a latency add up to it");
        let class = class_of(latency);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, Class::default());
        }
        let class = &mut self.classes[class];
        class.requests += 1;
        class.sum += split;
        self.requests += 1;
    }

    /// Returns the bands: all requests, then those around each percentile beyond which enough requests lie.
    pub fn bands(&self) -> Vec<Band> {
        if self.requests == 0 {
            return Vec::new();
        }
        let around = PERCENTILES.into_iter().filter(|&q| self.requests >= requests_needed(q));
        std::iter::once(self.band(None)).chain(around.map(|q| self.band(Some(q)))).collect()
    }

    fn band(&self, around: Option<f64>) -> Band {
        let half = around.map_or(0.0, |q| (1.0 - q) / 2.0);
        let rank = |share: f64| (share * self.requests as f64) as u64;
        let (first, end) = around.map_or((0, self.requests), |q| (rank(q - half), rank(q + half)));
        let mut band = Band { around, requests: 0, sum: TimeSplit::ZERO };
        let mut before = 0;
        for class in &self.classes {
            let is_in = before < end.max(first + 1) && before + class.requests > first;
            before += class.requests;
            if is_in {
                band.requests += class.requests;
                band.sum += &class.sum;
            }
        }
        band
    }
}

/// The class of a latency: itself up to [`FINE`] ns, above that its leading bits.
fn class_of(latency: Duration) -> usize {
    let ns = latency.as_ns();
    if ns < FINE {
        return ns as usize;
    }
    let octave = ns.ilog2() - FINE_BITS;
    (u64::from(octave) * FINE + (ns >> octave)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_device::Part;

    #[test]
    fn classes_are_in_order_and_narrow() {
        let mut last = 0;
        for ns in (0..20_000_u64).chain((15..64).map(|bit| 1 << bit)) {
            let class = class_of(Duration::from_ns(ns));
            assert!(class >= last, "{ns}");
            assert_eq!(
                class == last,
                ns > 0 && class_of(Duration::from_ns(ns - 1)) == class && ns < 20_000 || ns == 0
            );
            last = class;
        }
        assert!(class_of(Duration::from_ns(u64::MAX)) < 2048);
    }

    #[test]
    fn bands_have_the_parts_of_their_requests() {
        let mut parts = TimeParts::default();
        assert_eq!(parts.bands(), []);
        // 98.4% take 10 us in the array; of the others each waits a millisecond for GC.
        for number in 0..10_000_u64 {
            let mut split = TimeSplit::ZERO;
            split.add(Part::Array, Duration::from_us(10));
            if number % 1000 < 16 {
                split.add(Part::BehindGc, Duration::from_ms(1));
            }
            parts.record(split.total(), &split);
        }
        let bands = parts.bands();
        let found: Vec<_> = bands.iter().map(|band| (band.around, band.requests)).collect();
        assert_eq!(found, [(None, 10_000), (Some(0.5), 9_840), (Some(0.99), 160), (Some(0.999), 160)]);
        assert_eq!(bands[0].sum.of(Part::BehindGc), Duration::from_ms(160));
        assert_eq!(bands[1].sum.total(), Duration::from_us(98_400));
        assert_eq!(bands[3].sum.of(Part::Array), Duration::from_us(1_600));
        // A percentile with too few requests beyond it has no band.
        let mut few = TimeParts::default();
        (0..999).for_each(|_| few.record(Duration::ZERO, &TimeSplit::ZERO));
        assert_eq!(few.bands().len(), 2);
    }
}
