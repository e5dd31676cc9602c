//! Pacing of garbage collection: how many valid pages are moved off a victim, and when.
//!
//! Cleaning a whole victim at once stops the plane's writes for as long as that takes: with few invalid pages in each
//! victim that is many victims for one free block, and seconds. A policy of this family spreads the moves over the
//! host's writes instead, as open designs do: Linux's pblk (drivers/lightnvm/pblk-rl.c) slows the host down as free lines
//! get scarce; in NVMeVirt a write costs a credit, and each victim gives back as many as it had invalid pages.

mod fixed;
mod proportional;
#[cfg(test)]
mod tests;
mod watermark;

use crate::registry::{Entry, Family};
use crate::{OptionError, Options};

/// What a policy may look at: one plane, on which a victim is being cleaned. All counts are in pages, and a page is a
/// mapping unit.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Pages that the host has written on the plane since the step before.
    pub written: u32,
    /// Valid pages that are still to be moved off the victim.
    pub to_move: u32,
    /// Erased pages that the plane has once the victim is erased, if the host writes nothing meanwhile: those it has now,
    /// and what the victim gains.
    pub free: u32,
    /// The same as cleaning is to keep it.
    pub target: u32,
    /// With no more than this the host's writes may have to wait until whole victims are cleaned.
    pub floor: u32,
}

/// Decides how far cleaning goes on after a write.
pub trait Pacing: Send {
    /// Whether victims are cleaned in steps, each after writes of the host; otherwise as a whole when a block is opened.
    fn in_steps(&self) -> bool;

    /// Pages to move off the victim now; the engine rounds up to whole flash pages. MUST be at least 1 where
    /// `to_move` is, so that cleaning goes on.
    fn moves(&self, view: View) -> u32;
}

/// Makes a pacing policy.
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
    /// [`OptionError`] where there is none, or an option does not suit it.
    pub fn build(&self, name: &str, options: &Options) -> Result<Box<dyn Pacing>, OptionError> {
        self.make(name, options, |build| build(options))
    }
}
