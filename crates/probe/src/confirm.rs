//! The measurement that a recommendation reports: the recommended point as `run` measures it, with the same loop and
//! warm-up and long enough, so that the same line gives the same rates on the same drive.

use crate::area::{Area, MeasuredArea};
use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::grid::GridCell;
use crate::load::Load;
use crate::options::Budget;
use crate::point_measurement::{PointMeasurement, line};
use flashlane_base::Seed;
use flashlane_measure::Run;
use flashlane_workload::{Job, Stop, Workload};

/// Bytes of a confirming run, within limits on its number of requests.
const READ_BYTES: u64 = 256 << 20;
const REQUESTS_MIN: u64 = 1024;
const REQUESTS_MAX: u64 = 20_000;
/// Fewest requests as a multiple of the depth, so that the first and the last in flight hardly count.
const ROUNDS_MIN: u64 = 64;
/// Warm-up of a scan, so that data of an earlier scan in the drive's cache does not count.
const SCAN_WARMUP_BYTES: u64 = 128 << 20;

/// A shorter run suffices where its mean latency is known to this share, at 95% confidence, and its 99th percentile to
/// this one.
const MEAN_ERROR_MAX: f64 = 0.01;
const P99_ERROR_MAX: f64 = 0.05;

/// Further measurements of a recommended point, which show whether its rate holds.
const REPETITIONS: u64 = 5;
/// Limits on the requests of each.
const REPETITION_REQUESTS_MAX: u64 = 4096;
const REPETITION_BYTES: u64 = 64 << 20;
/// Warm-up of a scan that begins where no recent one read: until readahead follows it.
const LEAD_IN_BYTES: u64 = 4 << 20;

/// Measures reads at one point.
pub(crate) fn reads(
    bench: &mut Bench<'_>,
    load: Load,
    measured_area: MeasuredArea,
    budget: Budget,
    cell: &GridCell,
) -> Result<PointMeasurement, EarlyEnd> {
    let mut job = load.job(cell.request_bytes, cell.depth);
    if let MeasuredArea::Filled(Area { offset_bytes, length_bytes }) = measured_area {
        job = job.area(offset_bytes, length_bytes / cell.request_bytes * cell.request_bytes);
    }
    let warmup_bytes = if load == Load::Scan { SCAN_WARMUP_BYTES } else { 0 };
    let few = requests_of(REPETITION_BYTES, REPETITION_REQUESTS_MAX, cell);
    let many = requests_of(READ_BYTES, REQUESTS_MAX, cell);
    for requests in [few, many] {
        // Another seed each time, so that data left in a cache by one measurement does not serve the next.
        let seed = Seed(bench.random().bits());
        let (run, line) = run(bench, job.clone(), (requests, warmup_bytes), budget, cell, seed)?;
        if requests == many || is_certain(&run) {
            return Ok(PointMeasurement { workload: line, ..PointMeasurement::from(&run) });
        }
    }
    unreachable!("the last run is taken as it is")
}

/// Returns whether more requests would hardly change the mean latency and the 99th percentile of a run.
fn is_certain(run: &Run) -> bool {
    let is_mean_known =
        run.confidence.is_some_and(|mean| !mean.correlated && mean.relative() <= MEAN_ERROR_MAX);
    // The number of requests above a percentile varies by its root: two standard deviations to either side.
    let latencies = run.latencies();
    let deviations = 2.0 * (0.99 * 0.01 / latencies.len().max(1) as f64).sqrt();
    let [low, high] = [0.99 - deviations, 0.99 + deviations].map(|q| latencies.quantile_ns(q.min(1.0)));
    is_mean_known && high <= (1.0 + P99_ERROR_MAX) * low
}

/// Returns the number of requests of a measurement of about this many bytes.
fn requests_of(bytes: u64, most: u64, cell: &GridCell) -> u64 {
    let least = REQUESTS_MIN.max(ROUNDS_MIN * u64::from(cell.depth));
    (bytes / cell.request_bytes).clamp(least, most.max(least))
}

/// Measures a recommended point several times again, scans from other places in `area`.
///
/// The rate of a scan can depend on how its first requests meet the drive's lanes and its readahead, and on what
/// earlier scans have left in the cache; the rate of a device that others use on what they do meanwhile.
pub(crate) fn again(
    bench: &mut Bench<'_>,
    load: Load,
    area: Area,
    budget: Budget,
    cell: &GridCell,
) -> Result<Vec<PointMeasurement>, EarlyEnd> {
    let count = requests_of(REPETITION_BYTES, REPETITION_REQUESTS_MAX, cell);
    let one = |nth| {
        // From a source of its own, so that the experiments that follow draw what they would without these.
        let seed = Seed(nth).derive("range");
        let requests = area.length_bytes / cell.request_bytes;
        let (skipped, warmup_bytes) = match load {
            Load::Scan => scan_start(nth, requests, count, cell.request_bytes, seed),
            _ => (0, 0),
        };
        let offset_bytes = area.offset_bytes + skipped * cell.request_bytes;
        let job = load
            .job(cell.request_bytes, cell.depth)
            .area(offset_bytes, (requests - skipped) * cell.request_bytes);
        measure(bench, job, (count, warmup_bytes), budget, cell, seed)
    };
    (0..REPETITIONS).map(one).collect()
}

