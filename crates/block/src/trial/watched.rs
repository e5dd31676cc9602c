//! A device that can keep a copy of itself at each step, so that power can be cut within what is one call of the layer.

use flashlane_base::Instant;
use flashlane_device::{
    AtRisk, Buffer, Completion, DataDevice, Device, Lane, Profile, Request, RequestId, SubmitError, Unit,
};

/// The device, and how it was just before each of its steps since it was watched.
pub(super) struct Watched<D> {
    device: D,
    seen: Option<Vec<D>>,
}

impl<D: Clone> Watched<D> {
    pub(super) fn new(device: D) -> Self {
        Self { device, seen: None }
    }

    pub(super) fn copy(&self) -> D {
        self.device.clone()
    }

    pub(super) fn into_inner(self) -> D {
        self.device
    }

    /// From now on each step is kept.
    pub(super) fn watch(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// What was kept; from now on nothing is.
    pub(super) fn take_seen(&mut self) -> Vec<D> {
        self.seen.take().unwrap_or_default()
    }
}

impl<D: Device + Clone> Device for Watched<D> {
    fn profile(&self) -> &Profile {
        self.device.profile()
    }

    fn now(&self) -> Instant {
        self.device.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.device.submit(request)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        if let Some(seen) = &mut self.seen {
            seen.push(self.device.clone());
        }
        self.device.reap(until, out);
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.device.unit(lane, index)
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
