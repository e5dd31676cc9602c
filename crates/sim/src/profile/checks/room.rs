//! The room of sections that take blocks: how little of it leaves enough for the capacity.

use crate::config::DriveConfig;

/// Returns words for the largest settings, one by one, for which `fits` holds, where it does not hold now; each is
/// followed by a comma.
///
/// Requires: where a setting fits, smaller ones do; the sections are valid.
pub(super) fn smaller(config: &DriveConfig, fits: impl Fn(&DriveConfig) -> bool) -> String {
    let array = config.array_size();
    let taken = config.sections().into_iter().map(|(facts, section)| (facts.name, section.room(&array)));
    taken
        .filter_map(|(name, room)| largest(config, name, room.reserved_blocks, &fits))
        .map(|setting| setting + ", ")
        .collect()
}

/// Returns words for the largest room of a section, below `taken` blocks of each plane, for which `fits` holds; `None`
/// where it is not up to a setting, or no room fits.
fn largest(
    config: &DriveConfig,
    section: &str,
    taken: u32,
    fits: impl Fn(&DriveConfig) -> bool,
) -> Option<String> {
    let (mut config, array) = (config.clone(), config.array_size());
    // The most blocks that are known to fit, with their words, and the fewest that are not.
    let (mut fitting, mut beyond) = ((0, None), taken);
    while fitting.0 + 1 < beyond {
        let middle = fitting.0 + (beyond - fitting.0) / 2;
        let setting = config.section_mut(section)?.reserve(middle, &array)?;
        match fits(&config) {
            true => fitting = (middle, Some(setting)),
            false => beyond = middle,
        }
    }
    fitting.1
}
