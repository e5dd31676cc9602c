//! The reach of a mapping cache: the bytes of the drive whose map fits in the drive's memory at once.
//!
//! *A miss.* A place is read twice, one request at a time. If its map was not in memory, the first read waits for the
//! map to be read from flash, and the second does not: it takes at least a read of flash less. Both read the same
//! cells, so that an SLC cache, the order of pages and the types of cells cancel out. A read cache would answer the
//! second one without flash, which the time of trimmed space tells apart; then nothing is reported.
//!
//! *The reach.* Within a span that is read at random, a cache with a reach of `r` has the map of `r / span` of the
//! places, whatever it replaces first, once it holds nothing else. So the share of misses in a span that is larger
//! gives the reach. Spans grow until a quarter of their reads miss; each is read as a whole first, in large requests,
//! each twice, as caches that keep apart what is used again need it. Then a second span, at another place and of
//! another size, has to agree; and in a small one no read may miss.
//!
//! A map of which even the whole drive's fits is not seen, and needs no cache: that is reported as none.
//!
//! The drive MUST hold data everywhere: of space without, the map may be known without flash.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::pattern::{Point, mean_and_variance, median, point};
use flashlane_base::units::format_bytes;
use flashlane_result::probe::Finding;
use flashlane_result::{Axis, Figure, Mark, Series};
use flashlane_workload::Access;

/// Trimmed places read.
const TRIMMED: usize = 64;
/// Places read at first, in spans that grow, in those that count, and over a drive that is read as a whole.
const FIRST: usize = 1024;
const GROWING: usize = 256;
const COUNTED: usize = 4096;
const WHOLE: usize = 16384;
/// Smallest and largest span that is read in order before, and the size of these reads.
const SPAN_BYTES_MIN: u64 = 256 << 10;
const SPAN_BYTES_MAX: u64 = 16 << 30;
const WARM_BYTES: u64 = 256 << 10;
/// A first read that takes longer than the second by this share of a flash read has missed.
const MISSED: f64 = 0.5;
/// Standard deviations of two reads of one place between a hit and that share.
const DEVIATIONS: f64 = 4.0;
/// First reads of a drive without misses take less than this share of a flash read longer, in the mean.
const FEW_MISSES: f64 = 0.1;
/// Share of misses in a span that fits, at most; in one that does not; and in one that is too large to count.
const NO_MISSES: f64 = 0.02;
const MISSES: f64 = 0.25;
const MISSES_MAX: f64 = 0.97;
/// Size of the second span, as a multiple of the reach.
const SECOND: f64 = 1.5;
/// Two spans have to agree within this share, and this number of standard errors of the misses.
const AGREE: f64 = 0.1;
const STANDARD_ERRORS: f64 = 2.0;

/// Measures the reach.
pub(crate) fn find(bench: &mut Bench<'_>) -> Result<(Finding, Option<Figure>), EarlyEnd> {
    let capacity_bytes = bench.device().info().capacity_bytes;
    let Some(without_flash_us) = without_flash_us(bench)? else {
        let why = "the drive has no trim: a read without flash, as of a cache, cannot be told from others";
        return Ok((Finding::not_determined(why), None));
    };
    let whole = Span { offset_bytes: 0, length_bytes: capacity_bytes };
    let scale = match Scale::measure(bench, whole, without_flash_us)? {
        Ok(scale) => scale,
        Err(why) => return Ok((Finding::not_determined(why), None)),
    };
    let mut seen = Vec::new();
    let all = scale.misses(bench, whole, FIRST)?;
    if scale.has_no_misses() && (scale.is_noisy || all.share == 0.0) {
        let evidence = format!(
            "over the whole drive a read takes {:.1} µs less when it is repeated, and a read of flash {:.1} µs: all of the map \
             is in memory",
            scale.longer.value + 0.0,
            scale.flash_us
        );
        return Ok((Finding::absent(0.95, evidence), None));
    }
    if scale.is_noisy {
        return Ok((Finding::not_determined(scale.noise()), None));
    }
    if all.share < NO_MISSES {
        let why = format!("{}: too few to tell a map on flash from other work of the drive", all.in_words());
        return Ok((Finding::not_determined(why), None));
    }
    let reach = match all.share < MISSES {
        true => of_whole(bench, scale, whole, &mut seen)?,
        false => of_spans(bench, scale, whole, &mut seen)?,
    };
    let finding = match &reach {
        Err(why) => Finding::not_determined(why.as_str()),
        Ok(reach) => {
            let range_bytes = reach.range_bytes();
            let [least, most] = range_bytes.map(format_bytes);
            let evidence = format!(
                "{}; a miss is a read that takes {:.1} µs longer than when it is repeated, and a read of flash takes {:.1} µs: \
                 {least} to {most}",
                reach.seen_in, scale.miss_us, scale.flash_us
            );
            Finding::found(reach.bytes as u64, 0.95, evidence).within(range_bytes)
        }
    };
    let figure = figure(&seen, reach.as_ref().ok());
    Ok((finding, Some(figure)))
}

