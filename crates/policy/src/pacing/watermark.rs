//! Watermark: when a block is opened and at most `cleaning.low` of the plane's blocks are free, whole victims are
//! cleaned until more are. Simulators that follow Agrawal et al., "Design Tradeoffs for SSD Performance" (USENIX ATC
//! 2008), and small drives do this.

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
