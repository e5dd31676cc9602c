//! A probe under way: the bench, the settings, and the results so far.
//!
//! The stages (`survey`, `structure`, `destructive`, `recommend`) run their experiments on the session's bench and
//! report findings, figures, advice and warnings to it.

use crate::area::{Area, PLACE_STEP_BYTES};
use crate::bench::Bench;
use crate::changed::Changed;
use crate::consistency::{self, LayoutEvidence};
use crate::drive_state::DriveState;
use crate::error::EarlyEnd;
use crate::options::{Budget, Effort, Medium, Progress};
use crate::repetitions::Repetitions;
use crate::stage::Stage;
use flashlane_base::Duration;
use flashlane_device::Device;
use flashlane_result::feature::Feature;
use flashlane_result::layouts::LayoutCandidates;
use flashlane_result::probe::{Advice, Finding, Recommendation, SlcCacheRow, Status};
use flashlane_result::{Figure, Warning, WarningCode};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Request size of sequential fills (as chen11's initial filling).
pub(crate) const FILL_BYTES: u64 = 256 * 1024;
/// The tested area is a multiple of this: whole steps of the places in it, and whole fills.
pub(crate) const AREA_UNIT_BYTES: u64 = PLACE_STEP_BYTES;
const _: () = assert!(AREA_UNIT_BYTES.is_multiple_of(FILL_BYTES), "fills cover the area");

/// Settings of a probe, fixed from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeSettings {
    pub(crate) effort: Effort,
    pub(crate) budget: Budget,
    pub(crate) medium: Medium,
    pub(crate) may_write: bool,
    pub(crate) capacity_bytes: u64,
    /// Size of random requests, where the caller chose one.
    pub(crate) request_bytes: Option<u64>,
    /// Bound on the 99th percentile of random requests.
    pub(crate) p99: Option<Duration>,
    /// Leaves out the recommendations.
    pub(crate) structure_only: bool,
}

/// Results of a probe so far.
#[derive(Default)]
pub(crate) struct SessionResults {
    pub(crate) stages: Vec<Stage>,
    pub(crate) findings: BTreeMap<Feature, Finding>,
    pub(crate) slc_cache: Option<SlcCacheRow>,
    pub(crate) layout_candidates: Option<LayoutCandidates>,
    pub(crate) recommendations: BTreeMap<String, Recommendation>,
    pub(crate) advice: Vec<Advice>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) warnings: Vec<Warning>,
}

pub(crate) struct Session<'a, 'p> {
    bench: Bench<'a>,
    settings: ProbeSettings,
    area: Area,
    drive_state: DriveState,
    repetitions: Repetitions,
    /// The probe has overwritten the whole drive in order.
    is_filled: bool,
    /// Another drive of the same kind, full of data.
    full_drive: Option<&'a mut dyn Device>,
    progress: &'p Cell<Progress>,
    results: SessionResults,
}

impl<'a, 'p> Session<'a, 'p> {
    pub(crate) fn new(
        bench: Bench<'a>,
        settings: ProbeSettings,
        area: Area,
        drive_state: DriveState,
        progress: &'p Cell<Progress>,
    ) -> Self {
        let repetitions = Repetitions::new(settings.effort);
        let results = SessionResults::default();
        Self {
            bench,
            settings,
            area,
            drive_state,
            repetitions,
            is_filled: false,
            full_drive: None,
            progress,
            results,
        }
    }

    /// Offers another drive of the same kind that is full of data.
    pub(crate) fn offer_full_drive(&mut self, full_drive: &'a mut dyn Device) {
        self.full_drive = Some(full_drive);
    }

    /// Runs an experiment on the other drive that is full of data, if there is one. Returns `None` where there is none.
    pub(crate) fn on_full_drive<T>(
        &mut self,
        experiment: impl FnOnce(&mut Self) -> Result<T, EarlyEnd>,
    ) -> Result<Option<T>, EarlyEnd> {
        let Some(full_drive) = self.full_drive.take() else { return Ok(None) };
        let (probed, changed) = self.bench.replace_device(full_drive, Changed::default());
        let result = experiment(self);
        self.bench.replace_device(probed, changed);
        result.map(Some)
    }

    /// Ends the session and returns its bench, the state of the drive before the probe, and the results.
    pub(crate) fn finish(self) -> (Bench<'a>, DriveState, SessionResults) {
        (self.bench, self.drive_state, self.results)
    }

