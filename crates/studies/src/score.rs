//! The probe's score: how often it is right, wrong or undecided about drives of known structure.
//!
//! Each drive is drawn at random: from the usual ranges (`usual`), from ones that also hold drives which are hard to
//! probe (`wide`), or from drives with the caches of present ones (`today`). A wrong answer is far worse than "not
//! determined". Recommendations are left out. Over wide drives and those of today the score also reports probes that
//! failed, the CPU time of a probe without recommendations, and how often findings are right by their stated
//! confidence.

#[cfg(test)]
mod tests;
mod today;
mod usual;
mod wide;

use flashlane_base::{Duration, Seed};
use flashlane_device::Device;
use flashlane_probe::{Effort, Finding, Options, ProbeResult, Progress, Status, probe};
use flashlane_result::feature::Feature;
use flashlane_result::score::{Band, CpuTime, Failed, Mistake, SCORE_SCHEMA, Score, Tally, Wide};
use flashlane_sim::{Drive, profile};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// The true structure of a drive. More than one value is right where two descriptions are the same drive to its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Chunk size.
    pub chunk_size_bytes: Vec<u64>,
    /// Page size.
    pub page_size_bytes: Vec<u64>,
    /// Number of channels.
    pub interleaving_degree: Vec<u64>,
    /// Packages per channel.
    pub sub_domains: Vec<u64>,
    /// `lba` or `write-order`.
    pub mapping_policy: &'static str,
    /// Number of streams that readahead follows; 0 for none.
    pub readahead_streams: u64,
    /// Size of the write buffer; 0 for none.
    pub write_buffer_bytes: u64,
    /// Reclaim unit.
    pub reclaim_unit_bytes: Vec<u64>,
    /// Least and most bytes that an erased drive takes before its SLC cache is full; 0 for none.
    pub slc_cache_bytes: [u64; 2],
    /// Reach of the mapping cache; 0 for none, and where all of the map is in memory.
    pub mapping_cache_reach_bytes: u64,
}

/// Tolerance of the sizes of buffers and caches: the pages that leave a buffer while it fills are estimated.
const SIZE_TOLERANCE: f64 = 0.1;

