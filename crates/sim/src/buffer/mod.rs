//! The write-back buffer: pages that the host has written and flash has not.
//!
//! A page is *dirty* until it is chosen to be drained, then *leaving* until its program is done; its slot is free
//! only then. A page that is written again while it leaves gets a slot of its own.
//!
//! Pages leave in one of two ways. *Ahead*: one by one as soon as more than a mark is filled, each giving its slot
//! back to whoever waits. In *batches* (ruan12, section II): not before the buffer is full; then a number of pages for
//! each package is chosen at once, and their slots become free together, with the last of them. What a policy keeps in
//! one queue leaves in the queue's order, so that a page whose package still has one of the buffer's pages holds up
//! those behind it; what it keeps in a queue a package goes to all packages at once.

mod traffic;

use crate::config::{DriveConfig, Placement};
use crate::nand::Geometry;
use flashlane_base::Instant;
use flashlane_policy::buffer::{self, Page, Queues, Replacement, Shape};
use flashlane_policy::mapping;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;
use traffic::Traffic;
pub(crate) use traffic::TrafficCounters;

/// "Not settled yet", of a page's plane.
const NO_PLANE: u32 = u32::MAX;

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
    leaving: bool,
    /// Whether it counts among the pages on their way to its plane's package.
    travelling: bool,
}

/// How a page was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Into a free slot.
    New,
    /// Over the copy that was there.
    Absorbed,
    /// Not at all: every slot is taken.
    Full,
}

/// Pages that leave together.
struct Batches {
    /// Most pages of one.
    most: u32,
    queues: Queues,
    /// Pages chosen and not on their way yet, in order.
    chosen: VecDeque<u32>,
    /// Slots to be given back with the last page of the batch.
    done: Vec<u32>,
    // Kept to spare its allocation.
    asked: Vec<u32>,
}

/// The buffer.
pub(crate) struct WriteBuffer {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The newest copy of each buffered page.
    newest: HashMap<u32, u32, FxBuildHasher>,
    policy: Box<dyn Replacement>,
    /// Whether a page's plane is settled when it comes in.
    assigns: bool,
    planes_per_package: u32,
    dirty: usize,
    leaving: usize,
    most_leaving: usize,
    high: usize,
    batches: Option<Batches>,
    traffic: Traffic,
    /// Flush periods with pages still here, oldest first: period and pages.
    periods: VecDeque<(u64, usize)>,
    period: u64,
}

/// What a policy is told of a drive's buffer, if it has one.
pub(crate) fn shape(config: &DriveConfig, geometry: &Geometry) -> Option<Shape> {
    let buffer = config.buffer.as_ref()?;
    let mapping = mapping::build(&config.mapping.policy, &config.mapping.options.options());
    let settled = buffer.placement == Placement::Below || mapping.is_ok_and(|mapping| !mapping.is_free());
    Some(Shape {
        slots: (buffer.size.0 / geometry.page_bytes) as u32,
        packages: settled.then_some(geometry.channels * geometry.packages),
    })
}

