//! Messages for a drive that does not sustain a trace.

use super::Throughput;
use crate::replay::Backlog;
use flashlane_base::units::format_rate;

pub(super) fn overloaded(asked: &Throughput, sustained: &Throughput, speed: f64) -> String {
    let in_words = |throughput: &Throughput| match throughput.bandwidth_bytes_per_s {
        0.0 => format!("{:.0} requests/s", throughput.iops),
        rate if rate >= 1e9 => format!("{} ({:.0} requests/s)", format_rate(rate), throughput.iops),
        rate if rate < 10e6 => format!("{:.2} MB/s ({:.0} requests/s)", rate / 1e6, throughput.iops),
        rate => format!("{:.0} MB/s ({:.0} requests/s)", rate / 1e6, throughput.iops),
    };
    format!(
        "the drive cannot keep up: the trace asks {} of a drive that sustains {}, and the queue grows to the end, so that \
         latencies are mostly waiting time; {}",
        in_words(asked),
        in_words(sustained),
        what_to_try(speed)
    )
}

pub(super) fn fell_behind(
    backlog: &Backlog,
    asked_iops: f64,
    sustained_iops: f64,
    share: f64,
    speed: f64,
) -> String {
    format!(
        "the drive could not keep up with a part of the trace: from {} after its beginning it asked {asked_iops:.0} requests/s \
         of a drive that completed {sustained_iops:.0}, for {}, so that {:.0}% of all requests came behind a growing queue, \
         with latencies of mostly waiting time, up to {}; {}",
        backlog.from,
        backlog.growth,
        share * 100.0,
        backlog.longest,
        what_to_try(speed)
    )
}

/// Formats a multiple of the recorded speed at which the drive may keep up, and the paces that wait for it.
fn what_to_try(speed: f64) -> String {
    // Half of the sustained speed, with two digits: a drive with a full queue does more at once than one that keeps up.
    let speed = speed * 0.5;
    let step = 10_f64.powf(speed.log10().floor() - 1.0);
    let decimals = (1.0 - speed.log10().floor()).max(0.0) as usize;
    let speed = (speed / step).floor() * step;
    format!(
        "try --speed {speed:.decimals$}, half of what it sustained, or --pace think or --pace closed, where requests wait \
         for the drive"
    )
}
