//! How much was written: mapping units and bytes.

use std::ops::{Add, AddAssign, Sub};

/// Mapping units, each as often as a write touched it, and the bytes that these writes wrote in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) units: u64,
    pub(crate) bytes: u64,
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { units: self.units + other.units, bytes: self.bytes + other.bytes }
    }
}

impl Sub for Amount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { units: self.units - other.units, bytes: self.bytes - other.bytes }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
