//! Fixed: a constant number of moves per page that the host writes. With fewer than the workload needs, free blocks run
//! out and the host waits for whole victims; with more, cleaning pauses between victims.
//!
//! Option `moves`, 1 to 1,000, default 8.

use super::{Pacing, View};
use crate::{OptionError, Options};

pub(super) const MOVES: u32 = 8;

struct Fixed {
    moves: u32,
}

impl Pacing for Fixed {
    fn in_steps(&self) -> bool {
        true
    }

    fn moves(&self, view: View) -> u32 {
        view.written.saturating_mul(self.moves).clamp(1, view.to_move.max(1))
    }
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Pacing>, OptionError> {
    let moves = options.get("moves", MOVES, "moves from 1 to 1000", |moves| (1..=1000).contains(&moves))?;
    Ok(Box::new(Fixed { moves }))
}
