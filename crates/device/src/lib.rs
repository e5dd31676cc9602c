//! The one device interface, and the spec grammar that names devices.
//!
//! A [`Device`] takes [`Request`]s and returns [`Completion`]s. It owns its clock: a simulated drive jumps through
//! virtual time, a real one waits, and the caller cannot tell which. `flashlane_device_testing` has the laws that every
//! device keeps.

mod buffer;
mod counters;
mod device;
mod info;
mod lanes;
mod null;
mod power;
pub mod remains;
mod request;
pub mod spec;
mod time_split;
mod unit;
mod unit_head;
mod zone;

pub use buffer::{Buffer, DataDevice};
pub use counters::Counters;
pub use device::{AtRisk, Device, Readiness};
pub use flashlane_base::Operation;
pub use info::{DeviceInfo, FreeOutOfReach, OverProvisioning, OverProvisioningChange, ProgramsInParts};
pub use lanes::{Interleaved, OneLane};
pub use null::NullDevice;
pub use power::PowerCurve;
pub use request::{Completion, Failure, Lane, PlacementHandle, QueueId, Request, RequestId, SubmitError};
pub use time_split::{Part, TimeSplit};
pub use unit::{Rule, Unit, UnitState, UnitStates};
pub use unit_head::{BlocksShape, UNIT_MAGIC, UnitHead, UnitKind};
pub use zone::{Zone, ZoneLimits, ZoneState};
