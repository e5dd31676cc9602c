//! What an opened store may have lost: keys in blocks, units or pages of the log that cannot be read, or that a salvage
//! gave up.
//!
//! A key that is not found may be one of them, and a value that is found may have been replaced. A get that finds
//! neither value nor tombstone of a key fails with [`ReadFailure::MayBeLost`], and one that finds an older version of a
//! key that a salvage gave up; a scan returns what there is, and its caller asks [`Store::loss`](crate::Store::loss).
//!
//! # Who knows of a loss
//! - [`Damage`](crate::Damage): what a scrub cannot read now.
//! - [`LostKeys`]: the keys of that, which a salvage gives up, and states durably.
//! - `Census` of missing patches (`statement`): what patches count and the device does not have, until a salvage.
//! - [`Loss`]: the sum of these, as the user of an opened store sees it.
//!
//! [`ReadFailure::MayBeLost`]: crate::ReadFailure::MayBeLost

use crate::error::OpenError;
use crate::salvage::LostKeys;
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
    /// What a salvage gave up, until it is acknowledged.
    pub stated: Option<LostKeys>,
}

impl Loss {
    pub(crate) fn is_none(&self) -> bool {
        !self.is_open() && self.stated.is_none()
    }

    /// Returns whether something is damaged or missing that was not given up.
    pub fn is_open(&self) -> bool {
        !self.blocks.is_empty() || self.units > 0 || self.missing.is_some()
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
        let stated = self.stated.as_ref().map(|stated| format!("a salvage gave up {stated}"));
        let all: Vec<String> = [held, missing, stated].into_iter().flatten().collect();
        let is_uncertain = all.len() == 1 && matches!(self.missing, Some(OpenError::LogMarksDamaged { .. }));
        let are = if is_uncertain { "may be" } else { "are" };
        write!(f, "{}: keys {are} missing or have older values", all.join(", and "))
    }
}
