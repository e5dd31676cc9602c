//! The output of a server: a line each second in which something was asked, and a summary.

use super::kept::{self, Ended, Second};
use crate::failure::Failure;
use crate::output::print;
use flashlane_base::units::format_bytes;
use flashlane_base::{Duration, Instant};
use flashlane_device::{Counters, DataDevice};
use flashlane_result::run::RunResult;
use flashlane_serve::{Lateness, OperationStats, Served, Stats};
use std::fmt::Write;

/// Interval of lines.
const INTERVAL: Duration = Duration::from_s(1);

pub struct Live {
    started: Instant,
    next: Instant,
    last: Instant,
    counters: Counters,
    /// Slowdown of a simulated drive.
    slowdown: Option<u32>,
    /// Counters at the start.
    first: Counters,
    /// Of all seconds that are over, where they are kept.
    seconds: Option<Vec<Second>>,
}

impl Live {
    /// `keeps` is whether there will be a [`result`](Self::result).
    pub fn new<D: DataDevice>(served: &Served<D>, slowdown: Option<u32>, keeps: bool) -> Self {
        let (now, counters) = (served.now(), served.counters());
        Self {
            started: now,
            next: now + INTERVAL,
            last: now,
            first: counters.clone(),
            counters,
            slowdown,
            seconds: keeps.then(Vec::new),
        }
    }

    /// Prints the line of a second that is over.
    pub fn tick<D: DataDevice>(&mut self, served: &mut Served<D>) -> Result<(), Failure> {
        let now = served.now();
        if now < self.next {
            return Ok(());
        }
        let period = now.since(self.last);
        (self.next, self.last) = (now + INTERVAL, now);
        let counters = served.counters();
        let amplification = counters.since(&self.counters).write_amplification();
        self.counters = counters;
        let stats = served.take_recent();
        if stats.commands() == 0 {
            return Ok(());
        }
        let at = now.since(self.started);
        if let Some(seconds) = &mut self.seconds {
            let (mean_ns, p99_ns) = (stats.latency.mean_ns(), stats.latency.quantile_ns(0.99));
            seconds.push(Second { at_s: at.as_s_f64(), mean_ns, p99_ns });
        }
        print(&self.line(&stats, at, period, amplification))
    }

    fn line(&self, stats: &Stats, at: Duration, period: Duration, amplification: Option<f64>) -> String {
        let rate = |of: &OperationStats| of.commands as f64 / period.as_s_f64();
        let mut line = format!(
            "{:5.0} s  {:.0} reads/s  {:.0} writes/s  latency mean {} p99 {}  queue {:.1}",
            at.as_s_f64(),
            rate(&stats.reads),
            rate(&stats.writes),
            ns(stats.latency.mean_ns()),
            ns(stats.latency.quantile_ns(0.99)),
            stats.queue(period)
        );
        if let Some(amplification) = amplification {
            let _ = write!(line, "  amplification {amplification:.2}");
        }
        if stats.failed() > 0 {
            let _ = write!(line, "  {} failed", stats.failed());
        }
        if let Some(slowdown) = self.slowdown
            && !stats.lateness.is_empty()
        {
            let share = 100.0 * stats.lateness_share();
            let _ = write!(line, "  late p99 {} ({share:.0}%)", ns(stats.lateness.quantile_ns(0.99)));
            if let Lateness::Late { slowdown } = stats.lateness(slowdown) {
                let _ = write!(line, ": too late, --slowdown {slowdown} would do");
            }
        }
        line + "\n"
    }

    /// Returns the summary of the run, for `whom` it was; first, whether it is valid.
    pub fn summary<D: DataDevice>(&self, served: &Served<D>, whom: &str) -> String {
        let time = served.now().since(self.started);
        self.validity_line(served.total()) + &format!("served {whom} in {time}\n") + &self.facts(served)
    }

    /// Returns how things stand: the summary so far, and the counters of the device.
    pub fn snapshot<D: DataDevice>(&self, served: &Served<D>) -> String {
        let time = served.now().since(self.started);
        let mut text = format!("after {time}:\n") + &self.validity_line(served.total()) + &self.facts(served);
        if let Some(bytes) = served.held_bytes() {
            let _ = writeln!(text, "  data in memory: {}", format_bytes(bytes));
        }
        for (name, count) in served.counters().0 {
            let _ = writeln!(text, "  {name}: {count}");
        }
        text
    }

    /// Returns the result of the run, for `whom` it was.
    pub fn result<D: DataDevice>(&self, served: &Served<D>, whom: &str, seed: u64) -> RunResult {
        let ended = Ended {
            whom,
            elapsed: served.now().since(self.started),
            counters: served.counters().since(&self.first),
            seconds: self.seconds.as_deref().unwrap_or_default(),
            slowdown: self.slowdown,
            invalid: self.invalid(served.total()),
            seed,
        };
        kept::result(served, ended)
    }

    /// Returns why the run is not valid, if it is not.
    fn invalid(&self, stats: &Stats) -> Option<String> {
        match stats.lateness(self.slowdown?) {
            Lateness::Late { slowdown } => Some(format!(
                "not valid: p99 of lateness is {:.0}% of the mean latency, and allowed are 10%: clients \
                 measured this machine as well as the drive; --slowdown {slowdown} would do",
                100.0 * stats.lateness_share()
            )),
            _ => None,
        }
    }

    /// Returns a line where the run is not valid.
    fn validity_line(&self, stats: &Stats) -> String {
        self.invalid(stats).map_or_else(String::new, |reason| reason + "\n")
    }

    /// Returns what was counted and measured since the start.
    fn facts<D: DataDevice>(&self, served: &Served<D>) -> String {
        let (stats, mut text) = (served.total(), String::new());
        for (name, of) in [
            ("reads", &stats.reads),
            ("writes", &stats.writes),
            ("trims", &stats.trims),
            ("flushes", &stats.flushes),
        ] {
            if of.commands > 0 {
                let bytes =
                    if of.bytes > 0 { format!(", {}", format_bytes(of.bytes)) } else { String::new() };
                let failed = if of.failed > 0 { format!(", {} failed", of.failed) } else { String::new() };
                let _ = writeln!(text, "  {name}: {}{bytes}{failed}", of.commands);
            }
        }
        let of = |name: &str, histogram: &flashlane_base::Histogram| {
            let latency = histogram.latency();
            format!(
                "  {name}: mean {}, p50 {}, p99 {}, p99.9 {}, max {}\n",
                ns(latency.mean),
                ns(latency.p50),
                ns(latency.p99),
                ns(latency.p999),
                ns(latency.max)
            )
        };
        if !stats.latency.is_empty() {
            text += &of("latency", &stats.latency);
        }
        if let Some(slowdown) = self.slowdown
            && !stats.lateness.is_empty()
        {
            text += &of("lateness", &stats.lateness);
            if slowdown > 1 {
                let _ = writeln!(text, "  times are {slowdown} times those of the drive");
            }
        }
        let activity = served.activity();
        if let Some(idle) = activity.idle_share() {
            let _ = writeln!(
                text,
                "  in flight: {:.2} on average, nothing for {:.0}% of the time from the first request to the end of the last",
                stats.queue(activity.span()),
                100.0 * idle
            );
        }
        if let Some(amplification) = served.counters().write_amplification() {
            let _ = writeln!(text, "  write amplification: {amplification:.2}");
        }
        text
    }
}

pub fn ns(ns: f64) -> Duration {
    Duration::from_ns(ns.round() as u64)
}
