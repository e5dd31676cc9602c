//! What reading a profile needs of each of its sections, said by the section: its name, its rules, its policies, its
//! room.
//!
//! [`super::DriveConfig`] lists the sections. Whoever asks of all of them (`crate::profile`, [`crate::nand::Geometry`])
//! goes through that list and names none, so that a new section is a file beside this one and its lines in `config.rs`.

use super::array_size::ArraySize;
use super::refusal::Refusal;
use super::{DriveConfig, PolicyOptions, Time};
use flashlane_policy::Policies;
use std::ops::Add;

/// A kind of drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriveKind {
    /// With a translation layer.
    Conventional,
    /// Software-defined flash.
    Lanes,
    /// A zoned drive.
    Zoned,
}

/// What is known of a section, whether or not a drive has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Its dotted name.
    pub(crate) name: &'static str,
    /// The kinds of drives that it has a meaning for.
    pub(crate) kinds: &'static [DriveKind],
    /// Its settings on which it depends how many blocks a plane needs, or has.
    pub(crate) room: &'static [&'static str],
    /// The setting that says that a drive goes without it, and its value: what another section that excludes it allows.
    pub(crate) absence: (&'static str, &'static str),
    /// Words for the refusal of a drive that has too few blocks for it: what it adds to the capacity's share, and the
    /// setting that may be smaller.
    pub(crate) shortage: (&'static str, &'static str),
    /// Settings with which a small drive has it, where those that have defaults are not enough.
    pub(crate) example: &'static [(&'static str, &'static str)],
}

impl Facts {
    /// Of a section that every kind of drive can have, and that takes no blocks.
    pub(crate) const fn of(name: &'static str) -> Self {
        use DriveKind::{Conventional, Lanes, Zoned};
        Self {
            name,
            kinds: &[Conventional, Lanes, Zoned],
            room: &[],
            absence: (name, "none"),
            shortage: ("", ""),
            example: &[],
        }
    }

    /// Of a section of the translation layer, which other kinds of drives have none of.
    pub(crate) const fn of_translation(name: &'static str) -> Self {
        Self { kinds: &[DriveKind::Conventional], ..Self::of(name) }
    }
}

/// What of another section, or of the translation scheme, does not go with a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// A section, by its name.
    Section(&'static str),
    /// Block mapping.
    BlockMapping,
    /// Parity over channels.
    Parity,
    /// Blocks of several planes that are filled and garbage-collected together.
    JoinedPlanes,
    /// Programs of all pages of a word line at once.
    ProgramGroups,
    /// GC that lets other operations pass.
    DeferredGc,
    /// Allocation pools of more than a plane.
    SharedPools,
    /// Pages of a block that hold its summary.
    Summaries,
    /// Open blocks that the host's units share with moved ones.
    SharedOpenBlocks,
}

/// What does not go with a section.
#[derive(Clone, Debug)]
pub(crate) struct Exclusions {
    /// Why, as refusals say it before the value that is allowed: "there is an SLC cache ([slc]); allowed with it".
    pub(crate) reason: String,
    /// In the order in which they are checked.
    pub(crate) others: &'static [Other],
}

/// The room that a section takes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// Blocks of each plane from the start, beyond those of the host's data, the free ones at which GC is due and the
    /// open ones for host and GC: they never have the host's data, but for a time as a cache.
    pub(crate) reserved_blocks: u32,
    /// The same once they are needed: a drive just prepared has them among its free ones.
    pub(crate) later_blocks: u32,
    /// Mapping units that are on flash beside the host's once the host has written all of its own.
    pub(crate) stored_units: u32,
    /// Mapping units that come once they are needed, the same number on each die.
    pub(crate) later_units: u32,
}

impl Add for Room {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reserved_blocks: self.reserved_blocks + other.reserved_blocks,
            later_blocks: self.later_blocks + other.later_blocks,
            stored_units: self.stored_units + other.stored_units,
            later_units: self.later_units + other.later_units,
        }
    }
}

