//! The stages that look for structure: chunk, page, and the stripe over domains and sub-domains. Reads come first;
//! where they leave chunk or page open, and the probe may write, writes follow (`by_writes`).

mod by_writes;

use crate::area::Chunk;
use crate::chunk;
use crate::consistency::LayoutEvidence;
use crate::dies::Dies;
use crate::error::EarlyEnd;
use crate::layout::ChunkLayout;
use crate::mapping::Policy;
use crate::one_at_a_time::{self, OneAtATime};
use crate::pattern::confidence;
use crate::residues::Residues;
use crate::session::Session;
use crate::stage::Stage;
use crate::stripe::Stripe;
use crate::{figures, larger_area, single_die, stride};
pub(crate) use by_writes::BY_WRITES;
use by_writes::{ByWrites, find_by_writes};
use flashlane_base::units::format_bytes;
use flashlane_result::feature::Feature;
use flashlane_result::probe::Finding;

/// A usual page size, for experiments on a drive whose page was not found.
const USUAL_PAGE_BYTES: u64 = 4096;

/// Returns the page size where it was found, or a usual one.
pub(crate) fn page_or_usual(found: Option<u64>, sector_bytes: u64) -> u64 {
    found.unwrap_or(USUAL_PAGE_BYTES).max(sector_bytes)
}

/// The structure that was found.
pub(crate) struct Structure {
    pub(crate) chunk: Option<Chunk>,
    pub(crate) page_bytes: Option<u64>,
    /// The mapping, where writes showed it together with the chunk.
    pub(crate) mapping: Option<Policy>,
    stripe: Option<Stripe>,
    residues: Option<Residues>,
    /// The dies that writes showed, one request at a time.
    dies: Option<Dies>,
    die_count: Option<usize>,
    /// Groups of chunks that one request at a time showed, which seem to be dies.
    group_count: Option<usize>,
}

impl Structure {
    /// Runs the stages and reports their findings and figures.
    pub(crate) fn run_stages(session: &mut Session<'_, '_>) -> Result<Self, EarlyEnd> {
        session.begin_stage(Stage::Chunk);
        let found = session.in_time(&[Feature::ChunkSize], find_chunk)?.flatten();
        let (chunk, page_bytes) = found.map_or((None, None), |(chunk, page)| (Some(chunk), page));
        let page_bytes = session
            .in_time(&[Feature::PageSize], |session| find_page(session, chunk.as_ref(), page_bytes))?
            .flatten();
        let by_writes =
            session.in_time(&[], |session| find_by_writes(session, chunk.as_ref(), page_bytes))?;
        let (chunk, page_bytes, mapping) = match by_writes.unwrap_or(ByWrites::OutOfTime) {
            ByWrites::Measured { chunk, page_bytes, mapping } => (chunk, page_bytes, mapping),
            ByWrites::NotTried => (chunk, page_bytes, None),
            ByWrites::OutOfTime => (None, page_bytes, None),
        };
        session.begin_stage(Stage::Interleaving);
        let features = [Feature::InterleavingDegree, Feature::SubDomains];
        let found = session.in_time(&features, |session| find_stripe(session, chunk.as_ref(), page_bytes))?;
        let FoundStripe { stripe, residues, dies, die_count, group_count } = found.unwrap_or_default();
        Ok(Self { chunk, page_bytes, mapping, stripe, residues, dies, die_count, group_count })
    }

    /// Returns the page size, or a usual one where it was not found.
    pub(crate) fn page_or_usual(&self, sector_bytes: u64) -> u64 {
        page_or_usual(self.page_bytes, sector_bytes)
    }

    /// Returns what was seen of the layout beside the findings.
    pub(crate) fn layout_evidence(&self) -> LayoutEvidence {
        LayoutEvidence { dies: self.die_count, period: self.same_die_distance().or(self.group_count) }
    }

    /// Returns the shortest distance, in chunks, at which all chunks share a die, seen by any means.
    pub(crate) fn same_die_distance(&self) -> Option<usize> {
        self.die_period().or(self.dies.map(Dies::period))
    }