/// Returns the first request of the `nth` further scan of `count` requests, and the bytes of its warm-up.
///
/// Where the area has room for several scans, each begins behind the last one, and goes round: what it reads was read
/// longest ago, so that a cache holds none of it and no warm-up has to replace it. As in [`reads`], none counts what
/// lies at the beginning, where the probe's experiments left the drive unlike the rest. In a smaller area it begins
/// anywhere in the first quarter.
fn scan_start(nth: u64, requests: u64, count: u64, request_bytes: u64, seed: Seed) -> (u64, u64) {
    let lead_in = LEAD_IN_BYTES.div_ceil(request_bytes);
    let random = &mut seed.source();
    let skipped = SCAN_WARMUP_BYTES / request_bytes;
    let room = requests.saturating_sub(skipped + count + 2 * lead_in);
    if room * request_bytes < 2 * SCAN_WARMUP_BYTES {
        return (random.below((requests / 4).max(1)), SCAN_WARMUP_BYTES);
    }
    let begin = (READ_BYTES / request_bytes + nth * (count + 2 * lead_in)) % room;
    (skipped + begin + random.below(lead_in), LEAD_IN_BYTES)
}

/// Measures a number of requests after a warm-up of so many bytes.
fn measure(
    bench: &mut Bench<'_>,
    job: Job,
    requests_and_warmup: (u64, u64),
    budget: Budget,
    cell: &GridCell,
    seed: Seed,
) -> Result<PointMeasurement, EarlyEnd> {
    let (run, line) = run(bench, job, requests_and_warmup, budget, cell, seed)?;
    Ok(PointMeasurement { workload: line, ..PointMeasurement::from(&run) })
}

/// Runs a number of requests after a warm-up of so many bytes. Returns also the line that repeats it.
fn run(
    bench: &mut Bench<'_>,
    job: Job,
    (requests, mut warmup_bytes): (u64, u64),
    budget: Budget,
    cell: &GridCell,
    seed: Seed,
) -> Result<(Run, String), EarlyEnd> {
    let mut stop = Stop::after(requests);
    if bench.is_real() {
        stop.time = Some(budget.run);
        warmup_bytes = warmup_bytes.min((cell.bytes_per_s * budget.run.as_s_f64()) as u64);
    }
    let workload = Workload::new(vec![job], stop).warmup(warmup_bytes / cell.request_bytes);
    Ok((bench.run(&workload.clone().seed(seed))?, line(&workload)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_scans_read_what_was_read_longest_ago() {
        let (size, requests, count) = (64 << 10, 8192, 1024);
        let mut last_read = vec![i64::MIN; requests as usize];
        let first = (READ_BYTES + SCAN_WARMUP_BYTES) / size;
        (0..first).for_each(|at| last_read[at as usize] = at as i64);
        let mut now = first as i64;
        for nth in 0..REPETITIONS {
            let (begin, warmup_bytes) = scan_start(nth, requests, count, size, Seed(nth).derive("range"));
            assert_eq!(warmup_bytes, LEAD_IN_BYTES);
            for at in begin..begin + LEAD_IN_BYTES / size + count {
                // A cache of 128 MiB holds the last 2048 requests.
                assert!(now.saturating_sub(last_read[at as usize]) > 2048, "scan {nth} at {at}");
                last_read[at as usize] = now;
                now += 1;
            }
        }
        let (begin, warmup_bytes) = scan_start(3, 1024, count, size, Seed(3));
        assert!(begin < 256 && warmup_bytes == SCAN_WARMUP_BYTES);
    }

    #[test]
    fn measurement_covers_many_rounds_of_the_depth() {
        let cell = |request_bytes, depth| GridCell {
            request_bytes,
            depth,
            bytes_per_s: 0.0,
            p99_ns: 0.0,
            confirmed: None,
        };
        assert_eq!(requests_of(READ_BYTES, REQUESTS_MAX, &cell(256 << 10, 1)), 1024);
        assert_eq!(requests_of(READ_BYTES, REQUESTS_MAX, &cell(256 << 10, 64)), 4096);
        assert_eq!(requests_of(READ_BYTES, REQUESTS_MAX, &cell(4096, 64)), REQUESTS_MAX);
    }
}
