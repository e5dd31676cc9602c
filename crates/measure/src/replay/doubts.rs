//! Doubts about a replay.

use super::backlog::BUSY;
use super::{Fitted, Pace, Replay};
use crate::doubt::{Doubt, Load, Throughput, about_flash, about_samples, about_the_end};
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
const BEHIND_LEAST: f64 = BUSY as f64 + 1.0;

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
        let load = self.doubt_about_load().or_else(|| self.doubt_about_backlog());
        doubts.splice(first..first, grave.into_iter().chain(load));
        doubts.extend(left_out.filter(|_| !mostly));
        doubts.extend(self.doubts_about_fit());
        doubts.extend(self.doubt_about_lateness());
        if self.waited > 0 {
            doubts.push(Doubt::DeviceFull { waited: self.waited, depth: self.info.depth });
        }
        doubts.extend(about_flash(&self.info, &self.counters, Load::Recorded));
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
        let capacity_bytes = self.info.capacity_bytes;
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
        Some(Doubt::Overloaded { asked: self.asked()?, sustained, speed: self.sustained_speed(speed)? })
    }

    /// Reports that the drive fell behind for a part of the trace that is not short, and caught up again: the backlog
    /// grew for 5% of its time, to a delay of 5% of that.
    fn doubt_about_backlog(&self) -> Option<Doubt> {
        let (backlog, arrival_span) = (self.backlog?, self.arrival_span()?);
        let Pace::Open { speed } = self.options.pace else { return None };
        let [growth_s, longest_s] = [backlog.growth, backlog.longest].map(Duration::as_s_f64);
        let many = (SHARE_BEHIND * self.requests as f64).max(BEHIND_LEAST);
        let is_burst = growth_s < LATER * arrival_span.as_s_f64() || (backlog.requests as f64) < many;
        if is_burst || longest_s < LATER * growth_s {
            return None;
        }
        let growing = backlog.growth_requests as f64;
        Some(Doubt::FellBehind {
            backlog,
            asked_iops: growing / growth_s,
            sustained_iops: growing / (growth_s + longest_s),
            share: backlog.requests as f64 / (self.requests + self.flushes) as f64,
            speed: self.sustained_speed(speed)?,
        })
    }

    /// Returns the multiple of the recorded speed, of which `speed` was replayed, that the drive sustains in the part
    /// of the trace that is slowest to serve: of the length from which a backlog is a doubt.
    fn sustained_speed(&self, speed: f64) -> Option<f64> {
        let part = Duration::from_s_f64(LATER * self.arrival_span()?.as_s_f64());
        Some(speed / self.passage.slowest(part))
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
