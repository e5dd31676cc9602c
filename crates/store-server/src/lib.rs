//! A server of the store that every Redis client can talk to: RESP2 and RESP3, over TCP and Unix sockets.
//!
//! [`Engine`] runs commands on a store, without sockets, threads or clocks, so a run on simulated devices repeats;
//! `network` connects it to clients. Both share one thread, which waits for the devices and the sockets in turn.
//! `docs/store.md` lists the commands, and what differs from Redis.

mod backups;
mod cache;
mod cells;
mod clients;
mod command;
mod commands;
mod cursors;
mod engine;
mod glob;
mod info;
mod jobs;
mod key;
mod limits;
mod metrics;
mod network;
mod password;
mod protocol;
mod reply;
mod server_state;
mod session;
mod value;
mod watches;
mod work;
mod writes;

pub use backups::{BackupFile, BackupState, BackupTarget};
pub use engine::Engine;
pub use flashlane_host::Address;
pub use limits::Limits;
pub use network::{ListenError, Server};
pub use protocol::{Parser, ProtocolError, Request, RequestLimits};
pub use server_state::{ServerOptions, ServerState};
pub use session::ClientId;
