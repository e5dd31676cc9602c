//! The SLC cache: the bytes that an erased drive takes fast, before it writes cells of several bits or empties its
//! cache beside the host's writes.
//!
//! The drive is written in order, in large requests, without a pause, in which it could empty the cache. The rate falls
//! where the cache is full ([`slc_fall`]).
//!
//! *The write buffer* makes the rate fall, too, when it is full. So the fall is followed by a flush, whose time at the
//! rate after it is the size of the buffer. Where that is a large part of what was written before, the fall was the
//! buffer's, and the search goes on behind it, with the buffer full again.
//!
//! *What else is slow.* The drive holds nothing before, or is trimmed, so that GC moves nothing. On a drive that was
//! used, GC still erases, and blocks that were erased ahead of need may run out. Cells of one bit are read faster than
//! others, so that reads of what was written before and behind the fall differ (of what was written first, where the
//! cache is emptied meanwhile); where they do not, the drive has to be one that was never written, and the fall a large
//! one. Likewise the finding is open where reads differ and the rate does not fall: the link hides the cache. Only
//! reads that are repeated count, as the first one may wait for the map.
//!
//! *Bounds.* No more than [`LIMIT_SHARE`] of the drive is written, which is more than any cache holds that does not
//! share its room with data, and less than makes a drive collect garbage. The search ends when the fall is certain.

use crate::bench::Bench;
use crate::drive_state::DriveState;
use crate::error::EarlyEnd;
use crate::pattern::{Point, point};
use crate::slc_fall::{self, Fall, Segment};
use flashlane_base::Duration;
use flashlane_base::units::{format_bytes, format_rate};
use flashlane_result::probe::{Finding, SlcCacheRow};
use flashlane_result::{Axis, Figure, Mark, Series};
use flashlane_workload::Access;
use std::cell::Cell;

/// Share of the drive that is written at most.
const LIMIT_SHARE: f64 = 0.7;
/// A segment is this part of what was written before, but not less than one part of so many of the drive, which has
/// this size at least.
const SEGMENTS_OF_WRITTEN: u64 = 50;
const SEGMENTS_OF_DRIVE: u64 = 4000;
const SEGMENT_BYTES_MIN: u64 = 2 << 20;
/// A small drive has this number of segments at least.
const SEGMENTS_MIN: u64 = 400;
/// The row is looked at after so many segments.
const LOOK_EVERY: usize = 4;
/// Requests of a segment, their least and largest size, and those in flight.
const SEGMENT_REQUESTS: u64 = 16;
const REQUEST_BYTES_MIN: u64 = 64 << 10;
const REQUEST_BYTES_MAX: u64 = 1 << 20;
const DEPTH: u32 = 32;
/// A write buffer that is full after so many times its size, or less, explains a fall.
const BUFFERS_MIN: f64 = 4.0;
/// This share of the bytes before the fall is fast again after a flush.
const FAST_AGAIN: f64 = 0.7;
/// And this multiple of its size may be faster than the rest where no fall is seen.
const BUFFERED: f64 = 2.0;
/// It is full again after this multiple of the bytes that filled it before.
const FULL_AGAIN: f64 = 1.2;
/// Least factor of a fall that a cache explains, and the least that erases do not.
const FACTOR_MIN: f64 = 1.5;
const FACTOR_SURE: f64 = 3.0;
/// Time without requests after which the drive may have emptied its cache.
const IDLE: Duration = Duration::from_s(30);
/// Segments after it until the rate has fallen again.
const SLOW_AGAIN: usize = 2;
/// Reads of each part of what was written.
const READS: usize = 200;
const FIRST_PART: u64 = 8;
const LAST_PART: u64 = 50;
/// Least factor by which those of other cells differ, and least number of standard errors.
const OTHER_CELLS: f64 = 1.05;
const STANDARD_ERRORS: f64 = 6.0;

/// What the experiment found.
pub(crate) struct Outcome {
    pub(crate) finding: Finding,
    pub(crate) row: Option<SlcCacheRow>,
    pub(crate) figure: Option<Figure>,
}

impl Outcome {
    fn open(why: impl Into<String>) -> Self {
        Self { finding: Finding::not_determined(why), row: None, figure: None }
    }
}

