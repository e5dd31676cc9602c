//! Flash: what the array looks like, how long its operations take, and the dies and channels that perform them.
//!
//! `array` is what the controller calls; it chooses one of two schedulers, whose headers have the path of an operation:
//! `in_order` where no operation passes another, `queued` otherwise.

mod accounts;
mod array;
mod array_time;
mod cells;
mod channels;
mod correction;
mod die;
mod gc;
mod geometry;
mod held_programs;
mod in_order;
mod lifetime;
mod media;
mod multi_plane;
mod operation;
mod queue;
mod queued;
mod scheduler;
mod timing;

pub use array::FlashArray;
pub use cells::{PageType, of_block as page_types};
pub(crate) use correction::Correction;
pub use geometry::Geometry;
pub(crate) use lifetime::{endurances, good_blocks};
pub use operation::{Defer, Erase, FlashOperation, Gc, Owner, Program, Read, Work};
pub use timing::Timing;
