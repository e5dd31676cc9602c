//! Doubts about a replay.

use super::{Fitted, Pace, Replay};
use crate::doubt::{Doubt, Throughput, about_flash, about_samples, about_the_end};
use crate::statistics::Slice;
use flashlane_base::Duration;

/// Share of left out requests from which the trace is no longer the same.
const LEFT_OUT_MATTERS: f64 = 0.01;

/// Share of the median latency from which the replay's own lateness is reported.
const LATE: f64 = 0.1;

/// A drive is overloaded if the replay exceeds the trace's duration by this share, …
const LATER: f64 = 0.05;
/// … if at the trace's end this share of all requests is still waiting, …
const SHARE_BEHIND: f64 = 0.05;
/// … and more requests than drives usually have in flight.
const BEHIND_LEAST: f64 = 33.0;

impl Replay {
    /// Returns the doubts, gravest first. A trace is not a sample of a steady state: a wide interval or a drifting
    /// latency is not a doubt here.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = about_the_end(self.partial, self.failed, self.requests);
        // An early end comes first, then doubts about all latencies.
        let first = usize::from(self.partial.is_some());
        let fitted = &self.fitted;
        let mostly = fitted.refused as f64 >= LEFT_OUT_MATTERS * fitted.records as f64;
        let left_out = self.doubt_about_left_out();
        let grave = left_out.clone().filter(|_| mostly);
        doubts.splice(first..first, grave.into_iter().chain(self.doubt_about_load()));
        doubts.extend(left_out.filter(|_| !mostly));
        doubts.extend(self.doubts_about_fit());
        doubts.extend(self.doubt_about_lateness());
        if self.waited > 0 {
            doubts.push(Doubt::DeviceFull { waited: self.waited, depth: self.profile.depth });
        }
        doubts.extend(about_flash(&self.profile, &self.counters, false));
        doubts.extend(about_samples(self.samples.len(), self.requests + self.flushes));
        doubts
    }

    /// Reports requests that were left out.
    fn doubt_about_left_out(&self) -> Option<Doubt> {
        let Fitted { refused, records, .. } = self.fitted;
        let first = *self.fitted.first_refused.first()?;
        Some(Doubt::LeftOut { requests: refused, records, first })
    }

    /// Reports changes to requests so that they fit the device.
    fn doubts_about_fit(&self) -> impl Iterator<Item = Doubt> {
        let fitted = &self.fitted;
        let if_any = |requests: u64, doubt: Doubt| (requests > 0).then_some(doubt);
        let capacity_bytes = self.profile.capacity_bytes;
        let doubts = [
            if_any(fitted.folded, Doubt::Folded { requests: fitted.folded, capacity_bytes }),
            if_any(fitted.widened, Doubt::Widened { requests: fitted.widened }),
            if_any(fitted.zero_length, Doubt::ZeroLength { requests: fitted.zero_length }),
            if_any(fitted.backwards, Doubt::TimeBackwards { requests: fitted.backwards }),
            if_any(
                fitted.untimed,
                Doubt::Untimed { requests: fitted.untimed, of: self.requests + self.flushes },
            ),
        ];
        doubts.into_iter().flatten()
    }

    /// Reports that the drive does not sustain the trace's time stamps: the replay lasted longer than the trace, and
    /// many requests were still waiting at the trace's end.
    fn doubt_about_load(&self) -> Option<Doubt> {
        let arrival_span = self.arrival_span()?;
        let late = self.elapsed.as_s_f64() / arrival_span.as_s_f64() - 1.0;
        let behind = self.completed_after(arrival_span);
        let many = (SHARE_BEHIND * self.requests as f64).max(BEHIND_LEAST);
        if late < LATER || behind < many {
            return None;
        }
        let Pace::Open { speed } = self.options.pace else { return None };
        let sustained = Throughput { iops: self.iops(), bandwidth_bytes_per_s: self.bandwidth_bytes_per_s() };
        Some(Doubt::Overloaded { asked: self.asked()?, sustained, speed: speed / (1.0 + late) })
    }

    /// Returns the number of requests that completed later than `time` after the first arrival; a slice of time that
    /// contains the limit counts in proportion.
    fn completed_after(&self, time: Duration) -> f64 {
        let width = self.over_time.width().as_s_f64();
        let after = |(slice, at): (&Slice, u32)| {
            let from = f64::from(at) * width;
            let share = ((from + width - time.as_s_f64()) / width).clamp(0.0, 1.0);
            share * slice.latencies.as_ref().map_or(0, |latencies| latencies.len()) as f64
        };
        self.over_time.slices().iter().zip(0..).map(after).sum()
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
