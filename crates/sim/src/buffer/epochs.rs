//! Flush epochs: a flush waits for the mapping units that were written before it, and for none written later.

use std::collections::VecDeque;

/// The number of units of each epoch that are not durable.
#[derive(Default)]
pub(super) struct FlushEpochs {
    /// Epochs with units, oldest first: epoch and number of units.
    units: VecDeque<(u64, usize)>,
    current: u64,
}

impl FlushEpochs {
    /// The epoch of units that are written now.
    pub(super) fn current(&self) -> u64 {
        self.current
    }

    /// A unit is written in the current epoch.
    pub(super) fn enter(&mut self) {
        match self.units.back_mut() {
            Some((epoch, units)) if *epoch == self.current => *units += 1,
            _ => self.units.push_back((self.current, 1)),
        }
    }

    /// A unit of `epoch` is durable, or was dropped.
    pub(super) fn leave(&mut self, epoch: u64) {
        let (_, units) = self
            .units
            .iter_mut()
            .find(|(other, _)| *other == epoch)
            .expect("a unit's epoch is kept while the unit is here");
        *units -= 1;
        while self.units.front().is_some_and(|(_, units)| *units == 0) {
            self.units.pop_front();
        }
    }

    /// Closes the current epoch and returns it.
    pub(super) fn close(&mut self) -> u64 {
        let epoch = self.current;
        self.current += 1;
        epoch
    }

    /// Whether every unit of `epoch` and before is durable.
    pub(super) fn is_over(&self, epoch: u64) -> bool {
        self.units.front().is_none_or(|(oldest, _)| *oldest > epoch)
    }
}
