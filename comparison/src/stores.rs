//! The stores of the comparison, by name.

use crate::engine::{Engine, Settings, Threads};
use crate::workload::Workload;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A store of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// This project's.
    Flashlane,
    /// RocksDB, with blob files for values from 16 KiB on.
    Rocksdb,
    /// fjall, with separated values from 16 KiB on.
    Fjall,
}

/// Opens an empty store in a folder.
pub fn open(name: Name, dir: &Path, workload: &Workload, settings: &Settings) -> Box<dyn Engine> {
    match name {
        Name::Flashlane => Box::new(crate::flashlane::open(dir, workload, settings)),
        Name::Fjall => Box::new(Threads(crate::fjall::open(dir, workload, settings), settings.clients)),
        #[cfg(rocksdb)]
        Name::Rocksdb => Box::new(Threads(crate::rocksdb::open(dir, workload, settings), settings.clients)),
        #[cfg(not(rocksdb))]
        Name::Rocksdb => unreachable!("RocksDB is not built in"),
    }
}