/// Returns how long a read takes of space that holds nothing, where the drive has trim. The map of such a place may be
/// on flash, too, so that only reads that are repeated count.
fn without_flash_us(bench: &mut Bench<'_>) -> Result<Option<f64>, EarlyEnd> {
    let capacity_bytes = bench.device().info().capacity_bytes;
    let length_bytes = WARM_BYTES;
    let span = Span { offset_bytes: (capacity_bytes / length_bytes - 1) * length_bytes, length_bytes };
    if !bench.trim(span.offset_bytes, length_bytes)? {
        return Ok(None);
    }
    let mut times = Vec::new();
    for _ in 0..TRIMMED {
        let [_, _, third] = span.read_again(bench)?;
        times.push(third);
    }
    bench.fill(span.offset_bytes, length_bytes, length_bytes)?;
    Ok(Some(point(&mut times).value))
}

/// A part of the drive.
#[derive(Clone, Copy)]
struct Span {
    offset_bytes: u64,
    length_bytes: u64,
}

impl Span {
    /// Reads all of it, each part twice; from its end, so that readahead does not answer.
    fn warm(self, bench: &mut Bench<'_>) -> Result<(), EarlyEnd> {
        let size = WARM_BYTES.min(self.length_bytes);
        let end = self.offset_bytes + self.length_bytes;
        let reads =
            (0..2 * (self.length_bytes / size)).map(|nth| Access::read(end - (nth / 2 + 1) * size, size));
        bench.stream(reads, 1).map(drop)
    }

    /// Reads a random place so many times in turn.
    fn read_again<const TIMES: usize>(self, bench: &mut Bench<'_>) -> Result<[f64; TIMES], EarlyEnd> {
        let sector = bench.sector_bytes();
        let at = self.offset_bytes + bench.random().below(self.length_bytes / sector) * sector;
        let mut times = [0.0; TIMES];
        for time in &mut times {
            *time = bench.one(Access::read(at, sector))?.as_us_f64();
        }
        Ok(times)
    }
}

/// Times of a drive.
#[derive(Clone, Copy)]
struct Scale {
    /// How much longer a read of flash takes than one without.
    flash_us: f64,
    /// How much longer the first read of a place takes, in the mean, and where it misses.
    longer: Point,
    miss_us: f64,
    /// Standard deviation of a read, and whether it is too large to see single misses.
    deviation_us: f64,
    is_noisy: bool,
}

impl Scale {
    /// Measures the times, or says why they do not show misses.
    fn measure(
        bench: &mut Bench<'_>,
        whole: Span,
        without_flash_us: f64,
    ) -> Result<Result<Self, String>, EarlyEnd> {
        let (mut longer, mut again, mut noise) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..FIRST {
            let [first, second, third] = whole.read_again(bench)?;
            longer.push(first - second);
            again.push(second);
            noise.push((second - third).abs());
        }
        let again = point(&mut again);
        let flash_us = again.value - without_flash_us;
        if flash_us < STANDARD_ERRORS * again.error || flash_us < 0.05 * again.value {
            return Ok(Err(format!(
                "a read takes {:.1} µs when it is repeated, and one of trimmed space {without_flash_us:.1} µs: a cache holds what \
                 was read, and hides the map",
                again.value
            )));
        }
        // Of a normal distribution the median of the distances is 0.674 standard deviations.
        let deviation_us = median(&noise) / 0.674;
        let missed: Vec<f64> = longer.iter().copied().filter(|us| *us > MISSED * flash_us).collect();
        let miss_us = if missed.is_empty() { 0.0 } else { median(&missed) };
        let is_noisy = DEVIATIONS * deviation_us > MISSED * flash_us;
        Ok(Ok(Self { flash_us, longer: mean(&longer), miss_us, deviation_us, is_noisy }))
    }

