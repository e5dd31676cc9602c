//! The cache of the map, on a drive with too little memory for all of it (DFTL; Gupta et al., "DFTL: A Flash
//! Translation Layer Employing Demand-based Selective Caching of Page-level Address Mappings", ASPLOS 2009).
//!
//! The map lies on flash, in translation pages (`ftl::page::translation_pages`); lines of it are in memory ([`lines`]).
//! What the host reads or writes needs the line of its mapping unit:
//!
//! ```text
//! look_up ─┬─ in memory: goes on at once, or in that of the host: … the time to get it from there … goes on
//!          └─ missing: a line gives up its room; if it is dirty, its translation page is written first
//!             … load: the translation page is read … the lookup goes on
//! update (a unit has a new place, or none) ─┬─ in memory: the line is dirty
//!                                           └─ missing, as for most units that GC moves: the translation page is written
//! page write … the translation page is read, unless a whole one is in memory … it is programmed with all that is dirty of it
//! ```
//!
//! The price of a miss is a read, with a dirty victim also a program and, for a single entry, another read. Accesses
//! that miss in one translation page share its read; updates of one translation page that come before its program share
//! that.
//!
//! The tables of `ftl` have the map as it is now: here is what of it memory and flash know, which takes time and wear.
//!
//! Recovery: every unit on flash has its logical number and a number of its write beside it. What a power cut loses of
//! the map is found by reading these of the blocks written since, so that dirty lines are in memory again, as dirty
//! ones, clean ones are not, and page writes that had not begun their program begin anew. That reading takes no time
//! here.
//!
//! Invariants:
//! - an entry that is newer than its translation page is in a dirty line, or a page write that has not been programmed
//!   has it;
//! - page writes wait for nothing but flash, loads for page writes and flash, lookups for loads and room: none waits
//!   in a circle;
//! - a load ends, and every lookup that waits goes on, once.

mod lines;
mod page_write;
#[cfg(test)]
mod shadow;

use super::super::request::DriveKernel;
use super::tasks::{HOST_MEMORY, LOAD, PAGE_WRITE};
use crate::account::TimeAccount;
use crate::config::{DriveConfig, Granularity, entries_of_translation_page};
use crate::event::Event;
use crate::ftl::Ftl;
use crate::ids::{Lpn, ids};
use crate::nand::{FlashOperation, Geometry, Owner, Read};
use crate::slab::Slab;
use flashlane_base::Duration;
use flashlane_policy::scheduling::Class;
use lines::{Evicted, Holder, Lines};
use page_write::{PageWrite, PageWriteStage};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

ids! {
    /// A translation page that is being read for accesses.
    LoadSlot;
    /// A translation page that is being written.
    PageWriteSlot;
    /// A lookup that waits for the host's memory.
    FetchSlot;
}

impl LoadSlot {
    fn owner(self) -> Owner {
        Owner::Task(LOAD, self.0)
    }
}

/// What needs the place of a mapping unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapLookup {
    pub(super) owner: Owner,
    pub(super) lpn: Lpn,
    pub(super) kind: LookupKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupKind {
    /// A read of this number of bytes.
    Read {
        class: Class,
        bytes: u64,
    },
    Write,
}

/// A lookup that waits, with its account where times are recorded.
pub(super) struct Waiting {
    pub(super) lookup: MapLookup,
    pub(super) account: Option<TimeAccount>,
}

/// A load. It ends when its flash read, if it needs one, and all page writes that it waits for have.
struct Load {
    page: u32,
    /// The lines that it loads: room is reserved for each.
    lines: BTreeSet<u32>,
    /// Page writes that have to end: of the lines that gave up their room, and of its own page.
    page_writes: u32,
    read: LoadRead,
    waiting: Vec<Waiting>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LoadRead {
    NotBegun,
    UnderWay,
    Done,
}

/// What becomes of a missing line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BegunLoad {
    /// It takes no flash operation, and is in memory.
    InMemory,
    UnderWay(LoadSlot),
    NoRoom,
}

/// What the cache counted.
#[derive(Clone, Copy, Debug, Default)]
struct MapCacheCounts {
    hits: u64,
    host_hits: u64,
    misses: u64,
    reads: u64,
}

