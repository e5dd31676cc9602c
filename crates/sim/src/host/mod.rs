//! The side of the drive that faces the host: the link, and the exclusion of reads and writes.

mod exclusion;
mod link;

pub(crate) use exclusion::{Exclusion, Holder, Side};
pub(crate) use link::{Direction, Link, Transfer};
