//! Results as data: a file for each kind, which holds its schema as types.
//!
//! Those who measure build these types, and the report draws them: nothing is looked up by name. `docs/json.md` is what
//! the JSON promises; the order of fields here is that of the JSON. Under one version fields are only ever added, with a
//! default where earlier results lack them, and numbers keep their last digit.
//!
//! A file from outside is read with [`read`], whose error names the field and what is expected there.

pub mod feature;
mod figure;
mod machine;
pub mod ordered;
pub mod probe;
mod read;
pub mod replay;
pub mod run;
pub mod score;
pub mod sdf;
pub mod study;
pub mod sweep;
pub mod trace;
pub mod uflip;
pub mod uflip_plan;
mod warning;

pub use figure::{Axis, Figure, Mark, Series};
pub use machine::Machine;
pub use read::{ReadError, read};
pub use warning::Warning;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of result.
pub trait Kind: Serialize + DeserializeOwned {
    /// What its field `schema` says.
    const SCHEMA: &'static str;

    /// What several kinds have.
    fn common(&self) -> Common<'_>;
}

/// What several kinds of result have; empty where one does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Common<'a> {
    /// Doubts about the result, gravest first.
    pub warnings: &'a [Warning],
    /// Why it ended before its end.
    pub partial: Option<&'a str>,
    /// What a report draws.
    pub figures: &'a [Figure],
    /// Drive and system, of a real device.
    pub machine: Option<&'a Machine>,
}

/// Makes a type with the fields `warnings`, `partial`, `figures` and `machine` the result of a schema.
macro_rules! kind {
    ($type:ty, $schema:expr) => {
        impl $crate::Kind for $type {
            const SCHEMA: &'static str = $schema;

            fn common(&self) -> $crate::Common<'_> {
                $crate::Common {
                    warnings: &self.warnings,
                    partial: self.partial.as_deref(),
                    figures: &self.figures,
                    machine: self.machine.as_ref(),
                }
            }
        }
    };
}
pub(crate) use kind;
