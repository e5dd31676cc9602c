//! A second experiment: what the recommended writes sustain on a fragmented drive.
//!
//! The probe does not use up the spare space of a drive that has much of it: that takes far longer than all its stages.
//! A simulated drive can begin in that state instead. So the point that the probe recommended is measured again on
//! another drive of the same kind whose spare space is used up.

use crate::advice_text;
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::grid::GridCell;
use crate::options::{Effort, Medium, Options, Progress};
use crate::structure::page_or_usual;
use crate::writes::{WriteHistory, filling_share, from_idle, precondition, sustained};
use flashlane_device::Device;
use flashlane_result::feature::Feature;
use flashlane_result::probe::{Finding, ProbeResult, Rate, Recommendation};
use std::collections::BTreeMap;

/// A buffer of unknown size may have taken all that was written so far. So the rounds together write several times as
/// much: a buffer of that size fills in the first of them, which shows.
const UNKNOWN_BUFFER_FACTOR: u64 = 8;

/// Adds the rate of the recommended writes on a fragmented drive, where the probed one had spare space left. `open`
/// opens such a drive of the same kind, or returns `None` where there is none; it is called only where the rate is
/// missing. The probe is complete without this: where the measurement fails or is stopped, nothing is added.
///
/// # Errors
/// Those of `open`.
pub fn add_fragmented<E>(
    result: &mut ProbeResult,
    options: Options<'_>,
    open: impl FnOnce() -> Result<Option<Box<dyn Device>>, E>,
) -> Result<(), E> {
    let Some(point) = result.recommendation.get("random_write").filter(|point| had_space(point)) else {
        return Ok(());
    };
    let Some(mut device) = open()? else { return Ok(()) };
    if let Ok((rate, filling_share)) =
        measure(&mut *device, result.finding(Feature::PageSize), point, options)
    {
        advice_text::enter_fragmented(result, rate, filling_share);
    }
    Ok(())
}

/// Returns whether the writes were measured on a drive whose GC did not run.
fn had_space(point: &Recommendation) -> bool {
    point.writes.as_ref().is_some_and(|writes| writes.cleaning == Some(false))
}

/// Measures the sustained rate at the point of a recommendation, on another drive than the one that it is for. Where
/// the write buffer filled to the end, also returns the time to flush it as a share of the measurement's.
fn measure(
    device: &mut dyn Device,
    page: Option<&Finding>,
    point: &Recommendation,
    options: Options<'_>,
) -> Result<(Rate, Option<f64>), EarlyEnd> {
    let Options { effort, seed, mut watch, .. } = options;
    let progress = Progress { stage: "writes on a fragmented drive", share: 1.0 };
    let mut stop = || watch.as_mut().is_some_and(|watch| watch(&progress).is_break());
    let mut bench = Bench::new(device, seed, &mut stop);
    let mut history = history_of_new_drive(page, point, effort, bench.sector_bytes());
    let (request_bytes, depth) = (point.request_bytes, point.queue_depth);
    let cell = GridCell { request_bytes, depth, bytes_per_s: 0.0, p99_ns: 0.0, confirmed: None };
    precondition(&mut bench, &mut history)?;
    let mut measured = sustained(&mut bench, &mut history, &cell)?;
    let flush_share = from_idle(&mut bench, &mut history, &cell, &mut measured)?;
    let filling_share = filling_share(&mut measured, false, flush_share);
    Ok((Rate::from(&measured), filling_share))
}

/// Returns the history of a drive that nothing was written to, with the page and the buffer that were found on the
/// probed one.
fn history_of_new_drive(
    page: Option<&Finding>,
    point: &Recommendation,
    effort: Effort,
    sector_bytes: u64,
) -> WriteHistory {
    let buffer_bytes = point.writes.as_ref().and_then(|writes| writes.buffer_bytes);
    WriteHistory {
        effort,
        has_bound: point.p99_bound_ns.is_some(),
        budget: effort.budget(Medium::Drive),
        page_bytes: page_or_usual(page.and_then(Finding::number), sector_bytes),
        buffer_bytes,
        stale_bytes: 0,
        unwritten_bytes: 0,
        mixed_bytes: 0,
        written: BTreeMap::new(),
        steady_since_bytes: 0,
        rounds_factor: if buffer_bytes.is_some() { 1 } else { UNKNOWN_BUFFER_FACTOR },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice_text::tests::{rate, recommendation};
    use flashlane_base::Seed;
    use flashlane_measure::RunOptions;
    use flashlane_sim::{Drive, profile};
    use flashlane_workload::Workload;

    /// Returns a fragmented drive whose buffer takes more than five rounds write.
    fn drive_with_large_buffer() -> Drive {
        let settings = [
            ("flash.channels", "2"),
            ("flash.blocks", "128"),
            ("flash.pages", "192"),
            ("capacity", "4GiB"),
            ("buffer.size", "1GiB"),
            ("initial.state", "fragmented"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Drive::new(&profile::load("nvme-tlc", &settings).unwrap(), Seed(1))
    }

    /// Returns the bandwidth of a workload line on [`drive_with_large_buffer`].
    fn bandwidth_of(line: &str) -> f64 {
        let workload = Workload::parse(line).unwrap();
        let run = flashlane_measure::run(&mut drive_with_large_buffer(), &workload, RunOptions::default());
        run.unwrap().bandwidth_bytes_per_s()
    }

    #[test]
    fn sustained_rate_is_measured_beyond_a_large_buffer() {
        let point = Recommendation { request_bytes: 1 << 16, queue_depth: 8, ..recommendation(rate(3e5)) };
        let (measured, filling_share) =
            measure(&mut drive_with_large_buffer(), None, &point, Options::default()).unwrap();
        assert!(filling_share.is_none() && measured.steady, "{measured:?}");
        let lines = [&measured.workload, "random-write,size=64k,depth=8,warmup=20k,requests=4k"];
        for line in lines {
            let ratio = measured.bandwidth_bytes_per_s / bandwidth_of(line);
            assert!((ratio - 1.0).abs() < 0.1, "{ratio} of {line}: {measured:?}");
        }
    }

    #[test]
    fn found_page_bounds_the_stale_data() {
        let point = Recommendation { request_bytes: 8192, ..recommendation(rate(3e5)) };
        let of = |page| history_of_new_drive(page, &point, Effort::Normal, 512).page_bytes;
        let page = Finding::found(16384, 1.0, String::new());
        assert_eq!(of(Some(&page)), 16384);
        assert_eq!([of(None), of(Some(&Finding::not_determined("noise")))], [4096; 2]);
    }
}
