//! A simulated conventional drive: requests cross the link, pass buffer, cache and translation, become
//! flash operations, and complete.
//!
//! [`Drive`] is the front end of the kernel ([`crate::kernel`]) and hands what happens to its parts, which own their
//! state: `read`, `write` (begin there to follow a write), `translation`, the commands that wait for the link, the
//! read/write lock and the timers of idle dies. `request` has the stages of a request.
//!
//! A power cut loses the volatile parts, which are created again; `translation` keeps its tables.

mod counters;
mod idle;
mod link_transfers;
mod read;
mod read_cache;
mod request;
mod translation;
mod write;

use crate::config::{DriveConfig, InitialState};
use crate::event::{Event, IdleWork, Ticket};
use crate::ftl::{StopCheck, never_stop};
use crate::host_port::{Direction, LinkWait, LockMode, LockOwner, ReadWriteLock, Transfer};
use crate::ids::{DieId, Lpn, RequestSlot};
use crate::kernel::{self, FrontEnd};
use crate::nand::{FlashOperation, Geometry, Owner, Work};
use crate::table_memory::MakeError;
use counters::Counts;
use flashlane_base::{Instant, Seed};
use flashlane_device::{
    AtRisk, Completion, Counters, Device, DeviceInfo, Lane, Operation, Part, PowerCurve, Request, RequestId,
    SubmitError, TimeSplit,
};
use idle::IdleDies;
use link_transfers::LinkTransfers;
use read::ReadPath;
use request::{DriveKernel, RequestState, pieces_of};
use translation::{Resumed, Translation};
use write::WritePath;

/// A simulated conventional drive.
pub struct Drive {
    config: DriveConfig,
    geometry: Geometry,
    transfers: LinkTransfers,
    kernel: DriveKernel,
    translation: Translation,
    volatile: Volatile,
}

/// The parts whose state a power cut loses, beside what the kernel loses.
struct Volatile {
    link_wait: LinkWait,
    /// Where reads of flash and writes exclude each other.
    lock: Option<ReadWriteLock>,
    /// Where idle dies are given garbage collection.
    idle_dies: Option<IdleDies>,
    reads: ReadPath,
    writes: WritePath,
}

impl Volatile {
    /// Empty parts whose counters start at `counts`.
    fn new(
        config: &DriveConfig,
        geometry: &Geometry,
        transfers: LinkTransfers,
        idle_gc: bool,
        counts: Counts,
    ) -> Self {
        Self {
            link_wait: LinkWait::new(config.link.commands_wait),
            lock: config.link.read_write_exclusion.then(|| ReadWriteLock::new(counts.lock_waits)),
            idle_dies: idle_gc.then(|| IdleDies::new(config, geometry)),
            reads: ReadPath::new(config, geometry, transfers, counts.reads),
            writes: WritePath::new(config, geometry, transfers, counts.writes),
        }
    }

    fn counts(&self, kernel: &DriveKernel) -> Counts {
        Counts {
            reads: self.reads.counts(),
            writes: self.writes.counts(kernel),
            lock_waits: self.lock.as_ref().map_or(0, ReadWriteLock::waits),
        }
    }
}

