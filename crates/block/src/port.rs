//! The device below: requests are handed over here, and completions return what they were for.
//!
//! Invariants:
//! - Every request that the device accepted is in `in_flight` until its completion is taken.
//! - Request numbers are not reused.
//! - Once the device reports itself lost it stays lost.

use crate::layout::UnitAddress;
use crate::operation::InFlight;
use crate::read_buffers::ReadBuffers;
use flashlane_base::Instant;
use flashlane_device::{
    Buffer, Completion, DataDevice, Failure, Readiness, Request, RequestId, Rule, SubmitError, Unit,
    UnitState,
};
use std::collections::BTreeMap;

/// The device and the requests in flight.
pub(crate) struct Port<D> {
    device: D,
    in_flight: BTreeMap<RequestId, InFlight>,
    last_request: u64,
    is_lost: bool,
    read_buffers: ReadBuffers,
}

/// What the device did with a request.
pub(crate) enum Submitted {
    Accepted,
    /// It takes the request once another one has completed. Operation and buffer are returned.
    Busy(InFlight, Option<Buffer>),
    Refused(InFlight, Option<Buffer>, SubmitError),
}

impl<D: DataDevice> Port<D> {
    pub(crate) fn new(device: D) -> Self {
        let (in_flight, read_buffers) = (BTreeMap::new(), ReadBuffers::default());
        Self { device, in_flight, last_request: 0, is_lost: false, read_buffers }
    }

    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    pub(crate) fn into_device(self) -> D {
        self.device
    }

    pub(crate) fn now(&self) -> Instant {
        self.device.now()
    }

    /// Returns whether the device is no longer there.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns whether no request is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Returns whether the device queue has room.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight.len() < self.device.info().depth as usize
    }

    /// Returns what the device reports about a unit.
    pub(crate) fn unit(&self, address: UnitAddress) -> Option<Unit> {
        self.device.unit(address.device_lane(), address.unit.into())
    }

    /// Returns the erase count of a unit, 0 where the device does not count.
    pub(crate) fn erases(&self, address: UnitAddress) -> u32 {
        self.unit(address).and_then(|unit| unit.erases).unwrap_or(0)
    }

    /// Returns whether the device reports a unit as bad.
    pub(crate) fn is_bad(&self, address: UnitAddress) -> bool {
        self.unit(address).is_none_or(|unit| unit.state == UnitState::Bad)
    }

    /// Returns whether an erased unit holds other data.
    pub(crate) fn has_foreign_data(&self, address: UnitAddress) -> bool {
        self.device.has_foreign_data(address.device_lane(), address.unit.into())
    }

    /// Gives up all that a unit holds, other data included.
    pub(crate) fn give_up_content(&mut self, address: UnitAddress) {
        self.device.give_up_content(address.device_lane(), address.unit.into());
    }

    /// Hands a request to the device; its id is set here.
    pub(crate) fn submit(
        &mut self,
        mut request: Request,
        buffer: Option<Buffer>,
        operation: InFlight,
    ) -> Submitted {
        if !self.has_room() {
            return Submitted::Busy(operation, buffer);
        }
        self.last_request += 1;
        request.id = RequestId(self.last_request);
        let answer = match buffer {
            Some(buffer) => self.device.submit_with(request, buffer).map_err(|(error, b)| (error, Some(b))),
            None => self.device.submit(request).map_err(|error| (error, None)),
        };
        match answer {
            Ok(()) => {
                let previous = self.in_flight.insert(request.id, operation);
                assert!(previous.is_none(), "request {:?} is in flight twice", request.id);
                Submitted::Accepted
            }
            Err((
                SubmitError::Full { .. }
                | SubmitError::Rule { rule: Rule::TooManyOpen { .. } | Rule::TooManyActive { .. }, .. },
                buffer,
            )) if !self.in_flight.is_empty() => Submitted::Busy(operation, buffer),
            Err((error, buffer)) => {
                self.is_lost |= error == SubmitError::DeviceLost;
                Submitted::Refused(operation, buffer, error)
            }
        }
    }

    /// Says how to wait for the next completion of the device.
    pub(crate) fn readiness(&mut self) -> Readiness {
        self.device.readiness()
    }

    /// Lets the device work until a request completes, at most until `until`.
    pub(crate) fn reap(&mut self, until: Instant) -> Vec<Completion> {
        let mut completions = Vec::new();
        self.device.reap(until, &mut completions);
        completions
    }

    /// Returns the operation that a completion ends, and its buffer; `None` for a request that was in flight when the
    /// device was handed over.
    pub(crate) fn take(&mut self, completion: &Completion) -> Option<(InFlight, Option<Buffer>)> {
        let operation = self.in_flight.remove(&completion.id)?;
        self.is_lost |= completion.outcome == Err(Failure::DeviceLost);
        Some((operation, self.device.take_buffer(completion.id)))
    }

    /// Returns a buffer for a read.
    pub(crate) fn read_buffer(&mut self, length_bytes: u64) -> Buffer {
        self.read_buffers.take(length_bytes as usize)
    }

    /// Keeps the buffer of a read for later ones.
    pub(crate) fn reuse(&mut self, buffer: Buffer) {
        self.read_buffers.keep(buffer);
    }
}
