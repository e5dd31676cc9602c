//! Watermark: when a block is opened and no more than `cleaning.low` of the plane's blocks are free, whole victims are
//! cleaned until more are. Simulators in the line of Agrawal et al., "Design Tradeoffs for SSD Performance" (USENIX ATC
//! 2008), do this, and so do small drives.

use super::{Pacing, View};
use crate::{OptionError, Options};

struct Watermark;

impl Pacing for Watermark {
    fn in_steps(&self) -> bool {
        false
    }

    fn moves(&self, view: View) -> u32 {
        view.to_move
    }
}

pub(super) fn build(_: &Options) -> Result<Box<dyn Pacing>, OptionError> {
    Ok(Box::new(Watermark))
}
