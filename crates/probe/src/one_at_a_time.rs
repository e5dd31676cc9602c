//! The layout of a drive that takes one request at a time.
//!
//! Where places follow from the order of writes, reads of two pages that were written to any two chunks are pairs
//! (`written_pairs`); where they follow from addresses, writes to a buffer are (`busy_dies`, `busy_buses`). Either shows the dies,
//! and the channels where a wait for a bus is seen. Reads of many chunks show the channels in any case (`spans`), if the link is
//! fast enough.

use crate::area::{Area, Chunk};
use crate::beside::Beside;
use crate::busy_buses;
use crate::busy_dies::{self, Seen};
use crate::dies::Dies;
use crate::error::Interruption;
use crate::layout::{bus_findings, fill_larger_area, ordinal, span_findings};
use crate::mapping::Policy;
use crate::session::{FILL_BYTES, Session};
use crate::spans;
use crate::written_pairs::{self, WrittenPairs};
use flashlane_result::probe::{Finding, Status};

/// Findings on the interleaving degree and the sub-domains.
pub(crate) struct OneAtATime {
    pub(crate) degree: Finding,
    pub(crate) sub_domains: Finding,
    /// The dies where places follow from addresses.
    pub(crate) dies: Option<Dies>,
    /// Number of dies, where it was seen.
    pub(crate) die_count: Option<usize>,
}

/// Looks for channels and dies.
pub(crate) fn find(
    session: &mut Session<'_, '_>,
    chunk: &Chunk,
    page: Option<u64>,
) -> Result<OneAtATime, Interruption> {
    let area = session.area();
    let Some(page) = page.filter(|_| session.settings().may_write) else { return Ok(OneAtATime::nothing()) };
    let mut found = match written_pairs::find(session.bench(), area, chunk, page, FILL_BYTES)? {
        Some(pairs) => OneAtATime::of_pairs(pairs),
        None => by_writes(session, area, chunk, page)?.unwrap_or_else(OneAtATime::nothing),
    };
    if found.degree.status == Status::NotDetermined
        && let Some(channels) = spans::find(session.bench(), area, chunk, page)?
    {
        (found.degree, found.sub_domains) = span_findings(channels, found.die_count, &found.degree);
    }
    Ok(found)
}

/// Findings from writes to a buffer, where places follow from addresses.
fn by_writes(
    session: &mut Session<'_, '_>,
    area: Area,
    chunk: &Chunk,
    page: u64,
) -> Result<Option<OneAtATime>, Interruption> {
    let mut areas = vec![area];
    while let Some(area) = areas.pop() {
        match busy_dies::find(session.bench(), area, chunk, page, FILL_BYTES, Beside::Write)? {
            Seen::Dies(busy) if busy.policy == Policy::Lba => {
                let buses = busy_buses::find(session.bench(), area, chunk, page, &busy)?;
                let (degree, sub_domains) = bus_findings(busy, buses);
                let (dies, die_count) = (Some(busy.dies), Some(busy.dies.count()));
                return Ok(Some(OneAtATime { degree, sub_domains, dies, die_count }));
            }
            Seen::Unclear => areas.extend(fill_larger_area(session, chunk)?.filter(|larger| *larger != area)),
            Seen::Dies(_) | Seen::Nothing => {}
        }
    }
    Ok(None)
}

impl OneAtATime {
    fn nothing() -> Self {
        let why = "two reads at once show it, and the drive takes one request at a time; reads of two pages show it where \
                   these can be written to any two chunks";
        let open = Finding::not_determined(why);
        Self { degree: open.clone(), sub_domains: open, dies: None, die_count: None }
    }

    fn of_pairs(WrittenPairs { dies, step_us, channels }: WrittenPairs) -> Self {
        let count = dies.count();
        let seen = format!(
            "one read of two pages that were written to different chunks takes {step_us:.1} µs longer on one of {count} dies"
        );
        let (degree, sub_domains) = match channels {
            Some(channels) => {
                let degree = format!(
                    "{seen}, and {:.1} µs on runs of {} chunks on every {} channel",
                    channels.step_us,
                    channels.run,
                    ordinal(channels.count)
                );
                let sub_domains = (count / channels.count) as u64;
                (Finding::found(channels.count as u64, 0.93, degree), Finding::found(sub_domains, 0.93, seen))
            }
            None => {
                let open = Finding::not_determined(format!("{seen}; but a shared channel could not be told"));
                (open.clone(), open)
            }
        };
        Self { degree, sub_domains, dies: None, die_count: Some(count) }
    }
}
