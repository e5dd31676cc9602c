//! Requests, completions, and the errors of both.

use crate::unit::Rule;
use flashlane_base::units::exact_bytes;
use flashlane_base::{Duration, Instant, Operation};

/// Identifies a request; chosen by the caller, unique until its completion is reaped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// An independent part of a device with its own addresses: a channel of software-defined flash, a group of
/// zones. A conventional drive has lane 0 only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub u32);

/// A submission queue of the host, from which a device takes commands. Devices with one queue have queue 0 only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u16);

/// A placement handle of a device: writes with different handles go to different reclaim units (flexible data
/// placement, NVMe TP4146; streams are its older form). Devices without placement have handle 0 only, which is that of
/// any other write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacementHandle(pub u16);

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the caller.
    pub id: RequestId,
    /// What to do.
    pub operation: Operation,
    /// Lane of the range.
    pub lane: Lane,
    /// Submission queue in which it waits.
    pub queue: QueueId,
    /// Writes only: the placement handle of the data; other requests have handle 0.
    pub handle: PlacementHandle,
    /// First byte of the range on its lane; of an append the start of its zone.
    pub offset_bytes: u64,
    /// Length of the range.
    pub length_bytes: u64,
    /// Writes only: complete when the bytes are on flash, not when they are buffered (force unit access).
    pub durable: bool,
}

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Id of the request.
    pub id: RequestId,
    /// Time of submission.
    pub submitted: Instant,
    /// Time of completion.
    pub completed: Instant,
    /// Whether the request succeeded.
    pub outcome: Result<(), Failure>,
}

impl Completion {
    /// Time from submission to completion.
    pub fn latency(&self) -> Duration {
        self.completed.since(self.submitted)
    }
}

/// Why an accepted request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The bytes cannot be read back (uncorrectable).
    #[error("the data cannot be read back (uncorrectable error)")]
    Unreadable,
    /// The erase unit could not be programmed or erased and is bad from now on.
    #[error("the erase unit could not be programmed or erased: it is bad from now on")]
    BadUnit,
    /// The erase unit was erased, but holds data that was written around the device's rules. It counts as written now.
    #[error("the erased unit holds other data, which is kept")]
    ForeignData,
    /// No erase block is left to write to.
    #[error("the drive is worn out: no erase block is left to write to")]
    WornOut,
    /// The device was removed, or lost its power.
    #[error("the device has vanished")]
    DeviceLost,
    /// The transfer was cut short.
    #[error("only {} of the request were transferred", exact_bytes((*done_bytes).into()))]
    Short {
        /// Bytes that were transferred.
        done_bytes: u32,
    },
    /// The operating system's error number.
    #[error("{}", describe_errno(*.0))]
    Os(i32),
}

/// Describes an error number of the operating system for a request.
fn describe_errno(errno: i32) -> String {
    // Linux numbers, as everywhere in the interface to real devices.
    let text = match errno {
        1 => "the operating system does not permit the request",
        5 => "the device failed to carry out the request",
        12 => "the system has no memory left for the request",
        16 => "the device is busy",
        22 => "the system refuses the request as invalid",
        26 => "the file is in use as swap space or as a running program",
        27 => "the request ends behind the largest file that the file system takes",
        28 => "no space is left on the file system or device below",
        30 => "the device or its file system is read-only",
        61 => "the data cannot be read back (medium error)",
        95 => "the device or its file system does not support the request",
        110 => "the device did not answer in time",
        121 => "the device failed to carry out the request",
        122 => "the quota of disk space is used up",
        _ => return format!("the request failed: {}", std::io::Error::from_raw_os_error(errno)),
    };
    format!("{text} (os error {errno})")
}

/// Why a request was refused. A refused request leaves the device unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// As many requests as allowed are in flight: reap, then try again.
    #[error("{depth} requests are in flight, which is all the device takes")]
    Full {
        /// The device's queue depth.
        depth: u32,
    },
    /// The range is empty or reaches past the end of the device.
    #[error(
        "{} at offset {} do not lie within the device's {}",
        exact_bytes(*length_bytes),
        exact_bytes(*offset_bytes),
        exact_bytes(*capacity_bytes)
    )]
    OutOfRange {
        /// First byte of the request.
        offset_bytes: u64,
        /// Length of the request.
        length_bytes: u64,
        /// Capacity of a lane.
        capacity_bytes: u64,
    },
    /// Offset or length is not a multiple of the device's unit.
    #[error(
        "{} at offset {} are not multiples of the device's unit of {}",
        exact_bytes(*length_bytes),
        exact_bytes(*offset_bytes),
        exact_bytes(*unit_bytes)
    )]
    Misaligned {
        /// First byte of the request.
        offset_bytes: u64,
        /// Length of the request.
        length_bytes: u64,
        /// Unit of this operation.
        unit_bytes: u64,
    },
    /// The device has no such lane.
    #[error("lane {} does not exist: the device has lanes 0 to {}", .lane.0, .lanes - 1)]
    NoSuchLane {
        /// Lane of the request.
        lane: Lane,
        /// Number of lanes of the device.
        lanes: u32,
    },
    /// The device has no such submission queue.
    #[error("queue {} does not exist: the device has {}", .queue.0, queue_numbers(*queues))]
    NoSuchQueue {
        /// Queue of the request.
        queue: QueueId,
        /// Number of queues of the device.
        queues: u32,
    },
    /// The device has no such placement handle, or the request is no write.
    #[error("placement handle {} of a {operation} does not exist: the device has {}", .handle.0, handle_numbers(*operation, *handles))]
    NoSuchHandle {
        /// Operation of the request.
        operation: Operation,
        /// Placement handle of the request.
        handle: PlacementHandle,
        /// Number of handles of the device.
        handles: u32,
    },
    /// The device does not support the operation.
    #[error("the device has no {operation}")]
    Unsupported {
        /// Operation of the request.
        operation: Operation,
    },
    /// The device was opened read-only.
    #[error("the device was opened read-only and refuses a {operation}")]
    ReadOnly {
        /// Operation of the request.
        operation: Operation,
    },
    /// The state of the erase unit forbids it.
    #[error(
        "{operation} of {} at offset {} of lane {}: {rule}",
        exact_bytes(*length_bytes),
        exact_bytes(*offset_bytes),
        .lane.0
    )]
    Rule {
        /// Operation of the request.
        operation: Operation,
        /// Lane of the request.
        lane: Lane,
        /// First byte of the request.
        offset_bytes: u64,
        /// Length of the request.
        length_bytes: u64,
        /// The rule that forbids it.
        rule: Rule,
    },
    /// The request is longer than the device allows.
    #[error(
        "{} are more than the {} that the device takes at once",
        exact_bytes(*length_bytes),
        exact_bytes(*longest_bytes)
    )]
    TooLong {
        /// Length of the request.
        length_bytes: u64,
        /// Length of the longest request that the device takes.
        longest_bytes: u64,
    },
    /// The device was removed, or lost its power.
    #[error("the device has vanished")]
    DeviceLost,
}

