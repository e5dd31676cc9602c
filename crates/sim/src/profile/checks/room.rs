//! The room of sections that take blocks: how little of it leaves enough for the capacity.

use crate::config::{DriveConfig, Share};

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

/// Returns words for the largest share of blocks that are bad from the start for which `fits` holds, where it is
/// smaller than the drive's, followed by a comma; nothing where no share fits.
///
/// Requires: where a share fits, smaller ones do; the share is in range.
pub(super) fn fewer_bad_blocks(config: &DriveConfig, fits: impl Fn(&DriveConfig) -> bool) -> String {
    let tenths_now = (config.flash.factory_bad.0 * 1000.0).ceil() as u32;
    let mut config = config.clone();
    let mut fits = |tenths: u32| {
        config.flash.factory_bad = Share(f64::from(tenths) / 1000.0);
        fits(&config)
    };
    let fitting = (0..tenths_now).rev().find(|&tenths| fits(tenths));
    fitting.map_or_else(String::new, |tenths| {
        format!("a flash.factory_bad of at most {:.1}%, ", f64::from(tenths) / 10.0)
    })
}
