//! What a search changes in steps: numbers of channels and packages, and a switch.

use crate::start::{Settings, Start};

/// Counts and switches of a profile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    channels: u32,
    packages: u32,
    cache_mode: bool,
}

impl Counts {
    pub(crate) fn of(start: &Start) -> Self {
        let flash = &start.config().flash;
        Self { channels: flash.channels, packages: flash.packages, cache_mode: flash.cache_mode }
    }

    /// One step away.
    pub(crate) fn neighbours(&self) -> Vec<Self> {
        let scaled = |count: u32| [count / 2, count * 2].into_iter().filter(|count| (1..=64).contains(count));
        let mut all: Vec<Self> = scaled(self.channels).map(|channels| Self { channels, ..*self }).collect();
        all.extend(scaled(self.packages).map(|packages| Self { packages, ..*self }));
        all.push(Self { cache_mode: !self.cache_mode, ..*self });
        all
    }

    pub(crate) fn settings(&self) -> Settings {
        [
            ("flash.channels", self.channels.to_string()),
            ("flash.packages", self.packages.to_string()),
            ("flash.cache_mode", self.cache_mode.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }
}
