//! The twin of a run in real time: the same requests, with the same pauses between them, on the same drive in virtual
//! time.
//!
//! A client waits for replies, and then pauses. In real time a reply is late by some microseconds, and so is what the
//! client asks next; its pauses are its own. The twin keeps each pause after the reply that preceded it and leaves out
//! what was late, so that the difference between the two is what this machine added to replies. What made a request
//! arrive late counts as a pause, in both.

use super::{DeviceOptions, live::ns, opening};
use crate::device::{self as devices, OpenRequest};
use crate::failure::Failure;
use flashlane_base::{Duration, Histogram, Instant};
use flashlane_device::Operation;
use flashlane_measure::{Pace, Replay, ReplayOptions, RunOptions, replay};
use flashlane_open::Target;
use flashlane_serve::Replied;
use flashlane_trace::Record;

/// Requests that are repeated, from the first on: some 50 bytes of memory each.
pub const REQUESTS_MAX: usize = 1 << 20;

/// Returns a line of the summary; empty where nothing can be repeated. Its times are stretched as those of the summary.
pub fn text(target: &Target, options: &DeviceOptions, replied: Vec<Replied>) -> Result<String, Failure> {
    let slowdown = options.slowdown;
    if replied.iter().all(|replied| replied.asked.operation == Operation::Flush) {
        return Ok(String::new());
    }
    let is_cut = replied.len() == REQUESTS_MAX;
    let span = span_of(&replied);
    let opening = OpenRequest { after_interrupt: true, ..opening(options) };
    let mut drive = devices::open(&target.clone().in_memory(), &opening)?.device;
    let how = ReplayOptions { pace: Pace::Think { speed: 1.0 }, ..ReplayOptions::default() };
    let twin = replay(&mut *drive, records(replied, slowdown), &how, RunOptions::default());
    Ok(line(&twin.map_err(Failure::failed)?, span, is_cut, slowdown))
}

fn line(twin: &Replay, span: Duration, is_cut: bool, slowdown: u32) -> String {
    let mut latency = Histogram::new();
    for (_, of) in twin.latencies.iter() {
        latency.merge(of);
    }
    let (n, latency) = (f64::from(slowdown), latency.latency());
    let which = if is_cut { format!("the first {REQUESTS_MAX}") } else { "the same".into() };
    format!(
        "  in virtual time, {which} requests with the same pauses: mean {}, p50 {}, p99 {}, in {} instead of {span}\n",
        ns(latency.mean * n),
        ns(latency.p50 * n),
        ns(latency.p99 * n),
        twin.elapsed * u64::from(slowdown)
    )
}

/// Returns the time from the first request to the last reply.
fn span_of(replied: &[Replied]) -> Duration {
    let end = |replied: &Replied| replied.asked.at + replied.asked.took + replied.late;
    let first = replied.iter().map(|replied| replied.asked.at).min();
    let last = replied.iter().map(end).max();
    first.zip(last).map_or(Duration::ZERO, |(first, last)| last.since(first))
}

/// Returns the requests in the time of the drive, each with the time until its reply.
fn records(mut replied: Vec<Replied>, slowdown: u32) -> Vec<Record> {
    // Those of one moment in the order of their replies.
    replied.sort_by_key(|replied| replied.asked.at);
    let n = u64::from(slowdown);
    let record = |Replied { asked, late }: Replied| Record {
        at: Instant::ZERO + asked.at.since(Instant::ZERO) / n,
        took: Some((asked.took + late) / n),
        ..super::recording::record_of(&asked, n)
    };
    replied.into_iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_serve::Asked;

    #[test]
    fn pauses_are_counted_from_replies() {
        let asked = |at_us: u64, took_us: u64| Asked {
            at: Instant::ZERO + Duration::from_us(at_us),
            took: Duration::from_us(took_us),
            operation: Operation::Read,
            offset_bytes: 0,
            length_bytes: 4096,
            durable: false,
        };
        let late = Duration::from_us(8);
        let replied = vec![Replied { asked: asked(200, 80), late }, Replied { asked: asked(100, 80), late }];
        assert_eq!(span_of(&replied), Duration::from_us(188));
        let records = records(replied, 4);
        let times: Vec<_> = records.iter().map(|record| (record.at.as_ns(), record.took)).collect();
        assert_eq!(times, [(25_000, Some(Duration::from_us(22))), (50_000, Some(Duration::from_us(22)))]);
    }
}
