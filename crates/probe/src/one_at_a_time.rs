//! The layout of a drive that takes one request at a time.
//!
//! Where places follow from the order of writes, reads of two pages that were written to any two chunks are pairs
//! (`written_pairs`); where they follow from addresses, writes to a buffer are (`busy_dies`, `busy_buses`). Either
//! shows the dies, and the channels where a wait for a bus is seen. Reads of many chunks show the channels in any case
//! (`spans`), if the link is fast enough, and writes of many chunks the dies (`write_spans`).

use crate::area::{Area, Chunk};
use crate::beside::Beside;
use crate::bus_findings::{bus_findings, span_findings};
use crate::busy_buses::{self, Buses};
use crate::busy_dies::{self, Seen};
use crate::dies::Dies;
use crate::error::EarlyEnd;
use crate::larger_area;
use crate::mapping::Policy;
use crate::numbers::ordinal;
use crate::session::{FILL_BYTES, Session};
use crate::spans;
use crate::write_spans;
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
) -> Result<OneAtATime, EarlyEnd> {
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
    let is_open =
        [&found.degree, &found.sub_domains].iter().any(|finding| finding.status == Status::NotDetermined);
    if is_open
        && found.dies.is_none()
        && let Some(written) =
            write_spans::find(session.bench(), area, chunk, page, FILL_BYTES, &found.degree)?
    {
        written.complete(&mut found.degree, &mut found.sub_domains);
        (found.dies, found.die_count) = (Some(written.dies), Some(written.dies.count()));
    }
    Ok(found)
}

/// Findings from writes to a buffer, where places follow from addresses.
fn by_writes(
    session: &mut Session<'_, '_>,
    area: Area,
    chunk: &Chunk,
    page: u64,
) -> Result<Option<OneAtATime>, EarlyEnd> {
    let mut areas = vec![area];
    while let Some(area) = areas.pop() {
        match busy_dies::find(session.bench(), area, chunk, page, FILL_BYTES, Beside::Write)? {
            Seen::Dies(busy) if busy.policy == Policy::Lba => {
                let buses = busy_buses::find(session.bench(), area, chunk, page, &busy)?;
                let (degree, sub_domains) = bus_findings(busy, buses);
                let (dies, die_count) = (Some(busy.dies), Some(busy.dies.count()));
                return Ok(Some(OneAtATime { degree, sub_domains, dies, die_count }));
            }
            Seen::Unclear => {
                areas.extend(larger_area::fill(session, chunk, false)?.filter(|larger| *larger != area))
            }
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

    fn of_pairs(WrittenPairs { dies, step_us, is_array_time, buses }: WrittenPairs) -> Self {
        let count = dies.map(Dies::count);
        let seen = match count {
            Some(count) => format!(
                "one read of two pages that were written to different chunks takes {step_us:.1} µs longer on one of {count} dies"
            ),
            None => "one read of two pages that were written to different chunks takes longer on some".into(),
        };
        let found = |number: usize, why: &str| Finding::found(number as u64, 0.93, why);
        let (degree, sub_domains) = match (buses, count) {
            (Buses::Channels(channels), _) => {
                let degree = format!(
                    "{seen}, and {:.1} µs on runs of {} chunks on every {} channel",
                    channels.step_us,
                    channels.run,
                    ordinal(channels.count)
                );
                let sub_domains = match count {
                    Some(count) => found(count / channels.count, &seen),
                    None => Finding::not_determined(format!("{degree}; dies take no longer than a bus")),
                };
                (found(channels.count, &degree), sub_domains)
            }
            (Buses::OneDieEach { bus_us }, Some(count)) => {
                let why = format!(
                    "{seen}, and no longer by a bus, of {bus_us:.1} µs a page: each has a channel, or all share one"
                );
                let sub_domains = match is_array_time {
                    true => found(1, &why),
                    false => {
                        Finding::not_determined(format!("{why}; but a shared bus may look like a die here"))
                    }
                };
                (found(count, &why), sub_domains)
            }
            _ => {
                let open = Finding::not_determined(format!("{seen}; but a shared channel could not be told"));
                (open.clone(), open)
            }
        };
        Self { degree, sub_domains, dies: None, die_count: count }
    }
}
