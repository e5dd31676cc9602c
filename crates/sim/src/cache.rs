//! The read cache: pages fetched ahead of the host, on their way or ready.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;

/// A host request that waits for a page, and the bytes it wants of it.
pub(crate) type Waiter = (u32, u32);

enum State {
    Coming(Vec<Waiter>),
    Ready,
}

/// Pages fetched ahead; the longest there gives way.
pub(crate) struct ReadCache {
    pages: HashMap<u32, State, FxBuildHasher>,
    order: VecDeque<u32>,
    capacity: usize,
}

/// What the cache has of a page.
pub(crate) enum Hit {
    /// Nothing.
    Miss,
    /// It is on its way; the waiter was noted.
    Coming,
    /// It is there.
    Ready,
}

impl ReadCache {
    pub(crate) fn new(capacity_pages: u64) -> Self {
        let capacity = usize::try_from(capacity_pages).unwrap_or(usize::MAX);
        Self { pages: HashMap::default(), order: VecDeque::new(), capacity }
    }

    pub(crate) fn contains(&self, page: u32) -> bool {
        self.pages.contains_key(&page)
    }

    /// Looks `page` up for a request, which is noted where the page is still coming.
    pub(crate) fn look_up(&mut self, page: u32, waiter: Waiter) -> Hit {
        match self.pages.get_mut(&page) {
            None => Hit::Miss,
            Some(State::Ready) => Hit::Ready,
            Some(State::Coming(waiters)) => {
                waiters.push(waiter);
                Hit::Coming
            }
        }
    }

    /// Notes that `page` is being fetched. Pages that are ready give way to it; false, and nothing noted, where
    /// all that could are still coming.
    pub(crate) fn fetch(&mut self, page: u32) -> bool {
        while self.order.len() >= self.capacity {
            let oldest = self.order[0];
            if matches!(self.pages.get(&oldest), Some(State::Coming(_))) {
                return false;
            }
            self.order.pop_front();
            self.pages.remove(&oldest);
        }
        self.order.push_back(page);
        self.pages.insert(page, State::Coming(Vec::new()));
        true
    }

    /// `page` has come; those who waited for it.
    pub(crate) fn arrived(&mut self, page: u32) -> Vec<Waiter> {
        match self.pages.insert(page, State::Ready) {
            Some(State::Coming(waiters)) => waiters,
            // Overwritten while it came: nobody may be given the old content.
            _ => {
                self.pages.remove(&page);
                Vec::new()
            }
        }
    }

    /// `page` was overwritten or trimmed: what the cache holds of it is stale.
    pub(crate) fn forget(&mut self, page: u32) {
        // Requests that already wait for it read what was there when they came.
        if matches!(self.pages.get(&page), Some(State::Ready)) {
            self.pages.remove(&page);
            self.order.retain(|&other| other != page);
        }
    }
}
