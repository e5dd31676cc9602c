//! `[initial]`: the state in which a drive starts.

use super::section::{Facts, Section};
use flashlane_policy::Policies;
use serde::Deserialize;

/// The state in which a drive starts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InitialConfig {
    /// Which state.
    pub state: InitialState,
}

/// States in which a drive can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Nothing written.
    Fresh,
    /// Written once, in order, from the first to the last page.
    Full,
    /// Full, then overwritten at random until valid pages are spread over the blocks as in steady state; where whole
    /// blocks are mapped, until the log holds nothing else.
    Fragmented,
}

impl Default for InitialConfig {
    fn default() -> Self {
        Self { state: InitialState::Fresh }
    }
}

impl Section for InitialConfig {
    fn facts() -> Facts {
        Facts::of("initial")
    }

    fn is_random(&self, _policies: &Policies) -> bool {
        self.state == InitialState::Fragmented
    }
}
