//! A device that keeps a copy of itself before each step, so that power can be cut within one call of the layer.

use flashlane_base::Instant;
use flashlane_device::{
    AtRisk, Buffer, Completion, DataDevice, Device, DeviceInfo, Lane, Request, RequestId, SubmitError, Unit,
};
use std::cell::RefCell;

/// A device, and copies of it before each step since it is watched.
pub(crate) struct Watched<D> {
    device: D,
    /// Behind a cell, since the layer lends its device for reading only.
    snapshots: RefCell<Option<Vec<D>>>,
}

impl<D: Clone> Watched<D> {
    pub(crate) fn new(device: D) -> Self {
        Self { device, snapshots: RefCell::new(None) }
    }

    pub(crate) fn copy(&self) -> D {
        self.device.clone()
    }

    pub(crate) fn into_inner(self) -> D {
        self.device
    }

    /// Keeps a copy before each step from now on.
    pub(crate) fn watch(&self) {
        self.snapshots.replace(Some(Vec::new()));
    }

    /// Returns the copies, and keeps no more.
    pub(crate) fn take_snapshots(&self) -> Vec<D> {
        self.snapshots.take().unwrap_or_default()
    }
}

impl<D: Device + Clone> Device for Watched<D> {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn now(&self) -> Instant {
        self.device.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.device.submit(request)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if let Some(snapshots) = self.snapshots.get_mut() {
            snapshots.push(self.device.clone());
        }
        self.device.reap(until, out);
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.device.unit(lane, index)
    }

    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        self.device.has_foreign_data(lane, index)
    }

    fn give_up_content(&mut self, lane: Lane, index: u64) {
        self.device.give_up_content(lane, index);
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        self.device.at_risk()
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        self.device.cut_power()
    }
}

impl<D: DataDevice + Clone> DataDevice for Watched<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        self.device.submit_with(request, buffer)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.device.take_buffer(id)
    }
}
