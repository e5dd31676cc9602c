//! Levels of the flash array.

use serde::Deserialize;

/// A level of the flash array, as a profile names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum LevelName {
    Channel,
    Package,
    Die,
    #[default]
    Plane,
}
