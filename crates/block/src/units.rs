//! The unit table: one state for each erase unit, changed by transitions that assert the state they start from.
//!
//! | from | to | by |
//! | --- | --- | --- |
//! | (opened) | Bad, Retired, Erased, Live, ToErase, Torn, Damaged | `found` |
//! | Live | Superseded | `supersede` |
//! | Torn, Superseded | ToErase | `erase_leftover` |
//! | Damaged | ToErase | `discard` |
//! | Erased | Writing | `start_write` |
//! | Erased | ToErase | `write_refused` |
//! | Writing | Live | `write_completed` |
//! | Writing | ToErase, Retired, Bad | `write_failed` |
//! | Writing | Damaged | `write_found_foreign_data` |
//! | Live | AwaitingReaders, ToErase | `delete` |
//! | Live | ToErase | `release` |
//! | AwaitingReaders | ToErase | `last_reader_left` |
//! | ToErase | Live | `restore_deleted` |
//! | ToErase | ToErase, for another cause | `abandon_deletes` |
//! | ToErase | Erasing | `start_erase` |
//! | Erasing | Erased | `erase_completed` |
//! | Erasing | Damaged, ToErase | `erase_left_foreign_data` |
//! | Erasing | Retired, Bad | `erase_failed` |
//!
//! Invariants:
//! - Every unit has exactly one state. The queues and counts here are indexes of the states and change with them.
//! - A unit is in its lane's heap of erased units exactly while it is `Erased`, and in its lane's queue of units to
//!   erase exactly while it is `ToErase`.
//! - A unit that failed a write is erased and written once more; if that write fails too, it is not used any more. A
//!   write for which no space is left below is no failure of its unit. Until it is written, units that were written
//!   before come first, which have their space: a sparse file keeps what it was given. Copies of the superblock do not
//!   prefer such units, and where erases are not counted none is known.
//! - The unit of a failed write of block N may hold a copy of it. While such a stale copy exists, the unit whose erase
//!   completes the delete of block N is not erased: the copy would become block N after a power cut.
//! - `Bad` and `Retired` are final.

mod consistency;

use crate::layout::{Layout, Region, UnitAddress};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// Use that the layer makes of an erase unit, beside the state that the device reports of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitUse {
    /// Not usable, as the device reports.
    Bad,
    /// Taken out of use after it failed, although the device does not report it as bad.
    Retired,
    /// Can be written.
    Erased,
    /// A write is in flight.
    Writing(Holds),
    /// Wholly written, and its content is needed.
    Live(Holds),
    /// Its block is deleted, and reads of it are queued or in flight.
    AwaitingReaders(u64),
    /// Queued to be erased.
    ToErase(Cause),
    /// An erase is in flight.
    Erasing(Cause),
    /// Found cut short by a power cut; erased before anything is written.
    Torn,
    /// Found to hold a block of which a newer copy exists; erased before anything is written.
    Superseded,
    /// Found wholly written with no valid header, or erased with foreign data; left alone until it is discarded.
    Damaged,
}

impl UnitUse {
    /// Returns whether the unit holds or is given a block that is not deleted.
    fn has_block(self) -> bool {
        matches!(self, Self::Writing(Holds::Block(_)) | Self::Live(Holds::Block(_)))
    }

