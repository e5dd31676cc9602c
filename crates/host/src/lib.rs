//! Access to real drives and files. All system calls, threads and uses of the wall clock are in this crate.
//!
//! [`FileDevice`] implements the device interface over a block device or a regular file. [`OpenOptions`] opens it and
//! enforces the safety rules: writing requires [`Consent`], and a target that looks like existing data is still
//! refused, with all findings, until its path is repeated.
//!
//! | module | holds |
//! | --- | --- |
//! | `consent` | what the user has agreed to lose |
//! | `open`, `target`, `usage`, `finding` | the type of a path, the users of its bytes, and the refusals |
//! | `claim` | the lock of an open target, and whether a file is open elsewhere |
//! | `same_file` | whether two paths lead to one file or device |
//! | `standard_error` | standard error, led away from a device |
//! | `signature`, `blkid` | known formats on it |
//! | `file_device` | requests, slots and memory over one of the two engines |
//! | `engine/uring`, `engine/threads` | io_uring, and plain reads and writes where it is refused |
//! | `zoned` | a zoned block device, whose zones are erase units |
//! | `record` | recordings through the kernel's tracing: a block device's requests, a PostgreSQL's page accesses |
//! | `identity`, `clock`, `interrupt`, `report_request` | the machine's description in a result; time; Ctrl-C; SIGUSR1 |
//! | `ticker`, `readable` | periodic display in the background; waiting for input |
//! | `sockets`, `listen`, `connections` | sockets of a server, its limits, and what goes over its clients' connections |
//! | `mount` | file systems that this process serves |
//! | `thread`, `out_of_memory` | starting threads where memory is short; the end of a program for which there is none |
//! | `written` | the share of a device that was never written; virtual disks |

// Real time, threads and system calls are allowed in this crate only.
#![allow(clippy::disallowed_methods)]

mod blkid;
mod claim;
mod clock;
mod connections;
mod consent;
mod create;
mod depth;
mod doubt;
mod engine;
mod entropy;
mod file_device;
mod finding;
mod identity;
mod interrupt;
mod listen;
mod memory;
mod mount;
mod open;
mod open_error;
mod out_of_memory;
mod ram;
mod readable;
mod record;
mod report_request;
mod same_file;
mod signature;
mod sockets;
mod standard_error;
mod target;
mod thread;
mod ticker;
mod usage;
mod written;
mod zoned;

pub use clock::{Clock, calendar_ms, date, date_of, end_sleeps_on_time, run_first, thread_cpu_time, timed};
pub use connections::{ClientEngine, Connections};
pub use consent::{Change, Consent};
pub use create::{CreateError, Created, check_new_file, check_place, create, create_empty, removal};
pub use depth::{DEPTH_DEFAULT, DEPTH_MAX};
pub use doubt::{Doubt, Doubts};
pub use engine::EngineChoice;
pub use entropy::fresh_seed;
pub use file_device::FileDevice;
pub use finding::Finding;
pub use identity::{identity, serial};
pub use interrupt::{Uninterruptible, catch_interrupts, interrupted, report_file_size_limit};
pub use listen::allow_open_files;
pub use mount::{avoid_blocking, avoid_own_writeback, is_served_by, unmount_dead, unmount_served, user};
pub use open::{OpenOptions, OwnData, PageCache};
pub use open_error::OpenError;
pub use out_of_memory::{end_out_of_memory, has_address_space, reserve_stack};
pub use ram::machine_memory_bytes;
pub use readable::is_readable;
pub use record::{
    Accessed, Database, Ended, Events, PageAccess, PageCounts, PageName, PageTransaction, PageTransactions,
    PagesRecorded, PostgresError, PostgresRecorder, RecordError, Recorded, Recorder, Relation, Undo, Until,
};
pub use report_request::{catch_report_requests, report_requested};
pub use same_file::is_same_file;
pub use signature::Signature;
pub use sockets::{Address, ListenError, Listeners, Stream, wait_for_sockets};
pub use standard_error::redirect_standard_error;
pub use ticker::Ticker;
pub use usage::{is_on_device, is_store_log, share_bytes};
pub use written::{is_virtual, never_written_share};
pub use zoned::{ZonedDevice, ZonedError, ZonedOptions};
