//! Findings from the buses between known dies, and from reads of many chunks.

use crate::busy_buses::Buses;
use crate::busy_dies::BusyDies;
use crate::channels::Channels;
use crate::numbers::{is_prime, ordinal};
use flashlane_result::probe::Finding;

/// Findings on the interleaving degree and the sub-domains from dies that writes showed, and the buses between them.
pub(crate) fn bus_findings(busy: BusyDies, buses: Buses) -> (Finding, Finding) {
    let (count, seen) = (busy.dies.count(), busy.evidence());
    match buses {
        Buses::Channels(channels) => {
            let (degree, sub_domains) = (channels.count as u64, (count / channels.count) as u64);
            let evidence = format!(
                "writes of parts of pages wait for each other, by {:.1} µs, on runs of {} chunks on every {} channel; {seen}",
                channels.step_us,
                channels.run,
                ordinal(channels.count)
            );
            (Finding::found(degree, 0.93, evidence.clone()), Finding::found(sub_domains, 0.93, evidence))
        }
        Buses::OneDieEach { bus_us } => {
            let evidence = format!(
                "no two of {count} dies wait for each other's transfers more than others, of {bus_us:.1} µs a page: each has a \
                 channel, or all share one; {seen}"
            );
            (Finding::found(count as u64, 0.9, evidence.clone()), Finding::found(1_u64, 0.9, evidence))
        }
        _ if is_prime(count) => {
            let evidence =
                format!("{seen}: each has a channel, or all share one, as {count} has no other divisor");
            (Finding::found(count as u64, 0.92, evidence.clone()), Finding::found(1_u64, 0.92, evidence))
        }
        Buses::Hidden { bus } => {
            let why = format!(
                "{seen}; a page takes at most {:.1} µs on a bus, and a command with a sector at least {:.1} µs on the link: no \
                 request waits for a bus",
                bus.most_us, bus.least_sector_us
            );
            (Finding::cannot_be_seen(why.clone()), Finding::cannot_be_seen(why))
        }
        Buses::Unclear => {
            let why = format!("{seen}; but a shared channel could not be told");
            (Finding::not_determined(why.clone()), Finding::not_determined(why))
        }
    }
}

/// Findings on the interleaving degree and the sub-domains from reads of many chunks, and the number of dies where it
/// is known; `before` is what else showed of the degree.
pub(crate) fn span_findings(
    channels: Channels,
    die_count: Option<usize>,
    before: &Finding,
) -> (Finding, Finding) {
    let Channels { count, run, step_us, pairs } = channels;
    let seen = match count {
        1 => format!(
            "{pairs} reads of several chunks take {step_us:.1} µs longer for each of them: all are on one bus"
        ),
        _ => format!(
            "{pairs} reads of several chunks take {step_us:.1} µs longer for each that is on a channel with another: runs of \
             {run} on every {} channel",
            ordinal(count)
        ),
    };
    let sub_domains = match die_count {
        Some(dies) if !dies.is_multiple_of(count) => {
            let why = format!("two experiments disagree: {}; {seen}", before.evidence);
            return (Finding::not_determined(why.clone()), Finding::not_determined(why));
        }
        Some(dies) if dies > count => {
            Finding::found((dies / count) as u64, 0.92, format!("{seen}; {}", before.evidence))
        }
        // What looks like a die may be a channel that is busy as a whole.
        Some(_) => Finding::not_determined(format!("{seen}, as many as dies seem to be: these may hide")),
        None => Finding::not_determined(format!("{seen}; but no dies were seen behind them")),
    };
    (Finding::found(count as u64, 0.93, seen), sub_domains)
}
