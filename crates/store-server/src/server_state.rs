//! The server's options, time and counts: what commands see of it beside the store.

use crate::backups::BackupState;
use crate::limits::Limits;
use flashlane_base::{Duration, Instant, Random, Seed};
use flashlane_store::Durability;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How safe a write is when it is acknowledged.
    pub durability: Durability,
    /// Password that clients must give.
    pub password: Option<Vec<u8>>,
    /// Limits of clients.
    pub limits: Limits,
    /// Port of the first TCP address, for INFO.
    pub port: u16,
    /// Seed of RANDOMKEY and of cursors.
    pub seed: Seed,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            password: None,
            limits: Limits::default(),
            port: 0,
            seed: Seed(1),
        }
    }
}

/// Counts of a command.
#[derive(Debug)]
pub struct CommandStats {
    /// Times from its arrival until its reply was ready, in microseconds.
    pub latency_us: Histogram<u64>,
    /// Sum of these times.
    pub total: Duration,
    /// Replies that were errors.
    pub failed: u64,
}

/// State of a server.
#[derive(Debug)]
pub struct ServerState {
    /// What it was started with.
    pub options: ServerOptions,
    /// Time of the store's devices.
    pub now: Instant,
    /// When it was started.
    pub started: Instant,
    /// Calendar time in milliseconds.
    pub now_ms: u64,
    /// SHUTDOWN was called.
    pub is_stopping: bool,
    /// Clients that are connected.
    pub clients: usize,
    /// Clients that ever connected.
    pub clients_total: u64,
    /// Clients that were refused since there were too many.
    pub clients_refused: u64,
    /// Clients that were closed since all together took too much memory.
    pub clients_evicted: u64,
    /// Bytes of requests and replies of all clients.
    pub memory_bytes: usize,
    /// Bytes of values that are kept to be read again.
    pub cache_bytes: usize,
    /// What is known of backups.
    pub backups: BackupState,
    /// Commands that were answered, by name.
    pub commands: BTreeMap<&'static str, CommandStats>,
    /// Randomness of RANDOMKEY.
    pub random: Random,
}

impl ServerState {
    /// Returns the state of a server that starts now.
    pub fn new(options: ServerOptions, now: Instant) -> Self {
        let random = options.seed.derive("server").source();
        Self {
            options,
            now,
            started: now,
            now_ms: 0,
            is_stopping: false,
            clients: 0,
            clients_total: 0,
            clients_refused: 0,
            clients_evicted: 0,
            memory_bytes: 0,
            cache_bytes: 0,
            backups: BackupState::default(),
            commands: BTreeMap::new(),
            random,
        }
    }

    /// Counts a command that was answered.
    pub fn count(&mut self, name: &'static str, latency: Duration, is_failed: bool) {
        let stats = self.commands.entry(name).or_insert_with(|| CommandStats {
            latency_us: Histogram::new_with_bounds(1, 60_000_000, 2).expect("the bounds are sound"),
            total: Duration::ZERO,
            failed: 0,
        });
        stats.latency_us.saturating_record((latency.as_ns() / 1000).max(1));
        stats.total += latency;
        stats.failed += u64::from(is_failed);
    }
}
