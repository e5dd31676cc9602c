//! Options of a policy, from a profile's `options` table.

use flashlane_base::units::{parse_bytes, parse_share};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

/// A share as the value of an option: `25%`.
#[derive(Clone, Copy)]
pub(crate) struct Share(pub f64);

impl FromStr for Share {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        parse_share(text).map(Self).map_err(drop)
    }
}

/// A size as the value of an option: `64KiB`.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        parse_bytes(text).map(Self).map_err(drop)
    }
}

/// Options by name. Each policy takes those it knows; any left over is an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    values: BTreeMap<String, String>,
    /// Those given for another policy, which are no error where they are left over.
    inherited: BTreeSet<String>,
    taken: RefCell<BTreeSet<&'static str>>,
}

/// An option or policy name that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The value is not allowed.
    #[error("option '{name}' is '{given}'; allowed: {allowed}")]
    Value {
        /// Name of the option.
        name: &'static str,
        /// The value given.
        given: String,
        /// The values allowed.
        allowed: String,
    },
    /// The policy needs the option.
    #[error("option '{name}' is missing; allowed: {allowed}")]
    Missing {
        /// Name of the option.
        name: &'static str,
        /// The values allowed.
        allowed: String,
    },
    /// The policy has no such option.
    #[error("option '{name}' is unknown to policy '{policy}'; it knows: {known}")]
    Unknown {
        /// Name of the option.
        name: String,
        /// Name of the policy.
        policy: String,
        /// The policy's options, separated by commas.
        known: String,
    },
    /// The policy cannot work in this configuration, whatever its options.
    #[error("policy '{policy}' does not suit: {reason}")]
    Unsuited {
        /// Name of the policy.
        policy: &'static str,
        /// The requirement that is not met.
        reason: &'static str,
    },
    /// No policy has this name.
    #[error("'{given}' is no {family} policy; there are: {known}")]
    Policy {
        /// The name given.
        given: String,
        /// Name of the family.
        family: &'static str,
        /// The family's policies, separated by commas.
        known: String,
    },
}

impl Options {
    /// Creates options from name and value pairs.
    pub fn new(values: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { values: values.into_iter().collect(), ..Self::default() }
    }

    /// Marks options that were given for the policy that this one replaces: it takes those it knows, and ignores the
    /// others.
    #[must_use]
    pub fn inheriting(self, names: impl IntoIterator<Item = String>) -> Self {
        Self { inherited: names.into_iter().collect(), ..self }
    }

    /// Returns the value of `name`, or `default` where it is not set.
    ///
    /// # Errors
    /// [`OptionError::Value`] where it cannot be parsed or `valid` refuses it.
    pub fn get<T: FromStr + Copy>(
        &self,
        name: &'static str,
        default: T,
        allowed: impl Display,
        valid: impl Fn(T) -> bool,
    ) -> Result<T, OptionError> {
        Ok(self.find(name, &allowed, valid)?.unwrap_or(default))
    }

    /// Returns the value of the required option `name`.
    ///
    /// # Errors
    /// [`OptionError::Missing`] where it is not set; as [`Options::get`].
    pub fn require<T: FromStr + Copy>(
        &self,
        name: &'static str,
        allowed: impl Display,
        valid: impl Fn(T) -> bool,
    ) -> Result<T, OptionError> {
        let found = self.find(name, &allowed, valid)?;
        found.ok_or_else(|| OptionError::Missing { name, allowed: allowed.to_string() })
    }

    /// Returns the text of `name`, where it is set, for values of a form of their own.
    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        self.taken.borrow_mut().insert(name);
        self.values.get(name).map(String::as_str)
    }

    fn find<T: FromStr + Copy>(
        &self,
        name: &'static str,
        allowed: &impl Display,
        valid: impl Fn(T) -> bool,
    ) -> Result<Option<T>, OptionError> {
        self.taken.borrow_mut().insert(name);
        let Some(given) = self.values.get(name) else { return Ok(None) };
        let value = given.parse().ok().filter(|value| valid(*value));
        let refused = || OptionError::Value { name, given: given.clone(), allowed: allowed.to_string() };
        value.map(Some).ok_or_else(refused)
    }

    /// Returns an error where policy `policy` did not take every option.
    pub(crate) fn finish(&self, policy: &str) -> Result<(), OptionError> {
        let taken = self.taken.borrow();
        let is_left_over = |name: &&String| !taken.contains(name.as_str()) && !self.inherited.contains(*name);
        match self.values.keys().find(is_left_over) {
            None => Ok(()),
            Some(name) => Err(OptionError::Unknown {
                name: name.clone(),
                policy: policy.into(),
                known: if taken.is_empty() {
                    "none".into()
                } else {
                    taken.iter().copied().collect::<Vec<_>>().join(", ")
                },
            }),
        }
    }
}