impl Drive {
    /// A drive in its profile's initial state. Requires: `config` was loaded, and so validated, by
    /// [`crate::profile::load`] or [`crate::profile::parse`].
    ///
    /// # Panics
    /// Where the profile has lanes or zones, since it is an [`Sdf`](crate::Sdf)'s or a zoned drive's, and where its
    /// tables do not fit into memory.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
        Self::new_watched(config, seed, &mut never_stop)
            .expect("nothing stops it, and its tables fit into memory")
    }

    /// Creates the drive as [`Drive::new`] does, in time proportional to its blocks, or to its mapping units where
    /// whole blocks are mapped or the allocation has no stripe.
    ///
    /// # Errors
    /// [`MakeError`] where `watch` breaks meanwhile, or the system has no room for the drive's tables.
    ///
    /// # Panics
    /// As [`Drive::new`].
    pub fn new_watched(config: &DriveConfig, seed: Seed, watch: StopCheck<'_>) -> Result<Self, MakeError> {
        assert!(!config.has_erase_units(), "a profile with [lanes] or [zones] is that of another drive");
        let geometry = Geometry::new(config);
        let translation = Translation::new(config, &geometry, seed, watch)?;
        let transfers = LinkTransfers {
            unit_bytes: geometry.unit_bytes,
            whole_reads: config.compat.disksim.whole_reads,
            completions_cross_link: config.compat.disksim.completions_wait,
        };
        let idle_gc = translation.has_idle_gc();
        Ok(Self {
            config: config.clone(),
            transfers,
            kernel: DriveKernel::new(info(config), config, &geometry, seed),
            volatile: Volatile::new(config, &geometry, transfers, idle_gc, Counts::default()),
            translation,
            geometry,
        })
    }

    /// The same drive under another name in results: the spec that it was opened with.
    pub fn named(mut self, name: String) -> Self {
        self.kernel.set_name(name);
        self
    }

    /// A hash over every event so far, its time and its place: equal for equal profile, workload and seed, on any
    /// machine.
    pub fn trace_hash(&self) -> u64 {
        self.kernel.trace_hash()
    }

    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Least, mean and largest erase count of a block.
    pub fn wear_spread(&self) -> (u32, f64, u32) {
        self.translation.wear_spread()
    }

    // Requests on their way in, in this order: start_or_wait_for_link, start_command, start_write, data_received. See
    // `Kernel::send` for the time of the command itself.

    /// The host sends a command, which may have to wait for the link.
    fn start_or_wait_for_link(&mut self, slot: RequestSlot) {
        if self.volatile.link_wait.may_start(slot, self.kernel.link()) {
            self.start_command(slot);
        }
    }

    /// The host holds a command back no longer: the drive starts to serve it.
    fn start_command(&mut self, slot: RequestSlot) {
        self.kernel.charge(slot, Part::Queue);
        match self.kernel.in_flight(slot).request().operation {
            Operation::Read => self.start_read(slot),
            Operation::Write => {
                if self.acquire_lock_or_wait(LockMode::Write, slot) {
                    self.start_write(slot);
                }
            }
            Operation::Trim | Operation::Flush => self.transfers.transfer_in(&mut self.kernel, slot, 0),
            operation => unreachable!("the drive has no erase units: submit refused the {operation}"),
        }
    }

    /// A write may send its data.
    fn start_write(&mut self, slot: RequestSlot) {
        self.kernel.charge(slot, Part::Queue);
        let Request { offset_bytes, length_bytes, .. } = self.kernel.in_flight(slot).request();
        self.translation.prefetch_place(self.lpn_at(offset_bytes));
        self.transfers.transfer_in(&mut self.kernel, slot, length_bytes);
    }

    /// The command and data of a write, or the command of a trim or flush, have crossed the link.
    fn data_received(&mut self, slot: RequestSlot) {
        let request = self.kernel.in_flight(slot).request();
        let unit_bytes = self.transfers.unit_bytes;
        match request.operation {
            Operation::Write => {
                self.release_lock(LockMode::Write, slot);
                let Volatile { reads, writes, .. } = &mut self.volatile;
                reads.forget(pieces_of(&request, unit_bytes).map(|piece| piece.lpn));
                writes.data_arrived(&mut self.kernel, &mut self.translation, slot);
            }
            Operation::Trim => {
                let Volatile { reads, writes, .. } = &mut self.volatile;
                let whole = pieces_of(&request, unit_bytes).filter(|p| u64::from(p.bytes) == unit_bytes);
                reads.forget(whole.map(|piece| piece.lpn));
                writes.trim(&mut self.kernel, &mut self.translation, slot);
            }
            _ => self.volatile.writes.flush(&mut self.kernel, &mut self.translation, slot),
        }
    }

    fn lpn_at(&self, offset_bytes: u64) -> Lpn {
        Lpn((offset_bytes / self.transfers.unit_bytes) as u32)
    }

    fn start_read(&mut self, slot: RequestSlot) {
        let Volatile { lock, reads, writes, .. } = &mut self.volatile;
        reads.count();
        let request = &self.kernel.in_flight(slot).request();
        let locks = lock.is_some() && reads.needs_flash(request, writes, &self.translation);
        if !locks || self.acquire_lock_or_wait(LockMode::Read, slot) {
            self.serve_read(slot);
        }
    }

    /// Serves a read, and reads ahead of the host.
    fn serve_read(&mut self, slot: RequestSlot) {
        self.kernel.charge(slot, Part::Queue);
        let request = self.kernel.in_flight(slot).request();
        let Volatile { reads, writes, .. } = &mut self.volatile;
        if reads.start(&mut self.kernel, writes, &mut self.translation, slot) {
            self.release_lock(LockMode::Read, slot);
        }
        if self.volatile.reads.has_readahead() {
            self.read_ahead(&request);
        }
    }

    /// Reads mapping units from flash that the host may ask for after `request`.
    fn read_ahead(&mut self, request: &Request) {
        let Volatile { reads, writes, .. } = &mut self.volatile;
        let (to_fetch, cancelled) =
            reads.units_to_read_ahead(&mut self.kernel, request, writes, &self.translation);
        if self.volatile.lock.is_some() {
            (0..cancelled).for_each(|_| self.unlock(LockMode::Read));
        }
        for &lpn in &to_fetch {
            let lock = &mut self.volatile.lock;
            if lock.as_mut().is_none_or(|lock| lock.enter(LockMode::Read, LockOwner::Readahead(lpn))) {
                self.start_readahead(lpn);
            }
        }
        self.volatile.reads.recycle(to_fetch);
    }

    /// Reads a mapping unit ahead of the host, once its place is known.
    fn start_readahead(&mut self, lpn: Lpn) {
        if self.translation.look_up_ahead(&mut self.kernel, lpn) {
            self.start_mapped_readahead(lpn);
        }
    }

    fn start_mapped_readahead(&mut self, lpn: Lpn) {
        if !self.volatile.reads.start_readahead(&mut self.kernel, &mut self.translation, lpn) {
            self.readahead_done(lpn);
        }
    }

    /// A mapping unit has been read ahead of the host.
    fn readahead_done(&mut self, lpn: Lpn) {
        self.volatile.reads.readahead_done(&mut self.kernel, lpn);
        if self.volatile.lock.is_some() {
            self.unlock(LockMode::Read);
        }
    }

    /// Acquires the read/write lock for a request, or queues the request for it. Returns whether it is acquired.
    fn acquire_lock_or_wait(&mut self, mode: LockMode, slot: RequestSlot) -> bool {
        let Some(lock) = &mut self.volatile.lock else { return true };
        self.kernel.in_flight_mut(slot).start_locking();
        lock.enter(mode, LockOwner::Request(slot))
    }

    /// Releases the read/write lock, if a request holds it.
    fn release_lock(&mut self, mode: LockMode, slot: RequestSlot) {
        if self.kernel.in_flight_mut(slot).end_locking() {
            self.unlock(mode);
        }
    }

    /// Releases the read/write lock and continues the requests and the readahead that it is granted to.
    fn unlock(&mut self, mode: LockMode) {
        let Some(lock) = &mut self.volatile.lock else { unreachable!("without a lock no request holds it") };
        let granted = lock.leave(mode);
        for &owner in &granted {
            match owner {
                LockOwner::Readahead(lpn) => self.start_readahead(lpn),
                LockOwner::Request(slot) => match self.kernel.in_flight(slot).request().operation {
                    Operation::Read => self.serve_read(slot),
                    _ => self.start_write(slot),
                },
            }
        }
        if let Some(lock) = &mut self.volatile.lock {
            lock.recycle(granted);
        }
    }

    /// Does what follows from a finished flash operation of `die`.
    #[inline]
    fn flash_operation_finished(&mut self, die: DieId, operation: &FlashOperation) {
        if operation.owner.is_task() {
            if let Some(completing) = self.translation.operation_finished(&mut self.kernel, operation) {
                self.kernel.account_completion(completing.owner);
                self.flash_operation_finished(die, &completing);
            }
            return self.resume_after_map();
        }
        let (kernel, translation) = (&mut self.kernel, &mut self.translation);
        let Volatile { reads, writes, .. } = &mut self.volatile;
        match (operation.owner, &operation.work) {
            (Owner::Request(slot), Work::Read(read)) => {
                if reads.units_read(kernel, writes, slot, read) {
                    self.release_lock(LockMode::Read, slot);
                }
            }
            (Owner::Request(slot), Work::Program(program)) => writes.programmed(kernel, slot, program),
            (Owner::Drain(slot), _) => writes.drained(kernel, translation, slot),
            (Owner::DrainRmw(slot), Work::Read(read)) => {
                writes.drain_rmw_read(kernel, translation, read.lpn, slot);
            }
            (Owner::RequestRmw(slot), Work::Read(read)) => {
                writes.write_through_rmw_read(kernel, translation, read.lpn, slot);
            }
            (Owner::Readahead, Work::Read(read)) => self.readahead_done(read.lpn),
            (Owner::IdleGc, _) => self.collect_idle(die),
            (owner, work) => unreachable!("{work:?} is not done for {owner:?}"),
        }
    }

    /// Goes on with what waited for the map, where a part of it is on flash.
    fn resume_after_map(&mut self) {
        while let Some(resumed) = self.translation.next_resumed(&mut self.kernel) {
            match resumed {
                Resumed::Write { owner, lpn } => {
                    self.volatile.writes.program_mapped(&mut self.kernel, &mut self.translation, lpn, owner);
                }
                Resumed::Readahead(lpn) => self.start_mapped_readahead(lpn),
                Resumed::Ended(read) => {
                    let die = self.kernel.flash().die_of(read.plane);
                    self.flash_operation_finished(die, &read);
                }
            }
        }
    }

    /// Goes on with the GC of an idle die, garbage-collects a block of each of its planes that is short of free ones,
    /// or folds their SLC caches where the host is idle, too.
    fn collect_idle(&mut self, die: DieId) {
        if self.kernel.flash().is_idle(die, self.kernel.now()) && !self.kernel.resume_gc(die) {
            self.translation.enqueue_idle_gc(&mut self.kernel, die);
        }
    }

    /// What has completed and is not on flash.
    fn unflushed(&self) -> Vec<AtRisk> {
        let unit_bytes = self.transfers.unit_bytes;
        let capacity_bytes = self.kernel.info().capacity_bytes;
        let at_risk = self.volatile.writes.at_risk().map(|(lpn, first_write)| {
            let offset_bytes = u64::from(lpn.0) * unit_bytes;
            let length_bytes = unit_bytes.min(capacity_bytes - offset_bytes);
            AtRisk { lane: Lane(0), offset_bytes, length_bytes, first_write }
        });
        at_risk.collect()
    }
}

