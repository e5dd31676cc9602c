//! Simulated software-defined flash: every channel is a lane, and software erases.
//!
//! After sdf14 (Ouyang et al., "SDF: Software-Defined Flash for Web-Scale Internet Storage Systems", ASPLOS 2014,
//! section 2). A unit is an erase block on each plane of a channel; it is erased by a command, written as a whole and
//! read in pages. A write completes when all of it is on flash: there is no buffer, nothing is cleaned or moved, and a
//! power cut takes nothing that completed. The rules are those of [`UnitStates`]; flash, link and error correction are
//! those of [`Drive`](crate::Drive), in the kernel that both share; what is in between, the channel's `Engine`, is a
//! map of blocks.
//!
//! Cost: what a write or an erase does to all planes of a die at once is one operation of the flash, so that a page of
//! a unit's write costs a fraction of an event.

mod engine;
mod job;
mod shape;
#[cfg(test)]
mod tests;
mod work;

use crate::config::{DriveConfig, InitialState};
use crate::host_port::Transfer;
use crate::ids::{DieId, LaneUnit, RequestSlot};
use crate::kernel::{self, FrontEnd, Kernel};
use crate::nand::{Correction, FlashOperation, Geometry};
use engine::Engine;
use flashlane_base::{Instant, Seed};
use flashlane_device::{
    AtRisk, Completion, Counters, Device, DeviceInfo, Failure, Lane, Operation, PowerCurve, Request,
    RequestId, SubmitError, TimeSplit, Unit, UnitState, UnitStates,
};
use job::Job;
use shape::Shape;

/// A simulated device of software-defined flash.
#[derive(Clone)]
pub struct Sdf {
    shape: Shape,
    kernel: Kernel<Job>,
    correction: Option<Correction>,
    /// By lane.
    engines: Vec<Engine>,
    units: UnitStates,
    counts: Counts,
    /// An empty list, kept to spare its allocation.
    erased: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reads: u64,
    writes: u64,
    erases: u64,
    flushes: u64,
    pages_read: u64,
    pages_written: u64,
    read_retries: u64,
    pages_unreadable: u64,
    pages_saved: u64,
}

impl Sdf {
    /// A device in its profile's initial state. Requires: `config` was loaded, and so validated, by
    /// [`crate::profile::load`] or [`crate::profile::parse`].
    ///
    /// # Panics
    /// Where the profile has no lanes: it is a [`Drive`](crate::Drive)'s.
    pub fn new(config: &DriveConfig, seed: Seed) -> Self {
        let lanes = config.lanes.as_ref().expect("a profile without [lanes] is that of a Drive");
        let shape = Shape::new(config);
        let info = DeviceInfo {
            write_unit_bytes: shape.unit_bytes,
            lanes: config.lane_count(),
            erase_unit_bytes: shape.unit_bytes,
            depth: config.link.depth,
            queues: config.queue_count(),
            simulated: true,
            ..DeviceInfo::new(
                format!("sim:{}", config.name),
                u64::from(shape.units) * shape.unit_bytes,
                lanes.read_unit.unwrap_or(config.flash.page).0,
            )
        };
        let engines = Engine::all(config, &shape, seed);
        let mut units = UnitStates::new(&info);
        let state = match config.initial.state {
            InitialState::Full => UnitState::Written { bytes: shape.unit_bytes },
            _ => UnitState::ERASED,
        };
        for (lane, engine) in engines.iter().enumerate() {
            for unit in 0..shape.units {
                let state = if engine.has(LaneUnit(unit)) { state } else { UnitState::Bad };
                units.set(Lane(lane as u32), u64::from(unit), state, Some(0));
            }
        }
        Self {
            shape,
            kernel: Kernel::new(info, config, &Geometry::new(config), seed),
            correction: Correction::new(config, seed),
            engines,
            units,
            counts: Counts::default(),
            erased: Vec::new(),
        }
    }

    /// The same device under another name in results: the spec that it was opened with.
    pub fn named(mut self, name: String) -> Self {
        self.kernel.set_name(name);
        self
    }

