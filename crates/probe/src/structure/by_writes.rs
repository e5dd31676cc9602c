//! Chunk and page by writes, where reads did not show both.

use crate::area::Chunk;
use crate::array_time::{SMALL_PAGE_BYTES, saves_array_time};
use crate::error::EarlyEnd;
use crate::mapping::Policy;
use crate::session::{FILL_BYTES, Session};
use crate::write_rows::{self, KnownFromReads};
use flashlane_base::units::format_bytes;
use flashlane_result::feature::Feature;
use flashlane_result::probe::Finding;

/// Confidence in what writes show.
pub(crate) const BY_WRITES: f64 = 0.93;

/// What is known after the search by writes.
pub(super) enum ByWrites {
    /// Nothing was written: what reads showed stands.
    NotTried,
    /// The time ended during the writes: the area is no longer in order, so that chunks cannot be read.
    OutOfTime,
    /// What reads and writes together show.
    Measured { chunk: Option<Chunk>, page_bytes: Option<u64>, mapping: Option<Policy> },
}

/// Looks for chunk and page by writes, where reads did not show both; or where a sector may be a page, so that reads
/// cannot tell whether an array time is saved at the ends of chunks, or only a transfer.
pub(super) fn find_by_writes(
    session: &mut Session<'_, '_>,
    chunk: Option<&Chunk>,
    page_bytes: Option<u64>,
) -> Result<ByWrites, EarlyEnd> {
    let certain = chunk.filter(|_| session.bench().sector_bytes() < SMALL_PAGE_BYTES);
    if !session.settings().may_write || (certain.is_some() && page_bytes.is_some()) {
        return Ok(ByWrites::NotTried);
    }
    let area = session.area();
    let known = KnownFromReads { page_bytes, chunk, keeps_chunk: certain.is_some(), fill_bytes: FILL_BYTES };
    let rows = write_rows::find(session.bench(), area, known)?;
    let page = rows.as_ref().map(|rows| rows.page_bytes);
    if let Some(certain) = certain {
        let page = page.filter(|page| certain.size_bytes.is_multiple_of(*page));
        note_written_page(session, page);
        return Ok(ByWrites::Measured { chunk: Some(certain.clone()), page_bytes: page, mapping: None });
    }
    if page_bytes.is_none() {
        note_written_page(session, page);
    }
    let found = rows.and_then(|rows| rows.chunk);
    if let (Some(seen), None, Some(page)) = (chunk, &found, page.or(page_bytes)) {
        // Writes did not show it either, but a page of several sectors shows the time of a transfer.
        let samples = session.repetitions().of(200);
        let is_possible = page > session.bench().sector_bytes() && seen.size_bytes.is_multiple_of(page);
        if is_possible && saves_array_time(session.bench(), area, seen, samples)? {
            let chunk = Some(seen.clone());
            return Ok(ByWrites::Measured { chunk, page_bytes: Some(page), mapping: None });
        }
    }
    session.note(Feature::ChunkSize, chunk_finding_by_writes(found.as_ref()));
    let (chunk, mapping) = found.map_or((None, None), |(chunk, mapping)| (Some(chunk), mapping));
    Ok(ByWrites::Measured { chunk, page_bytes: page.or(page_bytes), mapping })
}

/// Finding on the chunk from writes of two pages, which show the mapping, too, where a chunk has several.
fn chunk_finding_by_writes(found: Option<&(Chunk, Option<Policy>)>) -> Finding {
    match found {
        Some((found, Some(_))) => Finding::found(
            found.size_bytes,
            BY_WRITES,
            format!(
                "writes of two pages are {:.1} µs faster across every {}; {} such boundaries seen, and no other",
                found.contrast_us,
                format_bytes(found.size_bytes),
                found.seen
            ),
        ),
        Some((found, None)) => Finding::found(
            found.size_bytes,
            BY_WRITES,
            format!(
                "of {} writes of two pages none waits for a second program, of at least {:.1} µs: a chunk is one page",
                found.seen, found.contrast_us
            ),
        ),
        None => Finding::not_determined(
            "reads of neighbouring sectors show no boundary that saves an array time, and writes of two pages none that \
             saves a program",
        ),
    }
}

fn note_written_page(session: &mut Session<'_, '_>, page_bytes: Option<u64>) {
    if let Some(page_bytes) = page_bytes {
        let size = format_bytes(page_bytes);
        let evidence = format!("writes take longer where they end inside of {size}, or go on across its end");
        session.note(Feature::PageSize, Finding::found(page_bytes, BY_WRITES, evidence));
    }
}
