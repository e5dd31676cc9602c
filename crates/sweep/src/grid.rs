//! A grid: all combinations of several keys' values.

use crate::values::{Key, POINTS_MAX};

/// The key whose values repeat a point.
pub(crate) const SEED: &str = "seed";

/// Least number of depths for a knee.
pub(crate) const DEPTHS: usize = 3;

/// A grid. The order of its points follows the keys, with the last key changing first.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    keys: Vec<Key>,
    points: usize,
}

/// Keys do not form a grid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// No key.
    #[error("nothing is swept: at least one KEY=VALUES is needed")]
    Empty,
    /// A key is given twice.
    #[error("'{key}' is swept twice; give all its values at once, as in {key}=A,B,C")]
    Twice {
        /// The key.
        key: String,
    },
    /// More than [`POINTS_MAX`] points.
    #[error("the grid has {} points; allowed: at most {POINTS_MAX}", points.map_or("very many".into(), |n| n.to_string()))]
    TooLarge {
        /// Number of its points, unless that overflows.
        points: Option<usize>,
    },
}

impl Grid {
    /// Creates the grid of `keys`.
    ///
    /// # Errors
    /// [`GridError`] where there is no key, one is given twice, or there are more than [`POINTS_MAX`] points.
    pub fn new(keys: Vec<Key>) -> Result<Self, GridError> {
        if keys.is_empty() {
            return Err(GridError::Empty);
        }
        for (at, key) in keys.iter().enumerate() {
            if keys[..at].iter().any(|other| other.name == key.name) {
                return Err(GridError::Twice { key: key.name.clone() });
            }
        }
        let points = keys.iter().try_fold(1_usize, |points, key| points.checked_mul(key.values.len()));
        match points {
            Some(points) if points <= POINTS_MAX => Ok(Self { keys, points }),
            points => Err(GridError::TooLarge { points }),
        }
    }

    /// The keys, in the order given.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns whether a depth is swept, over enough values for a knee.
    pub fn has_depth(&self) -> bool {
        self.depth_key().is_some()
    }

    /// Returns the position of the depth key with enough values for a knee.
    pub(crate) fn depth_key(&self) -> Option<usize> {
        let is_depth = |name: &str| name == "workload.depth" || name == "replay.depth";
        self.keys.iter().position(|key| {
            is_depth(&key.name) && key.numbers.as_ref().is_some_and(|(_, numbers)| numbers.len() >= DEPTHS)
        })
    }

    /// Number of points, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "a grid is never empty")]
    pub fn len(&self) -> usize {
        self.points
    }

    /// Returns for each key the index of its value at the point `at`, which MUST be below `len()`.
    pub fn places(&self, at: usize) -> Vec<usize> {
        assert!(at < self.points, "the grid has {} points", self.points);
        let mut rest = at;
        let mut places: Vec<usize> = Vec::with_capacity(self.keys.len());
        for key in self.keys.iter().rev() {
            places.push(rest % key.values.len());
            rest /= key.values.len();
        }
        places.reverse();
        places
    }

    /// Like [`Grid::places`], without the seed, whose values are repetitions of a point.
    pub fn places_without_seed(&self, at: usize) -> Vec<usize> {
        let places = self.keys.iter().zip(self.places(at));
        places.filter(|(key, _)| key.name != SEED).map(|(_, place)| place).collect()
    }

    /// Returns the settings of the point `at`, key by key; `at` MUST be below `len()`.
    pub fn point(&self, at: usize) -> Vec<(&str, &str)> {
        let settings = self.keys.iter().zip(self.places(at));
        settings.map(|(key, place)| (key.name.as_str(), key.values[place].as_str())).collect()
    }
}
