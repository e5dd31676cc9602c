//! The page of metrics, in the text format of Prometheus (version 0.0.4): what INFO shows, for a program that draws it.
//!
//! Counters begin at 0 when the server starts. `docs/store.md` explains each metric.

use crate::server_state::ServerState;
use flashlane_store::{LaneStatus, Status};
use hdrhistogram::Histogram;
use std::fmt::{Display, Write};

/// Upper bounds of the buckets of latencies, in microseconds.
const LATENCY_BOUNDS_US: [u64; 14] =
    [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

/// Returns the page.
pub fn text(state: &ServerState, status: &Status, lanes: &[LaneStatus]) -> String {
    let mut page = Page::default();
    server(&mut page, state);
    memory(&mut page, state, status);
    commands(&mut page, state);
    amplification(&mut page, status);
    slices(&mut page, status);
    units(&mut page, lanes);
    queues(&mut page, lanes);
    page.text
}

/// A page that is written.
#[derive(Default)]
struct Page {
    text: String,
    metric: &'static str,
}

impl Page {
    /// Begins a metric, of which samples follow.
    fn metric(&mut self, name: &'static str, kind: &str, help: &str) -> &mut Self {
        self.metric = name;
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        self
    }

    /// Adds a sample. Labels have values that need no escapes: numbers and words of ours.
    fn sample(&mut self, labels: &[(&str, &dyn Display)], value: impl Display) -> &mut Self {
        self.sample_of("", labels, value)
    }

    /// Adds a sample of a part of the metric.
    fn sample_of(&mut self, part: &str, labels: &[(&str, &dyn Display)], value: impl Display) -> &mut Self {
        let _ = write!(self.text, "{}{part}", self.metric);
        for (nth, (name, value)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{name}=\"{value}\"", if nth == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
        self
    }

    /// Adds a metric of one sample.
    fn single(&mut self, name: &'static str, kind: &str, help: &str, value: impl Display) {
        self.metric(name, kind, help).sample(&[], value);
    }

    /// Adds a histogram of times, whose sum is `sum_s` seconds.
    fn histogram(&mut self, label: (&str, &dyn Display), times_us: &Histogram<u64>, sum_s: f64) {
        let mut recorded = times_us.iter_recorded().peekable();
        let mut count = 0;
        for bound in LATENCY_BOUNDS_US {
            while let Some(step) = recorded.next_if(|step| step.value_iterated_to() <= bound) {
                count += step.count_since_last_iteration();
            }
            self.sample_of("_bucket", &[label, ("le", &(bound as f64 / 1e6))], count);
        }
        self.sample_of("_bucket", &[label, ("le", &"+Inf")], times_us.len());
        self.sample_of("_sum", &[label], sum_s).sample_of("_count", &[label], times_us.len());
    }
}

fn server(page: &mut Page, state: &ServerState) {
    page.metric("flashlane_build_info", "gauge", "1, with the version of the server.")
        .sample(&[("version", &env!("CARGO_PKG_VERSION"))], 1);
    let uptime_s = state.now.since(state.started).as_ns() as f64 / 1e9;
    page.single("flashlane_uptime_seconds", "gauge", "Time since the server started.", uptime_s);
    page.single("flashlane_clients", "gauge", "Clients that are connected.", state.clients);
    page.metric("flashlane_clients_total", "counter", "Clients that connected, were refused or evicted.")
        .sample(&[("outcome", &"connected")], state.clients_total)
        .sample(&[("outcome", &"refused")], state.clients_refused)
        .sample(&[("outcome", &"evicted")], state.clients_evicted);
}

fn memory(page: &mut Page, state: &ServerState, status: &Status) {
    page.metric("flashlane_memory_bytes", "gauge", "Memory of requests and replies, caches and the store.")
        .sample(&[("of", &"clients")], state.memory_bytes)
        .sample(&[("of", &"values")], state.cache_bytes)
        .sample(&[("of", &"reads")], status.cache_memory_bytes)
        .sample(&[("of", &"indexes")], status.index_memory_bytes)
        .sample(&[("of", &"containers")], status.container_memory_bytes);
}

fn commands(page: &mut Page, state: &ServerState) {
    let help = "Time from the arrival of a request until its reply was ready.";
    page.metric("flashlane_command_duration_seconds", "histogram", help);
    for (name, stats) in &state.commands {
        page.histogram(("command", name), &stats.latency_us, stats.total.as_ns() as f64 / 1e9);
    }
    page.metric("flashlane_command_errors_total", "counter", "Replies that were errors.");
    for (name, stats) in &state.commands {
        page.sample(&[("command", name)], stats.failed);
    }
}

fn amplification(page: &mut Page, status: &Status) {
    let counters = &status.counters;
    page.metric("flashlane_written_bytes_total", "counter", "Bytes written by users, and to the devices.")
        .sample(&[("by", &"users")], counters.user_bytes_written)
        .sample(&[("by", &"log")], counters.log_bytes_written)
        .sample(&[("by", &"containers")], counters.flush_bytes_written)
        .sample(&[("by", &"pieces")], counters.piece_bytes_written)
        .sample(&[("by", &"merges")], counters.merge_bytes_written);
    let help = "Bytes written to the devices for each byte of users.";
    page.single("flashlane_write_amplification", "gauge", help, counters.write_amplification());
    page.metric(
        "flashlane_read_bytes_total",
        "counter",
        "Bytes of values returned, and bytes read by merges.",
    )
    .sample(&[("by", &"users")], counters.user_bytes_read)
    .sample(&[("by", &"merges")], counters.merge_bytes_read);
    page.single("flashlane_gets_total", "counter", "Gets of the store.", counters.gets);
    page.metric("flashlane_get_reads_total", "counter", "Reads for gets, from the device and the cache.")
        .sample(&[("from", &"device")], counters.get_reads)
        .sample(&[("from", &"cache")], counters.get_reads_cached);
    page.single("flashlane_flushes_total", "counter", "Containers written as patches.", counters.flushes);
    page.single("flashlane_merges_total", "counter", "Merges that completed.", counters.merges);
}

fn slices(page: &mut Page, status: &Status) {
    page.single("flashlane_log_used_ratio", "gauge", "Share of the log in use.", status.log_used);
    page.single("flashlane_blocks_free", "gauge", "Blocks for which there is room.", status.blocks_free);
    let slices = || status.slices.iter().enumerate();
    page.metric("flashlane_container_bytes", "gauge", "Bytes of entries in containers.");
    for (nth, slice) in slices() {
        page.sample(&[("slice", &nth)], slice.container_bytes);
    }
    page.metric("flashlane_containers_frozen", "gauge", "Containers that wait to be written.");
    for (nth, slice) in slices() {
        page.sample(&[("slice", &nth)], slice.frozen);
    }
    page.metric("flashlane_patches", "gauge", "Patches of each level.");
    for (nth, slice) in slices() {
        for (level, count) in slice.patches.iter().enumerate() {
            page.sample(&[("slice", &nth), ("level", &level)], count);
        }
    }
    page.metric("flashlane_merging", "gauge", "1 while a merge of the slice runs.");
    for (nth, slice) in slices() {
        page.sample(&[("slice", &nth)], u8::from(slice.is_merging));
    }
}

/// Space and wear.
fn units(page: &mut Page, lanes: &[LaneStatus]) {
    page.metric("flashlane_lane_units", "gauge", "Erase units of each lane by their state.");
    for (nth, lane) in lanes.iter().enumerate() {
        page.sample(&[("lane", &nth), ("state", &"block")], lane.blocks)
            .sample(&[("lane", &nth), ("state", &"erased")], lane.erased)
            .sample(&[("lane", &nth), ("state", &"dirty")], lane.to_erase)
            .sample(&[("lane", &nth), ("state", &"bad")], lane.bad)
            .sample(&[("lane", &nth), ("state", &"damaged")], lane.damaged);
    }
    page.metric(
        "flashlane_lane_erases",
        "gauge",
        "Erases of a unit of each lane, where the device counts them.",
    );
    for (nth, lane) in lanes.iter().enumerate() {
        if let Some((least, mean, most)) = lane.erases {
            page.sample(&[("lane", &nth), ("of", &"least")], least)
                .sample(&[("lane", &nth), ("of", &"mean")], mean)
                .sample(&[("lane", &nth), ("of", &"most")], most);
        }
    }
}

fn queues(page: &mut Page, lanes: &[LaneStatus]) {
    page.metric("flashlane_lane_waiting", "gauge", "Requests that wait for the device.");
    for (nth, LaneStatus { queue, .. }) in lanes.iter().enumerate() {
        page.sample(&[("lane", &nth), ("kind", &"read")], queue.reads_waiting)
            .sample(&[("lane", &nth), ("kind", &"write")], queue.writes_waiting);
    }
    page.metric("flashlane_lane_in_flight", "gauge", "Requests that the device executes.");
    for (nth, LaneStatus { queue, .. }) in lanes.iter().enumerate() {
        page.sample(&[("lane", &nth), ("kind", &"read")], queue.reads_in_flight)
            .sample(&[("lane", &nth), ("kind", &"write")], queue.writes_in_flight)
            .sample(&[("lane", &nth), ("kind", &"erase")], u8::from(queue.is_erasing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_state::ServerOptions;
    use flashlane_base::{Duration, Instant};

    #[test]
    fn buckets_count_the_latencies_up_to_their_bounds() {
        let mut state = ServerState::new(ServerOptions::default(), Instant::ZERO);
        for us in [1, 50, 51, 900, 5_000_000] {
            state.count("get", Duration::from_us(us), us == 900);
        }
        let mut page = Page::default();
        commands(&mut page, &state);
        for line in [
            "# TYPE flashlane_command_duration_seconds histogram",
            "flashlane_command_duration_seconds_bucket{command=\"get\",le=\"0.00005\"} 2",
            "flashlane_command_duration_seconds_bucket{command=\"get\",le=\"0.0001\"} 3",
            "flashlane_command_duration_seconds_bucket{command=\"get\",le=\"0.001\"} 4",
            "flashlane_command_duration_seconds_bucket{command=\"get\",le=\"1\"} 4",
            "flashlane_command_duration_seconds_bucket{command=\"get\",le=\"+Inf\"} 5",
            "flashlane_command_duration_seconds_sum{command=\"get\"} 5.001002",
            "flashlane_command_duration_seconds_count{command=\"get\"} 5",
            "flashlane_command_errors_total{command=\"get\"} 1",
        ] {
            assert!(page.text.lines().any(|own| own == line), "{line}\n{}", page.text);
        }
    }

    #[test]
    fn lanes_have_space_wear_and_queue() {
        let mut lane = LaneStatus { blocks: 7, erases: Some((1, 1.5, 2)), ..LaneStatus::default() };
        (lane.queue.reads_waiting, lane.queue.is_erasing) = (3, true);
        let mut page = Page::default();
        units(&mut page, &[LaneStatus::default(), lane]);
        queues(&mut page, &[LaneStatus::default(), lane]);
        for line in [
            "flashlane_lane_units{lane=\"1\",state=\"block\"} 7",
            "flashlane_lane_erases{lane=\"1\",of=\"mean\"} 1.5",
            "flashlane_lane_waiting{lane=\"1\",kind=\"read\"} 3",
            "flashlane_lane_in_flight{lane=\"1\",kind=\"erase\"} 1",
            "flashlane_lane_in_flight{lane=\"0\",kind=\"erase\"} 0",
        ] {
            assert!(page.text.lines().any(|own| own == line), "{line}\n{}", page.text);
        }
        assert!(!page.text.contains("flashlane_lane_erases{lane=\"0\""), "a device that does not count");
    }
}
