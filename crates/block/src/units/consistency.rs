//! Checks of the unit table's invariants.

use super::{Cause, Holds, UnitTable, UnitUse};
use crate::layout::UnitAddress;
use std::cmp::Reverse;

impl UnitTable {
    /// Asserts that the indexes match the states. Visits every unit.
    pub(crate) fn assert_consistent(&self) {
        for lane in 0..self.layout.lanes {
            self.assert_lane_consistent(lane);
        }
        let of_state = |want: fn(UnitUse) -> bool| {
            let lanes = 0..self.layout.lanes;
            let all =
                lanes.flat_map(|lane| (0..self.layout.units).map(move |unit| UnitAddress { lane, unit }));
            all.filter(move |&address| want(self.state(address)))
        };
        let awaiting_readers = of_state(|state| matches!(state, UnitUse::AwaitingReaders(_))).count() as u64;
        let leftovers = of_state(|state| matches!(state, UnitUse::Torn | UnitUse::Superseded)).count() as u64;
        assert_eq!((awaiting_readers, leftovers), (self.awaiting_readers, self.leftovers));
        let copies = of_state(|state| matches!(state.erase_cause(), Some(Cause::StaleCopy(_))));
        assert!(copies.eq(self.stale_copies.keys().copied()), "stale copies: {:?}", self.stale_copies);
        for (&address, &id) in &self.stale_copies {
            assert_eq!(self.state(address).erase_cause(), Some(Cause::StaleCopy(id)), "{address:?}");
        }
        let is_damaged =
            |state: UnitUse| state == UnitUse::Damaged || state.erase_cause() == Some(Cause::Damaged);
        assert!(of_state(is_damaged).all(|unit| self.damaged.contains(&unit)), "damaged: {:?}", self.damaged);
        assert!(self.foreign.is_subset(&self.damaged), "foreign: {:?}", self.foreign);
        for &address in &self.damaged {
            let state = self.state(address);
            let is_out_of_use = matches!(state, UnitUse::Bad | UnitUse::Retired);
            assert!(is_damaged(state) || is_out_of_use, "{address:?} is damaged as {state:?}");
        }
        for &address in &self.expiring {
            let state = self.state(address);
            assert!(matches!(state, UnitUse::Live(Holds::Block(_))), "{address:?} expires as {state:?}");
        }
        for &address in &self.failed_once {
            let state = self.state(address);
            let is_sound = matches!(state, UnitUse::Live(_) | UnitUse::AwaitingReaders(_));
            assert!(!is_sound, "{address:?} failed its last write, and is {state:?}");
        }
    }

    /// Asserts that the indexes of a lane match the states of its units.
    fn assert_lane_consistent(&self, lane: u32) {
        let index = &self.lanes[lane as usize];
        let of_state = |want: fn(UnitUse) -> bool| {
            (0..self.layout.units).filter(move |&unit| want(self.state(UnitAddress { lane, unit })))
        };
        let sorted = |units: &mut dyn Iterator<Item = u32>| {
            let mut units: Vec<u32> = units.collect();
            units.sort_unstable();
            units
        };
        let erased = sorted(&mut index.erased.iter().map(|&Reverse((_, unit))| unit));
        assert!(of_state(|state| state == UnitUse::Erased).eq(erased), "erased units of lane {lane}");
        let to_erase = sorted(&mut index.to_erase.iter().copied());
        assert!(
            of_state(|state| matches!(state, UnitUse::ToErase(_))).eq(to_erase),
            "units to erase of lane {lane}"
        );
        let erasing = of_state(|state| matches!(state, UnitUse::Erasing(_))).count();
        let blocks = of_state(UnitUse::has_block).count();
        assert_eq!(
            (erasing, blocks),
            (index.erasing as usize, index.blocks as usize),
            "units of lane {lane}"
        );
    }
}
