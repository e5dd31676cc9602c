//! What a damaged store cannot tell: keys whose bytes cannot be read, and what it has lost.
//!
//! Every command opens the store by `device`, which keeps its loss in the [`Place`]; [`ended`] reports it at the end of
//! each command that reads, and makes its status that of a failure. Commands that write report it when they begin.

use super::device::{Place, failed, to_move, to_salvage};
use crate::failure::{Failure, Status, notify};
use flashlane_store::text::escape;
use flashlane_store::{Gap, Loss, ScanFailure, StoreError};

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

    /// Reports which keys are missing of those that were read, and returns the status of the command.
    pub fn report(&self, place: &Place) -> Status {
        let mut named: Vec<String> = self.gaps.iter().take(NAMED_MAX).map(range_named).collect();
        if self.gaps.len() > NAMED_MAX {
            named.push(format!("and {} more ranges", self.gaps.len() - NAMED_MAX));
        }
        if named.is_empty() {
            return Status::Done;
        }
        notify(&format!(
            "keys that cannot be read are left out: {} ({}). All others are there; 'flashlane store get' finds those of them that \
             were written again since. {}",
            named.join("; "),
            self.reason,
            to_salvage(place)
        ));
        Status::Failed
    }
}

/// Names a range of keys.
pub fn range_named(gap: &Gap) -> String {
    let Gap { from, to } = gap;
    match *gap == Gap::of_key(from.clone()) {
        true => format!("'{}'", escape(from)),
        false => format!("from '{}' on and below '{}'", escape(from), escape(to)),
    }
}

/// Returns what a store has lost, and how to go on.
pub fn told(place: &Place, loss: &Loss) -> String {
    format!("{loss}. {}", remedy(place, loss))
}

/// Says how a store goes on that has lost something.
fn remedy(place: &Place, loss: &Loss) -> String {
    match &loss.missing {
        Some(missing) if missing.is_of_log() => to_move(place),
        _ if loss.is_open() => to_salvage(place),
        _ => to_acknowledge(place),
    }
}

/// Says how the statement of a loss ends.
fn to_acknowledge(place: &Place) -> String {
    format!("'flashlane store salvage {} --acknowledge' ends this message", place.named())
}

/// Reports at the end of a command what the store that it opened has lost. What was read may be a part, or older.
pub fn ended(place: &Place, result: Result<Status, Failure>) -> Result<Status, Failure> {
    let Some(loss) = place.take_loss() else { return result };
    match result {
        Err(failure) if failure.reason().contains(&loss.to_string()) => {
            Err(failure.with_remedy(&remedy(place, &loss)))
        }
        result => {
            notify(&told(place, &loss));
            result.map(|_| Status::Failed)
        }
    }
}
