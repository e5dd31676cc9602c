//! A drive for any program: devices served over NBD or as a file (FUSE), simulated ones at their own speed in real
//! time.
//!
//! | module | holds |
//! | --- | --- |
//! | `real_time` | [`RealTime`]: completions of a simulated device, handed out when the wall clock reaches them |
//! | `nbd` | the protocol: bytes in, commands and replies out |
//! | `command` | commands to the device, whatever protocol they come by |
//! | `disk`, `task`, `written` | commands of any offset and length as requests to a device; which bytes were written |
//! | `activity` | the time in which commands were in progress |
//! | `served` | [`Served`]: the device with its commands in progress and their counts |
//! | `engine` | NBD clients and their commands, without sockets |
//! | `options` | what is served, and to how many |
//! | `output` | replies that a client has not taken |
//! | `stats` | counts, latency, and the lateness that says whether a run is valid |
//! | `trial` | the lateness to expect of this machine |
//! | `uri` | where clients find the device |
//! | `fuse` | the device as a file of a mounted file system |
//! | `network` | sockets: one thread, which waits for the device and the sockets in turn |
//!
//! Only `network`, `fuse` and the clock of [`RealTime`] touch the system, so tests of all else run in virtual time.

mod activity;
mod command;
mod disk;
mod engine;
mod fuse;
pub mod nbd;
mod network;
mod options;
mod output;
mod real_time;
mod served;
mod stats;
mod task;
mod trial;
mod uri;
mod written;

pub use activity::Activity;
pub use command::{Action, Asked, Command, Error, Export, Extent};
pub use engine::Engine;
pub use flashlane_host::Address;
pub use fuse::{
    FuseServer, Inbox, MountError, MountPoint, MountPointError, Mounted, Outbox, Unmounted, how_to_use,
};
pub use network::{Bound, ListenError, Server};
pub use options::{CLIENT_MEMORY_BYTES_MIN, Options};
pub use real_time::{RealTime, WallClock};
pub use served::{Replied, Served};
pub use stats::{LATENESS_SHARE_MAX, Lateness, OperationStats, Stats};
pub use trial::trial_lateness;
pub use uri::{how_to_connect, uri};
pub use written::DATA_BYTES_MIN;
