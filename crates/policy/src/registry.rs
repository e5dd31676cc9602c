//! What the families of policies have in common: the names by which profiles choose.

use crate::{OptionError, Options};
use std::borrow::Cow;
use std::fmt;

/// A policy's line in its family's registry.
#[derive(Clone, Copy)]
pub struct Entry<Build> {
    /// The name by which a profile chooses it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether its choices depend on the seed: a drive without anything random is measured once.
    pub is_random: bool,
    /// Makes it.
    pub build: Build,
}

/// The policies of one family: ours, and those that a program adds.
#[derive(Clone)]
pub struct Family<Build: Copy + 'static> {
    name: &'static str,
    /// Names with a meaning of their own, which no policy can have.
    reserved: &'static [&'static str],
    entries: Cow<'static, [Entry<Build>]>,
}

/// A policy cannot be added under this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is taken among the {family} policies; these names are: {known}")]
pub struct NameTaken {
    /// The name.
    pub name: &'static str,
    /// The family.
    pub family: &'static str,
    /// All names that are taken.
    pub known: String,
}

impl<Build: Copy> Family<Build> {
    /// The family called `name`, of these policies; `reserved` are names that no policy can have.
    pub const fn new(
        name: &'static str,
        reserved: &'static [&'static str],
        entries: &'static [Entry<Build>],
    ) -> Self {
        Self { name, reserved, entries: Cow::Borrowed(entries) }
    }

    /// Returns the policies, ours first.
    pub fn entries(&self) -> &[Entry<Build>] {
        &self.entries
    }

    /// Returns whether the choices of the policy called `name` depend on the seed; true where it is not known.
    pub fn is_random(&self, name: &str) -> bool {
        self.entries.iter().find(|entry| entry.name == name).is_none_or(|entry| entry.is_random)
    }

    /// Adds a policy of your own, which a profile then chooses by its name like any other.
    ///
    /// # Errors
    /// [`NameTaken`] where another policy has the name, or the name has a meaning of its own.
    pub fn add(&mut self, entry: Entry<Build>) -> Result<(), NameTaken> {
        let names = self.entries.iter().map(|entry| entry.name).chain(self.reserved.iter().copied());
        if names.clone().any(|name| name == entry.name) {
            let known = names.collect::<Vec<_>>().join(", ");
            return Err(NameTaken { name: entry.name, family: self.name, known });
        }
        self.entries.to_mut().push(entry);
        Ok(())
    }

    /// Builds the policy called `name`.
    ///
    /// # Errors
    /// [`OptionError`] where there is none, `build` refuses an option, or an option is unknown to it.
    pub fn make<P>(
        &self,
        name: &str,
        options: &Options,
        build: impl FnOnce(Build) -> Result<P, OptionError>,
    ) -> Result<P, OptionError> {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| OptionError::Policy {
            given: name.into(),
            family: self.name,
            known: self.entries.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        })?;
        let policy = build(entry.build)?;
        options.finish(name)?;
        Ok(policy)
    }
}

impl<Build: Copy> fmt::Debug for Family<Build> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| entry.name)).finish()
    }
}