    /// Returns the shortest distance, in chunks, at which pairs of reads certainly share a die.
    pub(crate) fn die_period(&self) -> Option<usize> {
        let of_residues = self.residues.map(|residues| residues.period);
        of_residues.or_else(|| self.stripe.as_ref().and_then(Stripe::die_period))
    }

    /// Returns a distance, in chunks and shorter than [`Self::die_period`], at which few pairs share a die or a
    /// channel; `None` where all chunks share a die.
    pub(crate) fn apart(&self) -> Option<usize> {
        let of_residues = self.residues.map(|residues| residues.apart);
        of_residues.or_else(|| self.stripe.as_ref().and_then(Stripe::apart))
    }
}

/// Finds the chunk, and the page size where that was by single reads, which show it, too.
fn find_chunk(session: &mut Session<'_, '_>) -> Result<Option<(Chunk, Option<u64>)>, EarlyEnd> {
    let (places, area) = (chunk::places(session.bench()), session.area());
    let mut found = None;
    if session.bench().depth() > 1 {
        let [few, many] = [12, 48].map(|usual| session.repetitions().of_places(usual, places));
        for repetitions in [session.repetitions().rising_to(few, 12), vec![many]] {
            found = chunk::by_pairs(session.bench(), area, &repetitions)?;
            if found.is_some() {
                break;
            }
        }
    }
    let mut page_bytes = None;
    if found.is_none() {
        let repetitions = session.repetitions().of_places(24, places);
        if let Some((chunk, page)) = chunk::by_single_reads(session.bench(), area, repetitions)? {
            (found, page_bytes) = (Some(chunk), Some(page));
        }
    }
    session.note(Feature::ChunkSize, chunk_finding(found.as_ref(), page_bytes.is_some()));
    draw_curves(session, found.as_ref())?;
    Ok(found.map(|found| (found, page_bytes)))
}

/// Finding on the chunk from reads: single ones, or pairs at once.
fn chunk_finding(found: Option<&Chunk>, by_single_reads: bool) -> Finding {
    match found {
        None => Finding::not_determined(
            "no boundary recurs at which two simultaneous reads of neighbouring sectors, or one read of both, are faster than elsewhere",
        ),
        Some(chunk) if by_single_reads => Finding::found(
            chunk.size_bytes,
            confidence(chunk.clarity, chunk.seen),
            format!(
                "one read across two pages is {:.1} µs faster every {}; {} such boundaries seen, and no other",
                chunk.contrast_us,
                format_bytes(chunk.size_bytes),
                chunk.seen
            ),
        ),
        Some(chunk) => Finding::found(
            chunk.size_bytes,
            confidence(chunk.clarity, chunk.seen),
            format!(
                "two sectors read at once are {:.1} µs faster across every {}; {} such boundaries seen, and no other",
                chunk.contrast_us,
                format_bytes(chunk.size_bytes),
                chunk.seen
            ),
        ),
    }
}

/// Draws the curves of chen11 (figure 2), in which a reader sees the chunk.
fn draw_curves(session: &mut Session<'_, '_>, chunk: Option<&Chunk>) -> Result<(), EarlyEnd> {
    let sector = session.bench().sector_bytes();
    let area = session.area();
    let period = chunk.map(|chunk| chunk.size_bytes / sector);
    let offsets = period.map_or(64, |p| (4 * p).clamp(16, 256)) as usize;
    let mut curves = Vec::new();
    for sectors in [1, 2, 4, 8] {
        let repetitions = session.repetitions().of(8);
        curves.push((sectors, chunk::curve(session.bench(), area, sectors, offsets, repetitions)?));
    }
    session.add_figure(figures::chunk(curves, sector, offsets, period));
    Ok(())
}

