//! The layout of chunks over channels and dies: the experiments, and the findings they lead to.
//!
//! The order, each where the ones before have left something open, and those with `*` where the probe may write:
//!
//! ```text
//! stripe        distances of pairs of reads: both levels, where the stripe changes channels first
//! busy_dies *   reads and writes beside programs: the dies
//! residues      pairs by residues of a period: both levels, in any order of the stripe
//! channels      pairs of random chunks: the channels (bus_time * measures a transfer for them)
//! transfers *   reads beside the transfer of a written page: the channels, behind any link
//! busy_buses *  writes of parts of pages on known dies: the channels, behind any link
//! stripe        once more with more repetitions, where that may help
//! ```
//!
//! `structure` then tries a larger area, reads of many chunks (`spans`) and writes of many chunks (`write_spans`).

use crate::area::{Area, Chunk};
use crate::beside::Beside;
use crate::bus_findings::{bus_findings, span_findings};
use crate::bus_time::BusTime;
use crate::busy_buses::{self, Buses};
use crate::busy_dies::{self, BusyDies, Seen};
use crate::channels::{self, Channels};
use crate::dies::{Dies, PLANES_MAX};
use crate::error::EarlyEnd;
use crate::mapping::Policy;
use crate::numbers::ordinal;
use crate::pattern::confidence;
use crate::residues::{self, Beyond, Residues};
use crate::session::{FILL_BYTES, Session};
use crate::spans;
use crate::stripe::{self, Stripe, Verdict};
use crate::transfers;
use crate::write_spans::{self, WrittenSpans};
use flashlane_result::feature::Feature;
use flashlane_result::probe::{Finding, Status};

/// Largest distance of pairs, in chunks: three times the stripe of 32 channels of four packages.
const REACH: usize = 400;
/// Pairs of chunks that test whether more dies lie beyond those seen.
const FAR: usize = 64;
/// Confidence in sub-domains of which too few turns lie in the area to tell whether other dies follow after all planes
/// of these.
const FEW_TURNS: f64 = 0.85;

/// Looks for dies by writes beside programs, on a drive whose places follow from addresses.
fn beside_writes(
    session: &mut Session<'_, '_>,
    area: Area,
    chunk: &Chunk,
    page: u64,
) -> Result<Option<BusyDies>, EarlyEnd> {
    let seen = busy_dies::find(session.bench(), area, chunk, page, FILL_BYTES, Beside::Write)?;
    Ok(seen.dies().filter(|busy| busy.policy == Policy::Lba))
}

/// Findings on the interleaving degree and the sub-domains from reads that wait for the transfers of writes, the number
/// of dies and how it was seen, and the distance in chunks at which pairs share one.
fn transfer_findings(
    channels: Channels,
    dies: Option<(usize, String)>,
    distance: Option<usize>,
) -> (Finding, Finding) {
    let Channels { count, run, step_us, pairs } = channels;
    let seen = match count {
        1 => format!(
            "all of {pairs} reads of sectors wait for the transfer of a written page, by {step_us:.1} µs"
        ),
        _ => format!(
            "of {pairs} reads of sectors those wait for the transfer of a written page, by {step_us:.1} µs, that are on runs of \
             {run} chunks on every {} channel",
            ordinal(count)
        ),
    };
    let period = dies.as_ref().map(|(dies, _)| *dies).or(distance);
    if period.is_some_and(|period| !period.is_multiple_of(count)) {
        let why =
            format!("two experiments disagree: chunks recur on a die every {}; {seen}", period.unwrap_or(0));
        return (Finding::not_determined(why.clone()), Finding::not_determined(why));
    }
    let sub_domains = match dies {
        Some((dies, evidence)) => Finding::found((dies / count) as u64, 0.93, format!("{seen}; {evidence}")),
        None => Finding::not_determined(format!("{seen}; but no dies were seen behind them")),
    };
    (Finding::found(count as u64, 0.93, seen), sub_domains)
}

/// What experiments show of domains and sub-domains.
pub(crate) struct ChunkLayout {
    pub(crate) stripe: Stripe,
    pub(crate) residues: Option<Residues>,
    busy: Seen,
    written: Option<WrittenSpans>,
    degree: Finding,
    sub_domains: Finding,
}

