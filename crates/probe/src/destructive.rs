//! The stages for features that only writing shows: SLC cache, mapping, link, write buffer, interference, reclaim unit
//! and mapping cache.

use crate::area::{Area, Chunk};
use crate::error::EarlyEnd;
use crate::link::Link;
use crate::mapping::{self, Collisions, Neighbours, Policy};
use crate::options::{Effort, Medium};
use crate::pattern::Point;
use crate::pauses::PageStripe;
use crate::session::{FILL_BYTES, Session};
use crate::stage::Stage;
use crate::structure::{BY_WRITES, Structure};
use crate::{figures, interference, link, mapping_reach, reclaim, slc_cache, write_buffer};
use flashlane_result::feature::Feature;
use flashlane_result::probe::Finding;

/// Features that only writing shows.
const FEATURES: [Feature; 9] = [
    Feature::LinkBandwidth,
    Feature::CommandCost,
    Feature::RoundTrip,
    Feature::MappingPolicy,
    Feature::WriteBuffer,
    Feature::ReadWriteSlowdown,
    Feature::ReclaimUnit,
    Feature::SlcCache,
    Feature::MappingCacheReach,
];

/// Reports the features as not determined on a drive that must not be written.
pub(crate) fn skip_stages(session: &mut Session<'_, '_>) {
    let why = "it can only be seen by writing, and the drive was opened for reading";
    session.note_not_determined(&FEATURES, why);
}

/// Runs the stages and reports their findings and figures.
pub(crate) fn run_stages(session: &mut Session<'_, '_>, structure: &Structure) -> Result<(), EarlyEnd> {
    let page_or_usual = structure.page_or_usual(session.bench().sector_bytes());
    session.begin_stage(Stage::Mapping);
    session.in_time(&[Feature::MappingPolicy], |session| find_mapping(session, structure))?;
    session.begin_stage(Stage::Link);
    let features = [Feature::LinkBandwidth, Feature::CommandCost, Feature::RoundTrip];
    session.in_time(&features, find_link)?;
    session.begin_stage(Stage::WriteBuffer);
    let area = session.area();
    let most = if session.settings().effort == Effort::Quick { 2048 } else { 32768 };
    let most = most.min((area.length_bytes / page_or_usual) as usize);
    session.in_time(&[Feature::WriteBuffer], |session| {
        let is_by_address = policy(session) == Some(Policy::Lba);
        let same_die = structure.same_die_distance().filter(|_| is_by_address);
        let chunk = structure.chunk.as_ref();
        let target = write_buffer::Target { area, page_bytes: page_or_usual, chunk, same_die };
        let is_page_known = structure.page_bytes.is_some();
        let (finding, figure) = write_buffer::find(session.bench(), target, is_page_known, most)?;
        session.note(Feature::WriteBuffer, finding);
        figure.into_iter().for_each(|figure| session.add_figure(figure));
        Ok(())
    })?;
    session.begin_stage(Stage::Interference);
    let requests = session.repetitions().rising(1000);
    session.in_time(&[Feature::ReadWriteSlowdown], |session| {
        let finding = interference::find(session.bench(), area, page_or_usual, &requests)?;
        session.note(Feature::ReadWriteSlowdown, finding);
        Ok(())
    })?;
    // Before random writes to the whole drive, which leave no block in order.
    session.begin_stage(Stage::ReclaimUnit);
    find_reclaim_unit(session, structure)?;
    find_mapping_cache(session)
}

/// Returns the mapping, where it was found.
fn policy(session: &Session<'_, '_>) -> Option<Policy> {
    let name = session.finding(Feature::MappingPolicy).and_then(Finding::word)?;
    [Policy::Lba, Policy::WriteOrder].into_iter().find(|policy| policy.name() == name)
}

fn find_mapping(session: &mut Session<'_, '_>, structure: &Structure) -> Result<(), EarlyEnd> {
    if let Some(policy) = structure.mapping {
        let stays = match policy {
            Policy::Lba => "address",
            Policy::WriteOrder => "turn in the order of writes",
        };
        let seen = format!("written at other turns, the ends of chunks keep their {stays}");
        session.note(Feature::MappingPolicy, Finding::found(policy.name(), BY_WRITES, seen));
        return Ok(());
    }
    // The period may have been seen in a larger area.
    let chunks = structure.chunk.as_ref().map_or(0, |chunk| session.area().chunks(chunk) as usize);
    let period = structure.die_period().filter(|period| 2 * period <= chunks);
    let distances = period.zip(structure.apart());
    let has_inner_pages = inner_page(structure.chunk.as_ref(), structure.page_bytes).is_some();
    let chunk = structure.chunk.as_ref().filter(|_| distances.is_some() || has_inner_pages);
    let Some(chunk) = chunk else {
        let why = "it shows in which pages collide, and none were found before that certainly do";
        session.note(Feature::MappingPolicy, Finding::not_determined(why));
        return Ok(());
    };
    let (finding, overwritten) = measure_mapping(session, chunk, structure.page_bytes, distances)?;
    if finding.word() == Some(Policy::WriteOrder.name()) {
        session.warn_of_changed_layout(
            "the probe overwrote the beginning of the drive in random order: its pages no longer lie in address order",
        );
    }
    session.note(Feature::MappingPolicy, finding);
    // Later experiments need the area in order.
    let whole_fills = overwritten.length_bytes / FILL_BYTES * FILL_BYTES;
    session.bench().fill(overwritten.offset_bytes, whole_fills, FILL_BYTES)
}

