//! The reclaim unit: the erase block, or set of blocks, that a die erases at once when no free block is left.
//!
//! One page is written over and over ([`Rewrites`]). The drive holds nothing else: it was filled, so that no free
//! blocks are left, and then trimmed. So where the die that takes a write has filled a block, it finds one without
//! valid pages, and only erases it. Each such pause is seen, and their recurrence is the unit ([`pauses`]). Where
//! addresses place pages, all writes reach one die, or plane, so that several places are tried: on a drive without
//! trim, blocks may hold pages that GC moves again with every block, and their number then differs between places.
//!
//! The number of pages is right only if the page is. So all of the page is written but its first sector. Writes of its
//! last sector then have to fill blocks as fast, which they do not where the page is several; and writes of its end and
//! the next one's beginning in half of the writes, which they do not where it is a part of one.
//!
//! The experiment writes the whole drive, so it runs only at full effort.

use crate::bench::Bench;
use crate::error::EarlyEnd;
use crate::mapping::Policy;
use crate::pauses::{self, PageStripe, Recurrence};
use crate::rewrites::Rewrites;
use flashlane_base::units::format_bytes;
use flashlane_result::Figure;
use flashlane_result::probe::Finding;
use flashlane_workload::Access;

/// The page size, and what else is known of the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) page_bytes: u64,
    pub(crate) stripe: Option<PageStripe>,
    pub(crate) policy: Option<Policy>,
}

/// Request size of the overwrites.
const FILL_BYTES: u64 = 64 * 1024;
/// Number of overwrites: spare blocks are used first.
const ROUNDS: u64 = 2;
/// Number of writes to each place of a drive that maps by address: at first, and at most.
const FIRST_AT_PLACE: usize = 2048;
const AT_PLACE_MAX: usize = 1 << 18;
/// Number of writes to each die of others at first, and of all writes at most.
const FIRST_TO_DIE: usize = 256;
const WRITES_MAX: usize = 4 << 20;
/// Parts of the writes since the first pause that do not count: GC may find other blocks at first.
const SETTLING: [f64; 2] = [0.25, 0.5];
/// Least number of chunks that each die takes: more than it has planes.
const DIE_CHUNKS_MIN: usize = 64;
/// Confidence in a unit that several places, or all dies, show; and in one that is seen without dies.
const BY_SEVERAL: f64 = 0.95;
const BY_ALL: f64 = 0.9;

/// A unit, or the reason why there is none, and the writes that show it.
type Seen = (Result<Unit, String>, Rewrites);

struct Unit {
    pages: usize,
    confidence: f64,
    seen_at: String,
}

/// Overwrites the drive, trims it, and counts the writes of a page from pause to pause. Leaves the drive filled in
/// order.
pub(crate) fn find(bench: &mut Bench<'_>, known: Known) -> Result<(Finding, Figure), EarlyEnd> {
    for _ in 0..ROUNDS {
        overwrite(bench)?;
    }
    let capacity_bytes = bench.device().info().capacity_bytes;
    bench.trim_to(capacity_bytes)?;
    let (unit, rewrites) = match known.policy {
        Some(Policy::Lba) => at_several_places(bench, known.page_bytes)?,
        _ => over_all_dies(bench, known)?,
    };
    overwrite(bench)?;
    let page_bytes = known.page_bytes;
    let finding = match unit {
        Err(why) => Finding::not_determined(why),
        Ok(Unit { pages, confidence, seen_at }) => {
            let page = format_bytes(page_bytes);
            let evidence = format!(
                "where one page is written over and over, {seen_at} shows a pause for every {pages} pages of {page}, and the \
                 pauses recur exactly"
            );
            Finding::found(pages as u64 * page_bytes, confidence, evidence)
        }
    };
    Ok((finding, rewrites.figure()))
}

/// Overwrites the whole drive in order.
fn overwrite(bench: &mut Bench<'_>) -> Result<(), EarlyEnd> {
    let (requests, depth) = (bench.device().info().capacity_bytes / FILL_BYTES, bench.depth());
    bench.stream((0..requests).map(|i| Access::write(i * FILL_BYTES, FILL_BYTES)), depth)?;
    bench.flush_and_pause()
}

/// Looks for the unit at places that need not share a die: all have to show the same.
fn at_several_places(bench: &mut Bench<'_>, page_bytes: u64) -> Result<Seen, EarlyEnd> {
    let pages = bench.device().info().capacity_bytes / page_bytes;
    let mut units: Vec<usize> = Vec::new();
    for place in [pages - 1, pages / 2] {
        let mut rewrites = Rewrites::new(place * page_bytes, page_bytes);
        match at_place(bench, &mut rewrites)? {
            None => return Ok((Err(rewrites.why_open()), rewrites)),
            Some(Recurrence { unit, .. }) => units.push(unit),
        }
    }
    let mut rewrites = Rewrites::new(0, page_bytes);
    let unit = match at_place(bench, &mut rewrites)? {
        None => Err(rewrites.why_open()),
        Some(seen) if units.iter().any(|&unit| unit != seen.unit) => Err(format!(
            "three places show a pause for every {}, {} and {} writes",
            units[0], units[1], seen.unit
        )),
        Some(seen) if !rewrites.is_page(bench, seen)? => Err(not_a_page(page_bytes)),
        Some(seen) => {
            Ok(Unit { pages: seen.unit, confidence: BY_SEVERAL, seen_at: "each of 3 places".into() })
        }
    };
    Ok((unit, rewrites))
}

