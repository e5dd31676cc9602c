//! The survey: one experiment after another, each resting on what the last one found.

use crate::chunk::{self, Area, Boundaries};
use crate::link::Link;
use crate::mapping::{self, Policy};
use crate::options::Budget;
use crate::pattern::{self, Point};
use crate::rig::Rig;
use crate::state::State;
use crate::stripe::{self, Stripe, Verdict};
use crate::{
    Effort, Medium, Options, ProbeError, Progress, interference, link, readahead, reclaim, stride, words,
    write_buffer,
};
use flashlane_base::units::format_bytes;
use flashlane_base::{Duration, Seed};
use flashlane_device::Device;
use flashlane_measure::Interruption;
use flashlane_result::feature::Feature;
use flashlane_result::probe::{
    Advice, DeviceRow, Finding, PROBE_SCHEMA, ProbeResult, Recommendation, Status,
};
use flashlane_result::{Axis, Figure, Mark, Series, Warning};
use flashlane_workload::Access;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The area that is looked at: large enough for 400 chunks of 64 KiB several times over.
const AREA_BYTES: u64 = 34 * 15 * 256 * 1024;
const AREA_UNIT_BYTES: u64 = 15 * FILL_BYTES;
const LEAST_AREA_BYTES: u64 = 4 * AREA_UNIT_BYTES;
/// The code of the warning that the drive's pages lie in another order than before.
const LAYOUT_CHANGED: &str = "layout-changed";
/// Distances looked at: three times the stripe of 32 channels of four packages.
const REACH: usize = 400;
/// The first stage after those that look for structure.
const READS_STAGE: &str = "reads in parallel";
/// Requests of chen11's initial filling.
pub(crate) const FILL_BYTES: u64 = 256 * 1024;

/// Finds out what is inside a drive.
///
/// The result stands also where the drive fails or the caller stops it half way: it then says so in `partial`, and
/// what was not reached is not determined.
///
/// # Errors
/// [`ProbeError::TooSmall`] where there is too little room to look at.
pub fn probe(device: &mut dyn Device, mut options: Options<'_>) -> Result<ProbeResult, ProbeError> {
    let capacity_bytes = device.profile().capacity_bytes;
    // The last part of the area is trimmed for the link.
    let area_bytes = AREA_BYTES.min(capacity_bytes * 3 / 4) / FILL_BYTES / 15 * FILL_BYTES * 15;
    if area_bytes < LEAST_AREA_BYTES {
        let needed_bytes = LEAST_AREA_BYTES * 4 / 3 + 1;
        return Err(ProbeError::TooSmall { capacity_bytes, needed_bytes });
    }
    let may_write = options.may_write && !device.profile().read_only;
    let row = DeviceRow {
        name: device.profile().name.clone(),
        capacity_bytes,
        simulated: device.profile().simulated,
        read_only: !may_write,
        medium: options.medium.name().into(),
        never_written_share: options.never_written_share,
    };
    let started = device.now();
    // The watch is asked both between stages and, through the rig, within them.
    let progress = std::cell::Cell::new(Progress { stage: "", share: 0.0 });
    let mut stop =
        || options.watch.as_mut().is_some_and(|watch| watch(&progress.get()) == ControlFlow::Break(()));
    let rig = Rig::new(device, options.seed, &mut stop);
    let mut survey = Survey {
        rig,
        area: Area { offset_bytes: 0, length_bytes: area_bytes },
        effort: options.effort,
        budget: options.effort.budget(options.medium),
        care: Care { effort: options.effort, factor: 1, read_us: None },
        may_write,
        medium: options.medium,
        page_bytes: options.page_bytes,
        p99: options.p99,
        seed: options.seed,
        capacity_bytes,
        state: State { never_written_share: options.never_written_share },
        is_filled: false,
        progress: &progress,
        stages: Vec::new(),
        findings: BTreeMap::new(),
        recommendation: BTreeMap::new(),
        advice: Vec::new(),
        figures: Vec::new(),
        warnings: Vec::new(),
    };
    let partial = survey.run().err().map(|interruption| match interruption {
        Interruption::Stopped => interruption.to_string(),
        _ => format!("{}: {interruption}", row.name),
    });
    let never_written_share = survey.state.never_written_share;
    let Survey { mut rig, stages, mut findings, recommendation, advice, figures, mut warnings, .. } = survey;
    let requests = rig.requests();
    let elapsed_s = rig.device().now().since(started).as_s_f64();
    if let Some(measurements) = options.measurements {
        *measurements = rig.take_measurements();
    }
    if let Some(reason) = &partial {
        for &feature in Feature::ALL {
            findings
                .entry(feature)
                .or_insert_with(|| Finding::not_determined(format!("the probe ended before: {reason}")));
        }
        warnings.push(Warning::new("partial", format!("the probe ended early: {reason}")));
    }
    // A file says nothing of flash only once flash was looked for.
    let medium = if stages.contains(&READS_STAGE) { options.medium } else { Medium::Drive };
    Ok(ProbeResult {
        schema: PROBE_SCHEMA.into(),
        device: DeviceRow { never_written_share, ..row },
        headline: words::headline(&findings, &recommendation),
        advice: words::advice(&findings, &recommendation, advice, medium),
        findings,
        recommendation,
        warnings,
        partial,
        seed: options.seed.0,
        requests,
        elapsed_s,
        stages: stages.into_iter().map(str::to_owned).collect(),
        figures,
        machine: None,
    })
}