fn info(config: &DriveConfig) -> DeviceInfo {
    DeviceInfo {
        depth: config.link.depth,
        queues: config.queue_count(),
        placement_handles: config.handle_count(),
        simulated: true,
        over_provisioning: config.reserve(),
        programs_in_parts: config.programs_in_parts(),
        begins_written: config.initial.state != InitialState::Fresh,
        ..DeviceInfo::new(format!("sim:{}", config.name), config.capacity.0, config.sector.0)
    }
}

impl FrontEnd for Drive {
    type State = RequestState;

    #[inline]
    fn kernel(&mut self) -> &mut DriveKernel {
        &mut self.kernel
    }

    fn fetched(&mut self, slot: RequestSlot) {
        self.start_or_wait_for_link(slot);
    }

    #[inline]
    fn transfer_ended(&mut self, transfer: Transfer) {
        let slot = transfer.request;
        match transfer.direction {
            Direction::Out => self.transfers.transfer_out_ended(&mut self.kernel, transfer),
            Direction::In => self.data_received(slot),
        }
        self.volatile.link_wait.transfer_ended();
        while let Some(slot) = self.volatile.link_wait.next(self.kernel.link()) {
            self.start_command(slot);
        }
    }

    #[inline]
    fn flash_finished(&mut self, die: DieId, finished: &[FlashOperation]) {
        for operation in finished {
            self.kernel.account_operation(operation.owner);
            self.flash_operation_finished(die, operation);
        }
    }