    /// Returns why the unit is or will be erased.
    fn erase_cause(self) -> Option<Cause> {
        match self {
            Self::ToErase(cause) | Self::Erasing(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Content of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// The block of this id.
    Block(u64),
    /// A copy of the superblock.
    Superblock,
}

/// Why a unit is to be erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its block is deleted. The delete completes with the erase.
    Deleted(u64),
    /// A write of this block failed and may have left a copy of it.
    StaleCopy(u64),
    /// Its damaged content is discarded.
    Damaged,
    /// Its content is of no use.
    Obsolete,
}

/// Indexes of one lane's units.
#[derive(Clone, Debug, Default)]
struct LaneIndex {
    /// `Erased` units with their erase counts, the least worn first.
    erased: BinaryHeap<Reverse<(u32, u32)>>,
    /// `ToErase` units, in the order in which they are erased.
    to_erase: VecDeque<u32>,
    /// Number of `Erasing` units.
    erasing: u32,
    /// Number of units that hold or are given a block that is not deleted.
    blocks: u64,
}

/// State of every erase unit.
#[derive(Clone, Debug)]
pub(crate) struct UnitTable {
    layout: Layout,
    /// Lane after lane.
    states: Vec<UnitUse>,
    lanes: Vec<LaneIndex>,
    /// Units that failed a write and have completed none since.
    failed_once: BTreeSet<UnitAddress>,
    /// Units for whose last write no space was left below.
    without_space: BTreeSet<UnitAddress>,
    /// Units that are `ToErase` or `Erasing` with [`Cause::StaleCopy`], and the id.
    stale_copies: BTreeMap<UnitAddress, u64>,
    /// Units found damaged, on opening or before a write, and not erased since, those whose erase failed among them.
    damaged: BTreeSet<UnitAddress>,
    /// Those of them that were erased when others wrote into them: they held no block.
    foreign: BTreeSet<UnitAddress>,
    /// `Live` units whose blocks will be deleted soon.
    expiring: BTreeSet<UnitAddress>,
    /// Number of `AwaitingReaders` units.
    awaiting_readers: u64,
    /// Number of `Torn` and `Superseded` units.
    leftovers: u64,
}

impl UnitTable {
    /// A table in which every unit is bad until [`found`](Self::found) says otherwise.
    pub(crate) fn new(layout: Layout) -> Self {
        Self {
            layout,
            states: vec![UnitUse::Bad; layout.all_units() as usize],
            lanes: vec![LaneIndex::default(); layout.lanes as usize],
            failed_once: BTreeSet::new(),
            without_space: BTreeSet::new(),
            stale_copies: BTreeMap::new(),
            damaged: BTreeSet::new(),
            foreign: BTreeSet::new(),
            expiring: BTreeSet::new(),
            awaiting_readers: 0,
            leftovers: 0,
        }
    }

    fn index(&self, UnitAddress { lane, unit }: UnitAddress) -> usize {
        lane as usize * self.layout.units as usize + unit as usize
    }

    fn lane(&mut self, address: UnitAddress) -> &mut LaneIndex {
        &mut self.lanes[address.lane as usize]
    }

    /// Returns the state of a unit.
    pub(crate) fn state(&self, address: UnitAddress) -> UnitUse {
        self.states[self.index(address)]
    }

    fn set(&mut self, address: UnitAddress, state: UnitUse) {
        let index = self.index(address);
        let previous = std::mem::replace(&mut self.states[index], state);
        let blocks = &mut self.lane(address).blocks;
        *blocks = *blocks + u64::from(state.has_block()) - u64::from(previous.has_block());
        self.expiring.remove(&address);
    }

    /// Queues a unit to be erased, before the others of its lane with `is_first`.
    fn queue_erase(&mut self, address: UnitAddress, cause: Cause, is_first: bool) {
        self.set(address, UnitUse::ToErase(cause));
        if let Cause::StaleCopy(id) = cause {
            self.stale_copies.insert(address, id);
        }
        let queue = &mut self.lane(address).to_erase;
        if is_first { queue.push_front(address.unit) } else { queue.push_back(address.unit) }
    }

    // What opening and formatting found.

    /// Records the state in which a unit was found. `erases` matters for erased units only.
    pub(crate) fn found(&mut self, address: UnitAddress, state: UnitUse, erases: u32) {
        assert_eq!(self.state(address), UnitUse::Bad, "{address:?} is found once");
        match state {
            UnitUse::Erased => self.lane(address).erased.push(Reverse((erases, address.unit))),
            UnitUse::ToErase(cause) => self.queue_erase(address, cause, false),
            UnitUse::Torn => self.leftovers += 1,
            UnitUse::Damaged => drop(self.damaged.insert(address)),
            UnitUse::Bad | UnitUse::Retired | UnitUse::Live(_) => {}
            UnitUse::Writing(_) | UnitUse::AwaitingReaders(_) | UnitUse::Erasing(_) | UnitUse::Superseded => {
                panic!("{address:?} cannot be found as {state:?}")
            }
        }
        self.set(address, state);
    }

    /// A newer copy of the block was found.
    pub(crate) fn supersede(&mut self, address: UnitAddress) {
        let state = self.state(address);
        assert!(matches!(state, UnitUse::Live(Holds::Block(_))), "{address:?} is superseded as {state:?}");
        self.leftovers += 1;
        self.set(address, UnitUse::Superseded);
    }

    /// Returns the units that are erased before anything is written.
    pub(crate) fn leftovers(&self) -> Vec<UnitAddress> {
        if self.leftovers == 0 {
            return Vec::new();
        }
        let lanes = 0..self.layout.lanes;
        let all = lanes.flat_map(|lane| (0..self.layout.units).map(move |unit| UnitAddress { lane, unit }));
        let found = all.filter(|&unit| matches!(self.state(unit), UnitUse::Torn | UnitUse::Superseded));
        let found: Vec<_> = found.collect();
        assert_eq!(found.len() as u64, self.leftovers, "the count of leftovers is wrong");
        found
    }

    /// Queues a leftover to be erased, before the other units of its lane.
    pub(crate) fn erase_leftover(&mut self, address: UnitAddress) {
        let state = self.state(address);
        assert!(
            matches!(state, UnitUse::Torn | UnitUse::Superseded),
            "{address:?} is no leftover but {state:?}"
        );
        self.leftovers -= 1;
        self.queue_erase(address, Cause::Obsolete, true);
    }

    // Writes.

    /// Returns the least worn erased unit of a lane; where space ran out below, of those that were erased before, and
    /// so have some. Visits every erased unit of the lane then.
    pub(crate) fn least_worn(&self, lane: u32) -> Option<UnitAddress> {
        let erased = &self.lanes[lane as usize].erased;
        let key = |&&Reverse((erases, unit)): &&Reverse<(u32, u32)>| {
            (self.without_space.contains(&UnitAddress { lane, unit }), erases == 0, erases, unit)
        };
        let first = if self.without_space.is_empty() { erased.peek() } else { erased.iter().min_by_key(key) };
        first.map(|&Reverse((_, unit))| UnitAddress { lane, unit })
    }

    /// Returns an erased unit of a lane for a copy of the superblock: the least worn one in `region`, or else the
    /// nearest to it. Visits every erased unit of the lane; superblocks are written rarely.
    pub(crate) fn nearest_to(&self, region: Region, lane: u32) -> Option<UnitAddress> {
        let key = |&Reverse((erases, unit)): &Reverse<(u32, u32)>| {
            let from_edge = if region == Region::Front { unit } else { self.layout.units - unit };
            (region.distance(UnitAddress { lane, unit }, &self.layout), erases, from_edge)
        };
        let &Reverse((_, unit)) = self.lanes[lane as usize].erased.iter().min_by_key(|erased| key(erased))?;
        Some(UnitAddress { lane, unit })
    }

    /// A write to an erased unit was handed to the device.
    pub(crate) fn start_write(&mut self, address: UnitAddress, holds: Holds) {
        assert_eq!(self.state(address), UnitUse::Erased, "{address:?} is written");
        self.take_erased(address);
        self.set(address, UnitUse::Writing(holds));
    }

    /// The device refused to write an erased unit, so its state is not the one recorded here.
    pub(crate) fn write_refused(&mut self, address: UnitAddress) {
        assert_eq!(self.state(address), UnitUse::Erased, "{address:?} is refused to be written");
        self.take_erased(address);
        self.queue_erase(address, Cause::Obsolete, false);
    }

    fn take_erased(&mut self, address: UnitAddress) {
        let erased = &mut self.lane(address).erased;
        let before = erased.len();
        if erased.peek().is_some_and(|&Reverse((_, unit))| unit == address.unit) {
            erased.pop();
        } else {
            erased.retain(|&Reverse((_, unit))| unit != address.unit);
        }
        assert_eq!(erased.len() + 1, before, "{address:?} stands once among the erased units");
    }

    /// The write is durable.
    pub(crate) fn write_completed(&mut self, address: UnitAddress) {
        let UnitUse::Writing(holds) = self.state(address) else {
            panic!("{address:?} is written as {:?}", self.state(address))
        };
        self.failed_once.remove(&address);
        if self.without_space.remove(&address) {
            // There is space again.
            self.without_space.clear();
        }
        self.set(address, UnitUse::Live(holds));
    }

    /// The write failed. Returns the state that follows: to be erased first of its lane, or out of use where the unit
    /// is to blame for the second time.
    pub(crate) fn write_failed(&mut self, address: UnitAddress, is_bad: bool, is_to_blame: bool) -> UnitUse {
        let UnitUse::Writing(holds) = self.state(address) else {
            panic!("the write of {address:?} failed as {:?}", self.state(address))
        };
        if !is_to_blame {
            self.without_space.insert(address);
        }
        if is_bad {
            self.set(address, UnitUse::Bad);
        } else if !is_to_blame || self.failed_once.insert(address) {
            let cause = match holds {
                Holds::Block(id) => Cause::StaleCopy(id),
                Holds::Superblock => Cause::Obsolete,
            };
            self.queue_erase(address, cause, true);
        } else {
            self.set(address, UnitUse::Retired);
        }
        self.state(address)
    }

    /// A damaged unit was erased when other data came into it.
    pub(crate) fn held_no_block(&mut self, address: UnitAddress) {
        assert!(self.damaged.contains(&address), "{address:?} is missing among the damaged units");
        self.foreign.insert(address);
    }

    /// The device found foreign data in the erased unit, and wrote nothing.
    pub(crate) fn write_found_foreign_data(&mut self, address: UnitAddress) {
        let state = self.state(address);
        assert!(matches!(state, UnitUse::Writing(_)), "the write of {address:?} failed as {state:?}");
        self.damaged.insert(address);
        self.foreign.insert(address);
        self.set(address, UnitUse::Damaged);
    }

    // Deletes and other ends of live units.

    /// Block `id` is deleted: its unit is erased once no read needs it.
    pub(crate) fn delete(&mut self, address: UnitAddress, id: u64, has_readers: bool) {
        assert_eq!(self.state(address), UnitUse::Live(Holds::Block(id)), "{address:?} is deleted");
        if has_readers {
            self.awaiting_readers += 1;
            self.set(address, UnitUse::AwaitingReaders(id));
        } else {
            self.queue_erase(address, Cause::Deleted(id), false);
        }
    }

    /// No read needs the deleted block any more.
    pub(crate) fn last_reader_left(&mut self, address: UnitAddress) {
        let UnitUse::AwaitingReaders(id) = self.state(address) else {
            panic!("{address:?} lost its last reader as {:?}", self.state(address))
        };
        self.awaiting_readers -= 1;
        self.queue_erase(address, Cause::Deleted(id), false);
    }

    /// Takes the deletes of a lane back whose erases have not begun: `next` is the state of their units. Returns the
    /// ids.
    fn take_queued_deletes(&mut self, lane: u32, next: fn(u64) -> UnitUse) -> Vec<u64> {
        let mut ids = Vec::new();
        for unit in std::mem::take(&mut self.lanes[lane as usize].to_erase) {
            let address = UnitAddress { lane, unit };
            match self.state(address) {
                UnitUse::ToErase(Cause::Deleted(id)) => {
                    ids.push(id);
                    match next(id) {
                        UnitUse::ToErase(cause) => self.queue_erase(address, cause, false),
                        live => self.set(address, live),
                    }
                }
                UnitUse::ToErase(_) => self.lanes[lane as usize].to_erase.push_back(unit),
                other => panic!("{address:?} is queued to be erased as {other:?}"),
            }
        }
        ids
    }

    /// Makes the deleted blocks of a lane live again whose erases have not begun. Returns their ids.
    pub(crate) fn restore_deleted(&mut self, lane: u32) -> Vec<u64> {
        self.take_queued_deletes(lane, |id| UnitUse::Live(Holds::Block(id)))
    }

    /// Gives up the deletes of a lane whose erases have not begun, as the device is lost. Returns their ids.
    pub(crate) fn abandon_deletes(&mut self, lane: u32) -> Vec<u64> {
        self.take_queued_deletes(lane, |_| UnitUse::ToErase(Cause::Obsolete))
    }

    /// The content is replaced by a copy elsewhere: a superblock that was renewed, or a block that was repaired.
    pub(crate) fn release(&mut self, address: UnitAddress) {
        let state = self.state(address);
        assert!(matches!(state, UnitUse::Live(_)), "{address:?} is released as {state:?}");
        self.queue_erase(address, Cause::Obsolete, false);
    }

    /// The content of a damaged unit is given up.
    pub(crate) fn discard(&mut self, address: UnitAddress) {
        assert_eq!(self.state(address), UnitUse::Damaged, "{address:?} is discarded");
        assert!(self.damaged.contains(&address), "{address:?} is missing among the damaged units");
        self.queue_erase(address, Cause::Damaged, false);
    }

    // Erases.

    /// Returns the next unit of a lane that may be erased now, where the device records the ids below `recorded_below`
    /// as given out.
    pub(crate) fn next_erasable(&self, lane: u32, recorded_below: u64) -> Option<UnitAddress> {
        let mut queued = self.lanes[lane as usize].to_erase.iter().map(|&unit| UnitAddress { lane, unit });
        queued.find(|&address| match self.state(address) {
            UnitUse::ToErase(Cause::Deleted(id)) => id < recorded_below && !self.has_stale_copy(id),
            _ => true,
        })
    }

    /// An erase was handed to the device: it is in flight, or ends at once as the device refused it.
    pub(crate) fn start_erase(&mut self, address: UnitAddress) {
        let UnitUse::ToErase(cause) = self.state(address) else {
            panic!("{address:?} is erased as {:?}", self.state(address))
        };
        let lane = self.lane(address);
        let nth = lane.to_erase.iter().position(|&unit| unit == address.unit);
        lane.to_erase.remove(nth.expect("a unit to erase is queued"));
        lane.erasing += 1;
        self.set(address, UnitUse::Erasing(cause));
    }

    fn end_erase(&mut self, address: UnitAddress) -> Cause {
        let UnitUse::Erasing(cause) = self.state(address) else {
            panic!("the erase of {address:?} ends as {:?}", self.state(address))
        };
        self.lane(address).erasing -= 1;
        let stale_copy = self.stale_copies.remove(&address);
        assert_eq!(stale_copy.is_some(), matches!(cause, Cause::StaleCopy(_)), "{address:?} as {cause:?}");
        cause
    }

    /// The unit is erased; the device has erased it `erases` times.
    pub(crate) fn erase_completed(&mut self, address: UnitAddress, erases: u32) {
        let cause = self.end_erase(address);
        let was_damaged = self.damaged.remove(&address);
        self.foreign.remove(&address);
        assert_eq!(was_damaged, cause == Cause::Damaged, "{address:?} was erased as {cause:?}");
        self.lane(address).erased.push(Reverse((erases, address.unit)));
        self.set(address, UnitUse::Erased);
    }

    /// The unit is erased, and holds other data that came into it before. It is kept, unless that data is given up:
    /// then it is erased once more.
    pub(crate) fn erase_left_foreign_data(&mut self, address: UnitAddress, is_given_up: bool) {
        let cause = self.end_erase(address);
        self.damaged.insert(address);
        self.foreign.insert(address);
        if is_given_up || cause == Cause::Damaged {
            self.queue_erase(address, Cause::Damaged, true);
        } else {
            self.set(address, UnitUse::Damaged);
        }
    }

    /// The erase failed: the unit is not used any more.
    pub(crate) fn erase_failed(&mut self, address: UnitAddress, is_bad: bool) {
        self.end_erase(address);
        self.set(address, if is_bad { UnitUse::Bad } else { UnitUse::Retired });
    }

    // Counts.

    /// Returns the number of erased units of a lane.
    pub(crate) fn erased(&self, lane: u32) -> usize {
        self.lanes[lane as usize].erased.len()
    }

    /// Returns the number of units of a lane that hold or are given a block that is not deleted and will not be soon.
    pub(crate) fn blocks(&self, lane: u32) -> u64 {
        let first = |lane| UnitAddress { lane, unit: 0 };
        self.lanes[lane as usize].blocks - self.expiring.range(first(lane)..first(lane + 1)).count() as u64
    }

    /// Sets whether the block in a unit will be deleted soon.
    pub(crate) fn set_expiring(&mut self, address: UnitAddress, is_expiring: bool) {
        let state = self.state(address);
        assert!(matches!(state, UnitUse::Live(Holds::Block(_))), "{address:?} expires as {state:?}");
        if is_expiring {
            self.expiring.insert(address);
        } else {
            self.expiring.remove(&address);
        }
    }

    /// Returns whether a failed write may have left a copy of block `id` that is not erased.
    pub(crate) fn has_stale_copy(&self, id: u64) -> bool {
        self.stale_copies.values().any(|&copy| copy == id)
    }

    /// Returns whether an erase is in flight on a lane.
    pub(crate) fn is_erasing(&self, lane: u32) -> bool {
        self.lanes[lane as usize].erasing > 0
    }

    /// Returns the number of units of a lane that are being erased or queued for it.
    pub(crate) fn to_erase(&self, lane: u32) -> usize {
        let lane = &self.lanes[lane as usize];
        lane.to_erase.len() + lane.erasing as usize
    }

    /// Returns whether units of a lane are queued to be erased.
    pub(crate) fn has_units_to_erase(&self, lane: u32) -> bool {
        !self.lanes[lane as usize].to_erase.is_empty()
    }

    /// Returns the number of units of a lane that are erased or will be.
    pub(crate) fn writable(&self, lane: u32) -> u64 {
        (self.erased(lane) + self.to_erase(lane)) as u64
    }

    /// Returns the number of units of a lane that are erased or will be without another superblock.
    pub(crate) fn writable_before_superblock(&self, lane: u32, recorded_below: u64) -> usize {
        let index = &self.lanes[lane as usize];
        let needs_superblock = |&&unit: &&u32| match self.state(UnitAddress { lane, unit }) {
            UnitUse::ToErase(Cause::Deleted(id)) => id >= recorded_below,
            _ => false,
        };
        self.writable(lane) as usize - index.to_erase.iter().filter(needs_superblock).count()
    }

    /// Returns the number of units over all lanes that are erased or will be.
    pub(crate) fn all_writable(&self) -> u64 {
        let lanes: u64 = (0..self.layout.lanes).map(|lane| self.writable(lane)).sum();
        lanes + self.awaiting_readers + self.leftovers
    }

    /// Returns the number of erased units over all lanes.
    pub(crate) fn all_erased(&self) -> usize {
        self.lanes.iter().map(|lane| lane.erased.len()).sum()
    }

    /// Returns the number of queued units over all lanes whose content a power cut does not bring back.
    pub(crate) fn all_to_erase_without_deletes(&self) -> usize {
        let count = |lane: u32| {
            let to_erase = self.lanes[lane as usize].to_erase.iter();
            let states = to_erase.map(|&unit| self.state(UnitAddress { lane, unit }));
            states.filter(|state| !matches!(state, UnitUse::ToErase(Cause::Deleted(_)))).count()
        };
        (0..self.layout.lanes).map(count).sum()
    }

    /// Returns the least distance of an erased unit of a lane from `region`.
    pub(crate) fn distance(&self, region: Region, lane: u32) -> Option<u64> {
        let erased = self.lanes[lane as usize].erased.iter();
        let units = erased.map(|&Reverse((_, unit))| UnitAddress { lane, unit });
        units.map(|address| region.distance(address, &self.layout)).min()
    }

    /// Returns the units that were found damaged and have not been erased since.
    pub(crate) fn damaged(&self) -> &BTreeSet<UnitAddress> {
        &self.damaged
    }

    /// Returns those of them that may hold a block.
    pub(crate) fn damaged_since_written(&self) -> impl Iterator<Item = UnitAddress> + '_ {
        self.damaged.difference(&self.foreign).copied()
    }
}
