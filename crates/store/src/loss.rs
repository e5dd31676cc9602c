//! What an opened store may have lost: keys in blocks, units or pages of the log that cannot be read.
//!
//! Which keys these were is not known, so a key that is not found may be one of them, and a value that is found may
//! have been replaced. A get that finds neither value nor tombstone of a key fails with [`ReadFailure::MayBeLost`]; a
//! scan returns what there is, and its caller asks [`Store::loss`](crate::Store::loss).
//!
//! [`ReadFailure::MayBeLost`]: crate::ReadFailure::MayBeLost

use crate::error::OpenError;
use std::fmt;

/// Blocks that are named one by one.
const NAMED_MAX: usize = 8;

/// Why keys may be missing, or have older values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Blocks of which it is not known what they hold ([`StoreOptions::without_damaged_blocks`](crate::StoreOptions)).
    pub blocks: Vec<u64>,
    /// Damaged units, each of which may have held a block.
    pub units: u64,
    /// Why blocks or records of the log are known to be missing.
    pub missing: Option<OpenError>,
}

impl Loss {
    /// Returns the loss, where there is any.
    pub(crate) fn of(blocks: &[u64], units: u64, missing: Option<&OpenError>) -> Option<Self> {
        let is_whole = blocks.is_empty() && units == 0 && missing.is_none();
        (!is_whole).then(|| Self { blocks: blocks.to_vec(), units, missing: missing.cloned() })
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} damaged {what}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = (!self.blocks.is_empty()).then(|| {
            let mut ids: Vec<String> = self.blocks.iter().take(NAMED_MAX).map(u64::to_string).collect();
            if self.blocks.len() > NAMED_MAX {
                ids.push("…".to_owned());
            }
            let count = counted(self.blocks.len() as u64, "block");
            format!("{count} that cannot be recognised (id {})", ids.join(", "))
        });
        let units = (self.units > 0).then(|| counted(self.units, "unit"));
        let what: Vec<String> = [blocks, units].into_iter().flatten().collect();
        let held = (!what.is_empty()).then(|| format!("{} may have held keys", what.join(" and ")));
        let missing = self.missing.as_ref().map(ToString::to_string);
        let all: Vec<String> = [held, missing].into_iter().flatten().collect();
        write!(f, "{}: keys are missing or have older values", all.join(", and "))
    }
}