    pub(crate) fn bench(&mut self) -> &mut Bench<'a> {
        &mut self.bench
    }

    pub(crate) fn settings(&self) -> ProbeSettings {
        self.settings
    }

    /// The area in which structure is looked for. A probe that may write fills it in order first, and again after
    /// experiments that change the order; otherwise it is as it was found.
    pub(crate) fn area(&self) -> Area {
        self.area
    }

    /// Shortens the area to the part that was filled.
    pub(crate) fn limit_area(&mut self, length_bytes: u64) {
        self.area.length_bytes = length_bytes;
    }

    /// State of the drive before the probe.
    pub(crate) fn drive_state(&self) -> DriveState {
        self.drive_state
    }

    pub(crate) fn set_drive_state(&mut self, drive_state: DriveState) {
        self.drive_state = drive_state;
    }

    pub(crate) fn repetitions(&self) -> &Repetitions {
        &self.repetitions
    }

    pub(crate) fn set_repetitions(&mut self, repetitions: Repetitions) {
        self.repetitions = repetitions;
    }

    /// Returns whether the probe has overwritten the whole drive in order.
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filled
    }

    pub(crate) fn set_filled(&mut self) {
        self.is_filled = true;
    }

    pub(crate) fn begin_stage(&mut self, stage: Stage) {
        self.progress.set(Progress { stage: stage.name(), share: stage.share() });
        let time = stage.is_timed().then_some(self.settings.budget.stage);
        self.bench.begin_stage(self.results.stages.len() as u32, time);
        self.results.stages.push(stage);
    }

    /// Runs an experiment. Where the stage's time ends first, reports its features as not determined and returns
    /// `None`: what depends on them sees them as unknown.
    pub(crate) fn in_time<T>(
        &mut self,
        features: &[Feature],
        experiment: impl FnOnce(&mut Self) -> Result<T, EarlyEnd>,
    ) -> Result<Option<T>, EarlyEnd> {
        match experiment(self) {
            Err(EarlyEnd::OutOfTime) => {
                for feature in features {
                    let time = self.settings.budget.stage;
                    self.results.findings.entry(*feature).or_insert_with(|| {
                        Finding::not_determined(format!(
                            "not decided within the {time} of its stage, as it takes more samples: --full takes longer"
                        ))
                    });
                }
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    pub(crate) fn note(&mut self, feature: Feature, finding: Finding) {
        debug_assert!(finding.status != Status::Found || finding.value.is_some());
        self.results.findings.insert(feature, finding);
    }

    /// Reports features as not determined, all for the same reason.
    pub(crate) fn note_not_determined(&mut self, features: &[Feature], why: &str) {
        for &feature in features {
            self.note(feature, Finding::not_determined(why));
        }
    }

    /// Takes back findings that do not fit each other, and keeps the layouts that fit the evidence.
    pub(crate) fn reconcile_findings(&mut self, evidence: LayoutEvidence) {
        let capacity_bytes = self.settings.capacity_bytes;
        let candidates = consistency::reconcile(&mut self.results.findings, evidence, capacity_bytes);
        self.results.layout_candidates = Some(candidates);
    }

    pub(crate) fn finding(&self, feature: Feature) -> Option<&Finding> {
        self.results.findings.get(&feature)
    }

    pub(crate) fn set_slc_cache(&mut self, slc_cache: Option<SlcCacheRow>) {
        self.results.slc_cache = slc_cache;
    }

    pub(crate) fn add_figure(&mut self, figure: Figure) {
        self.results.figures.push(figure);
    }

    pub(crate) fn advise(&mut self, advice: Advice) {
        self.results.advice.push(advice);
    }

    pub(crate) fn recommend(&mut self, load: &str, recommendation: Recommendation) {
        self.results.recommendations.insert(load.into(), recommendation);
    }

    /// Takes a recommendation back, of which further measurements do not hold.
    pub(crate) fn withdraw(&mut self, load: &str) {
        self.results.recommendations.remove(load);
    }

    pub(crate) fn warn(&mut self, code: impl Into<WarningCode>, message: &str) {
        self.results.warnings.push(Warning::new(code, message));
    }

    /// Warns that the probe changed the order of the drive's pages. Replaces an earlier warning of this kind.
    pub(crate) fn warn_of_changed_layout(&mut self, message: &str) {
        self.results.warnings.retain(|warning| warning.code != WarningCode::LayoutChanged);
        self.warn(WarningCode::LayoutChanged, message);
    }
}
