//! How often the points of a sweep are measured: several times, under several seeds, where anything about them is random.

use super::{Experiment, Point, SEED, own_key};
use crate::failure::Failure;
use crate::options::SweepOptions;
use anyhow::anyhow;
use flashlane_sweep::{Grid, Key, POINTS_MAX};

/// How often a point is measured unless told: four degrees of freedom tell differences of three standard deviations.
pub(super) const REPETITIONS: usize = 5;

/// Whether measuring a point again, under another seed, may give another result.
pub(super) fn is_random<E: Experiment>(experiment: &E, point: &Point<E::Plan>) -> bool {
    // A real one is never measured twice with the same result, and layers may draw lots.
    let drive_is_random =
        point.target.is_layered() || point.target.config().is_none_or(|config| config.is_random());
    drive_is_random || experiment.is_random(&point.plan)
}

/// How often each point is measured.
pub(super) fn repetitions(
    experiment: &impl Experiment,
    grid: &Grid,
    options: &SweepOptions,
    is_exact: bool,
) -> Result<usize, Failure> {
    let is_seed = |key: &&Key| key.name == SEED || own_key(experiment, &key.name) == Some(SEED);
    let seed = grid.keys().iter().find(is_seed);
    let repeat = match (options.repeat, seed) {
        (Some(repeat), Some(key)) if repeat.get() > 1 => {
            return Err(Failure::unusable(anyhow!(
                "--repeat {repeat} measures each point with several seeds, but '{}' is swept: omit one of them",
                key.name
            )));
        }
        (Some(repeat), _) => repeat.get(),
        (None, Some(_)) => 1,
        (None, None) if is_exact => 1,
        (None, None) => experiment.repetitions(),
    };
    if repeat > POINTS_MAX / grid.len() {
        return Err(Failure::unusable(anyhow!(
            "--repeat {repeat} of {} points is too many; allowed: at most {POINTS_MAX} measurements",
            grid.len()
        )));
    }
    Ok(repeat)
}
