//! Whether boundaries that were seen at some places recur all over the area.
//!
//! The search repeats its experiment at places a fixed step apart. A chunk that does not divide this step has another
//! phase at each of them, and the places that seem to be boundaries are boundaries only in part of the repetitions: a
//! multiple of the true chunk, or a part of it, may pass for the chunk. So a candidate is tested over the whole area:
//! each boundary is as fast as every other (else the chunk is a multiple of the candidate), and no place between two of
//! them is fast (else it is a part).

use crate::area::{Area, Chunk};
use crate::array_time::{SMALL_PAGE_BYTES, saves_array_time};
use crate::bench::Bench;
use crate::boundary_test::BoundaryTest;
use crate::error::EarlyEnd;
use crate::pattern::{self, Point, point};
use flashlane_workload::Access;
use std::collections::BTreeSet;

/// Factors by which a candidate may differ from the chunk; others are their products.
const FACTORS: [u64; 6] = [2, 3, 5, 7, 11, 13];
/// Most corrections of a candidate.
const CORRECTIONS_MAX: usize = 12;
/// Reads that show how long flash takes at least.
const FROM_FLASH: usize = 100;
/// Two values differ where they are this number of standard errors apart.
const STANDARD_ERRORS_MIN: f64 = 6.0;
/// A boundary is faster than places inside a chunk by at least this share of the greatest contrast: across one between
/// two dies of a channel only an array time is saved, and no time on the bus.
const CONTRAST_SHARE_MIN: f64 = 0.05;

/// Corrects a candidate by tests of `samples` places each; `None` where no correction passes them. The evidence of the
/// result is that of the last test, since that of a corrected candidate shows something else.
pub(crate) fn verify_and_correct(
    bench: &mut Bench<'_>,
    area: Area,
    test: BoundaryTest,
    candidate: Chunk,
    samples: usize,
) -> Result<Option<Chunk>, EarlyEnd> {
    let mut found = candidate;
    let least_us = least_of_flash(bench, area)?;
    for _ in 0..CORRECTIONS_MAX {
        let Some(times) = Times::measure(bench, area, test, &found, samples, least_us)? else {
            return Ok(None);
        };
        let contrast_us = times.inside.value - times.fastest();
        if contrast_us <= STANDARD_ERRORS_MIN * times.worst_error() {
            return Ok(None);
        }
        match times.correction(contrast_us) {
            Correction::None => {}
            Correction::Multiple { factor, residue } => {
                found.phase_bytes += residue * found.size_bytes;
                found.size_bytes *= factor;
                continue;
            }
            Correction::Irregular => return Ok(None),
        }
        match smaller_factor(bench, area, test, &found, [contrast_us, least_us], samples)? {
            Some(factor) => {
                found.size_bytes /= factor;
                found.phase_bytes %= found.size_bytes;
            }
            None => {
                let verified =
                    Chunk { clarity: times.clarity(contrast_us), contrast_us, seen: times.seen(), ..found };
                // Where a sector may be a page, the time of its transfer is not known.
                let is_transfer_known =
                    test == BoundaryTest::Pairs && bench.sector_bytes() < SMALL_PAGE_BYTES;
                let holds = !is_transfer_known || saves_array_time(bench, area, &verified, samples / 2)?;
                return Ok(holds.then_some(verified));
            }
        }
    }
    Ok(None)
}

/// Returns the least time of a read of a sector from flash, in microseconds. The boundaries of large chunks are few,
/// and a cache that holds pages that were read before answers reads of these sooner: they show no chunk.
fn least_of_flash(bench: &mut Bench<'_>, area: Area) -> Result<f64, EarlyEnd> {
    let sector = bench.sector_bytes();
    let mut times = Vec::with_capacity(FROM_FLASH);
    for _ in 0..FROM_FLASH {
        let at = area.offset_bytes + bench.random().below(area.length_bytes / sector) * sector;
        times.push(bench.one(Access::read(at, sector))?.as_us_f64());
    }
    times.sort_unstable_by(f64::total_cmp);
    let (low, middle) = (times[FROM_FLASH / 20], times[FROM_FLASH / 2]);
    Ok(low - (middle - low))
}