impl WriteBuffer {
    /// The buffer of a drive, if it has one. Requires: `config` is validated.
    pub(crate) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let (config, shape) = (config.buffer.as_ref()?, shape(config, geometry)?);
        let packages = geometry.channels * geometry.packages;
        let slots = shape.slots;
        let policy = buffer::build(&config.policy, shape, &config.options.options())
            .expect("validation built every policy once");
        Some(Self {
            entries: vec![Entry::default(); slots as usize],
            free: (0..slots).rev().collect(),
            newest: HashMap::default(),
            batches: config.parallel_pages.map(|pages| Batches {
                most: pages * packages,
                queues: policy.queues(),
                chosen: VecDeque::new(),
                done: Vec::new(),
                asked: Vec::new(),
            }),
            policy,
            assigns: shape.packages.is_some(),
            planes_per_package: geometry.planes / packages,
            dirty: 0,
            leaving: 0,
            most_leaving: (geometry.dies * config.drain_per_die) as usize,
            high: (config.high.0 * f64::from(slots)) as usize,
            traffic: Traffic::new(packages),
            periods: VecDeque::new(),
            period: 0,
        })
    }

    /// Takes in the parts `present` of `page`. `assign` settles its plane where it is settled now; a page that is still
    /// here keeps the one it has.
    pub(crate) fn admit(
        &mut self,
        page: u32,
        present: u64,
        assign: impl FnOnce() -> Option<u32>,
    ) -> Admission {
        if let Some(&slot) = self.newest.get(&page)
            && !self.entries[slot as usize].leaving
        {
            let entry = &mut self.entries[slot as usize];
            entry.present |= present;
            // A flush waits for the pages of older periods: rewriting one must not put its turn off again and again.
            if entry.period == self.period {
                self.policy.touch(slot);
            }
            return Admission::Absorbed;
        }
        let Some(slot) = self.free.pop() else { return Admission::Full };
        // A copy on its way to flash completes what is missing here only once it is there.
        let before = self.newest.insert(page, slot).map_or(0, |old| self.entries[old as usize].present);
        let plane = if self.assigns { assign() } else { None }.unwrap_or(NO_PLANE);
        self.entries[slot as usize] = Entry {
            page,
            plane,
            present: present | before,
            period: self.period,
            leaving: false,
            travelling: false,
        };
        match self.periods.back_mut() {
            Some((period, pages)) if *period == self.period => *pages += 1,
            _ => self.periods.push_back((self.period, 1)),
        }
        // Where no plane has room the page will fail to be programmed: any package will do for its order.
        let package = if plane == NO_PLANE { 0 } else { plane / self.planes_per_package };
        self.policy.insert(slot, Page { number: page, package });
        self.dirty += 1;
        Admission::New
    }

    /// The parts of `page` that are here, dirty or leaving; none where it is not.
    pub(crate) fn present(&self, page: u32) -> u64 {
        self.newest.get(&page).map_or(0, |&slot| self.entries[slot as usize].present)
    }

    /// Whether any part of `page` is to be kept: written, and neither trimmed nor written past the buffer since.
    pub(crate) fn holds(&self, page: u32) -> bool {
        self.newest.contains_key(&page)
    }

    /// The plane that was settled for the page in `slot`.
    pub(crate) fn plane_of(&self, slot: u32) -> Option<u32> {
        let plane = self.entries[slot as usize].plane;
        (plane != NO_PLANE).then_some(plane)
    }

    /// Chooses the next page to set out for flash, if one should now: as the mark or a full buffer says, or because it
    /// is `forced`.
    pub(crate) fn drain(&mut self, forced: bool, now: Instant) -> Option<(u32, Entry)> {
        let slot =
            if self.batches.is_some() { self.next_of_batch(forced)? } else { self.next_ahead(forced)? };
        self.set_out(slot, now);
        Some((slot, self.entries[slot as usize]))
    }

    fn next_ahead(&mut self, forced: bool) -> Option<u32> {
        let wanted = self.dirty > 0 && (forced || self.dirty + self.leaving > self.high);
        if !wanted || self.leaving >= self.most_leaving {
            return None;
        }
        let slot = self.policy.victim().expect("a dirty page is in the policy's order");
        self.choose(slot);
        Some(slot)
    }

    fn next_of_batch(&mut self, forced: bool) -> Option<u32> {
        let wanted = self.leaving == 0 && self.dirty > 0 && (forced || self.free.is_empty());
        if wanted {
            let batches = self.batches.as_mut().expect("pages leave in batches");
            let mut asked = std::mem::take(&mut batches.asked);
            self.policy.batch(batches.most, &mut asked);
            batches.chosen.extend(&asked);
            asked.drain(..).for_each(|slot| self.choose(slot));
            self.batches.as_mut().expect("pages leave in batches").asked = asked;
        }
        let batches = self.batches.as_mut().expect("pages leave in batches");
        let plane = self.entries[*batches.chosen.front()? as usize].plane;
        let held_up = batches.queues == Queues::One
            && plane != NO_PLANE
            && self.traffic.to(plane / self.planes_per_package) > 0;
        if held_up { None } else { batches.chosen.pop_front() }
    }

    fn choose(&mut self, slot: u32) {
        self.entries[slot as usize].leaving = true;
        self.dirty -= 1;
        self.leaving += 1;
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
        self.traffic.count();
    }

    /// The page in `slot` is on flash, or never will be.
    pub(crate) fn drained(&mut self, slot: u32, now: Instant) {
        debug_assert!(self.entries[slot as usize].leaving, "slot {slot} was not leaving");
        self.arrive(slot, now);
        self.leaving -= 1;
        self.settle(slot);
        match &mut self.batches {
            None => self.free.push(slot),
            Some(batches) => {
                batches.done.push(slot);
                if self.leaving == 0 {
                    self.free.append(&mut batches.done);
                }
            }
        }
    }

    /// Drops what is buffered of `page` and not yet leaving: it was trimmed or written past the buffer.
    pub(crate) fn forget(&mut self, page: u32) {
        let Some(slot) = self.newest.remove(&page) else { return };
        if !self.entries[slot as usize].leaving {
            self.policy.remove(slot);
            self.dirty -= 1;
            self.settle(slot);
            self.free.push(slot);
        }
    }

    /// Closes the flush period: what was written so far is waited for, what comes later is not.
    pub(crate) fn begin_flush(&mut self) -> u64 {
        let period = self.period;
        self.period += 1;
        period
    }

    /// Whether every page of `period` and before is on flash.
    pub(crate) fn is_flushed(&self, period: u64) -> bool {
        self.periods.front().is_none_or(|(oldest, _)| *oldest > period)
    }

    /// What was counted of pages on their way to flash.
    pub(crate) fn traffic(&self) -> TrafficCounters {
        self.traffic.counters()
    }

    /// Nobody waits for the page in `slot` any more.
    fn settle(&mut self, slot: u32) {
        let entry = self.entries[slot as usize];
        if self.newest.get(&entry.page) == Some(&slot) {
            self.newest.remove(&entry.page);
        }
        let (_, pages) = self
            .periods
            .iter_mut()
            .find(|(period, _)| *period == entry.period)
            .expect("a page's period is kept while the page is here");
        *pages -= 1;
        while self.periods.front().is_some_and(|(_, pages)| *pages == 0) {
            self.periods.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
