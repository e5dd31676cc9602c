//! Repetitions of the points of a sweep, each with another seed, if anything about them is random.

use super::{Experiment, Point, SEED, own_key};
use crate::failure::Failure;
use crate::options::SweepOptions;
use anyhow::anyhow;
use flashlane_sweep::{Grid, Key, POINTS_MAX};

/// Default number of measurements per point: four degrees of freedom resolve differences of three standard deviations.
pub(super) const REPETITIONS: usize = 5;

/// Returns whether the result of a point can change with the seed.
pub(super) fn is_random<E: Experiment>(experiment: &E, point: &Point<E::Plan>) -> bool {
    // Results of a real device always vary, and layers can be random.
    let drive_is_random =
        point.target.is_layered() || point.target.config().is_none_or(|config| config.is_random());
    drive_is_random || experiment.is_random(&point.plan)
}

/// Returns the number of measurements per point.
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