/// Writes a drive that holds nothing until its rate falls. Leaves it trimmed, where it can be.
pub(crate) fn find(bench: &mut Bench<'_>, state: DriveState) -> Result<Outcome, EarlyEnd> {
    let capacity_bytes = bench.device().info().capacity_bytes;
    if !state.is_never_written() {
        if !bench.trim_to(capacity_bytes)? {
            return Ok(Outcome::open("the drive holds data, and takes no trim: writes have to wait for GC"));
        }
        bench.pause(IDLE);
    }
    let mut writer = Writer::new(bench);
    let row = write_to_fall(bench, &mut writer, (LIMIT_SHARE * capacity_bytes as f64) as u64)?;
    let written_bytes = writer.written_bytes;
    let reads = Reads::measure(bench, &row, written_bytes)?;
    let mut outcome = match row.fall {
        Some(fall) if row.is_mixed => Outcome::open(format!(
            "{}, of which a write buffer may hold {}: too much to tell the size of an SLC cache",
            in_words(&fall),
            format_bytes(row.buffered_bytes as u64)
        )),
        Some(fall) if fall.factor() >= FACTOR_MIN => {
            cache(bench, &mut writer, (fall, reads), state, capacity_bytes)?
        }
        Some(fall) => Outcome::open(format!(
            "{}: erases of a drive may do that as well as an SLC cache",
            in_words(&fall)
        )),
        None if reads.has_other_cells() => {
            Outcome::open(format!("{}, but the rate of writes does not fall", reads.in_words()))
        }
        None if !slc_fall::is_level(row.unbuffered()) => Outcome::open(format!(
            "the rate of writes changes over the first {} in no way that shows an SLC cache",
            format_bytes(written_bytes)
        )),
        None => Outcome { finding: none(&row, written_bytes), row: None, figure: None },
    };
    outcome.figure = Some(figure(&row));
    bench.trim_to(writer.written_bytes)?;
    Ok(outcome)
}

/// A row of segments, and where their rate falls for another reason than a full write buffer.
struct Row {
    segments: Vec<Segment>,
    fall: Option<Fall>,
    /// Bytes written before them, until a write buffer was full.
    skipped_bytes: u64,
    /// Bytes that a write buffer held at their end.
    buffered_bytes: f64,
    /// The fall may be that of a write buffer as well as that of a cache.
    is_mixed: bool,
}

impl Row {
    fn behind(skipped_bytes: u64) -> Self {
        Self { segments: Vec::new(), fall: None, skipped_bytes, buffered_bytes: 0.0, is_mixed: false }
    }

    /// Returns the segments but for the first ones, which a write buffer explains.
    fn unbuffered(&self) -> &[Segment] {
        let mut bytes = 0.0;
        let is_buffered = |segment: &&Segment| {
            let before = bytes;
            bytes += segment.bytes as f64;
            before < BUFFERED * self.buffered_bytes
        };
        &self.segments[self.segments.iter().take_while(is_buffered).count()..]
    }
}

/// Writes until the rate falls, for another reason than a full write buffer. Leaves the buffer empty.
fn write_to_fall(bench: &mut Bench<'_>, writer: &mut Writer, limit_bytes: u64) -> Result<Row, EarlyEnd> {
    let mut row = Row::behind(0);
    loop {
        row.fall = None;
        let Row { segments, fall, skipped_bytes, .. } = &mut row;
        let skipped_bytes = *skipped_bytes;
        writer.write(bench, limit_bytes, |segment| {
            segments.push(segment);
            if !segments.len().is_multiple_of(LOOK_EVERY) {
                return false;
            }
            *fall = slc_fall::fall(segments).map(|fall| fall.behind(skipped_bytes));
            fall.is_some_and(|fall| fall.factor() >= FACTOR_MIN)
        })?;
        let start = bench.device().now();
        bench.flush()?;
        let rate = slc_fall::mean_rate(&row.segments[row.segments.len() * 3 / 4..]);
        row.buffered_bytes = bench.device().now().since(start).as_s_f64() * rate;
        let Some(fall) = row.fall.filter(|fall| fall.factor() >= FACTOR_MIN) else { return Ok(row) };
        let fast_bytes = (fall.at_bytes - row.skipped_bytes) as f64;
        if fast_bytes > BUFFERS_MIN * row.buffered_bytes {
            return Ok(row);
        }
        // Where the fall is that of a cache as well, neither size shows.
        if Reads::measure(bench, &row, writer.written_bytes)?.has_other_cells() {
            row.is_mixed = true;
            return Ok(row);
        }
        // Until the buffer is full again.
        let end = writer.written_bytes + (FULL_AGAIN * fast_bytes) as u64;
        let (mut again, mut again_bytes) = (Vec::new(), 0.0);
        writer.write(bench, end.min(limit_bytes), |segment| {
            if again_bytes < FAST_AGAIN * fast_bytes {
                again.push(segment);
                again_bytes += segment.bytes as f64;
            }
            false
        })?;
        // A buffer is empty after the flush, and a cache is not.
        if slc_fall::mean_rate(&again) < (fall.before * fall.after).sqrt() {
            row.is_mixed = true;
            return Ok(row);
        }
        row = Row::behind(writer.written_bytes);
    }
}