/// A range of drives.
#[derive(Clone, Copy)]
pub enum Range<'a> {
    /// Usual drives.
    Usual,
    /// Also drives that are hard to probe. The clock reports the CPU time of the calling thread.
    Wide(&'a (dyn Fn() -> Duration + Sync)),
    /// With and without SLC and mapping caches, which need [`Effort::Full`]; only these findings count. The clock is as
    /// above.
    Today(&'a (dyn Fn() -> Duration + Sync)),
}

/// Probes `drives` random drives on all cores; but for CPU times, the result does not depend on the number of cores.
///
/// `watch` takes the number of drives done and returns whether to continue. It is also called within drives, which take
/// seconds each; a drive that it stops does not count. With [`Effort::Full`] the caches count, too, and the reclaim
/// unit on drives that ran GC.
pub fn score(
    drives: u64,
    seed: Seed,
    range: Range<'_>,
    effort: Effort,
    watch: &(dyn Fn(u64) -> bool + Sync),
) -> Score {
    let done = AtomicU64::new(0);
    let probed: Vec<Probed> = (0..drives)
        .into_par_iter()
        .filter_map(|drive| {
            let go_on = || watch(done.load(Ordering::Relaxed));
            let probed = go_on().then(|| examine(drive, seed, (range, effort), &go_on)).flatten()?;
            done.fetch_add(1, Ordering::Relaxed);
            Some(probed)
        })
        .collect();
    let count = probed.len() as u64;
    let wide = matches!(range, Range::Wide(_) | Range::Today(_)).then(|| summary(&probed));
    let mut features: Vec<Tally> = features(range, effort)
        .map(|feature| Tally { feature, right: 0, wrong: 0, not_determined: 0, cannot_be_seen: 0 })
        .collect();
    let mut mistakes = Vec::new();
    for answer in probed.into_iter().flat_map(|probed| probed.answers) {
        let tally =
            features.iter_mut().find(|t| t.feature == answer.feature).expect("every feature has a tally");
        match answer.mark {
            Mark::Right => tally.right += 1,
            Mark::NotDetermined { is_hidden } => {
                tally.not_determined += 1;
                tally.cannot_be_seen += u64::from(is_hidden);
            }
            Mark::Wrong(mistake) => {
                tally.wrong += 1;
                mistakes.push(*mistake);
            }
        }
    }
    let today = matches!(range, Range::Today(_));
    let partial = (count < drives).then(|| format!("stopped after {count} of {drives} drives"));
    Score {
        schema: SCORE_SCHEMA.into(),
        drives: count,
        seed: seed.0,
        features,
        mistakes,
        today,
        wide,
        partial,
    }
}

/// Returns the features that count in a range at this effort.
fn features(range: Range<'_>, effort: Effort) -> impl Iterator<Item = Feature> {
    let usual: &[Feature] = if matches!(range, Range::Today(_)) { &[] } else { &FEATURES };
    let with_full: &[Feature] = match (range, effort) {
        (Range::Today(_), Effort::Full) => &CACHES,
        (_, Effort::Full) => &[Feature::ReclaimUnit, Feature::SlcCache, Feature::MappingCacheReach],
        _ => &[],
    };
    usual.iter().chain(with_full).copied()
}

/// Findings on drives of today.
const CACHES: [Feature; 2] = [Feature::SlcCache, Feature::MappingCacheReach];

const FEATURES: [Feature; 7] = [
    Feature::ChunkSize,
    Feature::PageSize,
    Feature::InterleavingDegree,
    Feature::SubDomains,
    Feature::MappingPolicy,
    Feature::ReadaheadStreams,
    Feature::WriteBuffer,
];

/// The answers about one drive.
struct Probed {
    answers: Vec<Answer>,
    failed: Option<Failed>,
    cpu: Duration,
}

struct Answer {
    feature: Feature,
    confidence: f64,
    mark: Mark,
}

enum Mark {
    Right,
    Wrong(Box<Mistake>),
    NotDetermined { is_hidden: bool },
}

/// Probes the `drive`-th drive and marks each answer. `None` where `go_on` stopped it.
fn examine(
    drive: u64,
    seed: Seed,
    (range, effort): (Range<'_>, Effort),
    go_on: &dyn Fn() -> bool,
) -> Option<Probed> {
    let random = &mut seed.derive_nth("score drive", drive).source();
    let (truth, profile) = match range {
        Range::Usual => usual::draw(random),
        Range::Wide(_) => wide::draw(random),
        Range::Today(_) => today::draw(random),
    };
    let config = profile::parse("random drive", &profile, &[]).expect("only possible drives are drawn");
    let mut device = Drive::new(&config, seed.derive_nth("score device", drive));
    let seed = seed.derive_nth("score probe", drive);
    let mut is_stopped = false;
    let mut watch = |_: &Progress| {
        is_stopped = !go_on();
        if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = Options {
        may_write: true,
        structure_only: true,
        effort,
        seed,
        watch: Some(&mut watch),
        ..Options::default()
    };
    let cpu_time = || match range {
        Range::Wide(clock) | Range::Today(clock) => clock(),
        Range::Usual => Duration::ZERO,
    };
    let before = cpu_time();
    let result = probe(&mut device, options);
    if is_stopped {
        return None;
    }
    let cpu = cpu_time().saturating_sub(before);
    let error = match &result {
        Ok(result) => result.partial.clone(),
        Err(error) => Some(error.to_string()),
    };
    let failed = error.map(|error| Failed { drive, error, profile: profile.clone() });
    // The reclaim unit of a drive that never ran GC is not counted.
    let has_cleaned = device.counters().get("blocks_erased").is_some_and(|blocks| blocks > 0);
    let asked = features(range, effort).filter(|&feature| feature != Feature::ReclaimUnit || has_cleaned);
    let answers = result.map_or(Vec::new(), |result| mark(drive, asked, &result, &truth, &profile));
    Some(Probed { answers, failed, cpu })
}

fn mark(
    drive: u64,
    asked: impl Iterator<Item = Feature>,
    result: &ProbeResult,
    truth: &Truth,
    profile: &str,
) -> Vec<Answer> {
    asked
        .map(|feature| {
            let finding = result.finding(feature).expect("a whole probe names every feature");
            let mark = match (finding.status, is_right(feature, finding, truth)) {
                (Status::NotDetermined, _) => Mark::NotDetermined { is_hidden: finding.is_hidden() },
                (_, true) => Mark::Right,
                (_, false) => Mark::Wrong(Box::new(Mistake {
                    drive,
                    feature,
                    truth: format!("{truth:?}"),
                    answer: format!("{:?} {:?}: {}", finding.status, finding.value, finding.evidence),
                    profile: profile.into(),
                })),
            };
            Answer { feature, confidence: finding.confidence, mark }
        })
        .collect()
}

fn is_right(feature: Feature, finding: &Finding, truth: &Truth) -> bool {
    let number = finding.number();
    let is_one_of = |values: &[u64]| number.is_some_and(|number| values.contains(&number));
    match feature {
        Feature::ChunkSize => is_one_of(&truth.chunk_size_bytes),
        Feature::PageSize => is_one_of(&truth.page_size_bytes),
        Feature::InterleavingDegree => is_one_of(&truth.interleaving_degree),
        Feature::SubDomains => is_one_of(&truth.sub_domains),
        Feature::ReclaimUnit => is_one_of(&truth.reclaim_unit_bytes),
        Feature::MappingPolicy => finding.word() == Some(truth.mapping_policy),
        Feature::ReadaheadStreams => number.unwrap_or(0) == truth.readahead_streams,
        Feature::WriteBuffer => is_near(number, [truth.write_buffer_bytes; 2]),
        Feature::SlcCache => is_near(number, truth.slc_cache_bytes),
        Feature::MappingCacheReach => is_near(number, [truth.mapping_cache_reach_bytes; 2]),
        _ => unreachable!("a feature without a rule"),
    }
}

/// Returns whether a size is right, where it lies in a range; 0 for none.
fn is_near(found: Option<u64>, [least, most]: [u64; 2]) -> bool {
    match found {
        None => most == 0,
        Some(found) => {
            let found = found as f64;
            found >= (1.0 - SIZE_TOLERANCE) * least as f64 && found <= (1.0 + SIZE_TOLERANCE) * most as f64
        }
    }
}

/// Lower ends of the bands of stated confidence.
const BANDS: [f64; 5] = [0.0, 0.7, 0.8, 0.9, 0.97];

/// Failures, CPU time and calibration.
fn summary(probed: &[Probed]) -> Wide {
    let mut times: Vec<f64> = probed.iter().map(|probed| probed.cpu.as_s_f64()).collect();
    times.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| {
        let nth = (share * times.len() as f64).ceil() as usize;
        times.get(nth.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    let band = |nth: usize| {
        let (from, below) = (BANDS[nth], BANDS.get(nth + 1).copied());
        let mut band = Band { from, right: 0, wrong: 0 };
        for answer in probed.iter().flat_map(|probed| &probed.answers) {
            if answer.confidence < from || below.is_some_and(|below| answer.confidence >= below) {
                continue;
            }
            match answer.mark {
                Mark::Right => band.right += 1,
                Mark::Wrong(_) => band.wrong += 1,
                Mark::NotDetermined { .. } => {}
            }
        }
        band
    };
    Wide {
        failed: probed.iter().filter_map(|probed| probed.failed.clone()).collect(),
        calibration: (0..BANDS.len()).map(band).collect(),
        cpu: CpuTime { median_s: quantile(0.5), p99_s: quantile(0.99) },
    }
}
