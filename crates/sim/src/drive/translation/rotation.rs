//! Garbage collection of rows, one channel after the other (rotating GC; Yan et al., "Tiny-Tail Flash", USENIX FAST
//! 2017), so that all pages of a row but one can be read at any time.
//!
//! The translation layer has done GC in its tables already; here wait the moves and erases that take the time. Dies
//! that have the same place on the channels of a row take turns: one garbage-collects, and the next one when it is
//! done.
//!
//! A block that waits for its erase counts as free in the tables. So the erases that wait are bounded by half of the
//! blocks that GC keeps free: beyond that bound what has waited longest begins out of turn, and where a write needs a
//! block at once, all that waits.
//!
//! Invariants:
//! - the work of a die begins in the order in which it became due;
//! - nothing waits where no die of its row has its turn.

use super::tasks::TURN;
use crate::config::DriveConfig;
use crate::ftl::GcWork;
use crate::ids::{PlaneId, ids};
use crate::nand::{Geometry, Owner};
use std::collections::VecDeque;

ids! {
    /// Dies of a row that garbage-collect one after the other.
    TurnId;
}

impl TurnId {
    /// The owner of the last GC operation of a turn.
    pub(super) fn owner(self) -> Owner {
        Owner::Task(TURN, self.0)
    }
}

/// GC that waits for its turn.
#[derive(Clone, Debug, Default)]
struct Turn {
    waiting: VecDeque<GcWork>,
    /// Erases among them.
    erases: u32,
    /// Whether a die of the turn garbage-collects.
    runs: bool,
}

impl Turn {
    /// Appends to `now` what has waited longest, until no more than `most` erases wait.
    fn shorten(&mut self, most: u32, now: &mut Vec<GcWork>) {
        while self.erases > most
            && let Some(gc) = self.waiting.pop_front()
        {
            self.erases -= gc.erases;
            now.push(gc);
        }
    }
}

/// The turns of a drive.
#[derive(Clone, Debug)]
pub(super) struct Rotation {
    turns: Vec<Turn>,
    channels_per_row: u32,
    dies_per_channel: u32,
    planes_per_die: u32,
    /// Erases of a turn that wait at most.
    most_erases: u32,
}

