//! Results as data: a file for each kind, with its schema as types.
//!
//! Measurements build these types, and the report renders them by field. `docs/json.md` specifies the JSON; fields here
//! have the order of the JSON. Within a version fields are only added, with a default for earlier results, and numbers
//! keep all digits.
//!
//! [`read`] reads files from outside; its error names the field and the expected value.

pub mod advice;
pub mod calibration;
pub mod energy;
pub mod feature;
mod figure;
pub mod layouts;
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
pub mod time_split;
pub mod trace;
pub mod transactions;
pub mod uflip;
pub mod uflip_plan;
mod warning;

pub use figure::{Axis, Figure, Mark, Series};
pub use machine::Machine;
pub use read::{ReadError, read};
pub use warning::{Warning, WarningCode};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of result.
pub trait Kind: Serialize + DeserializeOwned {
    /// Value of its field `schema`.
    const SCHEMA: &'static str;

    /// Returns the fields that kinds have in common.
    fn common(&self) -> Common<'_>;
}

/// Fields that several kinds of result have; empty where a kind has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Common<'a> {
    /// Doubts about the result, gravest first.
    pub warnings: &'a [Warning],
    /// Why it ended early, if it did.
    pub partial: Option<&'a str>,
    /// Figures of the report.
    pub figures: &'a [Figure],
    /// Drive and system of a real device.
    pub machine: Option<&'a Machine>,
}

/// A kind of result that is measured on a device, which may be real.
pub trait OnDevice: Kind {
    /// Returns the drive and the system of a real device; `None` of a simulated one.
    fn machine_mut(&mut self) -> &mut Option<Machine>;
}

/// Implements [`Kind`] and [`OnDevice`] for a type with the fields `warnings`, `partial`, `figures` and `machine`.
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

        $crate::on_device!($type);
    };
}
pub(crate) use kind;

/// Implements [`OnDevice`] for a type with the field `machine`.
macro_rules! on_device {
    ($type:ty) => {
        impl $crate::OnDevice for $type {
            fn machine_mut(&mut self) -> &mut Option<$crate::Machine> {
                &mut self.machine
            }
        }
    };
}
pub(crate) use on_device;
