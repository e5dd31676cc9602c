//! Whether a drive's behaviour depends on its seed.

use crate::config::DriveConfig;
use crate::config::section::DriveKind;
use crate::ftl::scheme_registry;

impl DriveConfig {
    /// Returns whether the drive's behaviour depends on its seed: if not, it is the same under every seed, and
    /// measuring it once is enough.
    pub fn is_random(&self) -> bool {
        let (kind, policies) = (self.kind(), &self.policies);
        let sections = self.sections().into_iter().filter(|(facts, _)| facts.kinds.contains(&kind));
        let of_scheme = || scheme_registry::FAMILY.is_random(&self.mapping.translation);
        sections.into_iter().any(|(_, section)| section.is_random(policies))
            || (kind == DriveKind::Conventional && of_scheme())
    }
}
