//! What a search changes in steps: numbers of channels, packages and planes, and a switch.

use crate::start::{Settings, Start};

/// Counts and switches of a profile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    channels: u32,
    packages: u32,
    planes: u32,
    cache_mode: bool,
}

impl Counts {
    pub(crate) fn of(start: &Start) -> Self {
        let flash = &start.config().flash;
        Self {
            channels: flash.channels,
            packages: flash.packages,
            planes: flash.planes,
            cache_mode: flash.cache_mode,
        }
    }

    /// All within a factor of two of these, these too, and those with one plane; the switch as it is.
    pub(crate) fn near(&self) -> Vec<Self> {
        let near =
            |count: u32| [count / 2, count, count * 2].into_iter().filter(|count| (1..=64).contains(count));
        let with_planes = |channels, packages| {
            let planes = near(self.planes).chain((self.planes > 2).then_some(1));
            planes.map(move |planes| Self { channels, packages, planes, ..*self })
        };
        near(self.channels)
            .flat_map(|channels| {
                near(self.packages).flat_map(move |packages| with_planes(channels, packages))
            })
            .collect()
    }

    /// The factors of two between these and others, in all.
    pub(crate) fn doublings_from(&self, other: &Self) -> u32 {
        let doublings = |a: u32, b: u32| a.max(b).ilog2() - a.min(b).ilog2();
        doublings(self.channels, other.channels)
            + doublings(self.packages, other.packages)
            + doublings(self.planes, other.planes)
    }

    /// These with the switch the other way.
    pub(crate) fn switched(&self) -> Self {
        Self { cache_mode: !self.cache_mode, ..*self }
    }

    pub(crate) fn settings(&self) -> Settings {
        [
            ("flash.channels", self.channels.to_string()),
            ("flash.packages", self.packages.to_string()),
            ("flash.planes", self.planes.to_string()),
            ("flash.cache_mode", self.cache_mode.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }
}
