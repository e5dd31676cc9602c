//! The layout of chunks over channels and dies: three experiments with pairs of reads, and the findings they lead to.
//!
//! Distances (`stripe`) come first, as they show both levels where the stripe changes channels first. Then residues
//! (`residues`), and last pairs of random chunks (`lanes`), which show the channels only.

use crate::area::{Area, Boundaries};
use crate::lanes::{self, Lanes};
use crate::residues::{self, Residues};
use crate::session::{AREA_UNIT_BYTES, FILL_BYTES, Session};
use crate::stripe::{self, Stripe, Verdict};
use crate::structure::confidence;
use flashlane_measure::Interruption;
use flashlane_result::feature::Feature;
use flashlane_result::probe::{Finding, Status};

/// Largest distance of pairs, in chunks: three times the stripe of 32 channels of four packages.
const REACH: usize = 400;
/// Chunks of the largest area: several periods of most drives.
const MOST_CHUNKS: u64 = 2400;
const MOST_AREA_BYTES: u64 = 1 << 30;

/// Fills the space behind the area as well, where few chunks lie in the area, and returns both. `None` where this would
/// not double the area.
pub(crate) fn fill_larger_area(
    session: &mut Session<'_, '_>,
    chunk: &Boundaries,
) -> Result<Option<Area>, Interruption> {
    let (area, capacity_bytes) = (session.area(), session.setup().capacity_bytes);
    let wanted = (capacity_bytes * 3 / 4).min(MOST_CHUNKS * chunk.chunk_bytes).min(MOST_AREA_BYTES);
    let length_bytes = wanted / AREA_UNIT_BYTES * AREA_UNIT_BYTES;
    if !session.setup().may_write || length_bytes < 2 * area.length_bytes {
        return Ok(None);
    }
    let behind = area.offset_bytes + area.length_bytes;
    session.bench().fill_durably(behind, length_bytes - area.length_bytes, FILL_BYTES)?;
    Ok(Some(Area { length_bytes, ..area }))
}

/// What pairs of reads show of domains and sub-domains.
pub(crate) struct Layout {
    pub(crate) stripe: Stripe,
    pub(crate) residues: Option<Residues>,
    degree: Finding,
    sub_domains: Finding,
}

impl Layout {
    pub(crate) fn measure(
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Boundaries,
        page: u64,
    ) -> Result<Self, Interruption> {
        let reach = REACH.min(area.chunks(chunk) as usize / 2);
        let mut stripe = None;
        for repetitions in [session.repetitions().of(16), session.repetitions().of(64)] {
            let measured = stripe::measure(session.bench(), area, chunk, page, reach, repetitions)?;
            let clear = matches!(measured.verdict(), Verdict::Both { .. });
            stripe = Some(measured);
            if clear {
                break;
            }
        }
        let stripe = stripe.expect("it was measured at least once");
        let (degree, sub_domains) = stripe_findings(&stripe, reach);
        let mut layout = Self { stripe, residues: None, degree, sub_domains };
        if matches!(layout.stripe.verdict(), Verdict::Both { .. }) {
            return Ok(layout);
        }
        let repetitions = session.repetitions().of(12);
        layout.residues = residues::find(session.bench(), area, chunk, page, repetitions)?;
        if let Some(found) = layout.residues {
            (layout.degree, layout.sub_domains) = residue_findings(&found, layout.degree, layout.sub_domains);
        }
        if layout.degree.status == Status::NotDetermined
            && let Some(lanes) = lanes::find(session.bench(), area, chunk, page, repetitions)?
        {
            (layout.degree, layout.sub_domains) =
                lane_findings(lanes, layout.die_period(), layout.sub_domains);
        }
        Ok(layout)
    }

    /// Returns the distance of chunks at which all pairs share a die, where it is certain.
    pub(crate) fn die_period(&self) -> Option<usize> {
        let of_stripe = match self.stripe.verdict() {
            Verdict::Both { degree, sub_domains } => Some(degree * sub_domains),
            Verdict::DiesOnly(period) => Some(period),
            Verdict::Degree(_) | Verdict::Nothing => None,
        };
        self.residues.map(|residues| residues.period).or(of_stripe)
    }

    pub(crate) fn is_clearer(&self, other: &Self) -> bool {
        let found = |layout: &Self| {
            [&layout.degree, &layout.sub_domains]
                .into_iter()
                .filter(|finding| finding.status == Status::Found)
                .count()
        };
        found(self) > found(other)
    }