fn none(row: &Row, written_bytes: u64) -> Finding {
    let seconds: f64 = row.segments.iter().map(|segment| segment.seconds).sum();
    let buffer = match row.skipped_bytes {
        0 => String::new(),
        bytes => format!(" behind the first {}, which fill a write buffer", format_bytes(bytes)),
    };
    let evidence = format!(
        "none up to {} written in order{buffer}: they are taken at {}, the first ones no faster than the last ones",
        format_bytes(written_bytes),
        format_rate((written_bytes - row.skipped_bytes) as f64 / seconds)
    );
    Finding::absent(0.95, evidence)
}

/// Reports a fall as the end of a cache, where nothing else explains it, and measures how much of it is free again
/// after some time.
fn cache(
    bench: &mut Bench<'_>,
    writer: &mut Writer,
    (fall, reads): (Fall, Reads),
    state: DriveState,
    capacity_bytes: u64,
) -> Result<Outcome, EarlyEnd> {
    let confidence = match reads.has_other_cells() {
        true => 0.97,
        false if state.is_never_written() && fall.factor() >= FACTOR_SURE => 0.85,
        false => {
            return Ok(Outcome::open(format!("{}, but reads show no other cells", in_words(&fall))));
        }
    };
    bench.pause(IDLE);
    let recovered_bytes = recovered(bench, writer, &fall, capacity_bytes)?;
    let again = match recovered_bytes {
        0 => "and none again".into(),
        bytes => format!("and {} again", format_bytes(bytes)),
    };
    let mut evidence = format!("{}, {again} after {} s without requests", in_words(&fall), IDLE.as_s_f64());
    if reads.has_other_cells() {
        evidence += &format!("; {}", reads.in_words());
    }
    let row = SlcCacheRow {
        size_bytes: fall.at_bytes,
        size_range_bytes: fall.range_bytes,
        inside_bytes_per_s: fall.before,
        after_bytes_per_s: fall.after,
        idle_s: IDLE.as_s_f64(),
        recovered_bytes,
    };
    let finding = Finding::found(fall.at_bytes, confidence, evidence).within(fall.range_bytes);
    Ok(Outcome { finding, row: Some(row), figure: None })
}

fn in_words(fall: &Fall) -> String {
    let [least, most] = fall.range_bytes.map(format_bytes);
    format!(
        "an erased drive takes {} ({least} to {most}) at {}, then {}",
        format_bytes(fall.at_bytes),
        format_rate(fall.before),
        format_rate(fall.after)
    )
}

/// Returns the bytes that are fast again.
fn recovered(
    bench: &mut Bench<'_>,
    writer: &mut Writer,
    fall: &Fall,
    capacity_bytes: u64,
) -> Result<u64, EarlyEnd> {
    let (mut fast_bytes, mut slow) = (0, 0);
    writer.write(bench, capacity_bytes, |segment| {
        if fall.is_before(segment) {
            fast_bytes += segment.bytes;
        } else {
            slow += 1;
        }
        slow == SLOW_AGAIN || fast_bytes >= fall.at_bytes
    })?;
    Ok(fast_bytes.min(fall.at_bytes))
}

/// Writes in order from the beginning of the drive.
struct Writer {
    written_bytes: u64,
    request_bytes: u64,
    least_segment_bytes: u64,
}