    /// Returns whether first reads take no longer, as far as their mean shows.
    fn has_no_misses(&self) -> bool {
        self.longer.value + DEVIATIONS * self.longer.error < FEW_MISSES * self.flash_us
    }

    fn noise(&self) -> String {
        let Self { flash_us, deviation_us, .. } = self;
        format!(
            "two reads of one place differ by {deviation_us:.1} µs, and a read of flash takes {flash_us:.1} µs: too much noise"
        )
    }

    /// Counts misses at random places of a span.
    fn misses(self, bench: &mut Bench<'_>, span: Span, places: usize) -> Result<Misses, EarlyEnd> {
        let mut missed = 0;
        for _ in 0..places {
            let [first, second] = span.read_again(bench)?;
            missed += usize::from(first - second > MISSED * self.flash_us);
        }
        Ok(Misses { span, places, share: missed as f64 / places as f64 })
    }
}

/// The share of reads in a span that miss.
#[derive(Clone, Copy)]
struct Misses {
    span: Span,
    places: usize,
    share: f64,
}

impl Misses {
    /// Returns the reach, and its standard error, in bytes.
    fn reach(&self) -> (f64, f64) {
        let length_bytes = self.span.length_bytes as f64;
        let error = (self.share * (1.0 - self.share) / self.places as f64).sqrt();
        (length_bytes * (1.0 - self.share), length_bytes * error)
    }

    fn in_words(&self) -> String {
        format!("of reads over {} {:.0}% miss", format_bytes(self.span.length_bytes), 100.0 * self.share)
    }
}

/// A reach that two counts show.
struct Reach {
    bytes: f64,
    /// Its standard error, or half of the distance of the two, if longer.
    error_bytes: f64,
    seen_in: String,
}

impl Reach {
    fn agreed(one: &Misses, other: &Misses) -> Result<Self, String> {
        let ((first, first_error), (second, second_error)) = (one.reach(), other.reach());
        let error = first_error.hypot(second_error);
        let seen_in = format!("{}, and {}", one.in_words(), other.in_words());
        let bytes = f64::midpoint(first, second);
        if (first - second).abs() > AGREE * bytes + STANDARD_ERRORS * error || error > AGREE * bytes {
            return Err(format!(
                "{seen_in}: by these a mapping cache reaches {} and {}, which do not agree",
                format_bytes(first as u64),
                format_bytes(second as u64)
            ));
        }
        Ok(Self { bytes, error_bytes: (error / 2.0).max((first - second).abs() / 2.0), seen_in })
    }

    /// Two errors to each side.
    fn range_bytes(&self) -> [u64; 2] {
        [-STANDARD_ERRORS, STANDARD_ERRORS]
            .map(|errors| (self.bytes + errors * self.error_bytes).max(0.0) as u64)
    }
}

/// Measures a reach over the whole drive, of which nothing else is in the cache.
fn of_whole(
    bench: &mut Bench<'_>,
    scale: Scale,
    whole: Span,
    seen: &mut Vec<Misses>,
) -> Result<Result<Reach, String>, EarlyEnd> {
    for _ in 0..2 {
        seen.push(scale.misses(bench, whole, WHOLE)?);
    }
    Ok(match &seen[..] {
        [one, other] if one.share <= MISSES_MAX => Reach::agreed(one, other),
        _ => Err(format!(
            "spans up to {} show no misses, and of the whole drive nearly all reads miss",
            format_bytes(SPAN_BYTES_MAX)
        )),
    })
}