impl ChunkLayout {
    pub(crate) fn measure(
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
        page: Option<u64>,
    ) -> Result<Self, EarlyEnd> {
        let (few, many) = (session.repetitions().rising(16), session.repetitions().of(64));
        let mut layout = Self::by_distances(session, area, chunk, page, &few)?;
        if layout.is_certain_by_distances(session, area, chunk)? {
            return Ok(layout);
        }
        layout.measure_dies(session, area, chunk, page)?;
        if layout.is_open() && layout.stripe.may_become_clearer() {
            let again = Self::by_distances(session, area, chunk, page, &[many])?;
            let mut again = Self { busy: layout.busy, residues: layout.residues, ..again };
            again.is_certain_by_distances(session, area, chunk)?;
            if let Some(busy) = again.busy.dies() {
                again.add_dies(busy);
            }
            if again.is_clearer(&layout) {
                layout = again;
            }
        }
        Ok(layout)
    }

    /// Measures pairs by their distance, with the first of the rising numbers of repetitions that leaves no doubt, or
    /// the last.
    fn by_distances(
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
        page: Option<u64>,
        repetitions: &[usize],
    ) -> Result<Self, EarlyEnd> {
        // Larger reads might take several array times.
        let page = page.unwrap_or(session.bench().sector_bytes());
        let reach = REACH.min(area.chunks(chunk) as usize / 2);
        let (&most, fewer) = repetitions.split_last().expect("repetitions are given");
        for &few in fewer {
            let stripe = stripe::measure(session.bench(), area, chunk, page, reach, few)?;
            if stripe.leaves_no_doubt() {
                return Ok(Self::of_stripe(stripe));
            }
        }
        let stripe = stripe::measure(session.bench(), area, chunk, page, reach, most)?;
        Ok(Self::of_stripe(stripe))
    }

    /// Measures again in a larger area what was left open.
    pub(crate) fn measure_larger(
        &self,
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
        page: Option<u64>,
    ) -> Result<Self, EarlyEnd> {
        let mut layout = Self { busy: self.busy, ..Self::of_stripe(self.stripe.clone()) };
        if layout.is_certain_by_distances(session, area, chunk)? {
            return Ok(layout);
        }
        if self.busy == Seen::Nothing && self.die_period().is_none() {
            return Self::measure(session, area, chunk, page);
        }
        layout.measure_dies(session, area, chunk, page)?;
        Ok(layout)
    }

    fn of_stripe(stripe: Stripe) -> Self {
        let (degree, sub_domains) = stripe_findings(&stripe);
        Self { stripe, residues: None, busy: Seen::Unclear, written: None, degree, sub_domains }
    }

    /// Returns whether distances show domains and sub-domains, and no more dies may lie beyond them. Takes the
    /// sub-domains back where some may.
    fn is_certain_by_distances(
        &mut self,
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
    ) -> Result<bool, EarlyEnd> {
        let Verdict::Both { degree, sub_domains } = self.stripe.verdict() else { return Ok(false) };
        let (period, chunks) = (degree * sub_domains, area.chunks(chunk) as usize);
        let turn = PLANES_MAX * period;
        if turn + period < chunks {
            let repetitions = session.repetitions().of(FAR);
            let sizes = [[session.bench().sector_bytes(); 2], self.stripe.read_bytes];
            let bench = session.bench();
            if stripe::collides_beyond(bench, area, chunk, (period, turn), sizes, repetitions)? {
                return Ok(true);
            }
        }
        self.sub_domains = Finding::not_determined(format!(
            "{}; but farther chunks are on other dies, or there are too few to tell",
            self.sub_domains.evidence
        ));
        Ok(false)
    }

    /// Looks for dies by programs, and for channels by residues and random pairs.
    fn measure_dies(
        &mut self,
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
        page: Option<u64>,
    ) -> Result<(), EarlyEnd> {
        let written_page = page.filter(|_| session.settings().may_write && self.busy != Seen::Nothing);
        if let Some(page) = written_page {
            self.busy = busy_dies::find(session.bench(), area, chunk, page, FILL_BYTES, Beside::Read)?;
            if self.busy.dies().is_none()
                && let Some(busy) = beside_writes(session, area, chunk, page)?
            {
                self.busy = Seen::Dies(busy);
            }
            // A drive that suspends programs for reads lets none of them be late.
            if self.busy == Seen::Nothing {
                let delayed = busy_dies::find(session.bench(), area, chunk, page, FILL_BYTES, Beside::Reads)?;
                self.busy = if delayed == Seen::Unclear { Seen::Nothing } else { delayed };
            }
        }
        let dies = self.busy.dies().map(|busy| busy.dies);
        let page = page.unwrap_or(session.bench().sector_bytes());
        let repetitions = session.repetitions().of(12);
        // Where distances show the channels, only the dies are open.
        if self.degree.status == Status::NotDetermined || dies.is_none() {
            self.residues = residues::find(session.bench(), area, chunk, page, repetitions, dies)?;
        }
        if let Some(found) = self.residues {
            (self.degree, self.sub_domains) =
                residue_findings(&found, self.degree.clone(), self.sub_domains.clone());
        }
        if self.degree.status == Status::NotDetermined {
            self.add_channels(session, area, chunk, page, dies)?;
        }
        if let Some(busy) = self.busy.dies() {
            self.add_dies(busy);
        }
        if self.degree.status == Status::NotDetermined && session.settings().may_write {
            self.add_transfers(session, area, chunk, page)?;
        }
        if let (Some(busy), Some(page)) = (self.busy.dies(), written_page)
            && self.is_open()
        {
            self.add_buses(session, area, chunk, page, busy)?;
        }
        Ok(())
    }