    /// A hash over every event so far, its time and its place: equal for equal profile, workload and seed, on any
    /// machine.
    pub fn trace_hash(&self) -> u64 {
        self.kernel.trace_hash()
    }

    /// Spare blocks that are left on the plane of a lane that has the fewest; a unit of the lane is lost when one more
    /// than these has failed there. `None` where there is no such lane.
    pub fn spare_blocks(&self, lane: Lane) -> Option<u32> {
        self.engines.get(lane.0 as usize).map(Engine::least_spares)
    }

    /// Least and largest erase count of a lane's good blocks. `None` where there is no such lane.
    pub fn wear_spread(&self, lane: Lane) -> Option<(u32, u32)> {
        self.engines.get(lane.0 as usize).map(Engine::wear_spread)
    }

    fn complete(&mut self, slot: RequestSlot) {
        let job = self.kernel.in_flight(slot);
        self.units.ended(&job.request(), &job.outcome());
        self.kernel.complete(slot);
    }
}

impl FrontEnd for Sdf {
    type State = Job;

    #[inline]
    fn kernel(&mut self) -> &mut Kernel<Job> {
        &mut self.kernel
    }

    fn fetched(&mut self, slot: RequestSlot) {
        self.start(slot);
    }

    #[inline]
    fn transfer_ended(&mut self, transfer: Transfer) {
        self.continue_after(transfer);
    }

    #[inline]
    fn flash_finished(&mut self, _: DieId, finished: &[FlashOperation]) {
        for operation in finished {
            self.kernel.account_operation(operation.owner);
            self.flash_operation_finished(operation);
        }
    }
}

impl Device for Sdf {
    fn info(&self) -> &DeviceInfo {
        self.kernel.info()
    }

    fn now(&self) -> Instant {
        self.kernel.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.kernel.info().check(&request)?;
        if request.operation == Operation::Trim {
            return Err(SubmitError::Unsupported { operation: Operation::Trim });
        }
        self.kernel.check(&request)?;
        self.units.admit(&request).map_err(|rule| request.refused_by(rule))?;
        self.units.accepted(&request);
        if let Some(slot) = self.kernel.accept(&request) {
            self.start(slot);
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Instant> {
        Some(self.kernel.next_event())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        kernel::run(self, until, out);
    }

    fn counters(&self) -> Counters {
        let (flash, counts) = (self.kernel.flash().counters(), &self.counts);
        let mut engines = engine::EngineCounts::default();
        for engine in self.engines.iter().map(Engine::counts) {
            engines.erases += engine.erases;
            engines.failed += engine.failed;
            engines.lost += engine.lost;
        }
        let (page_bytes, programmed) = (self.shape.page_bytes, flash.programs + counts.pages_saved);
        let mut list = vec![
            ("host_reads", counts.reads),
            ("host_writes", counts.writes),
            ("host_erases", counts.erases),
            ("host_flushes", counts.flushes),
            ("host_pages_read", counts.pages_read),
            (Counters::HOST_PAGES_WRITTEN, counts.pages_written),
            (Counters::HOST_BYTES_WRITTEN, counts.pages_written * page_bytes),
            ("flash_pages_read", flash.reads + counts.pages_saved),
            (Counters::FLASH_PAGES_PROGRAMMED, programmed),
            (Counters::FLASH_BYTES_PROGRAMMED, programmed * page_bytes),
            ("pages_moved_off_failing_blocks", counts.pages_saved),
            ("blocks_erased", engines.erases),
            ("blocks_failed", engines.failed),
            ("units_lost", engines.lost),
            ("read_retries", counts.read_retries),
            ("pages_unreadable", counts.pages_unreadable),
            ("link_busy_ns", self.kernel.link().busy_ns()),
        ];
        list.extend(self.kernel.queued_commands().map(|count| ("commands_queued", count)));
        self.kernel.add_counters(&mut list);
        Counters(list)
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

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.get(lane, index)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(Vec::new())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        // The engines keep their tables, as devices rebuild them from what they wrote beside the data.
        for job in self.kernel.requests() {
            self.units.ended(&job.request(), &Err(Failure::DeviceLost));
        }
        self.kernel.cut_power();
        Some(Vec::new())
    }
}
