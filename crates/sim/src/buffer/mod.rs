//! The write-back buffer: pages that the host has written and flash has not.
//!
//! A page is *dirty* until it is chosen to be drained, then *leaving* until its program is done; its slot is free
//! only then. A page that is written again while it leaves gets a slot of its own. Policies that keep what was read
//! have *clean* pages too, which are dropped for room.
//!
//! Pages leave in one of two ways, each giving its slot back to whoever waits. *Ahead*: one by one as soon as more
//! than a mark is filled. In *batches* (ruan12, section II): not before the buffer is full; then a number of pages for
//! each package is chosen at once, and no more before the last of them has come. What a policy keeps in one queue
//! leaves in the queue's order, so that a page whose package still has one of the buffer's pages holds up those behind
//! it; what it keeps in a queue a package goes to all packages at once.

mod departures;
mod periods;
mod traffic;

use crate::config::{DriveConfig, Placement};
use crate::nand::{Geometry, Timing};
use departures::Departures;
use flashlane_base::{Duration, Instant, Seed};
use flashlane_policy::buffer::{Access, Page, Queues, Replacement, Shape};
use hashbrown::HashMap;
use periods::Periods;
use rustc_hash::FxBuildHasher;
use traffic::Traffic;
pub(crate) use traffic::{DrainCause, TrafficCounters};

/// "Not settled yet", of a page's plane.
const NO_PLANE: u32 = u32::MAX;

/// What a buffered page is about to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing is in the slot.
    #[default]
    Free,
    /// Only read: flash has it.
    Clean,
    /// Written.
    Dirty,
    /// Chosen to leave.
    Leaving,
    /// Being programmed.
    Placed,
    /// Was leaving when it was trimmed or written past the buffer, or when a newer copy went first: it is not to be
    /// programmed any more.
    Void,
}

/// A buffered page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// The logical page.
    pub(crate) page: u32,
    /// The plane that it will be programmed on, [`NO_PLANE`] while that is not settled.
    plane: u32,
    /// Which 64ths of the page are here, one bit each.
    pub(crate) present: u64,
    /// The flush period in which it was first written.
    period: u64,
    /// The first write that is here and not on flash, in the count of those that the buffer completed.
    since: u64,
    stage: Stage,
    /// Why it leaves, once it does.
    cause: DrainCause,
    /// The slot of the copy before this one, where it was on its way when this one came.
    older: Option<u32>,
    /// Whether it is here only to be read and written along with its neighbours.
    pub(crate) pad: bool,
    /// Whether it counts among the pages on their way to its plane's package.
    travelling: bool,
}

/// What was here of a page that flash does not have yet, when a write past the buffer took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owed {
    /// The first write of it.
    pub(crate) since: u64,
    /// The flush period in which that was.
    pub(crate) period: u64,
}

/// How a page was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// As one more page to be programmed.
    New,
    /// Over the dirty copy that was there.
    Absorbed,
    /// Not at all: every slot is taken.
    Full,
}

/// The buffer.
pub(crate) struct WriteBuffer {
    /// The slots; behind those of its size, those of pages that pad a batch.
    entries: Vec<Entry>,
    slots: u32,
    logical_pages: u32,
    free: Vec<u32>,
    free_pads: Vec<u32>,
    /// The newest copy of each buffered page.
    newest: HashMap<u32, u32, FxBuildHasher>,
    policy: Box<dyn Replacement>,
    keeps_reads: bool,
    /// Whether a page that is here as a whole and is written again takes the place of its copy.
    overwrites: bool,
    /// Whether a page's plane is settled when it comes in.
    assigns: bool,
    planes_per_package: u32,
    dirty: usize,
    leaving: usize,
    /// Pages that have set out and not come.
    under_way: usize,
    most_leaving: usize,
    high: usize,
    /// Most pages of a batch, where pages leave in batches.
    batch: Option<u32>,
    /// Whether a page waits until its package has done the buffer's page before.
    in_order: bool,
    /// Most pages on their way to a channel.
    most_on_channel: usize,
    departures: Departures,
    traffic: Traffic,
    periods: Periods,
    // Kept to spare their allocation.
    asked: Vec<u32>,
    pads: Vec<u32>,
}

