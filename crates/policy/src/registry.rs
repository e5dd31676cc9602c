//! The registry of a policy family: the names by which profiles choose.

use crate::{OptionError, Options};
use std::borrow::Cow;
use std::fmt;

/// A policy in its family's registry.
#[derive(Clone, Copy)]
pub struct Entry<Build> {
    /// The name by which a profile chooses it.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Whether its choices depend on the seed: a drive without random policies is measured once.
    pub is_random: bool,
    /// Builds the policy.
    pub build: Build,
}

/// The policies of one family: the built-in ones, and those that a program adds.
#[derive(Clone)]
pub struct Family<Build: Copy + 'static> {
    name: &'static str,
    /// Names with another meaning, which no policy can have.
    reserved: &'static [&'static str],
    entries: Cow<'static, [Entry<Build>]>,
}

/// A policy cannot be added under this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is taken among the {family} policies; these names are: {known}")]
pub struct NameTaken {
    /// The refused name.
    pub name: &'static str,
    /// Name of the family.
    pub family: &'static str,
    /// All names in use, separated by commas.
    pub known: String,
}

impl<Build: Copy> Family<Build> {
    /// Creates the family called `name` with these policies; `reserved` are names that no policy can have.
    pub const fn new(
        name: &'static str,
        reserved: &'static [&'static str],
        entries: &'static [Entry<Build>],
    ) -> Self {
        Self { name, reserved, entries: Cow::Borrowed(entries) }
    }

    /// Returns the policies, built-in ones first.
    pub fn entries(&self) -> &[Entry<Build>] {
        &self.entries
    }

    /// Returns whether the choices of the policy called `name` depend on the seed; true for an unknown name.
    pub fn is_random(&self, name: &str) -> bool {
        self.entries.iter().find(|entry| entry.name == name).is_none_or(|entry| entry.is_random)
    }

    /// Adds a policy, which a profile can then choose by its name.
    ///
    /// # Errors
    /// [`NameTaken`] where another policy has the name, or it is reserved.
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
    /// [`OptionError`] where there is no such policy, `build` refuses an option, or an option is unknown.
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