    /// Completes the findings by pairs of random chunks.
    fn add_channels(
        &mut self,
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
        page: u64,
        dies: Option<Dies>,
    ) -> Result<(), EarlyEnd> {
        let repetitions = session.repetitions().of(12);
        let bus = match session.settings().may_write {
            true => BusTime::measure(session.bench(), area, page)?,
            false => None,
        };
        if let Some(channels) = channels::find(session.bench(), area, chunk, page, repetitions, dies, bus)? {
            (self.degree, self.sub_domains) =
                channel_findings(channels, dies, self.die_period(), self.sub_domains.clone());
        }
        Ok(())
    }

    /// Completes the findings by reads that wait for the transfers of writes.
    fn add_transfers(
        &mut self,
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
        page_bytes: u64,
    ) -> Result<(), EarlyEnd> {
        let busy = self.busy.dies();
        let dies = busy.map(|busy| (busy.dies, busy.policy));
        let known = transfers::Known { page_bytes, dies, fill_bytes: FILL_BYTES };
        let found = transfers::find(session.bench(), area, chunk, known)?;
        if let Some(channels) = found {
            let counted = busy.map(|busy| (busy.dies.count(), busy.evidence()));
            (self.degree, self.sub_domains) = transfer_findings(channels, counted, self.die_period());
        }
        Ok(())
    }

    /// Completes the findings by the buses between known dies, unless these are in doubt.
    fn add_buses(
        &mut self,
        session: &mut Session<'_, '_>,
        area: Area,
        chunk: &Chunk,
        page: u64,
        busy: BusyDies,
    ) -> Result<(), EarlyEnd> {
        let buses = busy_buses::find(session.bench(), area, chunk, page, &busy)?;
        if buses != Buses::Unclear || self.degree.status == Status::NotDetermined {
            (self.degree, self.sub_domains) = bus_findings(busy, buses);
        }
        Ok(())
    }

    /// Completes the findings by reads of many chunks, where pairs did not show the channels.
    pub(crate) fn add_spans(
        &mut self,
        session: &mut Session<'_, '_>,
        chunk: &Chunk,
        page: Option<u64>,
    ) -> Result<(), EarlyEnd> {
        let area = session.area();
        let page =
            page.filter(|_| session.settings().may_write && self.degree.status == Status::NotDetermined);
        let Some(page) = page else { return Ok(()) };
        if let Some(channels) = spans::find(session.bench(), area, chunk, page)? {
            (self.degree, self.sub_domains) = span_findings(channels, self.die_count(), &self.degree);
        }
        Ok(())
    }

    /// Completes the findings by writes of many chunks, where nothing else showed the dies.
    pub(crate) fn add_written_spans(
        &mut self,
        session: &mut Session<'_, '_>,
        chunk: &Chunk,
        page: Option<u64>,
    ) -> Result<(), EarlyEnd> {
        let is_wanted = session.settings().may_write && self.is_open() && self.busy.dies().is_none();
        let Some(page) = page.filter(|_| is_wanted) else { return Ok(()) };
        let area = session.area();
        self.written = write_spans::find(session.bench(), area, chunk, page, FILL_BYTES, &self.degree)?;
        if let Some(written) = self.written {
            written.complete(&mut self.degree, &mut self.sub_domains);
        }
        Ok(())
    }

    /// Returns whether anything remains open.
    pub(crate) fn is_open(&self) -> bool {
        [&self.degree, &self.sub_domains].iter().any(|finding| finding.status == Status::NotDetermined)
    }

