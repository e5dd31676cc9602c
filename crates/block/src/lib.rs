//! The block layer over software-defined flash: immutable blocks under 64-bit ids, on the lanes of any device that has
//! erase units.
//!
//! After sdf14 (Ouyang et al., SDF, ASPLOS 2014, section 2.4): a block fills one erase unit, consecutive ids go round the
//! lanes, erases are the layer's business and happen when nobody waits. Beyond the paper: placement by load, reads before
//! writes and erases, checksums from end to end, and everything that has to be known on the device itself, found again
//! after a power cut in time that goes with the number of units.
//!
//! A block is wholly there or not at all. [`Blocks`] is where to begin.

mod blocks;
mod damaged;
mod engine;
mod error;
mod header;
mod lane;
mod layout;
pub mod load;
mod payload;
mod placement;
mod recovery;
mod repair;
mod status;
mod store;
mod superblock;
pub mod trial;

pub use blocks::{BlockInfo, Blocks, Counts, Finished, FormatError, Options, Outcome, Ticket};
pub use error::{DeleteError, DeleteFailure, Full, GetError, GetFailure, PutError, PutFailure};
pub use header::{Content, Header, HeaderError, ID_MAX, Place, Superblock, VERSION, seal_header};
pub use layout::{Layout, Unsuitable};
pub use payload::{Data, Payload};
pub use placement::Placement;
pub use recovery::{DamagedEnd, Geometry, OpenError};
pub use status::{LaneStatus, Status};
pub use store::{BlockStore, StoreError};