impl Writer {
    fn new(bench: &Bench<'_>) -> Self {
        let capacity_bytes = bench.device().info().capacity_bytes;
        let unit_bytes = bench.unit_bytes(true);
        let least =
            (capacity_bytes / SEGMENTS_OF_DRIVE).max(SEGMENT_BYTES_MIN).min(capacity_bytes / SEGMENTS_MIN);
        // A power of two covers whole pages: a page that two requests share is programmed twice.
        let request_bytes = (least / SEGMENT_REQUESTS).clamp(REQUEST_BYTES_MIN, REQUEST_BYTES_MAX);
        let request_bytes = 1 << request_bytes.ilog2();
        Self { written_bytes: 0, request_bytes: unit_bytes.max(request_bytes), least_segment_bytes: least }
    }

    fn segment_bytes(&self) -> u64 {
        let bytes = self.least_segment_bytes.max(self.written_bytes / SEGMENTS_OF_WRITTEN);
        bytes.div_ceil(self.request_bytes) * self.request_bytes
    }

    /// Writes up to `end_bytes` in one stream, as whole requests, until `each` segment returns that it was the last.
    fn write(
        &mut self,
        bench: &mut Bench<'_>,
        end_bytes: u64,
        mut each: impl FnMut(Segment) -> bool,
    ) -> Result<(), EarlyEnd> {
        let (first, size) = (self.written_bytes, self.request_bytes);
        let (is_over, issued) = (Cell::new(false), Cell::new(0));
        let writes = (first..).step_by(size as usize).take_while(|at| at + size <= end_bytes);
        let writes = writes.take_while(|_| !is_over.get()).map(|at| {
            issued.set(issued.get() + size);
            Access::write(at, size)
        });
        let (mut done_bytes, mut begun) = (0, bench.device().now());
        let mut segment_bytes = self.segment_bytes();
        let depth = bench.depth().min(DEPTH);
        bench.stream_each(writes, depth, |_, completion| {
            done_bytes += size;
            if done_bytes < segment_bytes || is_over.get() {
                return;
            }
            // A segment that takes no time has no rate.
            let seconds = completion.completed.since(begun).as_s_f64().max(1e-9);
            is_over.set(each(Segment { bytes: done_bytes, seconds }));
            self.written_bytes += done_bytes;
            segment_bytes = self.segment_bytes();
            (done_bytes, begun) = (0, completion.completed);
        })?;
        self.written_bytes = first + issued.get();
        Ok(())
    }
}

/// Latencies of reads of what was written first, before the fall, behind it, and last, in microseconds.
struct Reads {
    parts: Vec<Point>,
}

impl Reads {
    fn measure(bench: &mut Bench<'_>, row: &Row, written_bytes: u64) -> Result<Self, EarlyEnd> {
        let middle = u64::midpoint(row.skipped_bytes, written_bytes);
        let [fall_bytes, after_bytes] = row.fall.map_or([middle; 2], |fall| fall.range_bytes);
        let first_bytes = if row.skipped_bytes > 0 { row.skipped_bytes } else { fall_bytes };
        let parts = [
            (0, first_bytes / FIRST_PART),
            (u64::midpoint(row.skipped_bytes, fall_bytes), fall_bytes),
            (after_bytes, written_bytes),
            (written_bytes - written_bytes / LAST_PART, written_bytes),
        ];
        let parts = parts.map(|(from, to)| {
            let sector = bench.sector_bytes();
            let sectors = to.saturating_sub(from) / sector;
            let mut times = Vec::new();
            for _ in 0..READS {
                let at = from / sector * sector + bench.random().below(sectors.max(1)) * sector;
                // The first read may wait for the map.
                bench.one(Access::read(at, sector))?;
                times.push(bench.one(Access::read(at, sector))?.as_us_f64());
            }
            Ok(point(&mut times))
        });
        Ok(Self { parts: parts.into_iter().collect::<Result<_, EarlyEnd>>()? })
    }

    /// Returns the fastest and the slowest part.
    fn extremes(&self) -> [Point; 2] {
        let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
        let least = self.parts.iter().min_by(by_value).copied().unwrap_or_default();
        [least, self.parts.iter().max_by(by_value).copied().unwrap_or_default()]
    }