    /// Completes the findings by the dies that programs showed, or takes them back where they disagree.
    fn add_dies(&mut self, busy: BusyDies) {
        let count = busy.dies.count();
        let seen = busy.evidence();
        // Pairs of reads that collide on different dies share a channel.
        if let (Status::NotDetermined, Some(level)) = (self.degree.status, self.stripe.first_level)
            && busy.dies.is_coarser(level.period)
        {
            let evidence = format!(
                "every {} chunks two reads collide, by {:.1} µs; {seen}",
                level.period, level.step_us
            );
            self.degree = Finding::found(level.period as u64, 0.93, evidence);
        }
        let Some(degree) = self.degree.number() else { return };
        let sub_domains = count as u64 / degree;
        let disagrees = !(count as u64).is_multiple_of(degree)
            || self.sub_domains.number().is_some_and(|number| number != sub_domains);
        if disagrees {
            let why = format!("two experiments disagree: {}; {seen}", self.degree.evidence);
            self.degree = Finding::not_determined(why.clone());
            self.sub_domains = Finding::not_determined(why);
        } else if self.sub_domains.status == Status::NotDetermined {
            // A die for each channel looks like channels that are busy as a whole.
            self.sub_domains = match sub_domains {
                1 => Finding::not_determined(format!(
                    "{seen}, as many as channels: planes or dies behind one bus may hide"
                )),
                _ => Finding::found(sub_domains, 0.93, seen),
            };
        } else {
            self.sub_domains.evidence += &format!("; {seen}");
        }
    }

    /// Returns the number of dies, where programs showed them.
    pub(crate) fn die_count(&self) -> Option<usize> {
        let dies = self.busy.dies().map(|busy| busy.dies).or(self.written.map(|written| written.dies));
        dies.map(Dies::count)
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

    /// Returns whether sub-domains are stated of which a larger area may show more.
    pub(crate) fn may_have_more_dies(&self) -> bool {
        self.sub_domains.status == Status::Found
            && self.residues.is_some_and(|residues| residues.beyond == Beyond::Unknown)
    }

    /// Compares sub-domains of which a larger area may show more with what that showed: chunks have to recur there,
    /// too.
    pub(crate) fn check_beyond(&mut self, larger: Self) {
        match larger.residues.map(|residues| residues.beyond) {
            Some(Beyond::Recurs) if larger.is_like(self) => *self = larger,
            Some(Beyond::Unknown) => {}
            _ => {
                let why = format!("{}; but farther chunks are on other dies", self.sub_domains.evidence);
                self.sub_domains = Finding::not_determined(why);
            }
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.degree.number(), self.sub_domains.number())
            == (other.degree.number(), other.sub_domains.number())
    }

    pub(crate) fn note(&self, session: &mut Session<'_, '_>) {
        session.note(Feature::InterleavingDegree, self.degree.clone());
        session.note(Feature::SubDomains, self.sub_domains.clone());
    }
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
    let sub_domains = match domains.sub_domains {
        Some(_) if found.beyond == Beyond::Differs => {
            Finding::not_determined(format!("{seen}; but farther chunks are on other dies"))
        }
        Some(sub_domains) => {
            let (confidence, seen) = match found.beyond {
                Beyond::Recurs => (0.92, seen.clone()),
                _ => (
                    FEW_TURNS,
                    format!("{seen}; if dies have four planes, others may follow behind the area"),
                ),
            };
            Finding::found(sub_domains as u64, confidence, seen)
        }
        None => Finding::not_determined(format!(
            "{seen}; but chunks on a die are not told from those on its channel"
        )),
    };
    (Finding::found(domains.degree as u64, 0.93, seen), sub_domains)
}

/// Findings on the interleaving degree and the sub-domains from pairs of random chunks, where they agree with the dies
/// that are known, or with the distance in chunks at which pairs share one. Of a single channel only known dies tell
/// the sub-domains: where all pairs wait, a distance may be one of anything.
fn channel_findings(
    channels: Channels,
    dies: Option<Dies>,
    distance: Option<usize>,
    sub_domains: Finding,
) -> (Finding, Finding) {
    let period = dies.map(Dies::count).or(distance);
    let seen = match channels.count {
        1 => format!(
            "all of {} pairs of reads wait for one bus, by {:.1} µs more than for the link",
            channels.pairs, channels.step_us
        ),
        count => format!(
            "of {} pairs of reads those collide, by {:.1} µs, that are on runs of {} chunks on every {} channel",
            channels.pairs,
            channels.step_us,
            channels.run,
            ordinal(count)
        ),
    };
    let degree = Finding::found(channels.count as u64, 0.93, seen.clone());
    let sub_domains = match period {
        Some(period) if !period.is_multiple_of(channels.count) => {
            let why = format!("two experiments disagree: chunks recur on a die every {period}; {seen}");
            return (Finding::not_determined(why.clone()), Finding::not_determined(why));
        }
        Some(period) if channels.count == 1 && dies.is_some() => {
            Finding::found(period as u64, 0.92, format!("{seen}; chunks recur on a die every {period}"))
        }
        _ => sub_domains,
    };
    (degree, sub_domains)
}

/// Findings on the interleaving degree and the sub-domains.
fn stripe_findings(stripe: &Stripe) -> (Finding, Finding) {
    let reach = stripe.row.len();
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
