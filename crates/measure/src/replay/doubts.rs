//! What there is to doubt in a replay.

use super::Replay;
use crate::Doubt;
use crate::doubt::{about_flash, about_samples, about_the_end};
use flashlane_base::Duration;

/// The share of the median latency from which the replay's own lateness is said.
const LATE: f64 = 0.1;

impl Replay {
    /// What there is to doubt, gravest first. The means of a trace are exact, and none of it is a steady state: an
    /// interval that is wide, or a latency that drifts, is no doubt here.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = about_the_end(self.partial, self.failed, self.requests);
        doubts.extend(self.doubts_about_fit());
        doubts.extend(self.doubt_about_lateness());
        if self.waited > 0 {
            doubts.push(Doubt::DeviceFull { waited: self.waited, depth: self.profile.depth });
        }
        doubts.extend(about_flash(&self.counters));
        doubts.extend(about_samples(self.samples.len(), self.requests));
        doubts
    }

    /// What was changed in the trace so that it fits the device.
    fn doubts_about_fit(&self) -> impl Iterator<Item = Doubt> {
        let fitted = &self.fitted;
        let first = fitted.first_refused.first();
        let left_out =
            first.map(|&first| Doubt::LeftOut { requests: fitted.refused, records: fitted.records, first });
        let where_any = |requests: u64, doubt: Doubt| (requests > 0).then_some(doubt);
        let capacity_bytes = self.profile.capacity_bytes;
        let doubts = [
            left_out,
            where_any(fitted.folded, Doubt::Folded { requests: fitted.folded, capacity_bytes }),
            where_any(fitted.widened, Doubt::Widened { requests: fitted.widened }),
            where_any(fitted.zero_length, Doubt::ZeroLength { requests: fitted.zero_length }),
            where_any(fitted.backwards, Doubt::TimeBackwards { requests: fitted.backwards }),
            where_any(fitted.untimed, Doubt::Untimed { requests: fitted.untimed, of: self.requests }),
        ];
        doubts.into_iter().flatten()
    }

    fn doubt_about_lateness(&self) -> Option<Doubt> {
        let p99_ns = self.lateness.as_ref()?.quantile_ns(0.99);
        let median_ns = self.latencies.all().quantile_ns(0.5);
        (p99_ns > LATE * median_ns).then(|| Doubt::LateSubmission {
            p99: Duration::from_ns(p99_ns as u64),
            median: Duration::from_ns(median_ns as u64),
        })
    }
}
