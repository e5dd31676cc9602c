//! Two devices whose states are kept at some of the moments at which either takes a request: power may be cut at each.

use flashlane_base::{Instant, Random};
use flashlane_device::{
    AtRisk, Buffer, Completion, DataDevice, Device, DeviceInfo, Lane, Request, RequestId, SubmitError, Unit,
};
use flashlane_device_testing::{MemoryDisk, MemoryLanes};
use std::cell::RefCell;
use std::rc::Rc;

/// Most moments that are kept.
const MOMENTS_MAX: usize = 6;
/// Share of the moments that are kept.
const CHANCE: f64 = 0.15;

/// Both devices, and copies of them.
pub(crate) struct Recorder {
    device: MemoryLanes,
    log: MemoryDisk,
    random: Random,
    moments: Vec<(MemoryLanes, MemoryDisk)>,
}

impl Recorder {
    /// Returns two devices that share a recorder.
    pub(crate) fn share(
        device: MemoryLanes,
        log: MemoryDisk,
        random: Random,
    ) -> (Recorded<MemoryLanes>, Recorded<MemoryDisk>) {
        let infos = (device.info().clone(), log.info().clone());
        let shared = Rc::new(RefCell::new(Self { device, log, random, moments: Vec::new() }));
        (
            Recorded { shared: shared.clone(), of: |shared| &mut shared.device, info: infos.0 },
            Recorded { shared, of: |shared| &mut shared.log, info: infos.1 },
        )
    }

    fn keep_moment(&mut self) {
        if self.moments.len() < MOMENTS_MAX && self.random.chance(CHANCE) {
            self.moments.push((self.device.clone(), self.log.clone()));
        }
    }
}

/// One of the two.
pub(crate) struct Recorded<T> {
    shared: Rc<RefCell<Recorder>>,
    of: fn(&mut Recorder) -> &mut T,
    info: DeviceInfo,
}

impl<T> Recorded<T> {
    /// Returns both devices as they are now.
    pub(crate) fn copies(&self) -> (MemoryLanes, MemoryDisk) {
        let shared = self.shared.borrow();
        (shared.device.clone(), shared.log.clone())
    }

    /// Returns the moments that were kept.
    pub(crate) fn take_moments(&self) -> Vec<(MemoryLanes, MemoryDisk)> {
        std::mem::take(&mut self.shared.borrow_mut().moments)
    }

    fn with<R>(&self, action: impl FnOnce(&mut T) -> R) -> R {
        action((self.of)(&mut self.shared.borrow_mut()))
    }
}

impl<T: DataDevice> Device for Recorded<T> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.with(|device| device.now())
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.shared.borrow_mut().keep_moment();
        self.with(|device| device.submit(request))
    }

    fn next_event(&self) -> Option<Instant> {
        self.with(|device| device.next_event())
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.with(|device| device.reap(until, out));
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.with(|device| device.unit(lane, index))
    }

    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        self.with(|device| device.has_foreign_data(lane, index))
    }

    fn give_up_content(&mut self, lane: Lane, index: u64) {
        self.with(|device| device.give_up_content(lane, index));
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        self.with(|device| device.at_risk())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        self.with(|device| device.cut_power())
    }
}

impl<T: DataDevice> DataDevice for Recorded<T> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.shared.borrow_mut().keep_moment();
        self.with(|device| device.submit_with(request, buffer))
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.with(|device| device.take_buffer(id))
    }
}
