//! Flash: what the array looks like, how long its operations take, and the dies and channels that perform them.

mod alike;
mod array;
mod awaiting;
mod correction;
mod geometry;
mod in_order;
mod lifetime;
mod operation;
mod queue;
mod timing;

pub use array::FlashArray;
pub(crate) use correction::Correction;
pub use geometry::Geometry;
pub(crate) use lifetime::{endurances, good_blocks};
pub use operation::{FlashCounters, Kind, Operation, Owner};
pub use timing::Timing;
