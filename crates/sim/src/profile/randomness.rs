//! Whether a drive's behaviour depends on its seed.

use crate::config::{DriveConfig, InitialState};
use crate::ftl::scheme_registry;

impl DriveConfig {
    /// Returns whether the drive's behaviour depends on its seed: if not, it is the same under every seed, and measuring
    /// it once is enough.
    pub fn is_random(&self) -> bool {
        let policies = &self.policies;
        self.flash.is_random()
            || self.host.is_random()
            || self.initial.state == InitialState::Fragmented
            || self.readahead.as_ref().is_some_and(|it| policies.readahead.is_random(&it.policy))
            || self.buffer.as_ref().is_some_and(|it| policies.buffer.is_random(&it.policy))
            || self.replication.is_some()
            || self.queues.as_ref().is_some_and(|it| policies.arbitration.is_random(&it.policy))
            || policies.scheduling.is_random(&self.scheduling.policy)
            // Devices with erase units have no translation layer.
            || (!self.has_erase_units() && self.translates_at_random())
    }

    fn translates_at_random(&self) -> bool {
        let (policies, mapping, cleaning) = (&self.policies, &self.mapping, &self.cleaning);
        policies.mapping.is_random(&mapping.policy)
            || policies.allocation.is_random(&mapping.allocation)
            || scheme_registry::FAMILY.is_random(&mapping.translation)
            || policies.cleaning.is_random(&cleaning.policy)
            || policies.pacing.is_random(&cleaning.pacing)
            || mapping.cache.as_ref().is_some_and(|it| policies.map_cache.is_random(&it.policy))
            || policies.wear.is_random(&self.wear.policy)
    }
}
