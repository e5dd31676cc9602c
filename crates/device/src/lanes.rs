//! Views of a device with lanes as a device without: one lane alone, or all lanes in one address space.

use crate::{
    AtRisk, Completion, Counters, Device, DeviceInfo, Lane, PowerCurve, Request, RequestId, Rule,
    SubmitError, TimeSplit, Unit, Zone,
};
use flashlane_base::{Instant, Operation};

/// One lane of a device as a separate device, as its lane 0. The other lanes cannot be reached.
#[derive(Clone, Debug)]
pub struct OneLane<D> {
    inner: D,
    lane: Lane,
    info: DeviceInfo,
}

impl<D: Device> OneLane<D> {
    /// Takes lane `lane` of `inner`; the name of the result includes the lane.
    ///
    /// # Errors
    /// [`SubmitError::NoSuchLane`] where there is no such lane.
    pub fn new(inner: D, lane: Lane) -> Result<Self, SubmitError> {
        let whole = inner.info();
        if lane.0 >= whole.lanes {
            return Err(SubmitError::NoSuchLane { lane, lanes: whole.lanes });
        }
        let info = DeviceInfo { name: format!("{}#{}", whole.name, lane.0), lanes: 1, ..whole.clone() };
        Ok(Self { inner, lane, info })
    }
}

impl<D: Device> Device for OneLane<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.info.check(&request)?;
        self.inner.submit(request.on(self.lane)).map_err(|error| request.refused_below(error))
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.inner.reap(until, out);
    }

    fn next_event(&self) -> Option<Instant> {
        self.inner.next_event()
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        if lane == Lane(0) { self.inner.unit(self.lane, index) } else { None }
    }

    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        lane == Lane(0) && self.inner.has_foreign_data(self.lane, index)
    }

    fn give_up_content(&mut self, lane: Lane, index: u64) {
        if lane == Lane(0) {
            self.inner.give_up_content(self.lane, index);
        }
    }

    fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        if lane == Lane(0) { self.inner.zone(self.lane, index) } else { None }
    }

    fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        self.inner.appended_at(id).map(|(_, offset_bytes)| (Lane(0), offset_bytes))
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.inner.power_curve()
    }

    fn record_time_splits(&mut self) -> bool {
        self.inner.record_time_splits()
    }

    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.inner.time_split(id)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        self.inner.at_risk().map(|all| self.on_this_lane(all))
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        let lost = self.inner.cut_power()?;
        Some(self.on_this_lane(lost))
    }
}

impl<D> OneLane<D> {
    fn on_this_lane(&self, all: Vec<AtRisk>) -> Vec<AtRisk> {
        all.into_iter()
            .filter(|risk| risk.lane == self.lane)
            .map(|risk| AtRisk { lane: Lane(0), ..risk })
            .collect()
    }
}

/// All lanes of a device in one address space, for callers that support one lane only. Consecutive erase units (or,
/// without those, write units) lie on consecutive lanes, so that sequential accesses use all lanes in turn.
#[derive(Clone, Debug)]
pub struct Interleaved<D> {
    inner: D,
    info: DeviceInfo,
    unit_bytes: u64,
    lanes: u64,
}

impl<D: Device> Interleaved<D> {
    /// Interleaves all lanes of `inner`.
    pub fn new(inner: D) -> Self {
        let whole = inner.info();
        let unit_bytes = whole.erase_unit_bytes.max(whole.write_unit_bytes);
        let (info, lanes) = (Self::info_over(whole), u64::from(whole.lanes));
        Self { inner, info, unit_bytes, lanes }
    }

    /// Returns the properties of the whole over a device with the properties `inner`.
    pub fn info_over(inner: &DeviceInfo) -> DeviceInfo {
        let capacity_bytes = inner.capacity_bytes * u64::from(inner.lanes);
        DeviceInfo { capacity_bytes, lanes: 1, ..inner.clone() }
    }

    /// Translates a request to the inner device. It MUST lie within one unit.
    fn to_inner(&self, request: &Request) -> Result<Request, Rule> {
        if request.operation == Operation::Flush {
            return Ok(*request);
        }
        let (unit, within) = (request.offset_bytes / self.unit_bytes, request.offset_bytes % self.unit_bytes);
        if within + request.length_bytes > self.unit_bytes {
            return Err(Rule::AcrossUnits { unit_bytes: self.unit_bytes });
        }
        let offset_bytes = unit / self.lanes * self.unit_bytes + within;
        Ok(Request { offset_bytes, ..*request }.on(Lane((unit % self.lanes) as u32)))
    }

    /// Translates a range of the inner device to this device.
    fn to_outer(&self, risk: AtRisk) -> AtRisk {
        AtRisk { lane: Lane(0), offset_bytes: self.outer_offset(risk.lane, risk.offset_bytes), ..risk }
    }

    /// Translates an offset on a lane of the inner device to this device.
    fn outer_offset(&self, lane: Lane, offset_bytes: u64) -> u64 {
        let (unit, within) = (offset_bytes / self.unit_bytes, offset_bytes % self.unit_bytes);
        (unit * self.lanes + u64::from(lane.0)) * self.unit_bytes + within
    }
}

impl<D: Device> Device for Interleaved<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.info.check(&request)?;
        let inner = self.to_inner(&request).map_err(|rule| request.refused_by(rule))?;
        self.inner.submit(inner).map_err(|error| request.refused_below(error))
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        self.inner.reap(until, out);
    }

    fn next_event(&self) -> Option<Instant> {
        self.inner.next_event()
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        if lane != Lane(0) || self.info.erase_unit_bytes == 0 {
            return None;
        }
        self.inner.unit(Lane((index % self.lanes) as u32), index / self.lanes)
    }

    fn zone(&self, lane: Lane, index: u64) -> Option<Zone> {
        if lane != Lane(0) {
            return None;
        }
        self.inner.zone(Lane((index % self.lanes) as u32), index / self.lanes)
    }

    fn appended_at(&self, id: RequestId) -> Option<(Lane, u64)> {
        let (lane, offset_bytes) = self.inner.appended_at(id)?;
        Some((Lane(0), self.outer_offset(lane, offset_bytes)))
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.inner.power_curve()
    }

    fn record_time_splits(&mut self) -> bool {
        self.inner.record_time_splits()
    }

    fn time_split(&self, id: RequestId) -> Option<TimeSplit> {
        self.inner.time_split(id)
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        Some(self.inner.at_risk()?.into_iter().map(|risk| self.to_outer(risk)).collect())
    }

    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        Some(self.inner.cut_power()?.into_iter().map(|risk| self.to_outer(risk)).collect())
    }
}
