//! The device interface of the layer.

use super::chips::Chip;
use super::pending::Pending;
use super::{Below, Bytes, Replicated, Worth, groups};
use crate::slab::Key;
use flashlane_base::Instant;
use flashlane_device::{
    AtRisk, Buffer, Completion, Counters, DataDevice, Device, DeviceInfo, Failure, Lane, Operation,
    PowerCurve, Request, RequestId, SubmitError,
};

impl<B: Below> Device for Replicated<B> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Instant {
        self.below.device().now()
    }

    fn submit(&mut self, request: Request) -> Result<(), SubmitError> {
        self.accept(request, None).map_err(|(error, _)| error)
    }

    fn reap(&mut self, until: Instant, out: &mut Vec<Completion>) {
        let first = out.len();
        loop {
            let now = self.now();
            self.run_timers(now);
            self.send_due_copies(now);
            self.process_refused();
            out.append(&mut self.ready);
            let is_idle = until == Instant::FAR && self.pending.is_empty();
            if out.len() > first || is_idle {
                return;
            }
            let wake = until.min(self.next_timer()).min(self.next_copy());
            debug_assert!(wake < Instant::FAR || self.in_flight > 0, "a request waits for nothing");
            self.reap_below(wake);
            out.append(&mut self.ready);
            if out.len() > first || self.now() >= until {
                return;
            }
        }
    }

    fn prefetch(&self, offset_bytes: u64, length_bytes: u64) {
        let page = offset_bytes / self.layout.page_bytes;
        if page < u64::from(self.layout.pages()) {
            let place = self.layout.home(page as u32) + offset_bytes % self.layout.page_bytes;
            self.below.device().prefetch(place, length_bytes);
        }
    }

    fn power_curve(&self) -> Option<PowerCurve> {
        self.below.device().power_curve()
    }

    fn counters(&self) -> Counters {
        // A drive below that replicates too has counters of the same names: the sum counts both.
        self.below.device().counters().plus(&Counters(self.counts.list()))
    }

    fn at_risk(&self) -> Option<Vec<AtRisk>> {
        let below = self.below.device().at_risk()?;
        let mut at_risk = self.log.as_ref()?.translate(&below, &self.layout);
        let page_bytes = self.layout.page_bytes;
        at_risk.extend(self.behind().map(|(page, first_write)| AtRisk {
            lane: Lane(0),
            offset_bytes: u64::from(page) * page_bytes,
            length_bytes: page_bytes,
            first_write,
        }));
        Some(at_risk)
    }

    /// The map of copies is lost, as with the memory that it is in.
    fn cut_power(&mut self) -> Option<Vec<AtRisk>> {
        let lost = self.at_risk()?;
        self.below.device_mut().cut_power()?;
        let mut arrived = std::mem::take(&mut self.arrived);
        while self.in_flight > 0 {
            self.below.device_mut().reap(Instant::FAR, &mut arrived);
            self.in_flight -= arrived.len() as u32;
            for completion in arrived.drain(..) {
                let buffer = self.below.take(completion.id);
                self.recycle(buffer);
                let io = self.ios.remove(Key::from_number(completion.id.0));
                self.next_below += u64::from(io.is_some_and(|io| io.numbered));
            }
        }
        self.arrived = arrived;
        let now = self.now();
        self.latest = self.latest.max(now);
        let mut ended = self.pending.drain();
        ended.sort_by_key(|pending| pending.order);
        for pending in ended {
            let (completed, outcome) = (self.latest, Err(Failure::DeviceLost));
            let Pending { request, submitted, .. } = pending;
            let id = request.id;
            self.next_number += u64::from(request.operation == Operation::Write && !request.durable);
            self.ready.push(Completion { id, submitted, completed, outcome });
            self.done.extend(pending.buffer.map(|buffer| (id, buffer)));
        }
        self.ios.drain();
        self.parts.drain();
        self.spans.clear();
        self.waiting.clear();
        self.homes.clear();
        self.homes_behind = 0;
        self.backlog.clear();
        self.refused.clear();
        self.queued.clear();
        self.timers.clear();
        self.readers.fill(0);
        self.chips.iter_mut().for_each(Chip::reset);
        if let Some(extra_writes) = &mut self.extra_writes {
            extra_writes.clear(now);
        }
        if let Some(log) = &mut self.log {
            log.clear();
        }
        self.worth = Worth::new(self.settings.round);
        self.lost_home = None;
        self.groups = groups(&self.layout, &self.settings).expect("the settings were checked");
        Some(lost)
    }
}

impl<B: Below> Replicated<B> {
    /// Waits for the device below and handles its completions.
    fn reap_below(&mut self, until: Instant) {
        let mut arrived = std::mem::take(&mut self.arrived);
        self.below.device_mut().reap(until, &mut arrived);
        self.in_flight -= arrived.len() as u32;
        for completion in arrived.drain(..) {
            let buffer = self.below.take(completion.id);
            self.process(&completion, buffer, true);
        }
        self.arrived = arrived;
        if !self.backlog.is_empty() {
            self.submit_backlog();
        }
        self.process_refused();
    }
}

impl<D: DataDevice> DataDevice for Replicated<Bytes<D>> {
    fn submit_with(&mut self, request: Request, buffer: Buffer) -> Result<(), (SubmitError, Buffer)> {
        let back = |(error, buffer): (_, Option<_>)| (error, buffer.expect("the caller's buffer"));
        self.accept(request, Some(buffer)).map_err(back)
    }

    fn take_buffer(&mut self, id: RequestId) -> Option<Buffer> {
        self.done.remove(&id)
    }
}