pub(crate) struct Survey<'a, 'p> {
    pub(crate) rig: Rig<'a>,
    pub(crate) area: Area,
    pub(crate) effort: Effort,
    pub(crate) budget: Budget,
    care: Care,
    pub(crate) may_write: bool,
    medium: Medium,
    pub(crate) page_bytes: Option<u64>,
    pub(crate) p99: Option<Duration>,
    seed: Seed,
    pub(crate) capacity_bytes: u64,
    pub(crate) state: State,
    /// The probe has written all of the drive, in order.
    pub(crate) is_filled: bool,
    progress: &'p std::cell::Cell<Progress>,
    stages: Vec<&'static str>,
    findings: BTreeMap<Feature, Finding>,
    pub(crate) recommendation: BTreeMap<String, Recommendation>,
    pub(crate) advice: Vec<Advice>,
    pub(crate) figures: Vec<Figure>,
    warnings: Vec<Warning>,
}

impl Survey<'_, '_> {
    fn run(&mut self) -> Result<(), Interruption> {
        self.stage("state of the drive", 0.0);
        self.state = State::look(&mut self.rig, self.seed, self.state.never_written_share)?;
        if !self.may_write && !self.can_be_read() {
            return Ok(());
        }
        if self.may_write {
            self.stage("filling the area", 0.0);
            let Area { offset_bytes, length_bytes } = self.area;
            let filled_bytes = self.rig.fill_in_time(offset_bytes, length_bytes, FILL_BYTES)?;
            self.area.length_bytes = (filled_bytes / AREA_UNIT_BYTES * AREA_UNIT_BYTES).max(LEAST_AREA_BYTES);
        }
        self.stage("noise", 0.05);
        let noise = self.in_time(&[], |survey| noise_factor(&mut survey.rig, survey.area))?;
        let (factor, read_us) = noise.unwrap_or((MOST_FACTOR as usize, f64::INFINITY));
        self.care.factor = factor;
        self.care.read_us = self.rig.is_real().then_some(read_us);
        self.stage("chunk and page size", 0.1);
        let chunk = self.in_time(&[Feature::ChunkSize], Self::chunk)?.flatten();
        let page = self.in_time(&[Feature::PageSize], |survey| survey.page(chunk.as_ref()))?.flatten();
        self.stage("interleaving", 0.2);
        let features = [Feature::InterleavingDegree, Feature::SubDomains];
        let stripe = self.in_time(&features, |survey| survey.stripe(chunk.as_ref(), page))?.flatten();
        self.stage("readahead", 0.4);
        let page_or_usual = page.unwrap_or(4096).max(self.rig.sector_bytes());
        self.in_time(&[Feature::ReadaheadStreams], |survey| {
            let (finding, figure) = readahead::find(&mut survey.rig, survey.area, page_or_usual)?;
            survey.note(Feature::ReadaheadStreams, finding);
            survey.figures.push(figure);
            Ok(())
        })?;
        self.begin_stage(READS_STAGE, 0.5, None);
        self.advise_on_reads()?;
        if self.may_write {
            self.writing(chunk.as_ref(), page, stripe.as_ref(), page_or_usual)?;
        } else {
            let why = "it can only be seen by writing, and the drive was opened for reading";
            self.note_link(Link::unknown(why));
            for feature in [
                Feature::MappingPolicy,
                Feature::WriteBuffer,
                Feature::ReadWriteSlowdown,
                Feature::ReclaimUnit,
            ] {
                self.note(feature, Finding::not_determined(why));
            }
        }
        self.stage("done", 1.0);
        Ok(())
    }

