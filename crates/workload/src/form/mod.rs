//! The written forms of a workload: one line on a command line, or a TOML job file. Both know the same keys and read
//! a key's value with the same code (`keys`); they differ in how keys are found (`inline`, `file`) and agree in how
//! jobs are made of them (`draft`).

mod draft;
mod error;
mod file;
mod inline;
mod keys;
mod write;

pub(crate) use error::hint;
pub use error::{FormError, Place};
pub use keys::{KEYS, Key, Scope};

#[cfg(test)]
mod tests;
