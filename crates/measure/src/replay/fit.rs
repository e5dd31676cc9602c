//! Fits recorded requests to another device, and counts each change.

use super::options::{Beyond, ReplayOptions, Unaligned};
use crate::error::access_words;
use flashlane_base::{Duration, Operation};
use flashlane_device::{DeviceInfo, Request, SubmitError};
use flashlane_trace::Record;
use flashlane_workload::Access;

/// Counts of changes that fitted a trace to the device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fitted {
    /// Records taken from the trace.
    pub records: u64,
    /// Requests left out because their length is zero.
    pub zero_length: u64,
    /// Requests moved to lie within the device.
    pub folded: u64,
    /// Requests widened to the device's units.
    pub widened: u64,
    /// Requests left out because the device refuses them.
    pub refused: u64,
    /// The first of these.
    pub first_refused: Vec<Refusal>,
    /// Requests with a time stamp before that of the request before them, replayed together with it.
    pub backwards: u64,
    /// Requests, in a think-time replay, whose duration was not recorded.
    pub untimed: u64,
}

/// A request that was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("request {number}, the {}: {reason}", access_words(access))]
pub struct Refusal {
    /// Position in the trace, from 1.
    pub number: u64,
    /// The request.
    pub access: Access,
    /// Why the device refuses it.
    pub reason: Unfitting,
}

/// Why a request of a trace cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfitting {
    /// The device refuses it.
    #[error(transparent)]
    Device(#[from] SubmitError),
    /// The replay would last longer than the clock can count.
    #[error("it comes {after} after the first one, and a replay ends after {LONGEST}")]
    Late {
        /// Arrival after the first request, at the speed of the replay.
        after: Duration,
    },
}

/// Refusals listed in the result.
const NAMED: usize = 5;

/// Longest replay: a quarter of the clock's range (146 years).
pub(super) const LONGEST: Duration = Duration::from_ns(1 << 62);

/// Fits records to a device one by one.
pub(super) struct Fit {
    info: DeviceInfo,
    beyond: Beyond,
    unaligned: Unaligned,
    pub(super) fitted: Fitted,
}

impl Fit {
    pub(super) fn new(info: DeviceInfo, options: &ReplayOptions) -> Self {
        let fitted = Fitted::default();
        Self { info, beyond: options.beyond, unaligned: options.unaligned, fitted }
    }

    /// Returns the request of a record; `None` where it is left out.
    #[inline]
    pub(super) fn fit(&mut self, record: &Record) -> Option<Access> {
        self.fitted.records += 1;
        let (operation, offset_bytes, length_bytes) = match record.operation {
            Operation::Flush => (Operation::Flush, 0, 0),
            _ if record.length_bytes == 0 => {
                self.fitted.zero_length += 1;
                return None;
            }
            operation => (operation, record.offset_bytes, record.length_bytes),
        };
        let access = Access { operation, offset_bytes, length_bytes };
        match self.info.check(&request(access)) {
            Ok(()) => Some(access),
            Err(error) => self.adjust(access, error),
        }
    }

    #[cold]
    fn adjust(&mut self, recorded: Access, mut error: SubmitError) -> Option<Access> {
        let (mut access, mut folded, mut widened) = (recorded, false, false);
        // A folded and widened request fits, so there are at most two iterations.
        loop {
            match error {
                SubmitError::OutOfRange { capacity_bytes, .. }
                    if !folded && self.beyond == Beyond::Fold && access.length_bytes <= capacity_bytes =>
                {
                    folded = true;
                    // A request is not split: one that would exceed the end is moved to end there.
                    access.offset_bytes %= capacity_bytes;
                    access.offset_bytes = access.offset_bytes.min(capacity_bytes - access.length_bytes);
                }
                SubmitError::Misaligned { unit_bytes, .. }
                    if !widened && self.unaligned == Unaligned::Widen =>
                {
                    widened = true;
                    let end = (access.offset_bytes + access.length_bytes).next_multiple_of(unit_bytes);
                    access.offset_bytes -= access.offset_bytes % unit_bytes;
                    access.length_bytes = end - access.offset_bytes;
                }
                error => {
                    self.refuse(self.fitted.records, recorded, error.into());
                    return None;
                }
            }
            match self.info.check(&request(access)) {
                Ok(()) => break,
                Err(next) => error = next,
            }
        }
        self.fitted.folded += u64::from(folded);
        self.fitted.widened += u64::from(widened);
        Some(access)
    }

    /// Counts request `number` as left out.
    #[cold]
    pub(super) fn refuse(&mut self, number: u64, access: Access, reason: Unfitting) {
        self.fitted.refused += 1;
        if self.fitted.first_refused.len() < NAMED {
            self.fitted.first_refused.push(Refusal { number, access, reason });
        }
    }
}

fn request(access: Access) -> Request {
    Request::new(0, access.operation, access.offset_bytes, access.length_bytes)
}
