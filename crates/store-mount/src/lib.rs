//! The files of a store as a mounted file system (FUSE), for any program.
//!
//! `face` takes the kernel's requests on a thread of `fuser` and passes each on as a closure; `server` runs them, one
//! after the other, on the thread that owns the store; `volume` carries them out, and keeps what a mount has beyond the
//! files themselves: open files, listings, and files that were removed while open.

mod face;
mod server;
mod volume;

pub use server::StoreMount;
