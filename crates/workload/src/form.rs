//! The written forms of a workload: one line on a command line, or a TOML job file. Both have the same keys and share
//! the parsers of their values (`keys`) and the construction of jobs (`draft`); they differ in syntax (`inline`,
//! `file`).

mod draft;
mod error;
mod file;
mod inline;
mod keys;
mod write;

pub use error::{FormError, Place};
pub use keys::{KEYS, Key, Scope};

#[cfg(test)]
mod tests;
