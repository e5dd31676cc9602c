//! Recorded block traces and their formats.
//!
//! [`open`] returns a [`Trace`], an iterator over [`Record`]s in constant memory for any format and compression;
//! [`Writer`] writes them. A format is one file in `formats/` and one line in [`FORMATS`].

mod compression;
mod content;
mod cursor;
mod doubt;
mod encode;
mod error;
mod fault;
mod files;
mod footprint;
mod format;
mod formats;
mod names;
mod output;
mod packing;
mod pairing;
mod record;
mod registry;
mod replaced;
mod side_by_side;
mod sink;
mod source;
mod standard;
mod statistics;
mod summary;
mod text;
mod trace;
mod write;

pub use content::{Content, open_content};
pub use doubt::Doubt;
pub use encode::Loss;
pub use error::{OpenError, ReadError, WriteError};
pub use fault::{Backward, Device, Fault, Refusal};
pub use files::files;
pub use format::Format;
pub use output::Output;
pub use record::Record;
pub use registry::FORMATS;
pub use side_by_side::{Extents, Placed, SideBySide, TooFar};
pub use source::Progress;
pub use standard::{input_name, is_standard_input, is_standard_output, output_name};
pub use statistics::{Share, SizeClass, TraceStatistics};
pub use summary::Summary;
pub use trace::{OpenOptions, Trace, open};
pub use write::{Writer, Written};