/// What a policy is told of a drive's buffer, if it has one.
pub(crate) fn shape(config: &DriveConfig, geometry: &Geometry) -> Option<Shape> {
    let buffer = config.buffer.as_ref()?;
    let mapping = config.policies.mapping.build(&config.mapping.policy, &config.mapping.options.options());
    let settled = buffer.placement == Placement::Below || mapping.is_ok_and(|mapping| !mapping.is_free());
    Some(Shape {
        slots: (buffer.size.0 / geometry.page_bytes) as u32,
        packages: settled.then_some(geometry.channels * geometry.packages),
        block_pages: geometry.data_pages,
    })
}

/// The longest that a page of the buffer keeps a channel or a die of it busy: what is missing of it is read, then it is
/// programmed, with its block's summary if it fills the block.
pub(crate) fn longest_page(config: &DriveConfig, geometry: &Geometry) -> Duration {
    // The seed is that of the noise, which is taken at its most.
    let timing = Timing::new(config, Seed(0));
    let array = timing.read + timing.program + timing.summary;
    let noise = Duration::from_ns((array.as_ns() as f64 * config.flash.noise.0).ceil() as u64);
    array + noise + timing.bus(geometry.page_bytes) * 2
}

impl WriteBuffer {
    /// The buffer of a drive, if it has one. Requires: `config` is validated.
    pub(crate) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let longest = longest_page(config, geometry);
        let (policies, shape) = (&config.policies, shape(config, geometry)?);
        let config = config.buffer.as_ref()?;
        let packages = geometry.channels * geometry.packages;
        let slots = shape.slots;
        let policy = policies
            .buffer
            .build(&config.policy, shape, &config.options.options())
            .expect("validation built every policy once");
        let most_on_channel =
            config.read_wait.map_or(usize::MAX, |wait| (wait.0.as_ns() / longest.as_ns().max(1)) as usize);
        Some(Self {
            entries: vec![Entry::default(); slots as usize],
            slots,
            logical_pages: geometry.logical_pages,
            free: (0..slots).rev().collect(),
            free_pads: Vec::new(),
            newest: HashMap::default(),
            keeps_reads: policy.keeps_reads(),
            overwrites: config.overwrites,
            assigns: shape.packages.is_some(),
            planes_per_package: geometry.planes / packages,
            dirty: 0,
            leaving: 0,
            under_way: 0,
            most_leaving: (geometry.dies * config.drain_per_die) as usize,
            high: (config.high.0 * f64::from(slots)) as usize,
            batch: config.parallel_pages.map(|pages| pages * packages),
            in_order: config.parallel_pages.is_some() && policy.queues() == Queues::One,
            most_on_channel,
            departures: Departures::new(policy.queues(), packages),
            policy,
            traffic: Traffic::new(geometry.channels, geometry.packages),
            periods: Periods::default(),
            asked: Vec::new(),
            pads: Vec::new(),
        })
    }

    /// Takes in the parts `present` of `page`, of the write with this number. `assign` settles its plane where it is
    /// settled now; a page that is still here keeps the one it has.
    pub(crate) fn admit(
        &mut self,
        page: u32,
        present: u64,
        write: u64,
        assign: impl FnOnce() -> Option<u32>,
    ) -> Admission {
        if let Some(&slot) = self.newest.get(&page) {
            let entry = &mut self.entries[slot as usize];
            match entry.stage {
                Stage::Dirty if self.overwrites || entry.present != u64::MAX => {
                    entry.present |= present;
                    // A flush waits for the pages of older periods: rewriting one must not put its turn off again and
                    // again.
                    if entry.period == self.periods.current() {
                        self.policy.touch(slot, Access::Write);
                    }
                    return Admission::Absorbed;
                }
                Stage::Clean => {
                    entry.present |= present;
                    entry.plane = if self.assigns { assign() } else { None }.unwrap_or(NO_PLANE);
                    self.policy.touch(slot, Access::Write);
                    self.soil(slot, write);
                    return Admission::New;
                }
                // A copy that is on its way cannot take it any more, or is not to.
                _ => {}
            }
        }
        let Some(slot) = self.room() else { return Admission::Full };
        // A copy on its way to flash completes what is missing here only once it is there.
        let older = self.newest.insert(page, slot);
        let before = older.map_or(0, |older| self.entries[older as usize].present);
        let plane = if self.assigns { assign() } else { None }.unwrap_or(NO_PLANE);
        self.entries[slot as usize] =
            Entry { page, plane, present: present | before, older, ..Entry::default() };
        self.policy.insert(slot, Page { number: page, package: self.package_of(plane), dirty: true });
        self.soil(slot, write);
        Admission::New
    }

    /// A slot's page becomes dirty.
    fn soil(&mut self, slot: u32, write: u64) {
        let entry = &mut self.entries[slot as usize];
        entry.stage = Stage::Dirty;
        entry.since = write;
        entry.period = self.periods.current();
        self.periods.enter();
        self.dirty += 1;
    }

    /// A free slot, if need be that of a clean page.
    fn room(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let slot = self.policy.drop_clean()?;
            self.newest.remove(&self.entries[slot as usize].page);
            Some(slot)
        })
    }

    /// Where no plane has room a page will fail to be programmed: any package will do for its order.
    fn package_of(&self, plane: u32) -> u32 {
        if plane == NO_PLANE { 0 } else { plane / self.planes_per_package }
    }

    /// The parts of `page` that are here; none where it is not.
    pub(crate) fn present(&self, page: u32) -> u64 {
        self.newest.get(&page).map_or(0, |&slot| self.entries[slot as usize].present)
    }

    /// Whether the buffer has all of the parts `touched` of `page`, to be read now.
    pub(crate) fn read(&mut self, page: u32, touched: u64) -> bool {
        let Some(&slot) = self.newest.get(&page) else { return false };
        let entry = &self.entries[slot as usize];
        let hit = entry.present & touched == touched;
        // As for rewrites: being read must not put off a flush.
        let movable = entry.stage == Stage::Clean
            || entry.stage == Stage::Dirty && entry.period == self.periods.current();
        if hit && self.keeps_reads && movable {
            self.policy.touch(slot, Access::Read);
        }
        hit
    }

    /// Makes room for a page that is being read from flash, if its policy keeps such and there is any.
    pub(crate) fn expect(&mut self, page: u32) {
        if !self.keeps_reads || self.newest.contains_key(&page) {
            return;
        }
        let Some(slot) = self.room() else { return };
        self.newest.insert(page, slot);
        self.entries[slot as usize] =
            Entry { page, plane: NO_PLANE, stage: Stage::Clean, since: u64::MAX, ..Entry::default() };
        self.policy.insert(slot, Page { number: page, package: 0, dirty: false });
    }

    /// The parts `touched` of a page have come from flash for the host.
    pub(crate) fn came(&mut self, page: u32, touched: u64) {
        if let Some(&slot) = self.newest.get(&page) {
            let entry = &mut self.entries[slot as usize];
            if entry.stage == Stage::Clean {
                entry.present |= touched;
            }
        }
    }

    /// Whether the policy keeps what was read.
    pub(crate) fn keeps_reads(&self) -> bool {
        self.keeps_reads
    }

    /// The plane that was settled for the page in `slot`.
    pub(crate) fn plane_of(&self, slot: u32) -> Option<u32> {
        let plane = self.entries[slot as usize].plane;
        (plane != NO_PLANE).then_some(plane)
    }

    /// Chooses the next page to set out for flash, if one should now: as the mark or a full buffer says, or because it
    /// is `forced` for this cause. It may turn out not to be [wanted](Self::is_wanted) any more.
    pub(crate) fn drain(&mut self, forced: Option<DrainCause>, now: Instant) -> Option<(u32, Entry)> {
        match self.batch {
            None => self.choose_ahead(forced),
            Some(most) => self.choose_batch(most, forced),
        }
        let slot = self.departures.pop(|slot| {
            let plane = self.entries[slot as usize].plane;
            if plane == NO_PLANE {
                // It may go to any channel.
                return self.under_way < self.most_on_channel;
            }
            let package = plane / self.planes_per_package;
            (self.traffic.on_channel_of(package) as usize) < self.most_on_channel
                && !(self.in_order && self.traffic.to(package) > 0)
        })?;
        self.under_way += 1;
        self.set_out(slot, now);
        Some((slot, self.entries[slot as usize]))
    }

    fn choose_ahead(&mut self, forced: Option<DrainCause>) {
        let wanted = self.dirty > 0 && (forced.is_some() || self.dirty + self.leaving > self.high);
        if !wanted || self.leaving >= self.most_leaving || !self.departures.is_empty() {
            return;
        }
        let slot = self.policy.victim().expect("a dirty page is in the policy's order");
        let cause = forced.unwrap_or(DrainCause::Full);
        self.leave(slot, cause);
        self.pad(cause);
    }

    fn choose_batch(&mut self, most: u32, forced: Option<DrainCause>) {
        // Without a free slot it need not be full: there may be pages that were only read.
        let full = self.dirty == self.slots as usize;
        if self.leaving > 0 || self.dirty == 0 || !(forced.is_some() || full) {
            return;
        }
        // A batch that a full buffer would let go anyway is none that a waiting write forces.
        let cause = forced.filter(|cause| *cause != DrainCause::Full).unwrap_or(DrainCause::Batch);
        let mut asked = std::mem::take(&mut self.asked);
        self.policy.batch(most, &mut asked);
        asked.drain(..).for_each(|slot| self.leave(slot, cause));
        self.asked = asked;
        self.pad(cause);
    }

    fn leave(&mut self, slot: u32, cause: DrainCause) {
        let entry = &mut self.entries[slot as usize];
        debug_assert_eq!(entry.stage, Stage::Dirty, "only dirty pages are drained");
        entry.stage = Stage::Leaving;
        entry.cause = cause;
        let plane = entry.plane;
        self.dirty -= 1;
        self.leaving += 1;
        self.departures.push(self.package_of(plane), slot);
    }

    /// Lets those pages leave that the policy wants to have read and written again.
    fn pad(&mut self, cause: DrainCause) {
        let mut pads = std::mem::take(&mut self.pads);
        self.policy.pads(&mut pads);
        for page in pads.drain(..) {
            if page >= self.logical_pages || self.newest.contains_key(&page) {
                continue;
            }
            let slot = self.free_pads.pop().unwrap_or_else(|| {
                self.entries.push(Entry::default());
                self.entries.len() as u32 - 1
            });
            let stage = Stage::Leaving;
            self.entries[slot as usize] =
                Entry { page, plane: NO_PLANE, since: u64::MAX, stage, cause, pad: true, ..Entry::default() };
            self.newest.insert(page, slot);
            self.leaving += 1;
            self.departures.push(0, slot);
        }
        self.pads = pads;
    }

    /// Whether the page in `slot` is still to be programmed: not where it was trimmed or written past the buffer
    /// meanwhile, and not where a newer copy went first.
    pub(crate) fn is_wanted(&self, slot: u32) -> bool {
        self.entries[slot as usize].stage != Stage::Void
    }

    /// Keeps from flash what is older than the copy in `slot`. Who waits for the older copies waits for this one from
    /// now on.
    fn supersede(&mut self, slot: u32) {
        let mut next = self.entries[slot as usize].older.take();
        while let Some(slot_of_older) = next {
            let [newer, older] = self
                .entries
                .get_disjoint_mut([slot as usize, slot_of_older as usize])
                .expect("a copy is not older than itself");
            next = older.older.take();
            let dirty = older.stage == Stage::Dirty;
            if !dirty && older.stage != Stage::Leaving {
                // It is being programmed.
                continue;
            }
            newer.since = newer.since.min(older.since);
            if !older.pad {
                std::mem::swap(&mut newer.period, &mut older.period);
            }
            if dirty {
                self.policy.remove(slot_of_older);
                self.dirty -= 1;
                self.settle(slot_of_older);
                self.free.push(slot_of_older);
            } else {
                older.stage = Stage::Void;
            }
        }
    }

    /// Counts a page among those on their way, as soon as its package is known.
    fn set_out(&mut self, slot: u32, now: Instant) {
        let entry = &mut self.entries[slot as usize];
        if entry.plane != NO_PLANE && !entry.travelling {
            entry.travelling = true;
            self.traffic.begin(entry.plane / self.planes_per_package, now);
        }
    }

    fn arrive(&mut self, slot: u32, now: Instant) {
        let entry = &mut self.entries[slot as usize];
        if std::mem::take(&mut entry.travelling) {
            self.traffic.end(entry.plane / self.planes_per_package, now);
        }
    }

    /// The page in `slot` is being programmed on `plane`.
    pub(crate) fn placed(&mut self, slot: u32, plane: u32, now: Instant) {
        let before = self.entries[slot as usize].plane;
        if before == NO_PLANE || before / self.planes_per_package != plane / self.planes_per_package {
            self.arrive(slot, now);
            self.entries[slot as usize].plane = plane;
            self.set_out(slot, now);
        }
        self.entries[slot as usize].stage = Stage::Placed;
        self.supersede(slot);
        let Entry { pad, cause, .. } = self.entries[slot as usize];
        self.traffic.count(pad, cause);
    }

    /// The page in `slot` is on flash, or never will be.
    pub(crate) fn drained(&mut self, slot: u32, now: Instant) {
        self.arrive(slot, now);
        self.leaving -= 1;
        self.under_way -= 1;
        self.settle(slot);
        if slot >= self.slots {
            self.free_pads.push(slot);
        } else {
            self.free.push(slot);
        }
    }

    /// Drops what is buffered of `page`, or keeps it from flash where it is leaving: it was trimmed or written past the
    /// buffer. Gives back what was here and not on flash.
    pub(crate) fn forget(&mut self, page: u32) -> Option<Owed> {
        let slot = self.newest.remove(&page)?;
        self.supersede(slot);
        let entry = &mut self.entries[slot as usize];
        let owed = Owed { since: std::mem::replace(&mut entry.since, u64::MAX), period: entry.period };
        match entry.stage {
            Stage::Leaving => entry.stage = Stage::Void,
            Stage::Clean | Stage::Dirty => {
                self.policy.remove(slot);
                self.dirty -= usize::from(self.entries[slot as usize].stage == Stage::Dirty);
                self.settle(slot);
                self.free.push(slot);
            }
            _ => {}
        }
        (owed.since != u64::MAX).then_some(owed)
    }

    /// Closes the flush period: what was written so far is waited for, what comes later is not.
    pub(crate) fn begin_flush(&mut self) -> u64 {
        self.periods.close()
    }

    /// Whether every page of `period` and before is on flash.
    pub(crate) fn is_flushed(&self, period: u64) -> bool {
        self.periods.is_over(period)
    }

    /// What was counted of pages on their way to flash.
    pub(crate) fn traffic(&self) -> TrafficCounters {
        self.traffic.counters()
    }

    /// Pages that are here and not on flash, each with the first write that is not.
    pub(crate) fn at_risk(&self) -> impl Iterator<Item = (u32, u64)> {
        let volatile = |entry: &&Entry| {
            matches!(entry.stage, Stage::Dirty | Stage::Leaving | Stage::Placed) && entry.since != u64::MAX
        };
        self.entries.iter().filter(volatile).map(|entry| (entry.page, entry.since))
    }

    /// Nobody waits for the page in `slot` any more.
    fn settle(&mut self, slot: u32) {
        let entry = std::mem::take(&mut self.entries[slot as usize]);
        self.unlink(slot, &entry);
        if !entry.pad && entry.stage != Stage::Clean {
            self.periods.leave(entry.period);
        }
    }

    /// Takes what was in `slot` out of the list of its page's copies, if it is there.
    fn unlink(&mut self, slot: u32, entry: &Entry) {
        let Some(&newest) = self.newest.get(&entry.page) else { return };
        if newest == slot {
            match entry.older {
                Some(older) => self.newest.insert(entry.page, older),
                None => self.newest.remove(&entry.page),
            };
            return;
        }
        let mut at = newest;
        while let Some(older) = self.entries[at as usize].older {
            if older == slot {
                self.entries[at as usize].older = entry.older;
                return;
            }
            at = older;
        }
    }
}

#[cfg(test)]
mod tests;
