//! The NBD protocol as its text of May 2026 has it (`doc/proto.md` of the NetworkBlockDevice project), without sockets:
//! bytes in, commands and replies out.
//!
//! Fixed newstyle negotiation, simple and structured replies, and the context `base:allocation`. TLS, resizing and
//! extended headers are absent: their options are answered as unknown, and negotiation goes on.

mod negotiation;
mod session;
mod wire;

pub use session::{Event, Session};
pub use wire::{PAYLOAD_BYTES_MAX, ProtocolError};