    pub(crate) fn note(&self, session: &mut Session<'_, '_>) {
        session.note(Feature::InterleavingDegree, self.degree.clone());
        session.note(Feature::SubDomains, self.sub_domains.clone());
    }
}

/// Returns `32nd` for 32.
fn ordinal(number: usize) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// Findings on the interleaving degree and the sub-domains from residues, where they agree with those from distances.
fn residue_findings(found: &Residues, degree: Finding, sub_domains: Finding) -> (Finding, Finding) {
    let Some(domains) = found.domains else { return (degree, sub_domains) };
    let seen = format!(
        "chunks recur on a die every {}; of those between, runs of {} on every {} channel collide, by {:.1} µs",
        found.period,
        domains.run,
        ordinal(domains.degree),
        domains.step_us
    );
    if degree.number().is_some_and(|number| number != domains.degree as u64) {
        let why = format!("two experiments disagree: {}; {seen}", degree.evidence);
        return (Finding::not_determined(why.clone()), Finding::not_determined(why));
    }
    (
        Finding::found(domains.degree as u64, 0.93, seen.clone()),
        Finding::found(domains.sub_domains as u64, 0.92, seen),
    )
}

/// Findings on the interleaving degree and the sub-domains from pairs of random chunks, where they agree with the period of
/// the dies, in chunks.
fn lane_findings(lanes: Lanes, period: Option<usize>, sub_domains: Finding) -> (Finding, Finding) {
    let seen = match lanes.channels {
        1 => format!(
            "all of {} pairs of reads wait for one bus, by {:.1} µs more than for the link",
            lanes.pairs, lanes.step_us
        ),
        channels => format!(
            "of {} pairs of reads those collide, by {:.1} µs, that are on runs of {} chunks on every {} channel",
            lanes.pairs,
            lanes.step_us,
            lanes.run,
            ordinal(channels)
        ),
    };
    let degree = Finding::found(lanes.channels as u64, 0.93, seen.clone());
    let sub_domains = match period {
        Some(period) if !period.is_multiple_of(lanes.channels) => {
            let why = format!("two experiments disagree: chunks recur on a die every {period}; {seen}");
            return (Finding::not_determined(why.clone()), Finding::not_determined(why));
        }
        Some(period) if lanes.channels == 1 => {
            Finding::found(period as u64, 0.92, format!("{seen}; chunks recur on a die every {period}"))
        }
        _ => sub_domains,
    };
    (degree, sub_domains)
}

/// Findings on the interleaving degree and the sub-domains.
fn stripe_findings(stripe: &Stripe, reach: usize) -> (Finding, Finding) {
    match stripe.verdict() {
        Verdict::Nothing => {
            let why = format!("of two reads up to {reach} chunks apart none collide at a regular distance");
            (Finding::not_determined(why.clone()), Finding::not_determined(why))
        }
        Verdict::DiesOnly(period) => {
            let why = format!(
                "reads {period} chunks apart collide on a die, but a shared channel could not be told from the link here"
            );
            (Finding::not_determined(why.clone()), Finding::not_determined(why))
        }
        Verdict::Degree(period) => {
            let first = stripe.first_level.expect("a verdict needs a level");
            let evidence = format!("every {period} chunks two reads collide, by {:.1} µs", first.step_us);
            let found = Finding::found(period as u64, confidence(first.clarity, reach / period), evidence);
            (found, Finding::not_determined("the collisions differ, but not in a regular way"))
        }
        Verdict::Both { degree, sub_domains } => {
            let first = stripe.first_level.expect("a verdict needs a level");
            let evidence = format!(
                "of all distances up to {reach} chunks two reads collide at every {} and at no other, by {:.1} µs",
                ordinal(degree),
                first.step_us
            );
            let found = Finding::found(degree as u64, confidence(first.clarity, reach / degree), evidence);
            let sub = match stripe.second_level {
                Some(second) => Finding::found(
                    sub_domains as u64,
                    confidence(second.clarity, reach / second.period),
                    format!(
                        "every {} chunk they collide by {:.1} µs",
                        ordinal(second.period),
                        second.step_us
                    ),
                ),
                None => Finding::found(
                    1_u64,
                    0.9,
                    "all collisions are alike, and a lesser one would have been seen",
                ),
            };
            (found, sub)
        }
    }
}