/// Array times of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageTimes {
    /// Array to register.
    pub(crate) read: Time,
    /// Register to array.
    pub(crate) program: Time,
}

/// Asks of a section. All but its facts have answers for a section that needs nothing of the kind, and every answer for
/// a section that the drive does not have (`None`) is that it needs nothing.
pub(crate) trait Section {
    /// What is known of it without a drive.
    fn facts() -> Facts
    where
        Self: Sized;

    /// Returns whether the drive has it.
    fn is_present(&self) -> bool {
        true
    }

    /// Checks its settings, one by one.
    fn ranges(&self) -> Vec<Refusal> {
        Vec::new()
    }

    /// Returns what it does not go with.
    fn exclusions(&self) -> Option<Exclusions> {
        None
    }

    /// Returns its settings that have a value other than their default, and no effect in this drive, each with what it
    /// needs. They are refused where they are given beside a profile; in a file they stand for the drives that are made
    /// from it.
    fn without_effect(&self, _drive: &DriveConfig) -> Vec<Refusal> {
        Vec::new()
    }

    /// Checks its settings beside the array's sizes, and its policy. Requires: the rules before hold; see
    /// `crate::profile`.
    ///
    /// # Errors
    /// [`Refusal`] of the first setting that breaks a rule.
    fn check(&self, _array: &ArraySize, _policies: &Policies) -> Result<(), Refusal> {
        Ok(())
    }

    /// Returns the room that it takes. Requires: its settings are in range.
    fn room(&self, _array: &ArraySize) -> Room {
        Room::default()
    }

    /// Sets the blocks of each plane that it takes from the start, fewer than it has. Returns words for the setting
    /// that this changes, with its value; `None` where its room is not up to a setting.
    fn reserve(&mut self, _blocks: u32, _array: &ArraySize) -> Option<String> {
        None
    }

    /// Returns the array times of pages that it has written in times of their own (`nand::PageType::OF_SECTION`).
    fn page_times(&self) -> Option<PageTimes> {
        None
    }

    /// Returns whether the drive's behaviour depends on its seed because of it.
    fn is_random(&self, _policies: &Policies) -> bool {
        false
    }

    /// Returns the options of the policy that `setting`, a full name, chooses, if it is one of the section.
    fn options_of(&mut self, _setting: &str) -> Option<&mut PolicyOptions> {
        None
    }
}

impl<T: Section> Section for Option<T> {
    fn facts() -> Facts {
        T::facts()
    }

    fn is_present(&self) -> bool {
        self.is_some()
    }

    fn ranges(&self) -> Vec<Refusal> {
        self.as_ref().map_or_else(Vec::new, T::ranges)
    }

    fn exclusions(&self) -> Option<Exclusions> {
        self.as_ref().and_then(T::exclusions)
    }

    fn without_effect(&self, drive: &DriveConfig) -> Vec<Refusal> {
        self.as_ref().map_or_else(Vec::new, |section| section.without_effect(drive))
    }

    fn check(&self, array: &ArraySize, policies: &Policies) -> Result<(), Refusal> {
        self.as_ref().map_or(Ok(()), |section| section.check(array, policies))
    }

    fn room(&self, array: &ArraySize) -> Room {
        self.as_ref().map_or_else(Room::default, |section| section.room(array))
    }

    fn reserve(&mut self, blocks: u32, array: &ArraySize) -> Option<String> {
        self.as_mut().and_then(|section| section.reserve(blocks, array))
    }

    fn page_times(&self) -> Option<PageTimes> {
        self.as_ref().and_then(T::page_times)
    }

    fn is_random(&self, policies: &Policies) -> bool {
        self.as_ref().is_some_and(|section| section.is_random(policies))
    }

    fn options_of(&mut self, setting: &str) -> Option<&mut PolicyOptions> {
        self.as_mut().and_then(|section| section.options_of(setting))
    }
}