    fn has_other_cells(&self) -> bool {
        let [least, most] = self.extremes();
        let error = least.error.hypot(most.error);
        most.value > OTHER_CELLS * least.value && most.value - least.value > STANDARD_ERRORS * error
    }

    fn in_words(&self) -> String {
        let [least, most] = self.extremes();
        format!(
            "reads of a part of what was written take {:.1} µs, of another {:.1} µs",
            least.value, most.value
        )
    }
}

fn figure(row: &Row) -> Figure {
    let written_bytes = row.skipped_bytes + row.segments.iter().map(|segment| segment.bytes).sum::<u64>();
    let (unit, unit_bytes) = if written_bytes < 1_000_000_000 { ("MB", 1e6) } else { ("GB", 1e9) };
    let mut written_bytes = row.skipped_bytes;
    let points = row.segments.iter().map(|segment| {
        written_bytes += segment.bytes;
        (written_bytes as f64 / unit_bytes, segment.rate() / 1e6)
    });
    let points = points.collect();
    let marks = row.fall.iter().map(|fall| Mark {
        x: fall.at_bytes as f64 / unit_bytes,
        y: None,
        label: "the rate falls".into(),
    });
    Figure {
        id: "slc-cache".into(),
        title: "An erased drive, written in order".into(),
        x: Axis::linear("written", unit),
        y: Axis::linear("rate", "MB/s"),
        series: vec![Series { name: "sequential writes".into(), points, ..Series::default() }],
        marks: marks.collect(),
        caption: "Where blocks with one bit a cell are used up, writes go on at a lower rate.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_result::probe::Status;
    use flashlane_sim::{Drive, profile};

    /// Returns what is found of a drive of 256 MiB, 16 planes and no or some SLC cache.
    fn outcome(more: &[(&str, &str)]) -> Outcome {
        let settings = [
            ("capacity", "256MiB"),
            ("flash.channels", "4"),
            ("flash.packages", "4"),
            ("flash.planes", "1"),
            ("flash.blocks", "128"),
            ("flash.bus", "400MB/s"),
        ];
        // It has no effect without a cache.
        let idle = more.iter().any(|(key, _)| key.starts_with("slc.")).then_some(("cleaning.idle", "100ms"));
        let settings =
            settings.iter().chain(&idle).chain(more).map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let settings: Vec<(String, String)> = settings.collect();
        let mut drive = Drive::new(&profile::load("ssd-s", &settings).unwrap(), Seed(1));
        let mut stop = || false;
        let mut bench = Bench::new(&mut drive, Seed(1), &mut stop);
        find(&mut bench, DriveState { never_written_share: Some(1.0) }).unwrap()
    }

    const CACHE: [(&str, &str); 3] = [("slc.size", "40MiB"), ("slc.read", "10us"), ("slc.program", "60us")];

    #[test]
    fn cache_is_found_with_its_rates() {
        let settings: Vec<_> = CACHE.into_iter().chain([("link.bandwidth", "2GB/s")]).collect();
        let Outcome { finding, row, .. } = outcome(&settings);
        // 16 planes of blocks of 21 pages of 4 KiB.
        let size = (40_u64 << 20).next_multiple_of(16 * 21 * 4096) as f64;
        let row = row.unwrap_or_else(|| panic!("{finding:?}"));
        assert!((row.size_bytes as f64 / size - 1.0).abs() < 0.1, "{finding:?}");
        assert!(row.inside_bytes_per_s > 2.0 * row.after_bytes_per_s, "{row:?}");
        assert!(row.recovered_bytes > row.size_bytes / 2, "{row:?}");
        assert!(finding.range.is_some_and(|[least, most]| least < most));
    }

    #[test]
    fn write_buffer_is_no_cache() {
        for size in ["256KiB", "8MiB"] {
            let Outcome { finding, .. } = outcome(&[("buffer.size", size)]);
            assert_eq!(finding.status, Status::Absent, "{size}: {finding:?}");
        }
    }

    #[test]
    fn cache_that_the_link_hides_is_open() {
        let settings: Vec<_> = CACHE.into_iter().chain([("link.bandwidth", "20MB/s")]).collect();
        let Outcome { finding, .. } = outcome(&settings);
        assert_eq!(finding.status, Status::NotDetermined, "{finding:?}");
    }
}