/// The part of the map that is in memory.
pub(super) struct MapCache {
    lines: Lines,
    /// The mapping unit that the first translation page takes.
    first_page: Lpn,
    /// Mapping units of a translation page, and of a line.
    page_units: u32,
    line_units: u32,
    unit_bytes: u64,
    /// Lines behind one that is missing that are loaded with it.
    prefetch: u32,
    /// Whether a program takes all that is dirty of its page.
    batch: bool,
    loads: Slab<LoadSlot, Load>,
    load_of: BTreeMap<u32, LoadSlot>,
    page_writes: Slab<PageWriteSlot, PageWrite>,
    page_write_of: BTreeMap<u32, PageWriteSlot>,
    /// Page writes to be programmed now.
    ready: VecDeque<PageWriteSlot>,
    /// How long it takes to get a line from the host's memory, and accesses that wait for one.
    host_access: Duration,
    fetches: Slab<FetchSlot, Option<Waiting>>,
    /// Accesses for whose lines there is no room, first come first.
    without_room: VecDeque<Waiting>,
    /// Accesses that go on now.
    resumed: VecDeque<Waiting>,
    /// Translation pages to be written again after a power cut.
    interrupted: Vec<u32>,
    counts: MapCacheCounts,
    #[cfg(test)]
    shadow: shadow::Shadow,
}

impl MapCache {
    /// `None` where all of the map is in memory. Requires: `config` is validated.
    pub(super) fn new(config: &DriveConfig, geometry: &Geometry) -> Option<Self> {
        let cache = config.mapping.cache.as_ref()?;
        let page_units = entries_of_translation_page(geometry.unit_bytes);
        Some(Self {
            lines: Lines::new(config, cache, geometry.unit_bytes),
            first_page: Lpn(geometry.logical_units),
            page_units,
            line_units: if cache.granularity == Granularity::Page { page_units } else { 1 },
            unit_bytes: geometry.unit_bytes,
            prefetch: cache.prefetch,
            batch: cache.batch,
            loads: Slab::new(),
            load_of: BTreeMap::new(),
            page_writes: Slab::new(),
            page_write_of: BTreeMap::new(),
            ready: VecDeque::new(),
            host_access: cache.host_access.0,
            fetches: Slab::new(),
            without_room: VecDeque::new(),
            resumed: VecDeque::new(),
            interrupted: Vec::new(),
            counts: MapCacheCounts::default(),
            #[cfg(test)]
            shadow: Default::default(),
        })
    }

