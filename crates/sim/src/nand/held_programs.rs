//! Programs that wait for their group: what fills up their flash page or word line, which can be programmed once only,
//! and pages beside it on further planes of the die.

use super::operation::{FlashOperation, Work};
use crate::ids::{DieId, ProgramGroup};
use std::collections::VecDeque;

/// The programs that wait at each die, in the order in which they were queued. Invariant: `count` is the number of all.
#[derive(Clone)]
pub(super) struct HeldPrograms {
    dies: Vec<VecDeque<FlashOperation>>,
    count: usize,
}

impl HeldPrograms {
    pub(super) fn new(dies: u32) -> Self {
        Self { dies: vec![VecDeque::new(); dies as usize], count: 0 }
    }

    /// Whether nothing waits anywhere.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of programs that wait at `die`.
    pub(super) fn waiting(&self, die: DieId) -> usize {
        self.dies[die.index()].len()
    }

    pub(super) fn push(&mut self, die: DieId, operation: FlashOperation) {
        self.dies[die.index()].push_back(operation);
        self.count += 1;
    }

    /// Takes the first that waits at `die`, or the first of a program group. Returns the place in which it waited, too.
    pub(super) fn take_next(
        &mut self,
        die: DieId,
        of: Option<ProgramGroup>,
    ) -> Option<(usize, FlashOperation)> {
        let waiting = &mut self.dies[die.index()];
        let is_of = |operation: &FlashOperation| match (of, operation.work) {
            (Some(program_group), Work::Program(program)) => program.program_group == program_group,
            _ => true,
        };
        let place = waiting.iter().position(is_of)?;
        debug_assert!(self.count > 0, "all of them are counted");
        self.count -= 1;
        waiting.remove(place).map(|operation| (place, operation))
    }
}
