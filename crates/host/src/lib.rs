//! Real drives and files: system calls, threads and the wall clock, and nowhere else.
//!
//! [`FileDevice`] puts a block device or a regular file behind the one device interface. [`OpenOptions`] opens it
//! and holds the safety rules: nothing is written without [`Access::Destroy`], and what looks like somebody's
//! data is refused even then, with everything that was found, until its path is repeated.
//!
//! | module | holds |
//! | --- | --- |
//! | `open`, `target`, `usage` | what a path is, what uses its bytes, and the refusals |
//! | `signature`, `blkid` | what lies on it |
//! | `file_device` | requests, slots and memory over one of the two engines |
//! | `engine/uring`, `engine/threads` | io_uring, and plain reads and writes where it is refused |
//! | `zoned` | a zoned block device, whose zones are erase units |
//! | `record` | what a block device is asked, recorded through the kernel's tracing |
//! | `identity`, `clock`, `interrupt` | what a result says about the machine; time; Ctrl-C |
//! | `ticker` | what is shown now and then, whatever the program does |
//! | `written` | how much of a device was never written; virtual disks |

// The one crate that may: it is where real time, threads and system calls come in.
#![allow(clippy::disallowed_methods)]

mod blkid;
mod clock;
mod create;
mod depth;
mod doubt;
mod engine;
mod entropy;
mod file_device;
mod identity;
mod interrupt;
mod memory;
mod open;
mod open_error;
mod ram;
mod record;
mod signature;
mod target;
mod ticker;
mod usage;
mod written;
mod zoned;

pub use clock::{date, timed};
pub use create::{CreateError, create};
pub use depth::{DEPTH_DEFAULT, DEPTH_MAX};
pub use doubt::Doubt;
pub use engine::EngineChoice;
pub use entropy::fresh_seed;
pub use file_device::FileDevice;
pub use identity::{identity, serial};
pub use interrupt::{Uninterruptible, catch_interrupts, interrupted};
pub use open::{Access, OpenOptions, OwnData};
pub use open_error::OpenError;
pub use ram::machine_memory_bytes;
pub use record::{Ended, Events, RecordError, Recorded, Recorder, Undo, Until};
pub use signature::Signature;
pub use ticker::Ticker;
pub use usage::Finding;
pub use written::{is_virtual, never_written_share};
pub use zoned::{ZonedDevice, ZonedError, ZonedOptions};