    /// Makes an experiment; where the stage's time ends first, its features are not determined.
    fn in_time<T>(
        &mut self,
        features: &[Feature],
        experiment: impl FnOnce(&mut Self) -> Result<T, Interruption>,
    ) -> Result<Option<T>, Interruption> {
        match experiment(self) {
            Err(Interruption::Stopped) if self.rig.is_out_of_time() => {
                for feature in features {
                    let time = self.budget.stage;
                    self.findings.entry(*feature).or_insert_with(|| {
                        Finding::not_determined(format!(
                            "the device is too slow for it to be decided within {time}: --full takes longer"
                        ))
                    });
                }
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// Says what reading alone cannot show; false where there is nothing on flash to be read.
    fn can_be_read(&mut self) -> bool {
        self.warn(
            "read-only",
            "nothing was written: the layout is whatever earlier writes made it, and mapping, write buffer, \
             interference and link were not looked for",
        );
        let share = self.state.never_written_share;
        if self.state.is_empty() {
            let share = 100.0 * share.unwrap_or(1.0);
            self.warn(
                "not-written",
                &format!(
                    "{share:.0}% of the device has never been written: reads of it are answered without flash, so \
                     nothing was measured and nothing is recommended; probe a drive that holds data (of a simulated \
                     one: the setting initial.state=full), or let the probe write"
                ),
            );
            for &feature in Feature::ALL {
                let why = "there is no flash to be read: most of the device has never been written";
                self.note(feature, Finding::not_determined(why));
            }
            return false;
        }
        match share {
            Some(_) if self.state.is_written() => {}
            Some(share) => self.warn(
                "not-written",
                &format!(
                    "{:.0}% of the device has never been written, and reads of it are answered without flash: the \
                     rates are too high by as much",
                    100.0 * share
                ),
            ),
            None => self.warn(
                "state-unknown",
                "reading does not show whether all of the device was ever written; what was never written, or was \
                 trimmed, may be answered without flash",
            ),
        }
        true
    }

    /// The experiments that change what is on the drive, the layout last.
    fn writing(
        &mut self,
        chunk: Option<&Boundaries>,
        page: Option<u64>,
        stripe: Option<&Stripe>,
        page_or_usual: u64,
    ) -> Result<(), Interruption> {
        self.stage("mapping", 0.6);
        self.in_time(&[Feature::MappingPolicy], |survey| survey.mapping(chunk, page, stripe))?;
        self.stage("link", 0.7);
        let features = [Feature::LinkBandwidth, Feature::CommandCost, Feature::RoundTrip];
        self.in_time(&features, Self::link)?;
        self.stage("write buffer", 0.75);
        let most = if self.effort == Effort::Quick { 2048 } else { 32768 };
        let most = most.min((self.area.length_bytes / page_or_usual) as usize);
        self.in_time(&[Feature::WriteBuffer], |survey| {
            let (finding, figure) =
                write_buffer::find(&mut survey.rig, survey.area, page, page_or_usual, most)?;
            survey.note(Feature::WriteBuffer, finding);
            survey.figures.extend(figure);
            Ok(())
        })?;
        self.stage("interference", 0.85);
        let requests = self.care.repetitions(1000) as u64;
        self.in_time(&[Feature::ReadWriteSlowdown], |survey| {
            let finding = interference::find(&mut survey.rig, survey.area, page_or_usual, requests)?;
            survey.note(Feature::ReadWriteSlowdown, finding);
            Ok(())
        })?;
        // Before the whole drive is overwritten at random, which leaves no block in order.
        self.begin_stage("reclaim unit", 0.9, None);
        self.reclaim(chunk, page, stripe)?;
        self.begin_stage("writes in parallel", 0.95, None);
        let buffer = self.findings[&Feature::WriteBuffer].clone();
        self.advise_on_writes(&buffer, page_or_usual)
    }

    /// What the link carries, by reads of trimmed space; afterwards it holds data as before.
    fn link(&mut self) -> Result<(), Interruption> {
        let why = match self.medium {
            Medium::Drive => {
                let length_bytes = self.area.length_bytes / 4 / FILL_BYTES * FILL_BYTES;
                let trimmed = Area { offset_bytes: self.area.length_bytes, length_bytes };
                let link = link::find(&mut self.rig, trimmed)?;
                self.note_link(link);
                return self.rig.fill(trimmed.offset_bytes, length_bytes, FILL_BYTES);
            }
            Medium::File => {
                "trimmed space of a file is a hole, for which the file system answers, not a drive"
            }
            Medium::VirtualDisk => {
                "trimmed space of a virtual disk is answered for by the machine that it is on, not by a drive"
            }
        };
        self.note_link(Link::unknown(why));
        Ok(())
    }

    fn reclaim(
        &mut self,
        chunk: Option<&Boundaries>,
        page: Option<u64>,
        stripe: Option<&Stripe>,
    ) -> Result<(), Interruption> {
        let finding = match (chunk, page, stripe.and_then(Stripe::die_period)) {
            _ if self.effort != Effort::Full => Finding::not_determined(
                "the whole drive has to be written more than once for it: probe with --full",
            ),
            (Some(chunk), Some(page_bytes), Some(period)) => {
                let chunk_pages = chunk.chunk_bytes / page_bytes;
                let layout =
                    reclaim::Layout { page_bytes, stripe_pages: period as u64 * chunk_pages, chunk_pages };
                let (finding, figure) = reclaim::find(&mut self.rig, layout)?;
                self.is_filled = true;
                self.figures.push(figure);
                finding
            }
            _ => Finding::not_determined(
                "each die's pauses are looked at, and which pages share a die was not found",
            ),
        };
        self.note(Feature::ReclaimUnit, finding);
        Ok(())
    }

    fn chunk(&mut self) -> Result<Option<Boundaries>, Interruption> {
        if self.rig.depth() < 2 {
            let why = "two reads at once show it, and the drive takes one request at a time";
            self.note(Feature::ChunkSize, Finding::not_determined(why));
            return Ok(None);
        }
        let places = chunk::places(&self.rig);
        let mut found = None;
        for usual in [12, 48] {
            let repetitions = self.care.repetitions_over(usual, places);
            found = chunk::boundaries(&mut self.rig, self.area, repetitions)?;
            if found.is_some() {
                break;
            }
        }
        let finding = match &found {
            None => Finding::not_determined(
                "no boundary recurs at which two simultaneous reads of neighbouring sectors are faster than elsewhere",
            ),
            Some(b) => Finding::found(
                b.chunk_bytes,
                confidence(b.clarity, b.seen),
                format!(
                    "two sectors read at once are {:.1} µs faster across every {}; {} such boundaries seen, and no other",
                    b.contrast_us,
                    format_bytes(b.chunk_bytes),
                    b.seen
                ),
            ),
        };
        self.note(Feature::ChunkSize, finding);
        let period = found.as_ref().map(|b| b.chunk_bytes / self.rig.sector_bytes());
        self.chunk_figure(period)?;
        Ok(found)
    }

    /// The curves of chen11 figure 2 for this drive.
    fn chunk_figure(&mut self, period: Option<u64>) -> Result<(), Interruption> {
        let sector = self.rig.sector_bytes();
        let offsets = period.map_or(64, |p| (4 * p).clamp(16, 256)) as usize;
        let mut series = Vec::new();
        for sectors in [1, 2, 4, 8] {
            let curve = chunk::curve(&mut self.rig, self.area, sectors, offsets, self.care.repetitions(8))?;
            let points = curve.iter().enumerate().map(|(k, p)| (k as f64, p.value)).collect();
            let name = if sectors == 1 { "1 sector".into() } else { format!("{sectors} sectors") };
            series.push(Series { name, points, ..Series::default() });
        }
        let marks = period.into_iter().flat_map(|p| {
            (1..=offsets as u64 / p).map(move |i| Mark {
                x: (i * p) as f64,
                y: None,
                label: if i == 1 { "chunk boundary".into() } else { String::new() },
            })
        });
        self.figures.push(Figure {
            id: "chunk-size".into(),
            title: "Latency of a small read against its offset".into(),
            x: Axis::linear("offset", &format!("sectors of {sector} B")),
            y: Axis::linear("latency", "us"),
            series,
            marks: marks.collect(),
            caption: "As chen11 figure 2: a read that crosses into the next chunk is served by two domains at once."
                .into(),
        });
        Ok(())
    }

    fn page(&mut self, chunk: Option<&Boundaries>) -> Result<Option<u64>, Interruption> {
        let Some(chunk) = chunk else {
            self.note(
                Feature::PageSize,
                Finding::not_determined("it is looked for inside a chunk, and none was found"),
            );
            return Ok(None);
        };
        let page = chunk::page_bytes(&mut self.rig, self.area, chunk, self.care.repetitions(24))?;
        let finding = match page {
            Some(page) if page == chunk.chunk_bytes => {
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
        self.note(Feature::PageSize, finding);
        Ok(page)
    }

    fn stripe(
        &mut self,
        chunk: Option<&Boundaries>,
        page: Option<u64>,
    ) -> Result<Option<Stripe>, Interruption> {
        let Some(chunk) = chunk else {
            for feature in [Feature::InterleavingDegree, Feature::SubDomains] {
                self.note(feature, Finding::not_determined("it is counted in chunks, and none was found"));
            }
            return Ok(None);
        };
        let chunks = (self.area.length_bytes - chunk.phase_bytes) / chunk.chunk_bytes;
        let reach = REACH.min(chunks as usize / 2);
        // Larger reads might take several array times.
        let page = page.unwrap_or(self.rig.sector_bytes());
        let mut stripe = None;
        for repetitions in [self.care.repetitions(16), self.care.repetitions(64)] {
            let measured = stripe::measure(&mut self.rig, self.area, chunk, page, reach, repetitions)?;
            let clear = matches!(measured.verdict(), Verdict::Both { .. });
            stripe = Some(measured);
            if clear {
                break;
            }
        }
        let stripe = stripe.expect("it was measured at least once");
        self.note_stripe(&stripe, reach);
        self.stripe_figure(&stripe);
        if let Some(first) = stripe.first_level {
            self.stride_figure(chunk, first.period)?;
        }
        Ok(Some(stripe))
    }

    fn note_stripe(&mut self, stripe: &Stripe, reach: usize) {
        let (degree, sub) = match stripe.verdict() {
            Verdict::Nothing => {
                let why =
                    format!("of two reads up to {reach} chunks apart none collide at a regular distance");
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
                let found =
                    Finding::found(period as u64, confidence(first.clarity, reach / period), evidence);
                (found, Finding::not_determined("the collisions differ, but not in a regular way"))
            }
            Verdict::Both { degree, sub_domains } => {
                let first = stripe.first_level.expect("a verdict needs a level");
                let evidence = format!(
                    "of all distances up to {reach} chunks two reads collide at every {degree}th and at no other, by {:.1} µs",
                    first.step_us
                );
                let found =
                    Finding::found(degree as u64, confidence(first.clarity, reach / degree), evidence);
                let sub = match stripe.second_level {
                    Some(second) => Finding::found(
                        sub_domains as u64,
                        confidence(second.clarity, reach / second.period),
                        format!("every {}th chunk they collide by {:.1} µs", second.period, second.step_us),
                    ),
                    None => Finding::found(
                        1_u64,
                        0.9,
                        "all collisions are alike, and a lesser one would have been seen",
                    ),
                };
                (found, sub)
            }
        };
        self.note(Feature::InterleavingDegree, degree);
        self.note(Feature::SubDomains, sub);
    }

    fn stripe_figure(&mut self, stripe: &Stripe) {
        let period = stripe.first_level.map(|level| level.period);
        let shown = period.map_or(128, |p| (8 * p).clamp(40, stripe.row.len()));
        let value = |(i, p): (usize, &Point)| ((i + 1) as f64, p.value);
        self.figures.push(Figure {
            id: "pair-distance".into(),
            title: "Two simultaneous reads, by their distance".into(),
            x: Axis::linear("distance", "chunks"),
            y: Axis::linear("time until both are done", "us"),
            series: vec![Series {
                name: "pairs".into(),
                points: stripe.row.iter().take(shown).enumerate().map(value).collect(),
                ..Series::default()
            }],
            marks: marks_every(period, shown),
            caption:
                "Pairs that share a channel wait for its bus; pairs that share a die wait for its array too."
                    .into(),
        });
    }

    /// The curves of chen11 figure 3 for this drive.
    fn stride_figure(&mut self, chunk: &Boundaries, degree: usize) -> Result<(), Interruption> {
        let strides = (4 * degree).clamp(16, 128);
        let reads = self.care.repetitions(120);
        let mut series = Vec::new();
        for jobs in [2, 4] {
            let curve = stride::curve(&mut self.rig, self.area, chunk, jobs, strides, reads)?;
            let points = curve.iter().enumerate().map(|(i, b)| ((i + 1) as f64, *b)).collect();
            series.push(Series { name: format!("{jobs} jobs"), points, ..Series::default() });
        }
        self.figures.push(Figure {
            id: "stride".into(),
            title: "Bandwidth of reads of one chunk at a common stride".into(),
            x: Axis::linear("stride", "chunks"),
            y: Axis::linear("bandwidth", "MB/s"),
            series,
            marks: marks_every(Some(degree), strides),
            caption: "As chen11 figure 3: the bandwidth dips where the stride keeps all jobs in one domain."
                .into(),
        });
        Ok(())
    }

    fn mapping(
        &mut self,
        chunk: Option<&Boundaries>,
        page: Option<u64>,
        stripe: Option<&Stripe>,
    ) -> Result<(), Interruption> {
        let die_period = stripe.and_then(Stripe::die_period);
        let (Some(chunk), Some(page), Some(period)) = (chunk, page, die_period) else {
            let why = "it shows in which pages collide, and no regular collisions were found before";
            self.note(Feature::MappingPolicy, Finding::not_determined(why));
            return Ok(());
        };
        let stripe_pages = period as u64 * chunk.chunk_bytes / page;
        // Enough stripes for pairs several stripes apart, few enough to be overwritten quickly.
        let pages = (12 * stripe_pages).max(2048).min(self.area.length_bytes / page);
        let area = Area { offset_bytes: self.area.offset_bytes, length_bytes: pages * page };
        let written = mapping::overwrite(&mut self.rig, area, page)?;
        let repetitions = self.care.repetitions(160);
        let distances = (stripe_pages, chunk.chunk_bytes / page);
        let collisions = mapping::collisions(&mut self.rig, area, &written, distances, repetitions)?;
        let step = self.die_step(chunk, period)?;
        let (address, turn) = collisions.shares(step);
        let seen = format!(
            "after overwriting in random order, pages a stripe apart by address collide by {:.0}% of the step of a shared die, by turn of writing by {:.0}%",
            address * 100.0,
            turn * 100.0
        );
        let finding = match collisions.policy(step) {
            Some(policy) => {
                let margin = (address - turn).abs().clamp(0.0, 1.0);
                Finding::found(policy.name(), (90.0 + 9.0 * margin).round() / 100.0, seen)
            }
            None => Finding::not_determined(seen),
        };
        if finding.word() == Some(Policy::WriteOrder.name()) {
            self.warn(
                LAYOUT_CHANGED,
                "the probe overwrote the beginning of the drive in random order: its pages no longer lie in address order",
            );
        }
        self.note(Feature::MappingPolicy, finding);
        self.mapping_figure(&collisions);
        // Later experiments expect the area as it was.
        self.rig.fill(area.offset_bytes, area.length_bytes / FILL_BYTES * FILL_BYTES, FILL_BYTES)
    }

    /// What two single sectors on one die take longer than on two, on the part of the area that is in order.
    fn die_step(&mut self, chunk: &Boundaries, period: usize) -> Result<f64, Interruption> {
        let sector = self.rig.sector_bytes();
        let half = self.area.length_bytes / 2 / (15 * FILL_BYTES) * 15 * FILL_BYTES;
        let rest = Area { offset_bytes: half, length_bytes: self.area.length_bytes - half };
        let repetitions = self.care.repetitions(64);
        let points = chunk::repeat(&mut self.rig, 2, repetitions, |rig, i| {
            stripe::pair(rig, rest, chunk, period + i, [sector; 2])
        })?;
        Ok((points[0].value - points[1].value).max(1e-3))
    }

    fn mapping_figure(&mut self, c: &mapping::Collisions) {
        let bar = |name: &str, at: f64, apart: f64| Series {
            name: name.into(),
            points: vec![(0.0, apart), (1.0, at)],
            ..Series::default()
        };
        self.figures.push(Figure {
            id: "mapping".into(),
            title: "Pairs after a random overwrite: on different channels (0) or a whole stripe apart (1)"
                .into(),
            x: Axis::linear("stripes apart", ""),
            y: Axis::linear("time until both are done", "us"),
            series: vec![
                bar("by address", c.by_address, c.by_address_apart),
                bar("by turn of writing", c.by_turn, c.by_turn_apart),
            ],
            marks: Vec::new(),
            caption: "As chen11 figure 4: the pairs that still collide name the mapping policy.".into(),
        });
    }

    fn note(&mut self, feature: Feature, finding: Finding) {
        debug_assert!(finding.status != Status::Found || finding.value.is_some());
        self.findings.insert(feature, finding);
    }

    fn note_link(&mut self, link: Link) {
        self.note(Feature::LinkBandwidth, link.bandwidth);
        self.note(Feature::CommandCost, link.command);
        self.note(Feature::RoundTrip, link.round_trip);
    }

    /// Says that random writes reach all of the drive, which contains what was said of its beginning.
    pub(crate) fn warn_of_random_writes(&mut self) {
        let mapping = self.findings.get(&Feature::MappingPolicy).and_then(Finding::word);
        if mapping == Some(Policy::Lba.name()) || self.medium != Medium::Drive {
            return;
        }
        self.warnings.retain(|warning| warning.code != LAYOUT_CHANGED);
        self.warn(
            LAYOUT_CHANGED,
            "the probe overwrote places all over the drive in random order: unless the drive maps by address, its \
             pages no longer lie in address order",
        );
    }

    fn warn(&mut self, code: &str, message: &str) {
        self.warnings.push(Warning::new(code, message));
    }

    /// Begins a stage that may take as long as the budget gives it.
    fn stage(&mut self, stage: &'static str, share: f64) {
        self.begin_stage(stage, share, Some(self.budget.stage));
    }

    /// Begins a stage that may take so long where time is real; without a time, it keeps to one by itself.
    fn begin_stage(&mut self, stage: &'static str, share: f64, time: Option<Duration>) {
        self.progress.set(Progress { stage, share });
        self.rig.begin_stage(self.stages.len() as u32, time);
        self.stages.push(stage);
    }
}

/// How often experiments are repeated.
struct Care {
    effort: Effort,
    /// Repetitions for one that a quiet drive would need.
    factor: usize,
    /// What a read takes, in microseconds; of a drive whose time is real only.
    read_us: Option<f64>,
}

impl Care {
    fn repetitions(&self, usual: usize) -> usize {
        self.effort.repetitions(usual) * self.factor
    }

    /// The same for an experiment over `places` places, within a few seconds of real time: a drive that shows no
    /// structure would otherwise be asked for it for minutes.
    fn repetitions_over(&self, usual: usize, places: usize) -> usize {
        let seconds = match self.effort {
            Effort::Quick => 1.5,
            Effort::Normal => 4.0,
            Effort::Full => 60.0,
        };
        let within = self.read_us.map_or(f64::INFINITY, |us| seconds * 1e6 / (places as f64 * us));
        self.repetitions(usual).min((within as usize).max(self.effort.repetitions(8)))
    }
}

/// The spread of a single read's latency, as a share of it, that the usual repetitions are made for, and the most
/// that they are multiplied by where it is larger.
const QUIET: f64 = 0.02;
const MOST_FACTOR: f64 = 8.0;

/// By how much the repetitions have to be multiplied for this drive's noise: the square of how much noisier it is,
/// as the error of a mean falls with the root of their number. With what a read takes, in microseconds.
fn noise_factor(rig: &mut Rig<'_>, area: Area) -> Result<(usize, f64), Interruption> {
    let sector = rig.sector_bytes();
    let mut times = Vec::new();
    for _ in 0..200 {
        let at = area.offset_bytes + rig.random().below(area.length_bytes / sector) * sector;
        times.push(rig.one(Access::read(at, sector))?.as_us_f64());
    }
    let latency = pattern::point(&mut times);
    let spread = latency.error * (times.len() as f64).sqrt() / latency.value;
    Ok(((spread / QUIET).powi(2).clamp(1.0, MOST_FACTOR).round() as usize, latency.value))
}

/// Every 1 in 4^n chance of an accident with n periods seen, scaled by how clear the places stand out.
fn confidence(clarity: f64, periods: usize) -> f64 {
    let seen = 1.0 - 0.25_f64.powi(periods.min(20) as i32);
    ((0.75 + 0.24 * clarity) * seen * 100.0).round() / 100.0
}

fn marks_every(period: Option<usize>, reach: usize) -> Vec<Mark> {
    let Some(period) = period else { return Vec::new() };
    (1..=reach / period)
        .map(|i| Mark {
            x: (i * period) as f64,
            y: None,
            label: if i == 1 { format!("every {period}") } else { String::new() },
        })
        .collect()
}
