//! fjall.

use crate::engine::{Durability, Settings, Waiting};
use crate::workload::Workload;
use fjall::config::CompressionPolicy;
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode};
use std::path::Path;

pub struct Fjall {
    database: Database,
    keyspace: Keyspace,
    is_synced: bool,
}

pub fn open(dir: &Path, workload: &Workload, settings: &Settings) -> Fjall {
    let half = settings.memory_bytes / 2;
    let builder = Database::builder(dir.join("fjall")).cache_size(half).worker_threads(2);
    let database = builder.open().expect("an empty database can be created");
    let mut options = KeyspaceCreateOptions::default()
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
        .max_memtable_size(half / 2);
    if workload.value_bytes >= settings.separate_from_bytes {
        let separation = KvSeparationOptions::default().compression(CompressionType::None);
        options = options.with_kv_separation(Some(separation));
    }
    let keyspace = database.keyspace("values", || options).expect("a keyspace can be created");
    Fjall { database, keyspace, is_synced: settings.durability == Durability::Device }
}

impl Waiting for Fjall {
    fn put(&self, key: &[u8], value: &[u8]) {
        self.keyspace.insert(key, value).expect("a put succeeds");
        if self.is_synced {
            self.database.persist(PersistMode::SyncData).expect("the journal can be synced");
        }
    }

    fn get(&self, key: &[u8], check: impl FnOnce(&[u8])) -> bool {
        self.keyspace.get(key).expect("a get succeeds").map(|value| check(&value)).is_some()
    }

    fn scan(&self, key: &[u8], entries: usize) -> usize {
        let found = self.keyspace.range(key..).take(entries);
        found.map(|entry| entry.value().expect("a scan succeeds").len()).filter(|&bytes| bytes > 0).count()
    }

    fn is_working(&self) -> bool {
        self.database.outstanding_flushes() > 0 || self.database.active_compactions() > 0
    }
}
