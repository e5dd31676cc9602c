//! Flush periods: a flush waits for the pages that were written before it, and for none that came later.

use std::collections::VecDeque;

/// How many pages of each period are still on their way to safety.
#[derive(Default)]
pub(super) struct Periods {
    /// Periods with pages, oldest first: period and pages.
    pages: VecDeque<(u64, usize)>,
    current: u64,
}

impl Periods {
    /// The period in which what comes now is written.
    pub(super) fn current(&self) -> u64 {
        self.current
    }

    /// A page is written in the current period.
    pub(super) fn enter(&mut self) {
        match self.pages.back_mut() {
            Some((period, pages)) if *period == self.current => *pages += 1,
            _ => self.pages.push_back((self.current, 1)),
        }
    }

    /// A page of `period` is safe, or gone.
    pub(super) fn leave(&mut self, period: u64) {
        let (_, pages) = self
            .pages
            .iter_mut()
            .find(|(other, _)| *other == period)
            .expect("a page's period is kept while the page is here");
        *pages -= 1;
        while self.pages.front().is_some_and(|(_, pages)| *pages == 0) {
            self.pages.pop_front();
        }
    }

    /// Closes the current period and gives it back.
    pub(super) fn close(&mut self) -> u64 {
        let period = self.current;
        self.current += 1;
        period
    }

    /// Whether every page of `period` and before is safe.
    pub(super) fn is_over(&self, period: u64) -> bool {
        self.pages.front().is_none_or(|(oldest, _)| *oldest > period)
    }
}
