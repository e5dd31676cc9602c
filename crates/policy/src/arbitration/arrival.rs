//! In the order of arrival, as if all queues were one.

use super::{Arbitration, Waiting};
use crate::{OptionError, Options};

#[derive(Clone)]
struct Arrival;

impl Arbitration for Arrival {
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let first = (0..waiting.len()).min_by_key(|&at| waiting[at].arrival);
        first.expect("a queue waits")
    }

    fn boxed_clone(&self) -> Box<dyn Arbitration> {
        Box::new(self.clone())
    }
}

pub(super) fn build(_: u32, _: &Options) -> Result<Box<dyn Arbitration>, OptionError> {
    Ok(Box::new(Arrival))
}