/// Overwrites the beginning of the area in random order, and measures which pages collide after it: those a stripe
/// apart by address, or by turn of writing, where the `distances` of a shared die and of none are known; and those of
/// one chunk, where it has several pages. Returns the finding, and the part that was overwritten.
fn measure_mapping(
    session: &mut Session<'_, '_>,
    chunk: &Chunk,
    page_bytes: Option<u64>,
    distances: Option<(usize, usize)>,
) -> Result<(Finding, Area), EarlyEnd> {
    let inner_page = inner_page(Some(chunk), page_bytes);
    // Where the page is not known, whole chunks are written, which keep their stripe as well.
    let page = page_bytes.unwrap_or(chunk.size_bytes);
    let chunk_pages = chunk.size_bytes / page;
    let stripe_pages = distances.map_or(1, |(period, _)| period as u64) * chunk_pages;
    // Enough stripes for pairs several stripes apart, and few enough to be overwritten quickly.
    let whole = session.area();
    let pages = (12 * stripe_pages).max(2048).min(whole.length_bytes / page);
    let area = Area { offset_bytes: whole.offset_bytes, length_bytes: pages * page };
    let (few, many) = (session.repetitions().of(64), session.repetitions().of(160));
    // Before the overwrite, which may leave most of the area out of order.
    let bench = session.bench();
    let neighbours = |bench: &mut _, area| {
        inner_page.map(|page| Neighbours::measure(bench, area, chunk, page, many)).transpose()
    };
    let neighbours_before = neighbours(bench, whole)?;
    let step =
        distances.map(|distances| mapping::die_step(bench, whole, chunk, distances, few)).transpose()?;
    let written = mapping::overwrite(bench, area, page)?;
    let neighbours = neighbours_before.zip(neighbours(bench, area)?);
    let mut collisions = None;
    if let Some(((_, apart), step)) = distances.zip(step) {
        let distances = (stripe_pages, apart as u64 * chunk_pages);
        collisions = Some((mapping::collisions(bench, area, &written, distances, many)?, step));
    }
    if let Some((collisions, _)) = collisions {
        session.add_figure(figures::mapping(&collisions));
    }
    Ok((mapping_finding(collisions, neighbours), area))
}

/// Returns the page size where a chunk has several pages.
fn inner_page(chunk: Option<&Chunk>, page_bytes: Option<u64>) -> Option<u64> {
    page_bytes.filter(|page| chunk.is_some_and(|chunk| chunk.size_bytes > *page))
}

/// Confidence where only neighbours name the policy.
const BY_NEIGHBOURS: f64 = 0.93;

/// Returns a share in whole percent, without a sign on zero.
fn percent(share: f64) -> f64 {
    (share * 100.0).round() + 0.0
}

/// Finding on the mapping from collisions with the step of a shared die, and from neighbours before and after the
/// overwrite, each where measured. Where both name a policy, they have to agree.
fn mapping_finding(
    collisions: Option<(Collisions, Point)>,
    neighbours: Option<(Neighbours, Neighbours)>,
) -> Finding {
    let mut seen = "after overwriting in random order, ".to_owned();
    let mut named = Vec::new();
    if let Some((collisions, step)) = collisions {
        let (address, turn) = collisions.shares(step.value);
        seen += &format!(
            "pages a stripe apart by address collide by {:.0}% of the step of a shared die ({:.1} ± {:.1} µs), by turn of writing by {:.0}%",
            percent(address),
            step.value,
            step.error,
            percent(turn)
        );
        let margin = (address - turn).abs().clamp(0.0, 1.0);
        named.extend(collisions.policy(step).map(|policy| (policy, (90.0 + 9.0 * margin).round() / 100.0)));
    }
    if let Some((before, after)) = neighbours {
        if collisions.is_some() {
            seen += "; ";
        }
        let step = before.step();
        seen += &format!(
            "neighbouring pages of a chunk collide by {:.0}% of the step before ({:.1} ± {:.1} µs)",
            percent(after.share(before)),
            step.value,
            step.error
        );
        named.extend(after.policy(before).map(|policy| (policy, BY_NEIGHBOURS)));
    }
    match named[..] {
        [(policy, confidence)] => Finding::found(policy.name(), confidence, seen),
        [(one, first), (other, second)] if one == other => {
            Finding::found(one.name(), f64::max(first, second), seen)
        }
        [] => Finding::not_determined(seen),
        _ => Finding::not_determined(format!("two experiments disagree: {seen}")),
    }
}