    #[inline]
    fn die_advanced(&mut self, die: DieId) {
        if let Some(idle_dies) = &mut self.volatile.idle_dies {
            idle_dies.watch(&mut self.kernel, die);
        }
        self.translation.watch_for_copies(&mut self.kernel, die);
    }

    fn claims_timer(&mut self, event: Event, ticket: Ticket) -> bool {
        match event {
            Event::DieIdle(die) => {
                self.volatile.idle_dies.as_mut().is_some_and(|idle_dies| idle_dies.claims_timer(die, ticket))
            }
            Event::Task(kind, number) => self.translation.claims_timer(kind, number, ticket),
            _ => unreachable!("{event:?} ends no timer of the drive"),
        }
    }

    fn timer_ended(&mut self, event: Event) {
        match event {
            Event::DieIdle(die) => self.collect_idle(die),
            Event::Task(kind, number) => {
                self.translation.timer_ended(&mut self.kernel, kind, number);
                self.resume_after_map();
            }
            _ => unreachable!("{event:?} ends no timer of the drive"),
        }
    }

    fn host_idle(&mut self, work: IdleWork) {
        match work {
            IdleWork::DrainBuffer => self.volatile.writes.drain(&mut self.kernel, &mut self.translation),
            IdleWork::FoldCache => (0..self.geometry.dies).map(DieId).for_each(|die| self.collect_idle(die)),
        }
    }

