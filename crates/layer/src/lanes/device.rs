//! The device interface of the lanes.

use super::blocking::Blocking;
use super::content::ContentRead;
use super::pending::Purpose;
use super::recover::RecoverOptions;
use super::table::RecordTable;
use super::{Lanes, StoredState, read_state, states_from_records};
use flashlane_base::Instant;
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, PowerCurve,
    Readiness, Request, RequestId, SubmitError, Unit,
};

impl<D: DataDevice> Device for Lanes<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.below.now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.accept(request, None).map_err(|(error, _)| error)
    }

    fn next_event(&self) -> Option<Instant> {
        if self.ready.is_empty() { self.below.next_event() } else { Some(self.now()) }
    }

    fn readiness(&mut self) -> Readiness {
        if self.ready.is_empty() { self.below.readiness() } else { Readiness::Ready }
    }

    fn wait_readable(&self, descriptors: &[i32], until: Instant) {
        self.below.wait_readable(descriptors, until);
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        out.append(&mut self.ready);
        while out.len() == first {
            if until == Instant::FAR && self.in_flight == 0 {
                return;
            }
            let mut arrived = std::mem::take(&mut self.arrived);
            self.below.reap(until, &mut arrived);
            for below in arrived.drain(..) {
                self.request_below_ended(&below, out);
            }
            self.arrived = arrived;
            self.write_sectors();
            out.append(&mut self.ready);
            if self.below.now() >= until {
                return;
            }
        }
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.below.power_curve()
    }

    fn counters(&self) -> Counters {
        let mut counters = self.below.counters();
        counters.0.extend([
            ("table_sectors_written", self.sectors_written),
            ("units_compared", self.units_compared),
            ("table_sectors_damaged", self.damage.sectors),
            ("table_sectors_outdated", self.table.outdated()),
            ("table_sectors_lost", self.damage.lost_sectors),
            ("superblocks_damaged", u64::from(self.damage.superblocks)),
            ("records_overwritten", self.damage.foreign),
            ("units_overwritten", self.foreign_units()),
            ("lanes_recovered", u64::from(self.is_recovered)),
        ]);
        counters
    }

    fn unit(&self, lane: Lane, index: u64) -> Option<Unit> {
        self.units.get(lane, index)
    }

    fn has_foreign_data(&self, lane: Lane, index: u64) -> bool {
        self.units.get(lane, index).is_some() && self.is_foreign(self.layout.number_of(lane, index))
    }

    fn give_up_content(&mut self, lane: Lane, index: u64) {
        if self.units.get(lane, index).is_some() {
            self.given_up.insert(self.layout.number_of(lane, index));
        }
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        // Every completed write is durable below.
        self.below.at_risk().map(|_| Vec::new())
    }

    /// Finds the lanes on the device again, as opening does; where that fails, they are lost.
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        self.below.cut_power()?;
        while !self.in_flight_below.is_empty() {
            self.below.reap(Instant::FAR, &mut self.arrived);
            for completion in self.arrived.drain(..) {
                let buffer = self.below.take_buffer(completion.id);
                match self.in_flight_below.remove(&completion.id) {
                    Some(Purpose::Forwarded(pending) | Purpose::Head(pending)) => {
                        self.ended.push(pending);
                        self.done.extend(buffer.map(|buffer| (pending.request.id, buffer)));
                    }
                    Some(Purpose::Content(ContentRead { pending, .. })) => self.ended.push(pending),
                    _ => {}
                }
            }
        }
        self.table.abandon(&mut self.ended);
        self.done.append(&mut self.held);
        let (completed, outcome) = (self.below.now(), Err(Failure::DeviceLost));
        let lost = self.ended.drain(..).map(|pending| Completion {
            id: pending.request.id,
            submitted: pending.submitted,
            completed,
            outcome,
        });
        self.ready.extend(lost);
        (self.in_flight, self.is_background_writing) = (0, false);
        let mut blocking = Blocking { device: &mut self.below, next: &mut self.next_request };
        match read_state(&mut blocking, RecoverOptions::default(), self.check, |_| Ok(())) {
            Ok(StoredState { opened, records, found, foreign }) if opened.superblock == self.superblock => {
                self.damage = opened.damage;
                (self.superblocks, self.repairs_in_background) = (opened.superblocks, false);
                self.units = states_from_records(&self.info, &self.layout, &records, &foreign);
                self.foreign = foreign;
                self.unreadable_heads.clear();
                self.known_here.clear();
                self.given_up.clear();
                self.table = RecordTable::new(self.layout, self.superblock.id, records, &found);
            }
            _ => self.device_lost = true,
        }
        Some(Vec::new())
    }
}

impl<D: DataDevice> DataDevice for Lanes<D> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("the caller's buffer"));
        self.accept(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}
