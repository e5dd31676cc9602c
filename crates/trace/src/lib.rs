//! Recorded block traces: what a record is, and the formats that hold them.

mod record;

pub use record::Record;