    fn buffer_latency_over(&mut self, slot: RequestSlot) {
        self.volatile.writes.acknowledge(&mut self.kernel, slot);
    }
}

impl Device for Drive {
    fn info(&self) -> &DeviceInfo {
        self.kernel.info()
    }

    fn now(&self) -> Instant {
        self.kernel.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.kernel.check(&request)?;
        if let Some(slot) = self.kernel.accept(&request) {
            self.start_or_wait_for_link(slot);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        Some(self.kernel.next_event())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        kernel::run(self, until, out);
    }

    fn prefetch(&self, offset_bytes: u64, _: u64) {
        self.translation.prefetch_entry(self.lpn_at(offset_bytes));
    }

    fn counters(&self) -> Counters {
        counters::list(&self.kernel, &self.translation, &self.volatile.counts(&self.kernel))
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.kernel.power_curve()
    }

    fn record_time_splits(&mut self) -> bool {
        self.kernel.record_times()
    }

    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.kernel.time_split(id)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(self.unflushed())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        let lost = self.unflushed();
        let (counts, idle_gc) = (self.volatile.counts(&self.kernel), self.translation.has_idle_gc());
        self.translation.cut_power(self.kernel.now());
        self.kernel.cut_power();
        self.volatile = Volatile::new(&self.config, &self.geometry, self.transfers, idle_gc, counts);
        self.translation.power_returned(&mut self.kernel);
        Some(lost)
    }
}

/// For tests.
#[cfg(test)]
impl Drive {
    fn in_flight(&self) -> u32 {
        self.kernel.in_flight_count()
    }

    fn plane_of(&self, lpn: Lpn) -> Option<crate::ids::PlaneId> {
        self.translation.plane_of(lpn)
    }

    /// Panics where tables of the translation layer disagree.
    fn check_tables(&self) {
        self.translation.check();
    }
}

#[cfg(test)]
mod tests;
