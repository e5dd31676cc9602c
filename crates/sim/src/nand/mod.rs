//! Flash: what the array looks like, how long its operations take, and the dies and channels that perform them.

mod array;
mod geometry;
mod in_order;
mod operation;
mod queue;
mod timing;

pub use array::FlashArray;
pub use geometry::Geometry;
pub use operation::{FlashCounters, Kind, Operation, Owner};
pub use timing::Timing;