/// Measures the link by reads of trimmed space, and fills that space again.
fn find_link(session: &mut Session<'_, '_>) -> Result<(), EarlyEnd> {
    let why = match session.settings().medium {
        Medium::Drive => {
            let area = session.area();
            let length_bytes = area.length_bytes / 4 / FILL_BYTES * FILL_BYTES;
            let trimmed = Area { offset_bytes: area.length_bytes, length_bytes };
            let link = link::find(session.bench(), trimmed)?;
            note_link(session, link);
            return session.bench().fill(trimmed.offset_bytes, length_bytes, FILL_BYTES);
        }
        Medium::File => "trimmed space of a file is a hole, for which the file system answers, not a drive",
        Medium::VirtualDisk => {
            "trimmed space of a virtual disk is answered for by the machine that it is on, not by a drive"
        }
    };
    note_link(session, Link::unknown(why));
    Ok(())
}

fn note_link(session: &mut Session<'_, '_>, link: Link) {
    session.note(Feature::LinkBandwidth, link.bandwidth);
    session.note(Feature::CommandCost, link.command);
    session.note(Feature::RoundTrip, link.round_trip);
    link.figure.into_iter().for_each(|figure| session.add_figure(figure));
}

fn find_reclaim_unit(session: &mut Session<'_, '_>, structure: &Structure) -> Result<(), EarlyEnd> {
    let finding = match structure.page_bytes {
        _ if session.settings().effort != Effort::Full => Finding::not_determined(
            "the whole drive has to be written more than once for it: probe with --full",
        ),
        Some(page_bytes) => {
            let stripe =
                structure.chunk.as_ref().zip(structure.same_die_distance()).map(|(chunk, period)| {
                    let chunk_pages = (chunk.size_bytes / page_bytes) as usize;
                    PageStripe { stripe_pages: period * chunk_pages, chunk_pages }
                });
            let known = reclaim::Known { page_bytes, stripe, policy: policy(session) };
            let (finding, figure) = reclaim::find(session.bench(), known)?;
            session.set_filled();
            session.add_figure(figure);
            finding
        }
        None => Finding::not_determined("it is counted in pages, and their size was not found"),
    };
    session.note(Feature::ReclaimUnit, finding);
    Ok(())
}

/// Why a finding is open without full effort.
const WRITES_DRIVE: &str = "most of the drive has to be written for it: probe with --full";

/// Looks for an SLC cache. It comes before all other writes, since a drive may use all flash that was never written, or
/// was erased, as one.
pub(crate) fn find_slc_cache(session: &mut Session<'_, '_>) -> Result<(), EarlyEnd> {
    if session.settings().effort != Effort::Full || session.settings().medium != Medium::Drive {
        let why = match session.settings().medium {
            Medium::Drive => WRITES_DRIVE,
            Medium::File | Medium::VirtualDisk => NO_DRIVE,
        };
        session.note_not_determined(&[Feature::SlcCache], why);
        return Ok(());
    }
    session.begin_stage(Stage::SlcCache);
    let state = session.drive_state();
    let slc_cache::Outcome { finding, row, figure } = slc_cache::find(session.bench(), state)?;
    session.note(Feature::SlcCache, finding);
    session.set_slc_cache(row);
    figure.into_iter().for_each(|figure| session.add_figure(figure));
    Ok(())
}

/// Why a finding is open of what is no drive.
const NO_DRIVE: &str = "what is written to a file or a virtual disk shows the host, and not a drive";

/// Looks for a mapping cache, on a drive that holds data everywhere.
fn find_mapping_cache(session: &mut Session<'_, '_>) -> Result<(), EarlyEnd> {
    let why = match session.settings() {
        settings if settings.medium != Medium::Drive => Some(NO_DRIVE),
        settings if settings.effort != Effort::Full => Some(WRITES_DRIVE),
        _ => None,
    };
    if let Some(why) = why {
        session.note_not_determined(&[Feature::MappingCacheReach], why);
        return Ok(());
    }
    session.begin_stage(Stage::MappingCache);
    if !session.is_filled() {
        let capacity_bytes = session.settings().capacity_bytes;
        session.bench().fill(0, capacity_bytes / FILL_BYTES * FILL_BYTES, FILL_BYTES)?;
        session.set_filled();
    }
    let (finding, figure) = mapping_reach::find(session.bench())?;
    session.note(Feature::MappingCacheReach, finding);
    figure.into_iter().for_each(|figure| session.add_figure(figure));
    Ok(())
}
