//! Which completed writes a power cut would lose, in the layer's numbers.
//!
//! The device below numbers its own writes, and some of them are copies. So each write of a home that has completed
//! below is logged with both numbers, until the device below no longer has it at risk.

use super::layout::Layout;
use flashlane_device::{AtRisk, Lane};
use std::collections::BTreeMap;

/// Smallest log that is pruned without a flush.
const LEAST: usize = 4096;

/// A write in the log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    /// Its number in this layer.
    number: u64,
    /// The bytes of the page that it covers.
    from: u64,
    length: u64,
}

/// The writes that have completed here and below.
#[derive(Debug, Default)]
pub(super) struct RiskLog {
    /// By page, and by their numbers below. Both numbers increase from one write of a page to the next.
    writes: BTreeMap<(u32, u64), Logged>,
    kept: usize,
}

impl RiskLog {
    pub fn insert(&mut self, page: u32, below: u64, number: u64, from: u64, length: u64) {
        self.writes.insert((page, below), Logged { number, from, length });
    }

    /// Returns whether the log is large enough to be pruned.
    pub fn is_due(&self) -> bool {
        self.writes.len() > LEAST.max(2 * self.kept)
    }

    pub fn clear(&mut self) {
        self.writes.clear();
        self.kept = 0;
    }

    /// Drops the writes that the device below no longer has at risk.
    pub fn prune(&mut self, below: &[AtRisk], layout: &Layout) {
        if self.writes.is_empty() {
            return;
        }
        let mut first: BTreeMap<u32, u64> = BTreeMap::new();
        for risk in below {
            for (page, _, _) in layout.pages_in(risk.offset_bytes, risk.length_bytes) {
                let first_write = first.entry(page).or_insert(risk.first_write);
                *first_write = risk.first_write.min(*first_write);
            }
        }
        self.writes
            .retain(|(page, number), _| first.get(page).is_some_and(|first_write| number >= first_write));
        self.kept = self.writes.len();
    }

    /// Translates the writes at risk below.
    pub fn translate(&self, below: &[AtRisk], layout: &Layout) -> Vec<AtRisk> {
        let mut found = Vec::new();
        for risk in below {
            for (page, from, length) in layout.pages_in(risk.offset_bytes, risk.length_bytes) {
                let overlaps =
                    |write: &&Logged| write.from < from + length && from < write.from + write.length;
                let later = self.writes.range((page, risk.first_write)..=(page, u64::MAX));
                if let Some(first) = later.map(|(_, write)| write).find(overlaps) {
                    let offset_bytes = u64::from(page) * layout.page_bytes + from;
                    found.push(AtRisk {
                        lane: Lane(0),
                        offset_bytes,
                        length_bytes: length,
                        first_write: first.number,
                    });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { partitions: 2, page_bytes: 10, data_pages: 4, slots: 1 };

    fn risk(offset_bytes: u64, length_bytes: u64, first_write: u64) -> AtRisk {
        AtRisk { lane: Lane(0), offset_bytes, length_bytes, first_write }
    }

    #[test]
    fn risks_are_translated_to_the_layers_writes() {
        let mut log = RiskLog::default();
        log.insert(3, 5, 2, 0, 10);
        log.insert(3, 9, 4, 6, 4);
        log.insert(4, 7, 3, 0, 10);
        // A range that ends in slots; one over the slot between two pages; a page without writes.
        assert_eq!(log.translate(&[risk(30, 20, 6)], &LAYOUT), [risk(30, 10, 4)]);
        assert_eq!(log.translate(&[risk(30, 30, 0)], &LAYOUT), [risk(30, 10, 2), risk(40, 10, 3)]);
        assert_eq!(log.translate(&[risk(30, 5, 6), risk(0, 10, 0), risk(40, 10, 0)], &LAYOUT), []);
        log.prune(&[risk(30, 10, 6)], &LAYOUT);
        assert_eq!(log.writes.keys().collect::<Vec<_>>(), [&(3, 9)]);
    }
}
