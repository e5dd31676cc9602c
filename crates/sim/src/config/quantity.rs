//! Quantities as they stand in a profile: text with a unit, or it does not parse.

use flashlane_base::{Duration, units};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

/// A size in bytes: `"4KiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A time: `"25us"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

/// Bytes a second: `"40MB/s"`; zero for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A share of 0 to 1: `"15%"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// A power in milliwatts: `"30mW"`, `"5.5W"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Power(pub u64);

impl Bytes {
    pub(super) fn sector() -> Self {
        Self(512)
    }
}

/// Reads text with a unit; a bare number is refused with the unit that it lacks.
struct Quantity<T>(&'static str, fn(&str) -> Result<T, units::UnitError>);

impl<T> Visitor<'_> for Quantity<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).map_err(E::custom)
    }
}

macro_rules! quantity {
    ($($name:ident, $expecting:literal, $parse:expr;)*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Quantity($expecting, $parse)).map($name)
            }
        }
    )*};
}

quantity! {
    Bytes, "a size with its unit, like \"4KiB\"", units::parse_bytes;
    Time, "a time with its unit, like \"25us\"", units::parse_duration;
    Rate, "a rate with its unit, like \"40MB/s\"", units::parse_rate;
    Power, "a power with its unit, like \"30mW\"", units::parse_power;
    Share, "a share with its unit, like \"15%\"", units::parse_share;
}
