//! The read cache: mapping units that were read ahead of the host, or are being read.

use crate::ids::{Lpn, RequestSlot};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;

/// A host request that waits for a mapping unit, and the bytes of it that it reads.
pub(crate) type Waiter = (RequestSlot, u32);

/// A mapping unit in the cache.
enum CachedUnit {
    Pending(Vec<Waiter>),
    /// Being read ahead, but overwritten since: only for reads that already wait for it.
    Stale(Vec<Waiter>),
    Ready,
}

/// Mapping units read ahead; the oldest is evicted.
pub(crate) struct ReadCache {
    units: HashMap<Lpn, CachedUnit, FxBuildHasher>,
    order: VecDeque<Lpn>,
    capacity: usize,
}

/// The outcome of a look-up.
pub(crate) enum CacheLookup {
    /// The unit is not cached.
    Miss,
    /// It is being read; the waiter is added.
    Pending,
    /// It is cached.
    Ready,
}

impl ReadCache {
    pub(crate) fn new(capacity_units: u64) -> Self {
        let capacity = usize::try_from(capacity_units).unwrap_or(usize::MAX);
        Self { units: HashMap::default(), order: VecDeque::new(), capacity }
    }

    /// Whether `lpn` is cached or being read, so that a read need not go to flash.
    pub(crate) fn contains(&self, lpn: Lpn) -> bool {
        matches!(self.units.get(&lpn), Some(CachedUnit::Pending(_) | CachedUnit::Ready))
    }

    /// Whether `lpn` is being read, even if it is stale.
    pub(crate) fn is_pending(&self, lpn: Lpn) -> bool {
        matches!(self.units.get(&lpn), Some(CachedUnit::Pending(_) | CachedUnit::Stale(_)))
    }

    /// Whether requests wait for `lpn`, which is being read.
    pub(crate) fn is_awaited(&self, lpn: Lpn) -> bool {
        matches!(self.units.get(&lpn), Some(CachedUnit::Pending(waiters) | CachedUnit::Stale(waiters)) if !waiters.is_empty())
    }

    /// Looks `lpn` up for a request, which waits if the unit is being read.
    pub(crate) fn look_up(&mut self, lpn: Lpn, waiter: Waiter) -> CacheLookup {
        match self.units.get_mut(&lpn) {
            None | Some(CachedUnit::Stale(_)) => CacheLookup::Miss,
            Some(CachedUnit::Ready) => CacheLookup::Ready,
            Some(CachedUnit::Pending(waiters)) => {
                waiters.push(waiter);
                CacheLookup::Pending
            }
        }
    }

    /// Adds `lpn`, which is being read. The oldest unit is evicted for it, if it is ready, or if no request waits for
    /// it and `cancel` takes back its readahead. Returns false, with nothing changed, where neither is so.
    pub(crate) fn fetch(&mut self, lpn: Lpn, mut cancel: impl FnMut(Lpn) -> bool) -> bool {
        while self.order.len() >= self.capacity {
            let oldest = self.order[0];
            if self.is_pending(oldest) && (self.is_awaited(oldest) || !cancel(oldest)) {
                return false;
            }
            self.order.pop_front();
            self.units.remove(&oldest);
        }
        self.order.push_back(lpn);
        self.units.insert(lpn, CachedUnit::Pending(Vec::new()));
        true
    }

    /// `lpn` has been read. Returns the reads that waited for it.
    pub(crate) fn fetched(&mut self, lpn: Lpn) -> Vec<Waiter> {
        match self.units.insert(lpn, CachedUnit::Ready) {
            Some(CachedUnit::Pending(waiters)) => waiters,
            // Overwritten meanwhile: no later read may get the stale content.
            Some(CachedUnit::Stale(waiters)) => {
                self.drop_unit(lpn);
                waiters
            }
            Some(CachedUnit::Ready) | None => unreachable!("{lpn:?} comes once for each fetch"),
        }
    }

    /// `lpn` was overwritten or trimmed: what the cache holds of it is stale.
    pub(crate) fn forget(&mut self, lpn: Lpn) {
        match self.units.get_mut(&lpn) {
            Some(CachedUnit::Ready) => self.drop_unit(lpn),
            // Requests that already wait for it get the content of when they were submitted.
            Some(state @ CachedUnit::Pending(_)) => {
                let CachedUnit::Pending(waiters) = std::mem::replace(state, CachedUnit::Ready) else {
                    return;
                };
                *state = CachedUnit::Stale(waiters);
            }
            Some(CachedUnit::Stale(_)) | None => {}
        }
    }

    fn drop_unit(&mut self, lpn: Lpn) {
        self.units.remove(&lpn);
        self.order.retain(|&other| other != lpn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_unit_is_evicted_if_ready_or_cancelled() {
        let mut cache = ReadCache::new(2);
        assert!(cache.fetch(Lpn(1), |_| false) && cache.fetch(Lpn(2), |_| false));
        assert!(!cache.fetch(Lpn(3), |oldest| oldest != Lpn(1)), "its readahead has begun");
        cache.look_up(Lpn(1), (RequestSlot(1), 4096));
        assert!(!cache.fetch(Lpn(3), |_| true), "a request waits for it");
        cache.fetched(Lpn(1));
        assert!(cache.fetch(Lpn(3), |oldest| unreachable!("{oldest:?} is ready")));
        assert!(cache.fetch(Lpn(4), |oldest| oldest == Lpn(2)));
        let there: Vec<u32> = (1..5).filter(|&lpn| cache.contains(Lpn(lpn))).collect();
        assert_eq!(there, [3, 4]);
    }

    #[test]
    fn unit_overwritten_while_pending_serves_earlier_readers_only() {
        let mut cache = ReadCache::new(4);
        assert!(cache.fetch(Lpn(7), |_| false));
        assert!(matches!(cache.look_up(Lpn(7), (RequestSlot(1), 4096)), CacheLookup::Pending));
        cache.forget(Lpn(7));
        assert!(!cache.contains(Lpn(7)) && cache.is_pending(Lpn(7)));
        assert!(matches!(cache.look_up(Lpn(7), (RequestSlot(2), 4096)), CacheLookup::Miss));
        assert_eq!(cache.fetched(Lpn(7)), [(RequestSlot(1), 4096)]);
        assert!(!cache.contains(Lpn(7)) && !cache.is_pending(Lpn(7)), "no later read gets it");
    }
}