/// Returns the recurrence of pauses where all writes reach one die or plane.
fn at_place(bench: &mut Bench<'_>, rewrites: &mut Rewrites) -> Result<Option<Recurrence>, EarlyEnd> {
    let mut wanted = FIRST_AT_PLACE;
    while wanted <= AT_PLACE_MAX {
        rewrites.extend(bench, wanted)?;
        let seen = SETTLING.into_iter().find_map(|part| pauses::every_write(&rewrites.pauses(part)));
        // One plane has one block that fills.
        if let Some(seen) = seen.filter(|seen| seen.unit == seen.writes) {
            return Ok(Some(seen));
        }
        wanted *= 4;
    }
    Ok(None)
}

/// Looks for the unit in the writes that each die takes, where these are known, or in all writes.
fn over_all_dies(bench: &mut Bench<'_>, known: Known) -> Result<Seen, EarlyEnd> {
    let pages = (bench.device().info().capacity_bytes / known.page_bytes) as usize;
    // More than the drive holds.
    let many = pages + pages / 2;
    let of_dies = known.stripe.map(|stripe| stripe.stripe_pages * DIE_CHUNKS_MIN);
    let first = match known.stripe {
        Some(PageStripe { stripe_pages, chunk_pages }) => {
            stripe_pages * FIRST_TO_DIE.max(2 * DIE_CHUNKS_MIN * chunk_pages)
        }
        None => 2 * many,
    };
    let mut wanted = first.min(WRITES_MAX);
    let mut rewrites = Rewrites::new(0, known.page_bytes);
    loop {
        rewrites.extend(bench, wanted)?;
        for seen in SETTLING.map(|part| rewrites.pauses(part)) {
            let by_dies = known.stripe.filter(|_| of_dies.is_some_and(|least| seen.len() >= least));
            let found = match by_dies.and_then(|stripe| pauses::of_each_die(&seen, stripe)) {
                Some(recurrence) => Some((recurrence, BY_SEVERAL, "each die")),
                None if seen.len() < many => None,
                None => pauses::every_write(&seen).map(|recurrence| (recurrence, BY_ALL, "the drive")),
            };
            if let Some((recurrence, confidence, seen_at)) = found {
                let unit = match rewrites.is_page(bench, recurrence)? {
                    true => Ok(Unit { pages: recurrence.unit, confidence, seen_at: seen_at.into() }),
                    false => Err(not_a_page(known.page_bytes)),
                };
                return Ok((unit, rewrites));
            }
        }
        if wanted == WRITES_MAX {
            return Ok((Err(rewrites.why_open()), rewrites));
        }
        wanted = (wanted * 3).min(WRITES_MAX);
    }
}

fn not_a_page(page_bytes: u64) -> String {
    format!(
        "writes of parts of pages of {}, and across their ends, do not fill blocks as such pages do",
        format_bytes(page_bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_result::probe::Status;
    use flashlane_sim::{Drive, profile};

    /// Returns the finding on a drive of 12 planes with blocks of 64 pages of 4 KiB, whose page is taken to be this
    /// large.
    fn finding(sector: &str, policy: &str, page_bytes: u64) -> Finding {
        let settings = [
            ("capacity", "64MiB"),
            ("sector", sector),
            ("mapping.policy", policy),
            ("flash.channels", "3"),
            ("flash.packages", "2"),
            ("flash.planes", "2"),
            ("flash.blocks", "36"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut drive = Drive::new(&profile::load("ssd-s", &settings).unwrap(), Seed(1));
        let mut stop = || false;
        let mut bench = Bench::new(&mut drive, Seed(1), &mut stop);
        let policy = (policy == "lba").then_some(Policy::Lba);
        find(&mut bench, Known { page_bytes, stripe: None, policy }).unwrap().0
    }

    #[test]
    fn unit_needs_the_right_page() {
        for policy in ["lba", "write-order"] {
            for sector in ["512B", "4KiB"] {
                let right = finding(sector, policy, 4096);
                assert_eq!(right.number(), Some(64 * 4096), "{sector} {policy}: {right:?}");
            }
            // Of a drive with planes in step, three of which take what is written at once: a pause for every 64 writes.
            for wrong in [2048, 8192, 12288] {
                let finding = finding("512B", policy, wrong);
                let is_open = finding.status == Status::NotDetermined;
                assert!(is_open || finding.number() == Some(64 * 4096), "{policy} {wrong}: {finding:?}");
            }
        }
    }
}
