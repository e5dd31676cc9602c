//! Pacing of garbage collection: how many valid pages are moved off a victim, and when.
//!
//! Cleaning a whole victim at once stops the plane's writes meanwhile: with few invalid pages per victim, one free
//! block takes many victims, and seconds. A policy of this family spreads the moves over the host's writes instead, as
//! open designs do: Linux's pblk (drivers/lightnvm/pblk-rl.c) slows the host down as free lines get scarce; in NVMeVirt
//! a write costs a credit, and each victim returns one credit per invalid page.

mod fixed;
mod proportional;
#[cfg(test)]
mod tests;
mod watermark;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// The input of a policy: one plane with a victim in cleaning. All counts are in mapping units.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Written by the host on the plane since the previous step.
    pub written: u32,
    /// Valid ones still to be moved off the victim.
    pub to_move: u32,
    /// Erased ones on the plane after the erase of the victim, without further host writes: the present ones and the
    /// victim's gain.
    pub free: u32,
    /// The value of `free` that cleaning aims at.
    pub target: u32,
    /// The value of `free` at which host writes may have to wait for whole victims.
    pub floor: u32,
}

/// Decides how many moves follow a write.
pub trait Pacing: Send {
    /// Returns whether victims are cleaned in steps after host writes; otherwise as a whole when a block is opened.
    fn in_steps(&self) -> bool;

    /// Returns the number of mapping units to move off the victim now; the engine rounds up to whole flash pages. MUST
    /// be at least 1 where `to_move` is, so that cleaning makes progress.
    fn moves(&self, view: View) -> u32;
}

/// Builds a pacing policy.
pub type Build = fn(&Options) -> Result<Box<dyn Pacing>, OptionError>;

/// All pacing policies.
pub const REGISTRY: &[Entry<Build>] = &[
    Entry {
        name: "watermark",
        summary: "whole victims, as soon as free blocks are at the mark",
        is_random: false,
        build: watermark::build,
    },
    Entry {
        name: "proportional",
        summary: "moves per host page by what the victim still holds and the free space left",
        is_random: false,
        build: proportional::build,
    },
    Entry {
        name: "fixed",
        summary: "the same number of moves per host page, always",
        is_random: false,
        build: fixed::build,
    },
];

/// The family.
pub const FAMILY: Family<Build> = Family::new("pacing", &[], REGISTRY);

impl Family<Build> {
    /// Builds the pacing policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is no such policy, or an option is refused.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Pacing>, OptionError> {
        self.make(name, options, |build| build(options))
    }
}