/// Measures a reach in spans that grow.
fn of_spans(
    bench: &mut Bench<'_>,
    scale: Scale,
    whole: Span,
    seen: &mut Vec<Misses>,
) -> Result<Result<Reach, String>, EarlyEnd> {
    let mut count = |bench: &mut Bench<'_>, span: Span, places: usize| {
        span.warm(bench)?;
        let misses = scale.misses(bench, span, places)?;
        seen.push(misses);
        Ok::<_, EarlyEnd>(misses)
    };
    let mut length_bytes = SPAN_BYTES_MIN;
    let mut has_fitted = false;
    let first = loop {
        if length_bytes > SPAN_BYTES_MAX.min(whole.length_bytes) {
            return of_whole(bench, scale, whole, &mut Vec::new());
        }
        let span = Span { offset_bytes: 0, length_bytes };
        let misses = count(bench, span, GROWING)?;
        if misses.share >= MISSES {
            break count(bench, span, COUNTED)?;
        }
        has_fitted |= misses.share <= NO_MISSES;
        length_bytes *= 2;
    };
    if !has_fitted {
        return Ok(Err(format!(
            "{}: no span is small enough to show what else they wait for",
            first.in_words()
        )));
    }
    let (reach_bytes, _) = first.reach();
    let sector = bench.sector_bytes();
    let length_bytes = ((SECOND * reach_bytes) as u64).max(WARM_BYTES) / WARM_BYTES * WARM_BYTES;
    // At a multiple of a power of two, where lines of the map begin.
    let offset_bytes = (whole.length_bytes / 2).next_power_of_two() / 2;
    let room_bytes = whole.length_bytes - offset_bytes;
    let second = Span { offset_bytes, length_bytes: length_bytes.min(room_bytes) / sector * sector };
    let second = count(bench, second, COUNTED)?;
    Ok(Reach::agreed(&first, &second))
}

/// Returns the mean of all values: of the middle ones alone, few misses would not change it.
fn mean(values: &[f64]) -> Point {
    let (value, variance) = mean_and_variance(values);
    Point { value, error: (variance / values.len() as f64).sqrt() }
}

fn figure(seen: &[Misses], reach: Option<&Reach>) -> Figure {
    let mut points: Vec<(f64, f64)> = seen
        .iter()
        .map(|misses| (misses.span.length_bytes as f64 / f64::from(1 << 20), 100.0 * misses.share))
        .collect();
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let marks = reach.map(|reach| Mark {
        x: reach.bytes / f64::from(1 << 20),
        y: None,
        label: "reach of the mapping cache".into(),
    });
    Figure {
        id: "mapping-cache".into(),
        title: "Reads that wait for the map, by the span that is read".into(),
        x: Axis { log: true, ..Axis::linear("span", "MiB") },
        y: Axis::linear("misses", "%"),
        series: vec![Series { name: "random reads".into(), points, ..Series::default() }],
        marks: marks.into_iter().collect(),
        caption: "In a span whose map fits in the drive's memory no read waits for it; in a larger one the rest does.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_result::probe::Status;
    use flashlane_sim::{Drive, profile};

    /// Returns the finding on a full drive of 128 MiB with a map of 4 KiB units.
    fn finding(more: &[(&str, &str)]) -> Finding {
        let settings = [
            ("capacity", "128MiB"),
            ("flash.blocks", "48"),
            ("initial.state", "full"),
            ("host.jitter", "0%"),
        ];
        let settings = settings.iter().chain(more).map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let settings: Vec<(String, String)> = settings.collect();
        let mut drive = Drive::new(&profile::load("ssd-s", &settings).unwrap(), Seed(1));
        let mut stop = || false;
        let mut bench = Bench::new(&mut drive, Seed(1), &mut stop);
        find(&mut bench).unwrap().0
    }

    fn assert_reach(finding: &Finding, bytes: u64) {
        let reach = finding.number().unwrap_or_else(|| panic!("{finding:?}"));
        assert!((reach as f64 / bytes as f64 - 1.0).abs() < 0.1, "{finding:?}");
        assert!(finding.range.is_some_and(|[least, most]| least < reach && reach < most), "{finding:?}");
    }

    #[test]
    fn reach_of_single_entries_is_found() {
        for policy in ["lru", "segmented"] {
            let cache = [("mapping.cache.size", "32KiB"), ("mapping.cache.policy", policy)];
            assert_reach(&finding(&cache), 16 << 20);
        }
    }

    #[test]
    fn reach_of_most_of_the_drive_is_found() {
        let cache = [("mapping.cache.size", "100KiB"), ("mapping.cache.granularity", "page")];
        assert_reach(&finding(&cache), 100 << 20);
    }

    #[test]
    fn map_in_memory_is_no_cache() {
        for jitter in ["0%", "15%"] {
            let finding = finding(&[("host.jitter", jitter)]);
            assert_eq!(finding.status, Status::Absent, "{finding:?}");
        }
    }

    #[test]
    fn read_cache_leaves_it_open() {
        let cache = [("mapping.cache.size", "32KiB"), ("buffer.policy", "cflru"), ("buffer.size", "16MiB")];
        let finding = finding(&cache);
        assert_eq!(finding.status, Status::NotDetermined, "{finding:?}");
    }
}
