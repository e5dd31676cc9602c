//! How often accesses were blocked by an internal activity, by page and by chip (he14, section 4.1).

use flashlane_policy::replication::Blocking;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It reads a page.
    Read,
    /// It writes a page.
    Write,
}

/// Accesses of a page, and how many of them were blocked.
#[derive(Clone, Copy, Debug, Default)]
struct PageHistory {
    reads: u32,
    writes: u32,
    blocked: u32,
}

impl PageHistory {
    fn blocking(&self) -> Blocking {
        Blocking { blocked: self.blocked, accesses: u64::from(self.reads) + u64::from(self.writes) }
    }

    fn expected_extra_writes(&self, replicates_read: impl Fn(Blocking) -> bool) -> f64 {
        if self.blocked == 0 {
            return 0.0;
        }
        let blocking = self.blocking();
        let reads = if replicates_read(blocking) { self.reads } else { 0 };
        (f64::from(self.writes) + f64::from(reads)) * blocking.probability()
    }
}

/// Accesses of a chip, and how many of them were blocked.
#[derive(Clone, Copy, Debug, Default)]
struct ChipHistory {
    accesses: u64,
    blocked: u64,
}

/// The accesses so far. Memory: 12 bytes a page, committed by the system as pages are accessed.
#[derive(Clone, Debug)]
pub struct History {
    pages: Vec<PageHistory>,
    chips: Vec<ChipHistory>,
}

impl History {
    /// No accesses, of `pages` pages on `chips` chips.
    pub fn new(pages: u32, chips: u32) -> Self {
        Self {
            pages: vec![PageHistory::default(); pages as usize],
            chips: vec![ChipHistory::default(); chips as usize],
        }
    }

    /// A page was accessed on a chip; `blocked`: the chip was in an internal activity.
    pub fn record(&mut self, page: u32, chip: u32, access: AccessKind, blocked: bool) {
        let history = &mut self.pages[page as usize];
        let count = match access {
            AccessKind::Read => &mut history.reads,
            AccessKind::Write => &mut history.writes,
        };
        *count = count.saturating_add(1);
        history.blocked = history.blocked.saturating_add(u32::from(blocked));
        let chip = &mut self.chips[chip as usize];
        chip.accesses += 1;
        chip.blocked += u64::from(blocked);
    }

    /// The accesses of a page, and those of them that were blocked.
    pub fn blocking_of_page(&self, page: u32) -> Blocking {
        self.pages[page as usize].blocking()
    }

    /// The share of a chip's accesses that were blocked; 0 where there were none.
    pub fn blocking_of_chip(&self, chip: u32) -> f64 {
        let ChipHistory { accesses, blocked } = self.chips[chip as usize];
        ratio(blocked, accesses)
    }

    /// The estimate of extra writes (he14, section 4.2.1): over all pages `W x P + R x P x [P > t]`. `replicates_read`
    /// says whether a blocked read of a page with these accesses is replicated.
    pub fn expected_extra_writes(&self, replicates_read: impl Fn(Blocking) -> bool) -> f64 {
        self.pages.iter().fold(0.0, |sum, page| sum + page.expected_extra_writes(&replicates_read))
    }

    /// The share of one page in [`History::expected_extra_writes`].
    pub fn expected_extra_writes_of(&self, page: u32, replicates_read: impl Fn(Blocking) -> bool) -> f64 {
        self.pages[page as usize].expected_extra_writes(replicates_read)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_writes_are_those_of_blocked_writes_and_often_blocked_reads() {
        let mut history = History::new(3, 2);
        // Page 0: 8 writes, 2 reads, a tenth blocked. Page 1: 99 reads and a write, 2% blocked. Page 2: never blocked.
        (0..8).for_each(|at| history.record(0, 0, AccessKind::Write, at == 0));
        (0..2).for_each(|_| history.record(0, 0, AccessKind::Read, false));
        (0..99).for_each(|at| history.record(1, 1, AccessKind::Read, at < 2));
        history.record(1, 1, AccessKind::Write, false);
        history.record(2, 0, AccessKind::Write, false);
        assert_eq!(history.blocking_of_page(0).probability(), 0.1);
        assert_eq!(history.blocking_of_page(1).probability(), 0.02);
        assert_eq!(history.blocking_of_chip(0), 1.0 / 11.0);
        let expected = history.expected_extra_writes(|blocking| blocking.probability() > 0.05);
        assert!((expected - (8.0 * 0.1 + 2.0 * 0.1 + 0.02)).abs() < 1e-9, "{expected}");
        let all = history.expected_extra_writes(|_| true);
        assert!((all - expected - 99.0 * 0.02).abs() < 1e-9, "{all}");
    }
}
