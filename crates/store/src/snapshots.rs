//! Snapshots: numbers of writes at which reads may still come. Versions that such a read would find are kept.
//!
//! A snapshot pins no patch. Merges keep the versions that live snapshots need, so that a read at a snapshot finds them
//! in whatever patches there are; the space of everything else comes back while long scans run.

use std::collections::BTreeMap;

/// Live snapshots, with the number of their users.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshots {
    live: BTreeMap<u64, u32>,
}

impl Snapshots {
    pub(crate) fn add(&mut self, sequence: u64) {
        *self.live.entry(sequence).or_default() += 1;
    }

    pub(crate) fn release(&mut self, sequence: u64) {
        let users = self.live.get_mut(&sequence).expect("a released snapshot is live");
        *users -= 1;
        if *users == 0 {
            self.live.remove(&sequence);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn oldest(&self) -> Option<u64> {
        self.live.keys().next().copied()
    }

    /// Returns whether a snapshot sees a version that was replaced by a newer one.
    pub(crate) fn need(&self, version: u64, newer: u64) -> bool {
        self.live.range(version..newer).next().is_some()
    }

    /// Of versions from the newest to the oldest, removes those that no read finds any more, and returns them. Behind
    /// that of number `newer`, if there is one, all of them are older.
    pub(crate) fn prune<T>(
        &self,
        mut newer: Option<u64>,
        versions: &mut Vec<T>,
        sequence: impl Fn(&T) -> u64,
    ) -> Vec<T> {
        let mut removed = Vec::new();
        let mut nth = 0;
        while nth < versions.len() {
            let own = sequence(&versions[nth]);
            debug_assert!(
                newer.is_none_or(|newer| newer >= own),
                "versions go from the newest to the oldest"
            );
            if newer.is_some_and(|newer| !self.need(own, newer)) {
                removed.push(versions.remove(nth));
            } else {
                newer = Some(own);
                nth += 1;
            }
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prune_keeps_what_snapshots_see() {
        let mut snapshots = Snapshots::default();
        [3, 7, 7].into_iter().for_each(|sequence| snapshots.add(sequence));
        let prune = |snapshots: &Snapshots| {
            let mut versions = vec![9, 8, 5, 4, 3, 1];
            let removed = snapshots.prune(None, &mut versions, |&version| version);
            (versions, removed)
        };
        // Snapshot 7 sees 5, snapshot 3 sees 3.
        assert_eq!(prune(&snapshots), (vec![9, 5, 3], vec![8, 4, 1]));
        snapshots.release(7);
        assert_eq!(snapshots.oldest(), Some(3));
        snapshots.release(7);
        snapshots.release(3);
        assert_eq!(prune(&snapshots), (vec![9], vec![8, 5, 4, 3, 1]));
        // A version that stands in two places counts once.
        let mut twice = vec![4, 4];
        snapshots.prune(None, &mut twice, |&version| version);
        assert_eq!(twice, [4]);
    }
}
