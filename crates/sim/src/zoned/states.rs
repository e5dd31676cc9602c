//! The states of zones, and the limits of open and active ones.
//!
//! After NVMe Zoned Namespaces 1.1, section 2.1.1.4: a write or append opens its zone implicitly. Where as many zones
//! are open as may be, the drive closes an implicitly opened one for it, if there is one that nothing is in flight on:
//! the one that was opened longest ago. It never closes one that the host opened.
//!
//! Invariants: no more zones are open than `most_open`, and no more active than `most_active`; `implicit` has the
//! implicitly open zones.

use super::shape::ZoneId;
use flashlane_device::{Rule, ZoneState};
use std::collections::BTreeMap;

/// The state of every zone.
#[derive(Clone, Debug)]
pub(super) struct ZoneStates {
    /// By zone: its state, and its number among implicit opens where it is open so.
    states: Vec<(ZoneState, u64)>,
    most_open: u32,
    most_active: u32,
    open: u32,
    active: u32,
    /// Implicitly open zones, by the number of the open.
    implicit: BTreeMap<u64, ZoneId>,
    opens: u64,
}

impl ZoneStates {
    /// Empty zones.
    pub(super) fn new(zones: u32, most_open: Option<u32>, most_active: Option<u32>) -> Self {
        Self {
            states: vec![(ZoneState::Empty, 0); zones as usize],
            most_open: most_open.unwrap_or(u32::MAX),
            most_active: most_active.unwrap_or(u32::MAX),
            open: 0,
            active: 0,
            implicit: BTreeMap::new(),
            opens: 0,
        }
    }

    pub(super) fn get(&self, zone: ZoneId) -> ZoneState {
        self.states[zone.index()].0
    }

    /// Number of zones in this state.
    pub(super) fn count(&self, state: ZoneState) -> u64 {
        self.states.iter().filter(|(of, _)| *of == state).count() as u64
    }

    /// Checks whether a zone may be opened, if it is not open. Returns the zone that has to be closed for it, which
    /// must not be busy.
    pub(super) fn admit_open(
        &self,
        zone: ZoneId,
        is_busy: impl Fn(ZoneId) -> bool,
    ) -> Result<Option<ZoneId>, Rule> {
        let state = self.get(zone);
        match state {
            ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => {
                return Err(Rule::ZoneState { state });
            }
            ZoneState::ImplicitlyOpen | ZoneState::ExplicitlyOpen => return Ok(None),
            ZoneState::Empty if self.active == self.most_active => {
                return Err(Rule::TooManyActive { most: self.most_active });
            }
            ZoneState::Empty | ZoneState::Closed => {}
        }
        if self.open < self.most_open {
            return Ok(None);
        }
        let idle = self.implicit.values().find(|&&open| !is_busy(open));
        // An implicitly open zone can be closed for it once nothing is in flight on it.
        let waits = !self.implicit.is_empty();
        idle.map(|&open| Some(open)).ok_or(Rule::TooManyOpen { most: self.most_open, waits })
    }

    /// Checks whether a zone may be closed: it must be active.
    pub(super) fn admit_close(&self, zone: ZoneId) -> Result<(), Rule> {
        let state = self.get(zone);
        if state.is_active() { Ok(()) } else { Err(Rule::ZoneState { state }) }
    }

    /// Opens a zone, or opens explicitly one that is implicitly open. Requires: it may be, and another is closed if it
    /// has to be.
    pub(super) fn open(&mut self, zone: ZoneId, is_explicit: bool) {
        match (self.get(zone), is_explicit) {
            (ZoneState::ExplicitlyOpen, _) | (ZoneState::ImplicitlyOpen, false) => {}
            (_, true) => self.set(zone, ZoneState::ExplicitlyOpen),
            (_, false) => self.set(zone, ZoneState::ImplicitlyOpen),
        }
    }

    /// Closes a zone, if it is open.
    pub(super) fn close(&mut self, zone: ZoneId) {
        if self.get(zone).is_open() {
            self.set(zone, ZoneState::Closed);
        }
    }

    pub(super) fn set_full(&mut self, zone: ZoneId) {
        self.set(zone, ZoneState::Full);
    }

    pub(super) fn set_empty(&mut self, zone: ZoneId) {
        self.set(zone, ZoneState::Empty);
    }

    /// A zone is worn out: it is read-only or offline from now on.
    pub(super) fn set_lost(&mut self, zone: ZoneId, state: ZoneState) {
        debug_assert!(matches!(state, ZoneState::ReadOnly | ZoneState::Offline));
        self.set(zone, state);
    }

    /// Closes every open zone, as a controller does when it starts.
    pub(super) fn power_cut(&mut self) {
        let open = (0..self.states.len() as u32).map(ZoneId).filter(|&zone| self.get(zone).is_open());
        for zone in open.collect::<Vec<_>>() {
            self.set(zone, ZoneState::Closed);
        }
    }

    fn set(&mut self, zone: ZoneId, state: ZoneState) {
        let (before, opened) = self.states[zone.index()];
        self.open = self.open + u32::from(state.is_open()) - u32::from(before.is_open());
        self.active = self.active + u32::from(state.is_active()) - u32::from(before.is_active());
        if before == ZoneState::ImplicitlyOpen {
            self.implicit.remove(&opened);
        }
        if state == ZoneState::ImplicitlyOpen {
            self.opens += 1;
            self.implicit.insert(self.opens, zone);
        }
        self.states[zone.index()] = (state, self.opens);
        debug_assert!(self.open <= self.most_open, "{} zones are open", self.open);
        debug_assert!(self.active <= self.most_active, "{} zones are active", self.active);
    }
}
