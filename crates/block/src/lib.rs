//! The block layer over software-defined flash: immutable blocks under 64-bit ids, on the lanes of any device that has
//! erase units.
//!
//! After sdf14 (Ouyang et al., SDF, ASPLOS 2014, section 2.4): a block fills one erase unit, consecutive ids go round
//! the lanes, and the layer erases units in the background. Beyond the paper: placement by load, reads before writes
//! and erases, checksums from end to end, and all metadata on the device itself, found again after a power cut in time
//! proportional to the number of units.
//!
//! A whole block is stored, or none of it. [`BlockStore`] has calls that wait, [`Blocks`] calls that do not; the header
//! of `blocks.rs` follows a block from `put` to the device.

mod block_bytes;
mod block_table;
mod blocks;
mod engine;
mod error;
mod finished;
mod header;
mod ids;
mod lane;
mod layout;
pub mod load;
mod operation;
mod options;
mod overwritten;
mod parts;
mod payload;
mod placement;
mod port;
mod read_buffers;
mod recovery;
mod repair;
mod room;
mod scan;
mod scheduler;
mod status;
mod store;
mod superblock;
mod units;
mod waiting;

pub use block_bytes::BlockBytes;
pub use blocks::Blocks;
pub use error::{
    DeleteError, DeleteFailure, FormatError, Full, GetError, GetFailure, OpenError, PutError, PutFailure,
};
pub use header::{Content, Header, HeaderError, ID_MAX, Superblock, VERSION, seal_header};
pub use ids::CHOSEN_ID_MAX;
pub use layout::{Geometry, Layout, UnitAddress, Unsuitable};
pub use operation::{Finished, Outcome, Ticket};
pub use options::BlockOptions;
pub use payload::Payload;
pub use placement::Placement;
pub use status::{BlockInfo, Counts, DamagedEnd, End, LaneLength, LaneStatus, Status};
pub use store::{BlockStore, StoreError};
