//! Reads before writes before cleaning: the host waits for reads, and rarely for the rest.

use super::{Class, Scheduling};
use crate::{OptionError, Options};

struct ReadFirst;

impl Scheduling for ReadFirst {
    fn rank(&self, class: Class) -> usize {
        match class {
            Class::LightRead | Class::HostRead => 0,
            Class::Readahead => 1,
            Class::Write => 2,
            Class::IdleGc => 3,
        }
    }
}

pub(super) fn build(_: &Options) -> Result<Box<dyn Scheduling>, OptionError> {
    Ok(Box::new(ReadFirst))
}