/// Times across boundaries, by the number of the boundary, and at places inside chunks.
struct Times {
    boundaries: Vec<(u64, f64)>,
    inside: Point,
    /// Number of boundaries in the area.
    count: u64,
}

enum Correction {
    None,
    /// The chunk is this multiple of the candidate: of its boundaries only those whose number modulo `factor` is
    /// `residue` are boundaries.
    Multiple {
        factor: u64,
        residue: u64,
    },
    /// Chunk differ, but not by their number.
    Irregular,
}

impl Times {
    fn measure(
        bench: &mut Bench<'_>,
        area: Area,
        test: BoundaryTest,
        found: &Chunk,
        samples: usize,
        least_us: f64,
    ) -> Result<Option<Self>, EarlyEnd> {
        let unit = test.unit_bytes(bench);
        let count = area.chunks(found);
        let inside_places = (found.size_bytes / unit).saturating_sub(1);
        // The first boundary may be the area's start, before which there is nothing to read.
        if count < 4 || inside_places == 0 {
            return Ok(None);
        }
        let (mut boundaries, mut inside) = (Vec::new(), Vec::new());
        for _ in 0..samples {
            let nth = 1 + bench.random().below(count - 1);
            boundaries.push((nth, test.measure(bench, area.chunk_start(found, nth))?));
            let nth = bench.random().below(count - 1);
            let place = 1 + bench.random().below(inside_places);
            inside.push(test.measure(bench, area.chunk_start(found, nth) + place * unit)?);
        }
        boundaries.retain(|(_, us)| *us >= least_us);
        inside.retain(|us| *us >= least_us);
        let is_enough = 2 * boundaries.len().min(inside.len()) >= samples;
        Ok(is_enough.then(|| Self { boundaries, inside: point(&mut inside), count }))
    }

    /// Times across the boundaries by their number modulo `factor`.
    fn by_residue(&self, factor: u64) -> Vec<Point> {
        let point_of = |residue: u64| {
            let mut times: Vec<f64> = self
                .boundaries
                .iter()
                .filter(|(nth, _)| nth % factor == residue)
                .map(|(_, time)| *time)
                .collect();
            (times.len() >= 8).then(|| point(&mut times))
        };
        (0..factor).filter_map(point_of).collect()
    }

    /// Factors for each of whose residues there are several boundaries.
    fn factors(&self) -> impl Iterator<Item = u64> {
        let count = self.count;
        FACTORS.into_iter().filter(move |factor| count >= 3 * factor)
    }

    fn by_any_residue(&self) -> impl Iterator<Item = Point> {
        [1].into_iter().chain(self.factors()).flat_map(|factor| self.by_residue(factor))
    }

    fn fastest(&self) -> f64 {
        self.by_any_residue().map(|point| point.value).fold(f64::INFINITY, f64::min)
    }

    /// Returns the share of the contrast that even the slowest boundaries save, by any residue.
    fn clarity(&self, contrast_us: f64) -> f64 {
        let slowest = self.by_any_residue().map(|point| point.value).fold(0.0, f64::max);
        ((self.inside.value - slowest) / contrast_us).clamp(0.0, 1.0)
    }

    /// Returns the number of boundaries measured.
    fn seen(&self) -> usize {
        self.boundaries.iter().map(|(nth, _)| nth).collect::<BTreeSet<_>>().len()
    }

    fn worst_error(&self) -> f64 {
        let all = self.by_residue(1).into_iter().chain([self.inside]);
        all.map(|point| point.error).fold(0.0, f64::max)
    }

    fn correction(&self, contrast_us: f64) -> Correction {
        for factor in self.factors() {
            let points = self.by_residue(factor);
            if points.len() as u64 != factor {
                continue;
            }
            let is_boundary = |point: &Point| is_faster(*point, self.inside, contrast_us);
            match points.iter().filter(|point| is_boundary(point)).count() {
                all if all == points.len() => {}
                1 => {
                    let residue = points.iter().position(is_boundary).expect("one is a boundary");
                    return Correction::Multiple { factor, residue: residue as u64 };
                }
                _ => return Correction::Irregular,
            }
        }
        Correction::None
    }
}

