//! Versions of mapping units: which were acknowledged, and which recovery finds after a power cut.
//!
//! Hedged accesses and trims are numbered in the order in which they change the map, and the number of a write is on
//! flash beside the data. Versions of a unit go to several dies, so that a later one may be programmed before an
//! earlier one.

use crate::ids::Lpn;

/// The versions of all mapping units. Memory: 16 bytes a unit, committed as units are written.
pub(super) struct Versions {
    last: u64,
    /// For each mapping unit the newest version at its home, or the trim after it: what recovery finds there.
    programmed: Vec<u64>,
    /// For each mapping unit the newest acknowledged write or trim.
    acknowledged: Vec<u64>,
}

/// Raises a number to `at_least`.
fn raise(number: &mut u64, at_least: u64) {
    *number = (*number).max(at_least);
}

impl Versions {
    pub(super) fn new(units: u32) -> Self {
        Self { last: 0, programmed: vec![0; units as usize], acknowledged: vec![0; units as usize] }
    }

    /// The number of the latest hedged access or trim.
    #[cfg(test)]
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The number of the next hedged access or trim.
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn acknowledge(&mut self, lpn: Lpn, number: u64) {
        raise(&mut self.acknowledged[lpn.0 as usize], number);
    }

    /// A version is on flash at the unit's home.
    pub(super) fn program(&mut self, lpn: Lpn, number: u64) {
        raise(&mut self.programmed[lpn.0 as usize], number);
    }

    /// A unit is trimmed, which is acknowledged and recorded at once.
    pub(super) fn trim(&mut self, lpn: Lpn) {
        let number = self.next();
        self.program(lpn, number);
        self.acknowledge(lpn, number);
    }

    /// Whether recovery prefers a copy of this version to the unit's home.
    pub(super) fn is_newer(&self, lpn: Lpn, number: u64) -> bool {
        number > self.programmed[lpn.0 as usize]
    }

    /// Panics unless recovery has found the newest acknowledged version of every unit.
    pub(super) fn check_recovered(&self) {
        assert!(self.programmed == self.acknowledged, "recovery finds every acknowledged version");
    }
}
