//! Mapping by logical address: page p always has position p (chen11, section 4.4).

use super::Mapping;
use crate::{OptionError, Options};

struct Lba;

impl Mapping for Lba {
    fn position(&mut self, page: u64) -> u64 {
        page
    }

    fn is_free(&self) -> bool {
        false
    }
}

pub(super) fn build(_: &Options) -> Result<Box<dyn Mapping>, OptionError> {
    Ok(Box::new(Lba))
}
