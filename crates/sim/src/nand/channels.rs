//! The buses of the channels: one die at a time is on each, the others wait in order of asking.

use crate::ids::{ChannelId, DieId};
use std::collections::VecDeque;

/// All buses. Invariant: dies wait for a bus only while another is on it.
#[derive(Clone)]
pub(super) struct Channels {
    buses: Vec<Bus>,
}

#[derive(Clone, Default)]
struct Bus {
    die: Option<DieId>,
    waiting: VecDeque<DieId>,
}

impl Channels {
    /// Creates this number of free buses.
    pub(super) fn new(count: u32) -> Self {
        Self { buses: vec![Bus::default(); count as usize] }
    }

    /// Requests the bus of a die's channel. Returns whether the die has it at once; otherwise it waits.
    #[inline]
    pub(super) fn ask(&mut self, channel: ChannelId, die: DieId) -> bool {
        let bus = &mut self.buses[channel.index()];
        if bus.die.is_some() {
            bus.waiting.push_back(die);
            return false;
        }
        debug_assert!(bus.waiting.is_empty(), "dies wait only while the bus is taken");
        bus.die = Some(die);
        true
    }

    /// Returns the die on the bus of a channel. Requires: there is one.
    #[inline]
    pub(super) fn on_bus(&self, channel: ChannelId) -> DieId {
        self.buses[channel.index()].die.expect("a transfer is on the bus")
    }

    /// The die on the bus of a channel is done with it. Returns the die that has the bus now.
    #[inline]
    pub(super) fn release(&mut self, channel: ChannelId) -> Option<DieId> {
        let bus = &mut self.buses[channel.index()];
        debug_assert!(bus.die.is_some(), "a die is on the bus");
        bus.die = bus.waiting.pop_front();
        bus.die
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_get_the_bus_in_order_of_asking() {
        let mut channels = Channels::new(2);
        let bus = ChannelId(1);
        assert!(channels.ask(ChannelId(0), DieId(0)) && channels.ask(bus, DieId(4)));
        assert!(!channels.ask(bus, DieId(6)) && !channels.ask(bus, DieId(5)));
        for next in [Some(DieId(6)), Some(DieId(5)), None] {
            assert_eq!(channels.release(bus), next);
        }
        assert!(channels.ask(bus, DieId(6)));
    }
}
