//! What does not go together: the sections say it ([`Exclusions`]), and here it is looked up in the drive.

use crate::config::refusal::{Refusal, require};
use crate::config::section::{Exclusions, Other};
use crate::config::{DeferGc, DriveConfig, LevelName, Programming};

/// Refuses the first setting that gives the drive something that is excluded.
pub(super) fn check(
    config: &DriveConfig,
    maps_blocks: bool,
    Exclusions { reason, others }: &Exclusions,
) -> Result<(), Refusal> {
    others.iter().try_for_each(|&other| {
        let (is_used, field, allowed) = used(config, maps_blocks, other);
        require(!is_used, field, || format!("{reason}: {allowed}"))
    })
}

/// Returns whether the drive has it, the setting that says so, and the value of that setting with which it has not.
fn used(config: &DriveConfig, maps_blocks: bool, other: Other) -> (bool, &'static str, &'static str) {
    let (mapping, flash, cleaning, disksim) =
        (&config.mapping, &config.flash, &config.cleaning, &config.compat.disksim);
    match other {
        Other::Section(name) => {
            let (facts, section) = config
                .sections()
                .into_iter()
                .find(|(facts, _)| facts.name == name)
                .expect("a section's name");
            (section.is_present(), facts.absence.0, facts.absence.1)
        }
        Other::BlockMapping => (maps_blocks, "mapping.translation", "only 'page'"),
        Other::Parity => (mapping.parity.is_some(), "mapping.parity", "none"),
        Other::JoinedPlanes => {
            (cleaning.multi_plane && flash.planes > 1, "cleaning.multi_plane", "only false")
        }
        Other::ProgramGroups => {
            (flash.programming != Programming::default(), "flash.programming", "only 'page'")
        }
        Other::DeferredGc => (cleaning.defer != DeferGc::No, "cleaning.defer", "only 'no'"),
        Other::SharedPools => (disksim.pool != LevelName::Plane, "compat.disksim.pool", "only 'plane'"),
        Other::Summaries => (disksim.summary_pages > 0, "compat.disksim.summary_pages", "only 0"),
        Other::SharedOpenBlocks => (
            !cleaning.separate,
            "cleaning.separate",
            "only true, since moved pages have a block of their own",
        ),
    }
}