    /// The counters, under the names that results have.
    pub(super) fn counters(&self) -> [(&'static str, u64); 4] {
        let MapCacheCounts { hits, host_hits, misses, reads } = self.counts;
        [
            ("mapping_cache_hits", hits),
            ("mapping_cache_host_hits", host_hits),
            ("mapping_cache_misses", misses),
            ("translation_pages_read", reads),
        ]
    }

    fn page_of(&self, lpn: Lpn) -> u32 {
        lpn.0 / self.page_units
    }

    fn line_of(&self, lpn: Lpn) -> u32 {
        lpn.0 / self.line_units
    }

    fn page_of_line(&self, line: u32) -> u32 {
        line * self.line_units / self.page_units
    }

    /// The mapping unit that a translation page takes.
    pub(super) fn unit_of(&self, page: u32) -> Lpn {
        Lpn(self.first_page.0 + page)
    }

    /// The mapping units of the host whose entries a translation page has.
    fn units_of(&self, page: u32) -> Range<u32> {
        page * self.page_units..((page + 1) * self.page_units).min(self.first_page.0)
    }

    fn lines_of(&self, page: u32) -> Range<u32> {
        let units = self.units_of(page);
        units.start / self.line_units..units.end.div_ceil(self.line_units)
    }

    /// Whether the entry of a mapping unit has to be read from flash before its place is known.
    pub(super) fn is_on_flash_only(&self, ftl: &Ftl, lpn: Lpn) -> bool {
        !self.lines.contains(self.line_of(lpn)) && ftl.plane_of(self.unit_of(self.page_of(lpn))).is_some()
    }

    /// Looks up the entry that `lookup` needs. Returns whether it is in memory; otherwise the lookup waits, and is
    /// among the resumed ones later. Page writes may have become ready.
    pub(super) fn look_up(&mut self, kernel: &mut DriveKernel, ftl: &Ftl, lookup: MapLookup) -> bool {
        if let Some(holder) = self.lines.touch(self.line_of(lookup.lpn)) {
            self.counts.hits += 1;
            return match holder {
                Holder::Drive => true,
                Holder::Host => self.fetch(kernel, lookup),
            };
        }
        self.counts.misses += 1;
        let begun = self.begin_load(kernel, ftl, lookup.lpn);
        if begun == BegunLoad::InMemory {
            return true;
        }
        let waiting = Waiting { lookup, account: kernel.park_account(lookup.owner) };
        // What resumed before may look up what it needs next.
        let resumed = self.resumed.len();
        match begun {
            BegunLoad::UnderWay(load) => {
                self.loads[load].waiting.push(waiting);
                self.advance_load(kernel, ftl, load);
            }
            _ => self.without_room.push_back(waiting),
        }
        debug_assert_eq!(self.resumed.len(), resumed, "a load takes time");
        false
    }

    /// Gets a line from the host's memory, which takes time.
    fn fetch(&mut self, kernel: &mut DriveKernel, lookup: MapLookup) -> bool {
        self.counts.host_hits += 1;
        let waiting = Waiting { lookup, account: kernel.park_account(lookup.owner) };
        let slot = self.fetches.insert(Some(waiting));
        kernel.start_timer(self.host_access, Event::Task(HOST_MEMORY, slot.0));
        false
    }

    /// A line has come from the host's memory.
    pub(super) fn fetched(&mut self, slot: FetchSlot) {
        let waiting = self.fetches[slot].take().expect("a line comes once");
        self.fetches.remove(slot);
        self.resumed.push_back(waiting);
    }

    /// Loads the line of a mapping unit, and those behind it that are prefetched. Requires: it is missing.
    fn begin_load(&mut self, kernel: &mut DriveKernel, ftl: &Ftl, lpn: Lpn) -> BegunLoad {
        let (page, line) = (self.page_of(lpn), self.line_of(lpn));
        let under_way = self.load_of.get(&page).copied();
        if let Some(load) = under_way
            && self.loads[load].lines.contains(&line)
        {
            return BegunLoad::UnderWay(load);
        }
        let Ok(evicted) = self.lines.reserve() else { return BegunLoad::NoRoom };
        let is_on_flash = ftl.plane_of(self.unit_of(page)).is_some();
        let waits = is_on_flash || evicted.is_some_and(|evicted| evicted.dirty) || under_way.is_some();
        if !waits && !self.page_write_of.contains_key(&page) {
            self.lines.insert(line);
            return BegunLoad::InMemory;
        }
        let load = under_way.unwrap_or_else(|| self.new_load(page));
        self.give_room(kernel, ftl, load, line, evicted);
        for next in (line + 1..self.lines_of(page).end).take(self.prefetch as usize) {
            if self.lines.contains(next) || self.loads[load].lines.contains(&next) {
                continue;
            }
            let Ok(evicted) = self.lines.reserve() else { break };
            self.give_room(kernel, ftl, load, next, evicted);
        }
        BegunLoad::UnderWay(load)
    }

    /// A load of a page, which waits for the page to be written, where it is.
    fn new_load(&mut self, page: u32) -> LoadSlot {
        let (lines, waiting) = (BTreeSet::new(), Vec::new());
        let load = self.loads.insert(Load { page, lines, page_writes: 0, read: LoadRead::NotBegun, waiting });
        self.load_of.insert(page, load);
        if let Some(&write) = self.page_write_of.get(&page) {
            self.page_writes[write].waiting.push(load);
            self.loads[load].page_writes += 1;
        }
        load
    }

    /// `load` gets the room for `line`, once what gave it up is written, if it is dirty.
    fn give_room(
        &mut self,
        kernel: &mut DriveKernel,
        ftl: &Ftl,
        load: LoadSlot,
        line: u32,
        evicted: Option<Evicted>,
    ) {
        self.loads[load].lines.insert(line);
        if let Some(Evicted { line, dirty: true }) = evicted {
            self.loads[load].page_writes += 1;
            self.begin_page_write(kernel, ftl, self.page_of_line(line), Some(load));
        }
    }

    /// Begins the read of a load, or ends the load, if nothing is left to wait for.
    fn advance_load(&mut self, kernel: &mut DriveKernel, ftl: &Ftl, slot: LoadSlot) {
        let load = &mut self.loads[slot];
        if load.page_writes > 0 || load.read == LoadRead::UnderWay {
            return;
        }
        let unit = Lpn(self.first_page.0 + load.page);
        if load.read == LoadRead::NotBegun
            && let Some(plane) = ftl.plane_of(unit)
        {
            load.read = LoadRead::UnderWay;
            self.counts.reads += 1;
            let read = Read { page_type: ftl.page_type_of(unit), ..Read::of(unit, self.unit_bytes) };
            return kernel.enqueue(FlashOperation::read(slot.owner(), Class::HostRead, plane, read));
        }
        self.end_load(slot);
    }

    fn end_load(&mut self, slot: LoadSlot) {
        let load = &mut self.loads[slot];
        self.load_of.remove(&load.page);
        let (lines, waiting) = (std::mem::take(&mut load.lines), std::mem::take(&mut load.waiting));
        self.loads.remove(slot);
        lines.into_iter().for_each(|line| self.lines.insert(line));
        self.resumed.extend(waiting);
    }

    /// The flash read of a load has ended.
    pub(super) fn page_loaded(&mut self, kernel: &mut DriveKernel, ftl: &Ftl, slot: LoadSlot) {
        self.loads[slot].read = LoadRead::Done;
        self.advance_load(kernel, ftl, slot);
    }

    /// Looks up once more what there was no room for.
    pub(super) fn retry_without_room(&mut self, kernel: &mut DriveKernel, ftl: &Ftl) {
        while let Some(waiting) = self.without_room.pop_front() {
            let MapLookup { lpn, .. } = waiting.lookup;
            let begun = match self.lines.touch(self.line_of(lpn)) {
                Some(_) => BegunLoad::InMemory,
                None => self.begin_load(kernel, ftl, lpn),
            };
            match begun {
                BegunLoad::InMemory => self.resumed.push_back(waiting),
                BegunLoad::UnderWay(load) => {
                    self.loads[load].waiting.push(waiting);
                    self.advance_load(kernel, ftl, load);
                }
                BegunLoad::NoRoom => return self.without_room.push_front(waiting),
            }
        }
    }

    /// The next lookup that goes on.
    pub(super) fn next_resumed(&mut self) -> Option<Waiting> {
        self.resumed.pop_front()
    }

    // Updates.

    /// A mapping unit has a new place, or none.
    pub(super) fn update(&mut self, kernel: &mut DriveKernel, ftl: &Ftl, lpn: Lpn) {
        if !self.lines.change(self.line_of(lpn)) {
            self.begin_page_write(kernel, ftl, self.page_of(lpn), None);
        }
    }

    /// Mapping units were trimmed. Returns the translation pages that have no entry any more.
    pub(super) fn trimmed(&mut self, kernel: &mut DriveKernel, ftl: &Ftl, units: Range<u32>) -> Vec<u32> {
        let mut emptied = Vec::new();
        if units.is_empty() {
            return emptied;
        }
        for page in units.start / self.page_units..units.end.div_ceil(self.page_units) {
            let of_page = self.units_of(page);
            if units.start <= of_page.start && of_page.end <= units.end {
                self.lines.forget(self.lines_of(page));
                if let Some(&write) = self.page_write_of.get(&page) {
                    self.page_writes[write].cancelled = true;
                }
                emptied.push(page);
            } else {
                let trimmed = units.start.max(of_page.start)..units.end.min(of_page.end);
                trimmed.for_each(|unit| self.update(kernel, ftl, Lpn(unit)));
            }
        }
        emptied
    }

    // Power cut.

    /// Power is cut: what waited is lost, what had changed is found again.
    pub(super) fn cut_power(&mut self) {
        self.lines.cut_power();
        let unwritten = |&slot: &PageWriteSlot| {
            let PageWrite { stage, again, cancelled, .. } = self.page_writes[slot];
            !cancelled && (stage != PageWriteStage::Programming || again)
        };
        let interrupted = self.page_write_of.values().copied().filter(unwritten);
        self.interrupted = interrupted.map(|slot| self.page_writes[slot].page).collect();
        (self.loads, self.page_writes) = (Slab::new(), Slab::new());
        self.load_of.clear();
        self.page_write_of.clear();
        self.ready.clear();
        self.without_room.clear();
        self.resumed.clear();
        self.fetches = Slab::new();
    }

    /// Power is back.
    pub(super) fn power_returned(&mut self, kernel: &mut DriveKernel, ftl: &Ftl) {
        for page in std::mem::take(&mut self.interrupted) {
            self.begin_page_write(kernel, ftl, page, None);
        }
    }
}
