//! Reads of light queues first, the rest as in `read_first`: a die that a heavy queue keeps busy serves those who ask
//! it for little before the next read of the heavy one.
//!
//! It is the first stage of FLIN (Tavakkol et al., "FLIN: Enabling Fairness and Enhancing Performance in Modern NVMe
//! Solid State Drives", ISCA 2018), which keeps low-intensity flows ahead of high-intensity ones at each chip.

use super::{Class, Scheduling};
use crate::options::Share;
use crate::{OptionError, Options};

struct LightFirst {
    below: f64,
}

impl Scheduling for LightFirst {
    fn rank(&self, class: Class) -> usize {
        match class {
            Class::LightRead => 0,
            Class::HostRead => 1,
            Class::Readahead => 2,
            Class::Write => 3,
            Class::IdleGc => 4,
        }
    }

    fn light_below(&self) -> Option<f64> {
        Some(self.below)
    }
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Scheduling>, OptionError> {
    let allowed = "above 0% and at most 100%";
    let Share(below) =
        options.get("below", Share(0.5), allowed, |Share(share)| share > 0.0 && share <= 1.0)?;
    Ok(Box::new(LightFirst { below }))
}
