//! Message for a drive that does not sustain a trace.

use super::Throughput;
use flashlane_base::units::format_rate;

pub(super) fn overloaded(asked: &Throughput, sustained: &Throughput, speed: f64) -> String {
    let in_words = |throughput: &Throughput| match throughput.bandwidth_bytes_per_s {
        0.0 => format!("{:.0} requests/s", throughput.iops),
        rate if rate >= 1e9 => format!("{} ({:.0} requests/s)", format_rate(rate), throughput.iops),
        rate if rate < 10e6 => format!("{:.2} MB/s ({:.0} requests/s)", rate / 1e6, throughput.iops),
        rate => format!("{:.0} MB/s ({:.0} requests/s)", rate / 1e6, throughput.iops),
    };
    // Half of the sustained speed, with two digits: a drive with a full queue does more at once than one that keeps up.
    let speed = speed * 0.5;
    let step = 10_f64.powf(speed.log10().floor() - 1.0);
    let decimals = (1.0 - speed.log10().floor()).max(0.0) as usize;
    let speed = (speed / step).floor() * step;
    format!(
        "the drive cannot keep up: the trace asks {} of a drive that sustains {}, and the queue grows to the end, so \
         that latencies are mostly waiting time; try --speed {speed:.decimals$}, or --pace think or --pace closed, \
         where requests wait for the drive",
        in_words(asked),
        in_words(sustained)
    )
}
