//! The side of the drive that faces the host: the link, what a request costs before it, and the exclusion of reads and
//! writes.

mod exclusion;
mod link;
mod returns;
mod submission;

pub(crate) use exclusion::{Exclusion, Holder, Side};
pub(crate) use link::{Direction, Link, Transfer};
pub(crate) use returns::Returns;
pub(crate) use submission::Submission;
