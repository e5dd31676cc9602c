//! The side of the drive that faces the host: submission queues, the link, what a request costs before and behind it,
//! commands that wait for the link, and the read/write lock.

mod arbiter;
mod completion_path;
mod idle;
mod link;
mod link_wait;
mod loads;
mod lock;
mod submission;

pub(crate) use arbiter::Arbiter;
pub(crate) use completion_path::CompletionPath;
pub(crate) use idle::HostIdle;
pub(crate) use link::{Direction, Link, Transfer};
pub(crate) use link_wait::LinkWait;
pub(crate) use loads::QueueLoads;
pub(crate) use lock::{LockMode, LockOwner, ReadWriteLock};
pub(crate) use submission::Submission;