/// Returns whether a place is a boundary, given those inside a chunk.
fn is_faster(place: Point, inside: Point, contrast_us: f64) -> bool {
    let error = place.error.hypot(inside.error);
    inside.value - place.value
        > pattern::least_height(inside.value, error).max(CONTRAST_SHARE_MIN * contrast_us)
}

/// Returns the factor by which the chunk is smaller than `found`: so many parts of it end in boundaries. The contrast
/// of chunks and the least time of a read from flash are in microseconds.
fn smaller_factor(
    bench: &mut Bench<'_>,
    area: Area,
    test: BoundaryTest,
    found: &Chunk,
    [contrast_us, least_us]: [f64; 2],
    samples: usize,
) -> Result<Option<u64>, EarlyEnd> {
    let unit = test.unit_bytes(bench);
    let count = area.chunks(found);
    for factor in FACTORS {
        if !found.size_bytes.is_multiple_of(factor * unit) || found.size_bytes == factor * unit {
            continue;
        }
        let within = found.size_bytes / unit;
        let (mut parts, mut others) = (Vec::new(), Vec::new());
        for _ in 0..samples / 2 {
            let nth = bench.random().below(count - 1);
            let start = area.chunk_start(found, nth);
            let part = 1 + bench.random().below(factor - 1);
            parts.push(test.measure(bench, start + part * (found.size_bytes / factor))?);
            let other = 1 + bench.random().below(within - 1);
            if !other.is_multiple_of(within / factor) {
                others.push(test.measure(bench, start + other * unit)?);
            }
        }
        for times in [&mut parts, &mut others] {
            times.retain(|us| *us >= least_us);
        }
        if parts.len().min(others.len()) >= 8 && is_faster(point(&mut parts), point(&mut others), contrast_us)
        {
            return Ok(Some(factor));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_sim::{Drive, profile};

    /// The buffer keeps pages that were read: those on both sides of the boundaries of a candidate, of which there are
    /// few.
    #[test]
    fn boundaries_that_a_cache_answers_are_none() {
        let settings =
            [("chunk", "512KiB"), ("pages", "128"), ("buffer.policy", "cflru"), ("buffer.size", "8MiB")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut drive = Drive::new(&profile::load("ssd-s", &settings).unwrap(), Seed(1));
        let mut stop = || false;
        let mut bench = Bench::new(&mut drive, Seed(1), &mut stop);
        let area = Area { offset_bytes: 0, length_bytes: 128 << 20 };
        bench.fill(0, area.length_bytes, 256 << 10).unwrap();
        let candidate =
            Chunk { size_bytes: 256 << 10, phase_bytes: 0, clarity: 0.7, contrast_us: 15.0, seen: 4 };
        let verified = verify_and_correct(&mut bench, area, BoundaryTest::Pairs, candidate, 1500).unwrap();
        assert!(verified.as_ref().is_none_or(|chunk| chunk.size_bytes == 512 << 10), "{verified:?}");
    }

    #[test]
    fn corrected_chunk_has_its_own_evidence() {
        let mut drive = Drive::new(&profile::load("ssd-s", &[]).unwrap(), Seed(1));
        let mut stop = || false;
        let mut bench = Bench::new(&mut drive, Seed(1), &mut stop);
        let area = Area { offset_bytes: 0, length_bytes: 32 << 20 };
        bench.fill(0, area.length_bytes, 256 << 10).unwrap();
        for wrong_bytes in [2048, 8192, 12288] {
            let refuted =
                Chunk { size_bytes: wrong_bytes, phase_bytes: 0, clarity: 0.01, contrast_us: 1.0, seen: 3 };
            let verified =
                verify_and_correct(&mut bench, area, BoundaryTest::Pairs, refuted, 400).unwrap().unwrap();
            assert_eq!((verified.size_bytes, verified.phase_bytes), (4096, 0));
            assert!(verified.clarity > 0.8 && verified.contrast_us > 20.0, "{verified:?}");
            assert!((300..=400).contains(&verified.seen), "{verified:?}");
        }
    }
}
