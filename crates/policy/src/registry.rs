//! What the registries of all families have in common.

use crate::{OptionError, Options};

/// A policy's line in its family's registry.
pub struct Entry<Build> {
    /// The name by which a profile chooses it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Makes it.
    pub build: Build,
}

/// Finds a policy by name.
///
/// # Errors
/// [`OptionError::Policy`] names the family and what it has.
pub fn find<Build: Copy>(
    family: &'static str,
    registry: &[Entry<Build>],
    name: &str,
) -> Result<Build, OptionError> {
    registry.iter().find(|entry| entry.name == name).map(|entry| entry.build).ok_or_else(|| {
        OptionError::Policy {
            given: name.into(),
            family,
            known: registry.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        }
    })
}

/// Passes on what a policy's builder made, once it is sure that the policy knew all of its options.
pub(crate) fn checked<P>(
    name: &str,
    options: &Options,
    made: Result<P, OptionError>,
) -> Result<P, OptionError> {
    let policy = made?;
    options.finish(name)?;
    Ok(policy)
}
