//! The fixed properties of a device: capacity, lanes, units and depth, and the checks that follow from them.
//!
//! [`DeviceInfo`] is what any open device reports of itself. A *profile* is another thing: the file of settings from
//! which a simulated drive is built (`flashlane_sim::profile`, `DriveConfig`).

use crate::request::{QueueId, Request, SubmitError};
use crate::zone::ZoneLimits;
use flashlane_base::Operation;

/// Properties of a device, fixed for its lifetime.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Name in results: the spec or path that it was opened with.
    pub name: String,
    /// Addressable bytes of one lane.
    pub capacity_bytes: u64,
    /// Independent lanes; a conventional drive has one.
    pub lanes: u32,
    /// Reads start and end on multiples of this.
    pub read_unit_bytes: u64,
    /// Writes start and end on multiples of this.
    pub write_unit_bytes: u64,
    /// Erases cover whole units of this; 0 where the device has no erase.
    pub erase_unit_bytes: u64,
    /// Maximum number of requests in flight, over all queues.
    pub depth: u32,
    /// Submission queues, from which the device takes commands by its rule; most devices have one.
    pub queues: u32,
    /// Placement handles, of which each write names one; 1 on devices without placement.
    pub placement_handles: u32,
    /// Whether time is virtual, so that waiting costs nothing.
    pub simulated: bool,
    /// Whether writes, trims and erases are refused.
    pub read_only: bool,
    /// Known only for simulated drives with a translation layer.
    pub over_provisioning: Option<OverProvisioning>,
    /// Drains of a simulated drive's write buffer that are too few to fill a program.
    pub programs_in_parts: Option<ProgramsInParts>,
    /// Whether a simulated drive starts full or fragmented.
    pub begins_written: bool,
    /// Limits of zones, where erase units are zones that take the operations of zones.
    pub zones: Option<ZoneLimits>,
    /// How layers move addresses on the drive below: 0 where none does, else a number that differs with the layer and
    /// its settings.
    pub address_map: u64,
}

/// Flash beyond a drive's capacity, as a share of the capacity: `(flash for data - capacity) / capacity`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverProvisioning {
    /// Share of the drive.
    pub share: f64,
    /// Change by settings that do not confirm it.
    pub change: Option<OverProvisioningChange>,
    /// Free blocks that idle GC is to reach and cannot.
    pub out_of_reach: Option<FreeOutOfReach>,
}

/// A share of free blocks up to which GC goes on while the drive is idle, above the share that can be free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeOutOfReach {
    /// Share of all blocks that is to be free.
    pub wanted_share: f64,
    /// Most of them that can be free once the whole capacity is written.
    pub most_share: f64,
}

/// A write buffer that drains fewer mapping units to a die at a time than a program of the die takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramsInParts {
    /// Mapping units that drain at once, for each die.
    pub drained_units: u32,
    /// Mapping units that a plane programs at once.
    pub plane_units: u32,
    /// Planes of a die that are programmed together.
    pub planes: u32,
}

impl ProgramsInParts {
    /// Returns the mapping units that a program of all these planes takes.
    pub fn program_units(&self) -> u32 {
        self.plane_units * self.planes
    }
}

/// A change of over-provisioning by settings of one of the flash and the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverProvisioningChange {
    /// Share of the profile.
    pub profile_share: f64,
    /// Whether the settings changed the capacity, and not the flash.
    pub is_of_capacity: bool,
}

impl DeviceInfo {
    /// Returns the properties of a real device with one lane and one queue, one request in flight, `capacity_bytes`,
    /// read and written in units of `unit_bytes`, and without erases, placement and zones. A device sets what differs,
    /// so that a property which only some devices have is no matter to the others.
    pub fn new(name: impl Into<String>, capacity_bytes: u64, unit_bytes: u64) -> Self {
        Self {
            name: name.into(),
            capacity_bytes,
            lanes: 1,
            read_unit_bytes: unit_bytes,
            write_unit_bytes: unit_bytes,
            erase_unit_bytes: 0,
            depth: 1,
            queues: 1,
            placement_handles: 1,
            simulated: false,
            read_only: false,
            over_provisioning: None,
            programs_in_parts: None,
            begins_written: false,
            zones: None,
            address_map: 0,
        }
    }

    /// Checks a request against these properties: the checks that all devices share.
    ///
    /// # Errors
    /// The first check that fails.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<(), SubmitError> {
        let unit = match request.operation {
            Operation::Flush => {
                self.check_queue(request.queue)?;
                return self.check_handle(request);
            }
            Operation::Read | Operation::Trim => self.read_unit_bytes,
            Operation::Write => self.write_unit_bytes,
            Operation::Erase if self.erase_unit_bytes == 0 => {
                return Err(SubmitError::Unsupported { operation: Operation::Erase });
            }
            Operation::Erase => self.erase_unit_bytes,
            operation if self.zones.is_none() => return Err(SubmitError::Unsupported { operation }),
            Operation::Append => self.write_unit_bytes,
            Operation::Open | Operation::Close | Operation::Finish => self.erase_unit_bytes,
        };
        if self.read_only && request.operation != Operation::Read {
            return Err(SubmitError::ReadOnly { operation: request.operation });
        }
        self.check_queue(request.queue)?;
        if request.handle.0 != 0 {
            self.check_handle(request)?;
        }
        if request.lane.0 >= self.lanes {
            return Err(SubmitError::NoSuchLane { lane: request.lane, lanes: self.lanes });
        }
        let end = request.offset_bytes.checked_add(request.length_bytes);
        if request.length_bytes == 0 || end.is_none_or(|end| end > self.capacity_bytes) {
            return Err(SubmitError::OutOfRange {
                offset_bytes: request.offset_bytes,
                length_bytes: request.length_bytes,
                capacity_bytes: self.capacity_bytes,
            });
        }
        // Units are powers of two on nearly every device; the mask saves two divisions per request.
        let misaligned = if unit.is_power_of_two() {
            (request.offset_bytes | request.length_bytes) & (unit - 1) != 0
        } else {
            !request.offset_bytes.is_multiple_of(unit) || !request.length_bytes.is_multiple_of(unit)
        };
        if misaligned {
            return Err(SubmitError::Misaligned {
                offset_bytes: request.offset_bytes,
                length_bytes: request.length_bytes,
                unit_bytes: unit,
            });
        }
        Ok(())
    }

    fn check_handle(&self, request: &Request) -> Result<(), SubmitError> {
        let &Request { operation, handle, .. } = request;
        let takes = handle.0 == 0 || operation == Operation::Write;
        match takes && u32::from(handle.0) < self.placement_handles {
            true => Ok(()),
            false => Err(SubmitError::NoSuchHandle { operation, handle, handles: self.placement_handles }),
        }
    }

    #[inline]
    fn check_queue(&self, queue: QueueId) -> Result<(), SubmitError> {
        match u32::from(queue.0) < self.queues {
            true => Ok(()),
            false => Err(SubmitError::NoSuchQueue { queue, queues: self.queues }),
        }
    }
}