/// The numbers of a device's queues in words.
fn queue_numbers(queues: u32) -> String {
    match queues {
        1 => "queue 0 only".into(),
        _ => format!("queues 0 to {}", queues - 1),
    }
}

/// The placement handles that an operation of a device takes, in words.
fn handle_numbers(operation: Operation, handles: u32) -> String {
    match (operation, handles) {
        (Operation::Write, 2..) => format!("handles 0 to {}", handles - 1),
        (Operation::Write, _) => "handle 0 only".into(),
        _ => "handles for writes only".into(),
    }
}

impl Request {
    /// Returns the error that refuses this request by `rule`.
    pub fn refused_by(&self, rule: Rule) -> SubmitError {
        let &Self { operation, lane, offset_bytes, length_bytes, .. } = self;
        SubmitError::Rule { operation, lane, offset_bytes, length_bytes, rule }
    }

    /// Returns the refusal of a device below as one of this request, with its addresses.
    pub fn refused_below(&self, error: SubmitError) -> SubmitError {
        match error {
            SubmitError::Rule { rule, .. } => self.refused_by(rule),
            other => other,
        }
    }

    /// A request on lane 0 and queue 0, with handle 0, that is not durable.
    pub fn new(id: u64, operation: Operation, offset_bytes: u64, length_bytes: u64) -> Self {
        Self {
            id: RequestId(id),
            operation,
            lane: Lane(0),
            queue: QueueId(0),
            handle: PlacementHandle(0),
            offset_bytes,
            length_bytes,
            durable: false,
        }
    }

    /// A read on lane 0.
    pub fn read(id: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(id, Operation::Read, offset_bytes, length_bytes)
    }

    /// A write on lane 0 that may complete once it is buffered.
    pub fn write(id: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(id, Operation::Write, offset_bytes, length_bytes)
    }

    /// A trim on lane 0.
    pub fn trim(id: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(id, Operation::Trim, offset_bytes, length_bytes)
    }

    /// An erase on lane 0.
    pub fn erase(id: u64, offset_bytes: u64, length_bytes: u64) -> Self {
        Self::new(id, Operation::Erase, offset_bytes, length_bytes)
    }

    /// An append to the zone of lane 0 that begins at `zone_bytes`.
    pub fn append(id: u64, zone_bytes: u64, length_bytes: u64) -> Self {
        Self::new(id, Operation::Append, zone_bytes, length_bytes)
    }

    /// The explicit open of the zone of lane 0 that begins at `zone_bytes` and has a capacity of `capacity_bytes`.
    pub fn open(id: u64, zone_bytes: u64, capacity_bytes: u64) -> Self {
        Self::new(id, Operation::Open, zone_bytes, capacity_bytes)
    }

    /// The close of such a zone.
    pub fn close(id: u64, zone_bytes: u64, capacity_bytes: u64) -> Self {
        Self::new(id, Operation::Close, zone_bytes, capacity_bytes)
    }

    /// The finish of such a zone.
    pub fn finish(id: u64, zone_bytes: u64, capacity_bytes: u64) -> Self {
        Self::new(id, Operation::Finish, zone_bytes, capacity_bytes)
    }

    /// A flush of everything written.
    pub fn flush(id: u64) -> Self {
        Self::new(id, Operation::Flush, 0, 0)
    }

    /// Returns the request on another lane.
    pub fn on(self, lane: Lane) -> Self {
        Self { lane, ..self }
    }

    /// Returns the request in another submission queue.
    pub fn in_queue(self, queue: QueueId) -> Self {
        Self { queue, ..self }
    }

    /// Returns the write with another placement handle.
    pub fn placed(self, handle: PlacementHandle) -> Self {
        Self { handle, ..self }
    }

    /// Returns the write as a durable one, which completes only when its bytes are on flash.
    pub fn durable(self) -> Self {
        Self { durable: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn errno_is_described_with_its_number() {
        let text = |errno| Failure::Os(errno).to_string();
        assert_eq!(text(28), "no space is left on the file system or device below (os error 28)");
        assert_eq!(text(5), "the device failed to carry out the request (os error 5)");
        for errno in 1..134 {
            let text = text(errno);
            assert!(text.len() > 20 && text.ends_with(&format!("(os error {errno})")), "{text}");
        }
    }
}