/// Finds the page size; `known` is that from single reads.
fn find_page(
    session: &mut Session<'_, '_>,
    chunk: Option<&Chunk>,
    known: Option<u64>,
) -> Result<Option<u64>, EarlyEnd> {
    let Some(chunk) = chunk else {
        let why = "it is looked for inside a chunk, and none was found";
        session.note(Feature::PageSize, Finding::not_determined(why));
        return Ok(None);
    };
    let (area, repetitions) = (session.area(), session.repetitions().of(24));
    let page = match known {
        Some(page) => Some(page),
        None => chunk::page_bytes(session.bench(), area, chunk, repetitions)?,
    };
    let finding = match page {
        Some(page) if page == chunk.size_bytes => {
            Finding::found(page, 0.9, "no read inside a chunk takes two array times: a chunk is one page")
        }
        Some(page) => Finding::found(
            page,
            0.95,
            format!("reads across every {} take two array times", format_bytes(page)),
        ),
        None => Finding::not_determined(
            "the slower places inside a chunk do not divide it evenly, or all are too much alike to tell",
        ),
    };
    session.note(Feature::PageSize, finding);
    Ok(page)
}

/// What shows which chunks share a die.
#[derive(Default)]
struct FoundStripe {
    stripe: Option<Stripe>,
    residues: Option<Residues>,
    dies: Option<Dies>,
    die_count: Option<usize>,
    group_count: Option<usize>,
}

/// Finds a single die, where no chunk was found.
fn find_single_die(session: &mut Session<'_, '_>, page: Option<u64>) -> Result<FoundStripe, EarlyEnd> {
    let features = [Feature::InterleavingDegree, Feature::SubDomains];
    let area = session.area();
    let wait_us = match page.filter(|_| session.settings().may_write) {
        Some(page) => single_die::find(session.bench(), area, page)?,
        None => None,
    };
    if let Some(wait_us) = wait_us {
        let why = format!("any two reads wait for one array, by {wait_us:.1} µs: there is one die");
        for feature in features {
            session.note(feature, Finding::found(1_u64, 0.92, why.clone()));
        }
        session
            .note(Feature::ChunkSize, Finding::cannot_be_seen(format!("{why}, whose chunks are all alike")));
        return Ok(FoundStripe { die_count: Some(1), ..FoundStripe::default() });
    }
    session.note_not_determined(&features, "it is counted in chunks, and none was found");
    Ok(FoundStripe::default())
}

fn find_stripe(
    session: &mut Session<'_, '_>,
    chunk: Option<&Chunk>,
    page: Option<u64>,
) -> Result<FoundStripe, EarlyEnd> {
    let Some(chunk) = chunk else { return find_single_die(session, page) };
    if session.bench().depth() < 2 {
        let OneAtATime { degree, sub_domains, dies, die_count } = one_at_a_time::find(session, chunk, page)?;
        session.note(Feature::InterleavingDegree, degree);
        session.note(Feature::SubDomains, sub_domains);
        let (die_count, group_count) = if dies.is_some() { (die_count, None) } else { (None, die_count) };
        return Ok(FoundStripe { dies, die_count, group_count, ..FoundStripe::default() });
    }
    let area = session.area();
    let mut layout = ChunkLayout::measure(session, area, chunk, page)?;
    if (layout.is_open() || layout.may_have_more_dies())
        && let Some(larger) = larger_area::fill(session, chunk, layout.may_have_more_dies())?
    {
        let again = layout.measure_larger(session, larger, chunk, page)?;
        if again.is_clearer(&layout) {
            layout = again;
        } else if layout.may_have_more_dies() {
            layout.check_beyond(again);
        }
    }
    layout.add_spans(session, chunk, page)?;
    layout.add_written_spans(session, chunk, page)?;
    layout.note(session);
    let die_count = layout.die_count();
    let ChunkLayout { stripe, residues, .. } = layout;
    session.add_figure(figures::pair_distance(&stripe));
    if let Some(first) = stripe.first_level {
        let strides = (4 * first.period).clamp(16, 128);
        let reads = session.repetitions().of(120);
        let mut curves = Vec::new();
        for jobs in [2, 4] {
            curves.push((jobs, stride::curve(session.bench(), area, chunk, jobs, strides, reads)?));
        }
        session.add_figure(figures::stride(curves, strides, first.period));
    }
    Ok(FoundStripe { stripe: Some(stripe), residues, die_count, ..FoundStripe::default() })
}
