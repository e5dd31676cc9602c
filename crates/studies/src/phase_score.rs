//! The score of phase detection: how often start-up and period are found on drives that have them, and how often they
//! are invented on drives that have none.
//!
//! Each drive is drawn at random together with a run of one I/O at a time, as in uFLIP (CIDR 2009, section 4.2), so
//! that both phases follow from its settings (see `drives`).

mod drives;

use flashlane_base::Seed;
use flashlane_measure::statistics::phases::Phases;
use flashlane_probe::EarlyEnd;
use flashlane_probe::bench::Bench;
use flashlane_sim::{Drive, profile};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// The true phases of a run on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KnownPhases {
    /// Their cause: `batches`, `erases`, `random-cleaning`, `nothing`.
    pub mechanism: &'static str,
    /// I/Os of the start-up; 0 for none.
    pub startup: u64,
    /// I/Os of the period; 0 for none.
    pub period: u64,
}

/// Tally of the answers for start-up or period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PhaseTally {
    /// `startup` or `period`.
    pub feature: &'static str,
    /// Drives that have it.
    pub present: u64,
    /// Of these, drives on which it was found, within 10%.
    pub found: u64,
    /// Of these, drives on which none was found.
    pub missed: u64,
    /// Of these, drives on which another value was found.
    pub wrong: u64,
    /// Drives that have none.
    pub absent: u64,
    /// Of these, drives on which one was invented.
    pub invented: u64,
}

/// A wrong answer, with the details to reproduce it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseMistake {
    /// The drive's number.
    pub drive: u64,
    /// `startup` or `period`.
    pub feature: &'static str,
    /// The true phases.
    pub truth: KnownPhases,
    /// The value found; 0 for none.
    pub answer: u64,
    /// Codes of its warnings.
    pub doubts: Vec<&'static str>,
    /// The drive's profile.
    pub profile: String,
}

/// The score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseScore {
    /// Number of measured drives.
    pub drives: u64,
    /// The root of all drives.
    pub seed: u64,
    /// Tallies of start-up and period.
    pub features: [PhaseTally; 2],
    /// All wrong answers.
    pub mistakes: Vec<PhaseMistake>,
}

/// I/Os per run.
const REQUESTS: u64 = 32_768;
/// Tolerance of a right answer.
const TOLERANCE: f64 = 0.1;

/// Detects the phases of runs on `drives` random drives, on all cores; the result does not depend on the number of
/// cores.
///
/// `watch` takes the number of drives done and returns whether to continue; the score covers the drives done.
pub fn score(drives: u64, seed: Seed, watch: &(dyn Fn(u64) -> bool + Sync)) -> PhaseScore {
    let done = AtomicU64::new(0);
    let examined: Vec<Option<Examined>> = (0..drives)
        .into_par_iter()
        .map(|drive| {
            if !watch(done.load(Ordering::Relaxed)) {
                return None;
            }
            let examined = examine(drive, seed);
            done.fetch_add(1, Ordering::Relaxed);
            Some(examined)
        })
        .collect();
    let mut features = ["startup", "period"].map(|feature| PhaseTally { feature, ..PhaseTally::default() });
    let mut mistakes = Vec::new();
    let mut count = 0;
    for (drive, examined) in examined.into_iter().enumerate() {
        let Some(Examined { truth, phases, profile }) = examined else { continue };
        count += 1;
        let startup = phases.startup.requests as u64;
        let period = phases.period.map_or(0, |period| period.requests as u64);
        for (tally, (known, answer)) in
            features.iter_mut().zip([(truth.startup, startup), (truth.period, period)])
        {
            if !tally.mark(known, answer) {
                mistakes.push(PhaseMistake {
                    drive: drive as u64,
                    feature: tally.feature,
                    truth,
                    answer,
                    doubts: phases.doubts.iter().map(|doubt| doubt.code()).collect(),
                    profile: profile.clone(),
                });
            }
        }
    }
    PhaseScore { drives: count, seed: seed.0, features, mistakes }
}

impl PhaseTally {
    /// Counts an answer, and returns whether it is right.
    fn mark(&mut self, known: u64, answer: u64) -> bool {
        let right = answer.abs_diff(known) as f64 <= TOLERANCE * known as f64;
        let (drives, case) = match (known, answer) {
            (0, _) => (&mut self.absent, (!right).then_some(&mut self.invented)),
            (_, 0) => (&mut self.present, Some(&mut self.missed)),
            _ if right => (&mut self.present, Some(&mut self.found)),
            _ => (&mut self.present, Some(&mut self.wrong)),
        };
        *drives += 1;
        if let Some(case) = case {
            *case += 1;
        }
        right
    }
}

struct Examined {
    truth: KnownPhases,
    phases: Phases,
    profile: String,
}

/// Runs the `drive`-th drive and detects its phases.
fn examine(drive: u64, seed: Seed) -> Examined {
    let drawn = drives::draw(&mut seed.derive_nth("phase score drive", drive).source());
    let config = profile::parse("random drive", &drawn.profile, &[]).expect("only possible drives are drawn");
    let mut device = Drive::new(&config, seed.derive_nth("phase score device", drive));
    let mut accesses = drawn.accesses(seed.derive_nth("phase score run", drive));
    let mut stop = || false;
    let mut bench = Bench::new(&mut device, seed, &mut stop);
    let run = (|| {
        for access in accesses.by_ref().take(drawn.before as usize) {
            bench.one(access)?;
        }
        let most = drawn.until_erases.unwrap_or(0);
        let erased = |bench: &Bench<'_>| bench.device().counters().get("blocks_erased").unwrap_or(0);
        let (mut latencies_ns, mut cheap) = (Vec::new(), 0);
        for access in accesses.take(REQUESTS as usize) {
            latencies_ns.push(bench.one(access)?.as_ns());
            if cheap == latencies_ns.len() as u64 - 1 && erased(&bench) < most {
                cheap += 1;
            }
        }
        Ok::<_, EarlyEnd>((latencies_ns, cheap))
    })();
    let (latencies_ns, cheap) = run.expect("a simulated drive takes what fits it");
    let startup = if drawn.until_erases.is_some() { cheap } else { drawn.truth.startup };
    let truth = KnownPhases { startup, ..drawn.truth };
    Examined { truth, phases: Phases::of(&latencies_ns), profile: drawn.profile }
}

#[cfg(test)]
mod tests;
