//! What a damaged store cannot tell: keys whose bytes cannot be read, and blocks and units of which it is not known
//! what they held.

use super::device::failed;
use crate::command::sdf::counted;
use crate::failure::Failure;
use flashlane_open::AnyKeyValueStore;
use flashlane_store::text::escape;
use flashlane_store::{Gap, ScanFailure, StoreError};

/// Ranges that are named one by one.
const NAMED_MAX: usize = 8;

/// The keys that a scan could not read.
#[derive(Default)]
pub struct Unread {
    /// In the order of keys, without those that touch.
    gaps: Vec<Gap>,
    /// Why the first could not be read.
    reason: String,
}

impl Unread {
    /// Returns an entry of a scan, or notes the keys that it lacks: then it goes on behind them.
    pub fn without<T>(&mut self, item: Result<T, StoreError>) -> Result<Option<T>, Failure> {
        match item {
            Ok(item) => Ok(Some(item)),
            Err(StoreError::Scan(ScanFailure { failure, gap: Some(gap) })) => {
                if self.gaps.is_empty() {
                    self.reason = failure.to_string();
                }
                match self.gaps.last_mut() {
                    Some(last) if last.to == gap.from => last.to = gap.to,
                    _ => self.gaps.push(gap),
                }
                Ok(None)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns which keys are missing of those that were read; `None` where there are all.
    pub fn report(&self, store: &mut AnyKeyValueStore) -> Option<String> {
        let mut named: Vec<String> = self.gaps.iter().take(NAMED_MAX).map(named).collect();
        if self.gaps.len() > NAMED_MAX {
            named.push(format!("and {} more ranges", self.gaps.len() - NAMED_MAX));
        }
        let unread = (!named.is_empty()).then(|| {
            format!(
                "keys that cannot be read are left out: {} ({}). All others are there; 'flashlane store get' finds those of \
                 them that were written again since",
                named.join("; "),
                self.reason
            )
        });
        match (unread, lost(store)) {
            (Some(unread), Some(lost)) => Some(format!("{unread}. Also {lost}")),
            (unread, lost) => unread.or(lost),
        }
    }
}

fn named(Gap { from, to }: &Gap) -> String {
    let only = [from, &[0][..]].concat();
    match *to == only {
        true => format!("'{}'", escape(from)),
        false => format!("from '{}' on and below '{}'", escape(from), escape(to)),
    }
}

/// Returns what is not known of a store since blocks or units of it are lost; `None` where none is.
pub fn lost(store: &mut AnyKeyValueStore) -> Option<String> {
    let blocks: Vec<String> = store.status().lost_blocks.iter().take(NAMED_MAX).map(u64::to_string).collect();
    let units = store.store().blocks().damaged().count() as u64;
    let blocks = (!blocks.is_empty()).then(|| {
        let count = counted(blocks.len() as u64, "damaged block", "damaged blocks");
        format!("{count} that cannot be recognised (id {})", blocks.join(", "))
    });
    let units = (units > 0).then(|| counted(units, "damaged unit", "damaged units"));
    let what: Vec<String> = [blocks, units].into_iter().flatten().collect();
    let lost = (!what.is_empty()).then(|| format!("{} may have held keys", what.join(" and ")));
    let missing = store.status().missing.map(|missing| missing.to_string());
    let all: Vec<String> = [lost, missing].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("{}: keys are missing or have older values", all.join(", and ")))
}
