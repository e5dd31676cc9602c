//! The text of INFO: fields of Redis that clients look at, and the store's own.

use crate::command::REDIS_VERSION;
use crate::server_state::ServerState;
use flashlane_store::{SliceStatus, Status};
use std::fmt::Write;

/// Shares of commands whose latency is printed.
const PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 100.0];

type Section = fn(&ServerState, &Status, &mut String);

/// Sections, and whether they are printed without being named.
const SECTIONS: &[(&str, bool, Section)] = &[
    ("server", true, server),
    ("clients", true, clients),
    ("memory", true, memory),
    ("persistence", true, persistence),
    ("stats", true, stats),
    ("replication", true, |_, _, out| out.push_str("role:master\r\nconnected_slaves:0\r\n")),
    ("store", true, store),
    ("commandstats", false, command_stats),
    ("latencystats", false, latency_stats),
    ("keyspace", true, keyspace),
];

/// Returns the sections that are named, or the usual ones.
pub fn text(state: &ServerState, status: &Status, lanes: &dyn Fn() -> String, named: &[String]) -> String {
    let is_all = named.iter().any(|name| name == "all" || name == "everything");
    let is_usual = named.is_empty() || named.iter().any(|name| name == "default");
    let mut out = String::new();
    for (name, is_default, section) in SECTIONS {
        if is_all || (is_usual && *is_default) || named.iter().any(|own| own == name) {
            let between = if out.is_empty() { "" } else { "\r\n" };
            let title = name[..1].to_uppercase() + &name[1..];
            let _ = write!(out, "{between}# {title}\r\n");
            section(state, status, &mut out);
        }
    }
    // Drives have many: they are printed where they are asked for.
    if is_all || named.iter().any(|own| own == "lanes") {
        let between = if out.is_empty() { "" } else { "\r\n" };
        let _ = write!(out, "{between}# Lanes\r\n{}", lanes());
    }
    out
}

/// Appends `name:value` and a line end.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{
        let _ = write!($out, $($text)*);
        $out.push_str("\r\n");
    }};
}

fn server(state: &ServerState, _: &Status, out: &mut String) {
    let uptime = state.now.since(state.started).as_ns() / 1_000_000_000;
    line!(out, "redis_version:{REDIS_VERSION}");
    line!(out, "redis_mode:standalone");
    line!(out, "server_name:flashlane");
    line!(out, "flashlane_version:{}", env!("CARGO_PKG_VERSION"));
    line!(out, "process_id:{}", std::process::id());
    line!(out, "tcp_port:{}", state.options.port);
    line!(out, "uptime_in_seconds:{uptime}");
}

fn clients(state: &ServerState, _: &Status, out: &mut String) {
    line!(out, "connected_clients:{}", state.clients);
    line!(out, "maxclients:{}", state.options.limits.clients_max);
}

fn memory(state: &ServerState, status: &Status, out: &mut String) {
    let store = status.index_memory_bytes + status.container_memory_bytes;
    line!(out, "used_memory:{}", store + (state.memory_bytes + state.cache_bytes) as u64);
    line!(out, "used_memory_clients:{}", state.memory_bytes);
    line!(out, "used_memory_cache:{}", state.cache_bytes);
    line!(out, "used_memory_indexes:{}", status.index_memory_bytes);
    line!(out, "used_memory_containers:{}", status.container_memory_bytes);
    line!(out, "maxmemory:0");
    line!(out, "maxmemory_policy:noeviction");
}

fn persistence(state: &ServerState, _: &Status, out: &mut String) {
    line!(out, "loading:0");
    line!(out, "aof_enabled:1");
    let backups = &state.backups;
    line!(out, "rdb_bgsave_in_progress:{}", u8::from(backups.is_running));
    line!(out, "rdb_last_save_time:{}", backups.last_ms.unwrap_or(0) / 1000);
    line!(out, "rdb_last_bgsave_status:{}", if backups.failure.is_none() { "ok" } else { "err" });
    if let Some(failure) = &backups.failure {
        line!(out, "backup_failure:{failure}");
    }
    line!(out, "durability:{}", format!("{:?}", state.options.durability).to_lowercase());
}

fn stats(state: &ServerState, _: &Status, out: &mut String) {
    let commands: u64 = state.commands.values().map(|stats| stats.latency_us.len()).sum();
    line!(out, "total_connections_received:{}", state.clients_total);
    line!(out, "rejected_connections:{}", state.clients_refused);
    line!(out, "evicted_clients:{}", state.clients_evicted);
    line!(out, "total_commands_processed:{commands}");
}

/// The store's counts, and what slows writers: the fullest of log, containers and level 0.
fn store(_: &ServerState, status: &Status, out: &mut String) {
    let counters = &status.counters;
    line!(out, "write_amplification:{:.3}", counters.write_amplification());
    line!(out, "reads_per_get:{:.3}", counters.reads_per_get());
    line!(out, "user_bytes_written:{}", counters.user_bytes_written);
    line!(out, "log_bytes_written:{}", counters.log_bytes_written);
    line!(out, "flush_bytes_written:{}", counters.flush_bytes_written);
    line!(out, "piece_bytes_written:{}", counters.piece_bytes_written);
    line!(out, "merge_bytes_written:{}", counters.merge_bytes_written);
    line!(out, "merges:{}", counters.merges);
    line!(out, "blocks_free:{}", status.blocks_free);
    line!(out, "log_used:{:.3}", status.log_used);
    line!(out, "last_write:{}", status.last_sequence);
    let loss = status.loss.as_ref();
    line!(out, "damaged_blocks:{}", loss.map_or(0, |loss| loss.blocks.len()));
    line!(out, "damaged_units:{}", loss.map_or(0, |loss| loss.units));
    line!(out, "keys_may_be_lost:{}", u8::from(loss.is_some()));
    for (nth, slice) in status.slices.iter().enumerate() {
        let patches: Vec<String> = slice.patches.iter().map(u64::to_string).collect();
        line!(
            out,
            "slice{nth}:container_bytes={},frozen_containers={},patches_by_level={},merging={}",
            slice.container_bytes,
            slice.frozen,
            patches.join("/"),
            u8::from(slice.is_merging)
        );
    }
}

fn command_stats(state: &ServerState, _: &Status, out: &mut String) {
    for (name, stats) in &state.commands {
        let (calls, us) = (stats.latency_us.len(), stats.total.as_ns() / 1000);
        let each = us as f64 / calls.max(1) as f64;
        line!(
            out,
            "cmdstat_{name}:calls={calls},usec={us},usec_per_call={each:.2},failed_calls={}",
            stats.failed
        );
    }
}

fn latency_stats(state: &ServerState, _: &Status, out: &mut String) {
    for (name, stats) in &state.commands {
        let of = |share: f64| format!("p{share}={}", stats.latency_us.value_at_percentile(share));
        line!(out, "latency_percentiles_usec_{name}:{}", PERCENTILES.map(of).join(","));
    }
}

/// Counts entries in containers and patches, which is exact only where no key was overwritten or deleted since the last
/// merge. DBSIZE counts exactly.
fn keyspace(_: &ServerState, status: &Status, out: &mut String) {
    let entries_of = |slice: &SliceStatus| slice.container_entries + slice.entries - slice.tombstones;
    let entries: u64 = status.slices.iter().map(entries_of).sum();
    let is_empty = status.slices.iter().all(|slice| slice.entries == 0 && slice.container_bytes == 0);
    if !is_empty {
        line!(out, "db0:keys={entries},expires=0,avg_ttl=0");
    }
}