impl Rotation {
    /// `None` where GC does not rotate. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let channels_per_row = geometry.parity.filter(|_| config.cleaning.rotate)? + 1;
        let dies_per_channel = geometry.dies / geometry.channels;
        Some(Self {
            turns: vec![Turn::default(); (geometry.channels / channels_per_row * dies_per_channel) as usize],
            channels_per_row,
            dies_per_channel,
            planes_per_die: geometry.planes_per_die,
            most_erases: geometry.low_watermark_blocks / 2 * channels_per_row,
        })
    }

    fn channel_of(&self, plane: PlaneId) -> u32 {
        plane.0 / self.planes_per_die / self.dies_per_channel
    }

    fn turn_of(&self, plane: PlaneId) -> TurnId {
        let (row, die) = (
            self.channel_of(plane) / self.channels_per_row,
            plane.0 / self.planes_per_die % self.dies_per_channel,
        );
        TurnId(row * self.dies_per_channel + die)
    }

    /// Takes GC of one row that has become due, in the order in which it was done, and appends to `now` what begins at
    /// once. Returns as [`Rotation::next`] does.
    pub(super) fn add(&mut self, due: &[GcWork], now: &mut Vec<GcWork>) -> Option<TurnId> {
        let id = self.turn_of(due.first()?.plane);
        debug_assert!(due.iter().all(|gc| self.turn_of(gc.plane) == id), "a write has one turn's GC");
        let first = self.turns[id.0 as usize].waiting.len();
        let mut sorted = due.to_vec();
        // Channel by channel: one that garbage-collects does all of a write's before the next.
        sorted.sort_by_key(|gc| self.channel_of(gc.plane));
        let turn = &mut self.turns[id.0 as usize];
        turn.waiting.extend(sorted);
        turn.erases += turn.waiting.range(first..).map(|gc| gc.erases).sum::<u32>();
        turn.shorten(self.most_erases, now);
        if turn.runs { None } else { self.next(id, now) }
    }

    /// A write needs a block of the row of `plane` at once: appends to `now` all that waits there.
    pub(super) fn begin_all(&mut self, plane: PlaneId, now: &mut Vec<GcWork>) {
        let id = self.turn_of(plane);
        let turn = &mut self.turns[id.0 as usize];
        turn.erases = 0;
        now.extend(turn.waiting.drain(..));
    }

    /// A die has done its part, or none has its turn: appends the next die's to `now`. Returns the turn, to which the
    /// end of the last of them is to be reported; `None` where nothing waits.
    pub(super) fn next(&mut self, id: TurnId, now: &mut Vec<GcWork>) -> Option<TurnId> {
        let channel_of = |plane: PlaneId| plane.0 / self.planes_per_die / self.dies_per_channel;
        let turn = &mut self.turns[id.0 as usize];
        turn.runs = !turn.waiting.is_empty();
        let channel = channel_of(turn.waiting.front()?.plane);
        while let Some(gc) = turn.waiting.front().filter(|gc| channel_of(gc.plane) == channel) {
            turn.erases -= gc.erases;
            now.push(*gc);
            turn.waiting.pop_front();
        }
        Some(id)
    }

    /// Power is cut: what waits is lost.
    pub(super) fn cut_power(&mut self) {
        self.turns.fill(Turn::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::PageType;

    /// Two rows of three channels with two dies of two planes each.
    fn rotation(most_erases: u32) -> Rotation {
        Rotation {
            turns: vec![Turn::default(); 4],
            channels_per_row: 3,
            dies_per_channel: 2,
            planes_per_die: 2,
            most_erases,
        }
    }

    /// GC of a superblock whose planes are those of the second die of each channel in the second row.
    fn gc(moves: u32) -> Vec<GcWork> {
        let plane = |channel: u32| PlaneId((3 + channel) * 4 + 2);
        let work = |channel| GcWork {
            plane: plane(channel),
            planes: 2,
            moves,
            pages_read: moves,
            summaries: 0,
            erases: 1,
            precedes_write: false,
            moved_from: PageType::MEAN,
            is_paced_step: false,
        };
        (0..3).map(work).collect()
    }

    fn planes(work: &[GcWork]) -> Vec<(u32, u32)> {
        work.iter().map(|gc| (gc.plane.0, gc.moves)).collect()
    }

    #[test]
    fn dies_of_a_row_take_turns() {
        let (mut rotation, mut now) = (rotation(99), Vec::new());
        let both = [gc(1), gc(2)].concat();
        assert_eq!(rotation.add(&both, &mut now), Some(TurnId(3)));
        assert_eq!(planes(&std::mem::take(&mut now)), [(14, 1), (14, 2)]);
        assert_eq!(rotation.add(&gc(3), &mut now), None);
        let mut order = Vec::new();
        while rotation.next(TurnId(3), &mut now).is_some() {
            order.push(planes(&std::mem::take(&mut now)));
        }
        let expected =
            [vec![(18, 1), (18, 2)], vec![(22, 1), (22, 2)], vec![(14, 3)], vec![(18, 3)], vec![(22, 3)]];
        assert_eq!(order, expected);
        // The turn has ended: the next GC begins at once.
        assert_eq!(rotation.add(&gc(4), &mut now), Some(TurnId(3)));
        assert_eq!(planes(&now), [(14, 4)]);
    }

    #[test]
    fn no_more_erases_wait_than_are_allowed() {
        let (mut rotation, mut now) = (rotation(3), Vec::new());
        rotation.add(&gc(1), &mut now);
        now.clear();
        // Two wait, and with three more two are too many: those begin.
        assert_eq!(rotation.add(&gc(2), &mut now), None);
        assert_eq!(planes(&std::mem::take(&mut now)), [(18, 1), (22, 1)]);
        assert_eq!(rotation.next(TurnId(3), &mut now), Some(TurnId(3)));
        assert_eq!(planes(&std::mem::take(&mut now)), [(14, 2)]);
        rotation.begin_all(PlaneId(14), &mut now);
        assert_eq!(planes(&std::mem::take(&mut now)), [(18, 2), (22, 2)]);
        assert_eq!(rotation.next(TurnId(3), &mut now), None);
        // Four are more than may wait, and one of the rest has its turn.
        assert_eq!(rotation.add(&[gc(3), gc(4)].concat(), &mut now), Some(TurnId(3)));
        assert_eq!(planes(&now), [(14, 3), (14, 4), (18, 3), (18, 4)]);
    }
}
