//! The energy of a run on a simulated drive whose profile states powers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Energy, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyRow {
    /// Energy of the run, in joules.
    pub total_j: f64,
    /// Of each operation and state, in joules; they add up to the total. Those that took none are left away.
    pub by_use_j: BTreeMap<String, f64>,
    /// Mean power, in watts.
    pub mean_w: f64,
    /// The highest mean power of a window within the run, in watts; `null` for a run without a whole window.
    pub peak_w: Option<f64>,
    /// Length of the windows, in seconds.
    pub window_s: f64,
    /// Energy of a request, in millijoules; `null` without requests.
    pub per_request_mj: Option<f64>,
    /// Energy of a gigabyte read or written, in joules; `null` without any.
    pub per_gb_j: Option<f64>,
}
